"""Atomic and exclusive writing of files, and writing to devices and pipes."""

import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from glob import escape
from pathlib import Path
from typing import IO

from luce.errors import DataError

try:
    import fcntl
except ImportError:  # Windows, where files are neither locked nor swept
    fcntl = None  # type: ignore[assignment]


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path to write to, which replaces `path` at the end of the block and is removed after an error.

    If `path` is a link, the file it points to is replaced. A device or a pipe gets all bytes at the end of the block.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder) / "note.txt") as partial:
    ...         _ = partial.write_text("complete")
    ...     (Path(folder) / "note.txt").read_text()
    'complete'
    """
    given = Path(path)
    check_target(given)
    if is_stream(given):
        with _copied_to(given) as copy:
            yield copy
        return
    target = _linked(given)
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    try:
        _sweep(target)
        with (fcntl and _locked(partial, wait=True)) or nullcontext():
            yield partial
            with open(partial, "rb") as written:
                os.fsync(written.fileno())
            if target.exists():
                os.chmod(partial, target.stat().st_mode & 0o777)
            os.replace(partial, target)
    except OSError as error:
        raise DataError(f"{given} was not written; the previous file, if any, is unchanged: {error}.") from error
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def exclusive_lock(path: str | os.PathLike[str]) -> Iterator[None]:
    """A lock on writing a file: an error where another process, or another block of this one, holds it.

    The lock of a process that crashed is released.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with exclusive_lock(Path(folder) / "model.luce"):
    ...         [file.name for file in Path(folder).iterdir()]
    ['.model.luce.lock']
    """
    if is_stream(Path(path)):
        yield
        return
    target = _linked(Path(path))
    name = target.with_name(f".{target.name}.lock")
    file = _locked(name)
    if file is None:
        process = name.read_text() or "unknown"
        raise DataError(
            f"{path} is being written by process {process}. Wait until it has ended, or choose another file."
        )
    with file:
        file.truncate(0)
        file.write(str(os.getpid()).encode())
        file.flush()
        try:
            yield
        finally:
            with suppress(OSError):  # Windows removes no open file
                name.unlink()


def lock(file: int, *, shared: bool = False, wait: bool = False) -> bool | None:
    """Lock an open file or folder until it is closed: False where it is locked already, None without support."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:  # such as a network file system
        return None
    return True


def is_stream(path: Path) -> bool:
    """Whether a path is a device, a pipe or an open file such as /dev/stdout, to be written to and not replaced."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    special = stat.S_ISCHR(mode) or stat.S_ISBLK(mode) or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
    folder = path.parent.resolve()
    return special or folder == Path("/dev") or folder.parts[1:2] == ("proc",)


def check_target(path: Path) -> None:
    """An error where no file can be written at this path, for a check before the work."""
    if path.is_dir():
        raise DataError(f"{path} is a directory; give a file name.")
    if is_stream(path):
        if not os.access(path, os.W_OK):
            raise DataError(f"{path} cannot be written: no permission to write to this device or pipe. Choose another.")
        return
    folder = _linked(path).parent
    if not folder.is_dir():
        raise DataError(f"{path} cannot be written: there is no directory {folder}.")
    if not os.access(folder, os.W_OK):
        raise DataError(
            f"{path} cannot be written: no permission to write to {folder.resolve()}. Choose another folder."
        )


def _linked(path: Path) -> Path:
    """The path itself, or the target of a link."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


@contextmanager
def _copied_to(stream: Path) -> Iterator[Path]:
    """A temporary file whose content is copied to a device or a pipe, which may not support seeking."""
    with tempfile.TemporaryDirectory(prefix="luce-") as folder:
        copy = Path(folder) / stream.name
        yield copy
        try:
            # Append: standard output may be a file with earlier content.
            with open(copy, "rb") as source, open(stream, "ab") as target:
                shutil.copyfileobj(source, target)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise DataError(f"{stream} was not written: {error}.") from error


def _locked(path: Path, *, wait: bool = False) -> IO[bytes] | None:
    """The file, opened and locked, created if needed; None where another process has locked it."""
    while True:
        file = open(path, "a+b")  # noqa: SIM115  the caller closes it
        if lock(file.fileno(), wait=wait) is False:
            file.close()
            return None
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        file.close()  # removed by the process that had locked it


def _sweep(target: Path) -> None:
    """Remove the unfinished files of processes that were killed while writing `target`."""
    for left in target.parent.glob(f".{escape(target.name)}.*.partial"):
        with suppress(OSError), open(left, "rb") as file:
            if lock(file.fileno()):
                left.unlink()
