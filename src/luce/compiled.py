"""How every CPU kernel is compiled: cached on disk, without the interpreter lock, division by zero as NumPy has it."""

import os
import stat
import tempfile
import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from numba import config, njit

from luce.errors import LuceWarning


def _compile(function: Callable[..., Any], **options: Any) -> Any:
    """numba's njit; where it finds no folder to cache in, ours, and without one no cache."""
    decorate = partial(njit, nogil=True, error_model="numpy", **options)
    try:
        return decorate(cache=True)(function)
    except RuntimeError as error:  # raised here and not later: numba looks for the folder as it decorates
        if "no locator available" not in str(error):
            raise
        return decorate(cache=_found_temporary_cache())(function)


@cache
def _found_temporary_cache() -> bool:
    """Let numba cache in a temporary folder, from now on and in processes started from here; False if there is none."""
    folder = _private_folder(Path(tempfile.gettempdir()))
    reason = "Compiled code cannot be cached: neither the folder of the package nor the home directory can be written"
    advice = "Set NUMBA_CACHE_DIR to a folder that only you can write to, to choose where it is kept."
    if folder is None:
        warnings.warn(f"{reason}. Every run compiles again. {advice}", LuceWarning, stacklevel=2)
        return False
    config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"] = str(folder)  # type: ignore[attr-defined]
    warnings.warn(f"{reason}. It is kept in {folder}. {advice}", LuceWarning, stacklevel=2)
    return True


def _private_folder(parent: Path) -> Path | None:
    """A folder that only this user can write to, made if need be: cached code is run, whoever wrote it."""
    user = os.getuid() if hasattr(os, "getuid") else None
    folder = parent / f"luce-numba-{'cache' if user is None else user}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found, around = folder.lstat(), parent.stat()
    except OSError:
        return None
    if user is None:  # Windows, whose temporary folders belong to one user
        return folder
    # Others must be able neither to write in it nor to put a folder of theirs in its place.
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == user and not found.st_mode & 0o022
    stays = around.st_uid in (0, user) and (not around.st_mode & 0o022 or bool(around.st_mode & stat.S_ISVTX))
    return folder if is_ours and stays else None


compiled = _compile
"""Decorator of a kernel. Threads come from `luce.threads`, never from numba, so a fork or a second thread is safe."""

inlined = partial(_compile, inline="always")
"""Decorator of a function that becomes part of the kernels that call it."""

summing = partial(_compile, fastmath={"reassoc", "contract"})
"""Decorator of a kernel whose sums may be taken in any order, so that they use vector registers.

A sum shares no loop with a store to another array: where two small arrays happen to lie side by side, the loop runs
item by item instead, which sums in another order, and the last bit would depend on addresses.
"""
