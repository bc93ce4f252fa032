"""Files as streams of bytes, plain or compressed by their suffix, with one clear error for each way a file can fail."""

import gzip
import io
import os
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from luce.errors import DataError
from luce.threads import in_parallel

Bytes = NDArray[np.uint8]
Parsed = TypeVar("Parsed")

CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
"""The suffixes of compressed files, and what Arrow calls their compression."""

PIECE = 1 << 20
"""Bytes of text handed out together."""

LONGEST_LINE = 1 << 26
"""A line that has not ended after so many bytes is refused, so that a file without line ends cannot fill the memory."""

_FOREIGN = {
    b"\xff\xfe": "UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "UTF-16 text; save it as UTF-8",
    b"\x1f\x8b": "gzip data; its name must end in .gz",
    b"BZh": "bzip2 data; its name must end in .bz2",
    b"\x28\xb5\x2f\xfd": "Zstandard data; its name must end in .zst",
    b"PAR1": "a Parquet file",
}


def open_to_read(path: str | os.PathLike[str]) -> io.FileIO:
    """An open file, unbuffered, for those who read large blocks."""
    try:
        return open(path, "rb", buffering=0)
    except FileNotFoundError:
        raise DataError(f"There is no file {os.fspath(path)}.") from None
    except IsADirectoryError:
        raise DataError(f"{os.fspath(path)} is a directory; give a file name.") from None
    except OSError as error:
        raise DataError(f"{os.fspath(path)} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise DataError(f"{os.fspath(path)!r} is not a valid file name: {error}.") from error


class InputStream(io.RawIOBase):
    """A file to read, decompressed as it is read; use it in a `with` block.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "note.gz"
    ...     _ = path.write_bytes(gzip.compress(b"text"))
    ...     with InputStream(path) as stream:
    ...         stream.read()
    b'text'
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._file = open_to_read(path)
        self.size = os.fstat(self._file.fileno()).st_size
        self._codec = CODECS.get(self.path.suffix.lower())
        self._stream: Any = self._file
        if self._codec and self.size:  # what is empty is not cut short
            self._stream = pa.CompressedInputStream(pa.PythonFile(self._file, "r"), self._codec)

    @property
    def position(self) -> int:
        """The bytes of the file read so far, out of `size`; 0 for a pipe, which does not say."""
        return self._file.tell() if self._file.seekable() else 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            return self._stream.readinto(buffer) or 0
        except (OSError, ValueError) as error:
            if self._codec is None:
                raise DataError(f"{self.path} cannot be read: {error}.") from error
            raise DataError(f"{self.path} is truncated, damaged or not {self._codec} data: {error}.") from error

    def close(self) -> None:
        if not self.closed and self._stream is not self._file:
            self._stream.close()
        self._file.close()
        super().close()


def text_pieces(stream: InputStream) -> Iterator[Bytes]:
    """Pieces of complete lines, each ending with a line end; the byte order mark of UTF-8 is left out."""
    carried = np.empty(0, np.uint8)
    start = None
    while True:
        # Twice the carried part: a line of many pieces is then copied a few times, not once a piece.
        buffer = np.empty(PIECE + 2 * len(carried), np.uint8)
        buffer[: len(carried)] = carried
        filled = _fill(stream, buffer, len(carried))
        ended = filled < len(buffer)
        if start is None:
            start = _start_of_text(stream, bytes(buffer[: min(4, filled)]))
        if ended and filled > start and buffer[filled - 1] != ord("\n"):
            buffer[filled] = ord("\n")
            filled += 1
        cut = _after_last_line(buffer, filled)
        if filled - cut > LONGEST_LINE:
            raise DataError(f"{stream.path} has a line longer than {LONGEST_LINE:,} bytes.")
        if cut > start:
            yield buffer[start:cut]
            start = 0
        if ended:
            return
        carried = buffer[cut:filled].copy()


def parse_pieces(
    pieces: Iterator[Bytes], parse: Callable[[Bytes], Parsed], threads: int
) -> Iterator[tuple[Bytes, Parsed]]:
    """Each piece of a text with what `parse` makes of it, in order; the next are read while others are parsed.

    An error of the file is raised after the pieces before it, so that a bad line before it comes first.
    """
    # Several pieces a thread, so that none waits long for the others; few enough to need little memory.
    wanted = max(threads, min(4 * threads, 32))
    failures: list[DataError] = []

    def next_batch() -> list[Bytes]:
        batch: list[Bytes] = []
        try:
            batch.extend(islice(pieces, wanted))
        except DataError as error:
            failures.append(error)
        return batch

    batch = next_batch()
    while batch:
        following, *parsed = in_parallel([next_batch, *(partial(parse, text) for text in batch)], threads)
        yield from zip(batch, parsed, strict=True)
        batch = following
    if failures:
        raise failures[0]


def check_utf8(path: str | os.PathLike[str]) -> None:
    """An error that names the first byte of a text file that is not UTF-8, where there is one."""
    lines = before = 0
    with InputStream(path) as stream:
        for piece in text_pieces(stream):
            text = bytes(piece)
            try:
                text.decode()
            except UnicodeDecodeError as error:
                line, at = lines + text.count(b"\n", 0, error.start) + 1, before + error.start
                raise DataError(
                    f"{os.fspath(path)}, line {line:,}: the file must be UTF-8 text. Byte {at:,} of the file, "
                    f"0x{text[error.start]:02x}, is not: save the file as UTF-8."
                ) from None
            lines, before = lines + text.count(b"\n"), before + len(text)


def _fill(stream: InputStream, buffer: Bytes, filled: int) -> int:
    while filled < len(buffer) and (count := stream.readinto(buffer[filled:])):
        filled += count
    return filled


def _after_last_line(buffer: Bytes, filled: int) -> int:
    window = 1 << 16  # most often the last line end is near
    for end in range(filled, 0, -window):
        start = max(0, end - window)
        at = bytes(buffer[start:end]).rfind(b"\n")
        if at >= 0:
            return start + at + 1
    return 0


def _start_of_text(stream: InputStream, opening: bytes) -> int:
    for mark, what in _FOREIGN.items():
        if opening.startswith(mark):
            raise DataError(f"{stream.path} must be UTF-8 text. It looks like {what}.")
    return 3 if opening.startswith(b"\xef\xbb\xbf") else 0


def open_to_write(partial: Path, target: str | os.PathLike[str]) -> Any:
    """A stream that writes to `partial`, compressed as the suffix of `target` says."""
    codec = CODECS.get(Path(target).suffix.lower())
    if codec is None:
        return open(partial, "wb")
    return _Gzip(partial) if codec == "gzip" else pa.CompressedOutputStream(str(partial), codec)


class _Gzip(gzip.GzipFile):
    """Gzip with neither name nor time inside, so that the same data gives the same bytes."""

    def __init__(self, path: Path) -> None:
        self._file = open(path, "wb")  # noqa: SIM115
        super().__init__(filename="", mode="wb", compresslevel=6, fileobj=self._file, mtime=0)

    def close(self) -> None:
        super().close()
        self._file.close()
