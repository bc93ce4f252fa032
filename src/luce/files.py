"""Writing that leaves the old file whole: everything goes to a file beside it, which takes its place when complete."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from luce.errors import DataError


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A path to write to; it becomes `path` if the block ends well and vanishes if it does not.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "note.txt") as partial:
    ...         _ = partial.write_text("whole")
    ...     (Path(folder) / "note.txt").read_text()
    'whole'
    """
    target = Path(path)
    check_target(target)
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    try:
        yield partial
        with open(partial, "rb") as written:
            os.fsync(written.fileno())
        if target.exists():
            os.chmod(partial, target.stat().st_mode & 0o777)
        os.replace(partial, target)
    except OSError as error:
        raise DataError(f"{target} was not written, what was there before is untouched: {error}.") from error
    finally:
        partial.unlink(missing_ok=True)


def check_target(path: Path) -> None:
    """An error where no file can be written by this name: to be told before the work, not after it."""
    if path.is_dir():
        raise DataError(f"{path} is a directory; give the name of a file to write.")
    if not path.parent.is_dir():
        raise DataError(f"{path} cannot be written: there is no directory {path.parent}.")
    if not os.access(path.parent, os.W_OK):
        raise DataError(f"{path} cannot be written: you may not write to {path.parent.resolve()}. Name another folder.")
