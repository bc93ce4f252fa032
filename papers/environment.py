"""Where results were computed: machine, versions, and the commit, found by the contents of the source files."""

import hashlib
import os
import platform
import subprocess
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from luce.errors import OptionError

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "papers")
PACKAGES = ("luce", "numpy", "scipy", "numba", "torch", "lightgbm")


class Environment(NamedTuple):
    """The machine, the versions of packages, and a digest of the source files, which a copy without git has as well."""

    machine: str
    versions: dict[str, str]
    sources: str

    @classmethod
    def here(cls) -> "Environment":
        """That of this process."""
        return cls(_machine(), _versions(), _sources_here())


def commit_of(sources: str) -> str:
    """The newest commit whose source files have this digest.

    A copy of the files on another machine has the digest of the commit it was taken from, so its results can be stored
    from a clone; files that were never committed are refused.
    """
    for commit in _git("rev-list", "HEAD", "--", *FOLDERS).splitlines():
        if _sources_of(commit) == sources:
            return commit
    raise OptionError(
        "Only results of committed code can be stored, and no commit of this branch has the .py files of "
        f"{' and '.join(FOLDERS)} that computed these. Commit your changes, and run again with a new --cache file."
    )


@cache
def _sources_of(commit: str) -> str:
    lines = (line.split(maxsplit=3) for line in _git("ls-tree", "-r", commit, *FOLDERS).splitlines())
    return _digest((path, blob) for _, _, blob, path in lines if path.endswith(".py"))


def _sources_here() -> str:
    paths = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    return _digest((path.relative_to(ROOT).as_posix(), _blob(path.read_bytes())) for path in paths)


def _digest(files: Iterable[tuple[str, str]]) -> str:
    return hashlib.sha256("\n".join(map(" ".join, sorted(files))).encode()).hexdigest()[:16]


def _blob(content: bytes) -> str:
    """The name that git gives to a file with this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise OptionError(
            "--store names the commit that computed the results, so it needs a clone with git. Without one, run with "
            "--cache FILE, and repeat the command with --cache FILE --store in the clone."
        ) from error
    return done.stdout


def _machine() -> str:
    model, information = platform.processor() or platform.machine(), Path("/proc/cpuinfo")
    if information.exists():
        lines = information.read_text().splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    return f"{model}, {os.cpu_count()} cores, {platform.system()}"


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
