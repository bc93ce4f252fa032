"""Compiled kernels of this checkout: numba recompiles a changed module, but not the modules that import it."""

import ast
import hashlib
import json
import os
from functools import cache
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parent
CACHE = ROOT / ".numba_cache"
PYTHON_ONLY = {"luce.arrays", "luce.errors", "luce.threads"}  # nothing of them is compiled into a kernel
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
    known = CACHE / "modules.json"
    before = json.loads(known.read_text()) if known.exists() else {}
    now = {module: digest(module) for module in files if b"luce.compiled" in texts[module] or b"numba" in texts[module]}
    for module in now:
        if before.get(module) != now[module]:
            for old in CACHE.glob(f"{files[module].parent.name}_*/{files[module].stem}.*"):
                old.unlink(missing_ok=True)
    CACHE.mkdir(exist_ok=True)
    known.write_text(json.dumps(now, indent=1))


if "PYTEST_XDIST_WORKER" not in os.environ:
    discard_outdated_kernels()

# Triton's kernels are searched for examples only where Triton is installed.
collect_ignore_glob = [] if find_spec("triton") else ["src/luce/kernels/*/gpu*.py"]
