"""A LETOR file from first to last line: read and parsed on several threads, the first bad line reported."""

from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import cast

import numpy as np

from luce.data.letor.parser import Scratch, scratch_for
from luce.data.letor.parts import Bounds, Bytes, Part, Problem, parse_piece
from luce.data.slabs import Slabs
from luce.data.streams import Source, text_pieces
from luce.errors import DataError
from luce.threads import in_parallel

Progress = Callable[[int, int], None]


class Scan:
    """The parts of a file, and what is known of all of them.

    Attributes:
        parts: the parts in order.
        rows, lines, written: the number of rows, of lines, and of index:value pairs in the text.
        base: 0 where the index 0 was seen, else 1.
        highest, highest_line: the highest feature index, and the line where it stands first.
    """

    def __init__(self, source: Source, bounds: Bounds, slabs: Slabs, threads: int) -> None:
        self.parts: list[Part] = []
        self.rows = self.lines = self.written = self.highest = self.highest_line = 0
        self.base = 1
        self._source, self._bounds, self._slabs, self._threads = source, bounds, slabs, threads
        self._spare: list[Bytes] = []
        self._pieces = text_pieces(source, self._spare)
        self._scratch: list[Scratch] = []
        self._has_queries: bool | None = None

    def read(self, progress: Progress | None) -> None:
        """Read the whole file; the next pieces are read while others are parsed."""
        batch, failure = self._next_batch()
        while batch:
            parsing = [partial(self._parse, text) for text in batch]
            (following, next_failure), *parsed = in_parallel([self._next_batch, *parsing], self._threads)
            for text, (part, problem) in zip(batch, parsed, strict=True):
                self._accept(text, part, problem)
                self._spare.append(cast(Bytes, text.base))
            if progress is not None:
                progress(self._source.position, self._source.size)
            if failure is not None:
                break
            batch, failure = following, next_failure
        if failure is not None:  # only now: a bad line before it comes first
            raise failure
        self._spare.clear()
        self._scratch.clear()
        if not self.rows:
            what = "has only blank lines and comments" if self.lines else "is empty"
            raise DataError(f"{self._source.path} {what}; at least one row is needed.")

    def _next_batch(self) -> tuple[list[Bytes], DataError | None]:
        """The next few pieces, and what ended them if that was an error."""
        batch: list[Bytes] = []
        # Several pieces a thread, so that none waits long for the others; few enough to need little memory.
        wanted = max(self._threads, min(8 * self._threads, 32))
        try:
            batch.extend(islice(self._pieces, wanted))
        except DataError as error:
            return batch, error
        return batch, None

    def _parse(self, text: Bytes) -> tuple[Part, Problem | None]:
        try:
            old = self._scratch.pop()
        except IndexError:
            old = None
        scratch = scratch_for(text, old)
        result = parse_piece(text, self._bounds, self._slabs, scratch)
        self._scratch.append(scratch)
        return result

    def _accept(self, text: Bytes, part: Part, problem: Problem | None) -> None:
        problem = min(filter(None, (problem, self._query_problem(part))), default=None)
        if problem is not None:
            raise DataError(self._located(text, problem))
        if part.highest > self.highest:
            self.highest, self.highest_line = part.highest, self._line_number(text, part.highest_place)
        self.base = min(self.base, part.base)
        self.rows += len(part.labels)
        self.lines += part.lines
        self.written += part.written
        if len(part.labels):
            self.parts.append(part)

    def _query_problem(self, part: Part) -> Problem | None:
        """Either every row has a query id or none has."""
        there = np.diff(part.queries.ends, prepend=0) > 0
        if self._has_queries is None and len(there):
            self._has_queries = bool(there[0])
        wrong = np.flatnonzero(there != self._has_queries)
        if not len(wrong):
            return None
        found = (
            "no qid:, and the lines before have one" if self._has_queries else "a qid:, and the lines before have none"
        )
        return Problem(int(part.run_places[wrong[0]]), f"expected qid: on every line or on none. This one has {found}.")

    def _line_number(self, text: Bytes, place: int) -> int:
        return self.lines + 1 + int(np.count_nonzero(text[:place] == ord("\n")))

    def _located(self, text: Bytes, problem: Problem) -> str:
        """The problem with the file, the number of the line and the line itself, cut around the place."""
        before = bytes(text[: problem.place]).rfind(b"\n") + 1
        line = bytes(text[before:]).partition(b"\n")[0].rstrip(b"\r")
        number = self._line_number(text, problem.place)
        if b"\0" in line:
            return f"{self._source.path}, line {number:,}: expected UTF-8 text. Got NUL bytes, as UTF-16 has them."
        start, end = max(0, problem.place - before - 40), problem.place - before + 60
        shown = line[start:end].decode(errors="replace")
        shown = ("…" if start else "") + shown + ("…" if end < len(line) else "")
        return f"{self._source.path}, line {number:,}: {problem.text} The line: {shown!r}"
