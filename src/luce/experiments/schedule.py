"""How far a comparison has come, and how long the rest may take by what the finished cells took."""

import math
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple


class Progress(NamedTuple):
    """Where a comparison stands: cells done and all, the method at work, and a guess at the seconds left, or NaN."""

    done: int
    total: int
    method: str
    seconds_left: float

    @property
    def share(self) -> float:
        """The cells that are done, from 0 to 1."""
        return self.done / max(self.total, 1)


class Schedule:
    """The seconds that each method's finished cells took, and how many cells it has in all.

    >>> schedule = Schedule({"linear": 2, "n_estimators": 2}, print)
    >>> schedule.finished("linear", 1.0)
    >>> schedule.finished("linear", 3.0)
    >>> schedule.left()
    4.0
    """

    def __init__(self, cells: Mapping[str, int], callback: Callable[[Progress], None] | None) -> None:
        self._cells, self._callback = dict(cells), callback
        self._seconds: dict[str, list[float]] = {name: [] for name in cells}
        self.began()

    def began(self) -> None:
        """A cell begins now."""
        self._since = time.monotonic()

    def finished(self, method: str, seconds: float | None = None) -> None:
        """A cell has ended; `seconds` are what it took in an earlier run."""
        self._seconds[method].append(time.monotonic() - self._since if seconds is None else seconds)
        self.began()

    def failed(self, method: str) -> None:
        """No cell of this method is left to do."""
        self._cells[method] = len(self._seconds[method])

    def left(self) -> float:
        """Seconds for what is not done: of each method as its own cells took, or as those of all did."""
        known = [seconds for each in self._seconds.values() for seconds in each]
        if not known:
            return math.nan
        mean = sum(known) / len(known)
        return sum(
            (self._cells[name] - len(took)) * (sum(took) / len(took) if took else mean)
            for name, took in self._seconds.items()
        )

    def tell(self, method: str) -> None:
        """Tell how things stand while a cell of this method is at work."""
        if self._callback is None or len(self._seconds[method]) == self._cells[method]:  # its process is ending
            return
        done = sum(map(len, self._seconds.values()))
        left = max(self.left() - (time.monotonic() - self._since), 0.0)
        self._callback(Progress(done, sum(self._cells.values()), method, left))
