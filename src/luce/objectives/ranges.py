"""What is worth trying of a setting: a range of numbers, or a few choices; declared beside what is allowed."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high`, whole ones where both ends are; with `log` each doubling is as likely as the next.

    >>> Range(4, 64, log=True), Range(0.0, 0.5).ends, 65 in Range(4, 64), 4.5 in Range(4, 64)
    (Range(low=4, high=64, log=True), (0.0, 0.5), False, False)
    >>> print(Range(0.01, 0.3, log=True))
    0.01 to 0.3, by ratio
    """

    low: float
    high: float
    log: bool = False

    @property
    def is_integer(self) -> bool:
        return isinstance(self.low, int) and isinstance(self.high, int)

    @property
    def ends(self) -> tuple[Any, ...]:
        """What must be allowed if the range is."""
        return self.low, self.high

    def __contains__(self, value: Any) -> bool:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and self.low <= value <= self.high and (not self.is_integer or float(value).is_integer())

    def __str__(self) -> str:
        return f"{self.low:g} to {self.high:g}{', by ratio' if self.log else ''}"


@dataclass(frozen=True)
class Choice:
    """One of a few values.

    >>> Choice((None, 10)).ends, 10 in Choice((None, 10))
    ((None, 10), True)
    >>> print(Choice(((64,), (64, 32))))
    64 / 64,32
    """

    values: tuple[Any, ...]

    @property
    def ends(self) -> tuple[Any, ...]:
        """What must be allowed if the choice is."""
        return self.values

    def __contains__(self, value: Any) -> bool:
        return any(text_of(value) == text_of(each) for each in self.values)

    def __str__(self) -> str:
        return " / ".join(map(text_of, self.values))


Tried = Range | Choice
"""What tuning tries of a setting."""


def text_of(value: Any) -> str:
    """A value as the command line takes it.

    >>> text_of((64, 32)), text_of(None), text_of(0.1), text_of("ones")
    ('64,32', 'none', '0.1', 'ones')
    """
    if isinstance(value, list | tuple):
        return ",".join(map(text_of, value))
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return f"{value:.6g}" if isinstance(value, float) else str(value)
