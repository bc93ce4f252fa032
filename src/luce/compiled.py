"""Decorators that compile CPU kernels: cached on disk, without the interpreter lock, with NumPy's division by zero."""

import os
import shutil
import stat
import tempfile
import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from numba import config, njit
from numba.core import event

from luce.compilation import begin, end
from luce.errors import LuceWarning


class _Listener(event.Listener):
    """Passes on when numba begins and ends to compile a function; what it loads from its cache is not compiled."""

    def on_start(self, event: Any) -> None:
        begin()

    def on_end(self, event: Any) -> None:
        end()


event.register("numba:compile", _Listener())


def _import_without_scipy() -> None:
    """Import what numba imports before its first kernel runs, but not SciPy's linear algebra, a quarter of the time.

    numba only looks whether it is there, which it is, and loads it for kernels that need it.
    """
    from numba.np import linalg

    look = linalg.ensure_blas
    linalg.ensure_blas = lambda: None
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        linalg.ensure_blas = look


_import_without_scipy()


def _compile(function: Callable[..., Any], **options: Any) -> Any:
    """numba's njit, cached in a temporary folder where numba finds none, and not cached where that fails too."""
    # No caller in C: without a wrapper for one a kernel compiles in a tenth less time.
    decorate = partial(njit, nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options)
    try:
        return decorate(cache=True)(function)
    except RuntimeError as error:  # numba looks for the folder when it decorates
        if "no locator available" not in str(error):
            raise
        return decorate(cache=_use_temporary_cache())(function)


@cache
def _use_temporary_cache() -> bool:
    """Let numba cache in a temporary folder, also in child processes; False if there is none."""
    folder = _private_folder(Path(tempfile.gettempdir()))
    reason = "Compiled code cannot be cached: neither the folder of the package nor the home directory is writable"
    advice = "Set NUMBA_CACHE_DIR to a folder that only you can write to, to choose another place."
    if folder is None:
        warnings.warn(f"{reason}. Every run compiles again. {advice}", LuceWarning, stacklevel=2)
        return False
    given = Path(config.CACHE_DIR or folder)  # type: ignore[attr-defined]
    config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"] = str(folder)  # type: ignore[attr-defined]
    if given != folder and given.is_dir():  # read-only, as in a container: numba reads no cache that it cannot write to
        _copy_cache(given, folder)
        return True
    warnings.warn(f"{reason}. It is cached in {folder}. {advice}", LuceWarning, stacklevel=2)
    return True


def _copy_cache(source: Path, target: Path) -> None:
    """Copy the files that are not there yet, each at once: several processes may start together."""
    for file in filter(Path.is_file, source.rglob("*")):
        copy = target / file.relative_to(source)
        if not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            partial = copy.with_name(f"{copy.name}.{os.getpid()}.partial")
            shutil.copyfile(file, partial)
            os.replace(partial, copy)


def _private_folder(parent: Path) -> Path | None:
    """A folder that only this user can write to, created if needed: cached code is executed, whoever wrote it."""
    user = os.getuid() if hasattr(os, "getuid") else None
    folder = parent / f"luce-numba-{'cache' if user is None else user}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found, around = folder.lstat(), parent.stat()
    except OSError:
        return None
    if user is None:  # Windows, whose temporary folders belong to one user
        return folder
    # Others must not be able to write in it or to replace it.
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == user and not found.st_mode & 0o022
    stays = around.st_uid in (0, user) and (not around.st_mode & 0o022 or bool(around.st_mode & stat.S_ISVTX))
    return folder if is_ours and stays else None


compiled = _compile
"""Decorator of a kernel. Threads come from `luce.threads` and never from numba, which makes forks and threads safe."""

inlined = partial(_compile, inline="always")
"""Decorator of a function that is inlined into the kernels that call it: a small one, or one with a single caller.

That compiles in less time; a larger function with several callers had better be compiled once for all of them.
"""

summing = partial(_compile, fastmath={"reassoc", "contract"})
"""Decorator of a kernel whose sums may be reassociated to use vector registers.

No loop may both sum and store to another array: where the two arrays are adjacent in memory, the compiled loop falls
back to scalar code, which sums in another order, and the last bit would depend on addresses.
"""
