"""What an option of an objective may be: its default, what is allowed, in words and as a test."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from luce.objectives.ranges import Choice, Tried


@dataclass(frozen=True)
class Option:
    """A setting of an objective; `tried` is what tuning tries of it, None where it has one right value."""

    default: Any
    allowed: str
    accepts: Callable[[Any], bool]
    summary: str
    tried: Tried | None = None


def whole(
    default: int | None, lowest: int, summary: str, tried: Tried | None = None, *, optional: bool = False
) -> Option:
    """An integer ≥ `lowest`, or None where that is the default or `optional`.

    >>> whole(None, 1, "how deep").accepts(None), whole(3, 1, "how often").accepts(0)
    (True, False)
    """
    optional = optional or default is None

    def accepts(value: Any) -> bool:
        integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
        return (optional and value is None) or (integer and value >= lowest)

    return Option(default, f"an integer ≥ {lowest}{' or None' if optional else ''}", accepts, summary, tried)


def between(default: float, lowest: float, highest: float, summary: str, tried: Tried | None = None) -> Option:
    """A number from `lowest` to `highest`."""

    def accepts(value: Any) -> bool:
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        return number and lowest <= value <= highest

    return Option(default, f"a number from {lowest:g} to {highest:g}", accepts, summary, tried)


def one_of(default: str, names: tuple[str, ...], summary: str, *, tried: bool = False) -> Option:
    """One of some words; all of them are worth trying if `tried`."""
    words = " or ".join(repr(name) for name in names)
    trials = Choice(names) if tried else None
    return Option(default, words, lambda value: isinstance(value, str) and value in names, summary, trials)


def switch(default: bool, summary: str) -> Option:
    """True or False."""
    return Option(default, "True or False", lambda value: isinstance(value, bool), summary)
