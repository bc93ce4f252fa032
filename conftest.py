"""The tiers of the tests, and the compiled kernels of this checkout."""

import ast
import hashlib
import json
import os
import re
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent
CACHE = ROOT / ".numba_cache" / version("numba")  # another version would write over the files of this one
PYTHON_ONLY = {
    "luce.arrays",
    "luce.compilation",
    "luce.errors",
    "luce.threads",
}  # nothing of them is compiled into a kernel
os.environ["NUMBA_CACHE_DIR"] = str(CACHE)

files = {
    ".".join(file.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__"): file
    for file in sorted((ROOT / "src" / "luce").rglob("*.py"))
}
texts = {module: file.read_bytes() for module, file in files.items()}


@cache
def imports(module: str) -> set[str]:
    nodes = [node for node in ast.walk(ast.parse(texts[module])) if isinstance(node, ast.ImportFrom)]
    names = {(node.module, alias.name) for node in nodes for alias in node.names}
    return {f"{home}.{name}" if f"{home}.{name}" in files else home for home, name in names} & set(files) - PYTHON_ONLY


def digest(module: str) -> str:
    """A digest of the text of a module and of all that it imports, directly or not."""
    seen, left = {module}, [module]
    while left:
        new = imports(left.pop()) - seen
        seen |= new
        left += new
    return hashlib.sha256(b"".join(texts[each] for each in sorted(seen))).hexdigest()


def discard_outdated_kernels() -> None:
    """Numba recompiles a changed module, but not the modules that import it: their compiled code is deleted here."""
    known = CACHE / "modules.json"
    before = json.loads(known.read_text()) if known.exists() else {}
    now = {module: digest(module) for module in files if b"luce.compiled" in texts[module] or b"numba" in texts[module]}
    for module in now:
        if before.get(module) != now[module]:
            for old in CACHE.glob(f"{files[module].parent.name}_*/{files[module].stem}.*"):
                old.unlink(missing_ok=True)
    CACHE.mkdir(parents=True, exist_ok=True)
    known.write_text(json.dumps(now, indent=1))


def lock_the_cache() -> None:
    """Two workers compiling one function for different types at once would store both under one name."""
    import fcntl

    from numba.core.caching import IndexDataCacheFile

    save = IndexDataCacheFile.save

    def locked(self, key, data):
        with open(CACHE / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            save(self, key, data)

    IndexDataCacheFile.save = locked


if "PYTEST_XDIST_WORKER" in os.environ:
    lock_the_cache()
else:
    discard_outdated_kernels()


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="also run the tests marked slow, multiprocess and browser")


def pytest_runtest_setup(item):
    for tier in ("slow", "multiprocess", "browser"):
        if item.get_closest_marker(tier) and not item.config.getoption("--all"):
            pytest.skip(f"{tier} tests run with: make test-all")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    """A test that needs an optional package which is not installed is skipped, and says how to install it."""
    from luce.errors import MissingPackageError

    try:
        return (yield)
    except MissingPackageError as error:
        if not isinstance(error.__cause__, ModuleNotFoundError):  # it is installed, and broken
            raise
        pytest.skip(str(error))


# Modules that import an optional package are searched for tests and examples only where it is installed.
OPTIONAL = "torch|triton|lightgbm|xgboost|optuna|pandas|polars|matplotlib"
MISSING = [name for name in OPTIONAL.split("|") if not find_spec(name)]
IMPORTS = re.compile(rf"^(?:import|from) (?:luce\.)?({'|'.join(MISSING) or 'nothing'})\b", re.MULTILINE)


def pytest_ignore_collect(collection_path):
    return True if collection_path.suffix == ".py" and IMPORTS.search(collection_path.read_text("utf-8")) else None
