"""Specifications of parameters: the allowed values, in words and as a test, the default, and the values to search."""

import operator
import reprlib
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from luce.errors import OptionError


@dataclass(frozen=True)
class Range:
    """Numbers to search, from `low` to `high`.

    Parameters
    ----------
    low, high : int or float
        The bounds; if both are integers, only integers are tried.
    log : bool, default=False
        Sample the logarithm uniformly: each doubling is as likely as the next.

    Examples
    --------
    >>> Range(4, 64, log=True), Range(0.0, 0.5).ends, 65 in Range(4, 64), 4.5 in Range(4, 64)
    (Range(low=4, high=64, log=True), (0.0, 0.5), False, False)
    >>> print(Range(0.01, 0.3, log=True))
    0.01 to 0.3, log scale
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
        return f"{self.low:g} to {self.high:g}{', log scale' if self.log else ''}"


@dataclass(frozen=True)
class Choice:
    """A few values to search.

    Parameters
    ----------
    values : tuple
        The values, each as likely as the next.

    Examples
    --------
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


@dataclass(frozen=True)
class Option:
    """The specification of one parameter.

    Attributes
    ----------
    allowed : str
        What it may be, in words: "an integer ≥ 1".
    accepts : callable
        The same as a test of a value.
    default : object
        Where the specification decides it; a ranker's defaults are in its signature.
    summary : str
        What it means.
    search_space : Range, Choice or None
        What tuning tries; None where it has one right value.
    """

    allowed: str
    accepts: Callable[[Any], bool]
    default: Any = None
    summary: str = ""
    search_space: Range | Choice | None = None

    def check(self, name: str, value: Any) -> None:
        """An error for a value that is not allowed.

        >>> integer(1).check("epochs", 0)
        Traceback (most recent call last):
        luce.errors.OptionError: epochs must be an integer ≥ 1. Got 0.
        """
        if not self.accepts(value):
            raise OptionError(f"{name} must be {self.allowed}. Got {reprlib.repr(value)}.")


def integer(low: int, high: int | None = None, **declared: Any) -> Option:
    """An integer ≥ `low`, or from `low` to `high`; `declared` are further fields of the option.

    >>> integer(1).accepts(0), integer(2, 1_000).allowed
    (False, 'an integer from 2 to 1,000')
    """
    words = f"an integer ≥ {low}" if high is None else f"an integer from {low:,} to {high:,}"
    return Option(
        words, lambda value: is_integer(value) and low <= value and (high is None or value <= high), **declared
    )


def number(
    low: float | None = None,
    high: float | None = None,
    *,
    above: float | None = None,
    below: float | None = None,
    **declared: Any,
) -> Option:
    """A finite number ≥ `low` or > `above`, and ≤ `high` or < `below`.

    >>> number(0.0).allowed, number(above=0, high=1).allowed, number(0.0, 0.5).accepts(0.6)
    ('a number ≥ 0', 'a number > 0 and ≤ 1', False)
    """
    bounds = (low, "≥", operator.ge), (above, ">", operator.gt), (high, "≤", operator.le), (below, "<", operator.lt)
    given = [(sign, test, bound) for bound, sign, test in bounds if bound is not None]
    words = " and ".join(f"{sign} {bound:g}" for sign, _, bound in given)
    return Option(
        f"a number {words}".rstrip(),
        lambda value: is_number(value) and all(test(value, bound) for _, test, bound in given),
        **declared,
    )


def one_of(*names: str, **declared: Any) -> Option:
    """One of some words."""
    words = " or ".join(map(repr, names))
    return Option(words, lambda value: isinstance(value, str) and value in names, **declared)


def boolean(**declared: Any) -> Option:
    """True or False."""
    return Option("True or False", lambda value: isinstance(value, bool), **declared)


def or_none(option: Option, **declared: Any) -> Option:
    """What the option may be, or None.

    >>> or_none(integer(1)).allowed
    'an integer ≥ 1, or None'
    """
    return replace(
        option,
        allowed=f"{option.allowed}, or None",
        accepts=lambda value: value is None or option.accepts(value),
        **declared,
    )


def is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether this is a finite number."""
    if is_integer(value):
        return abs(int(value)) <= sys.float_info.max
    return isinstance(value, float | np.floating) and bool(np.isfinite(value))


def is_row(value: Any, least: float = -np.inf) -> bool:
    """Whether this is a one-dimensional array of finite numbers ≥ `least`, not empty.

    >>> is_row([1, 0.5]), is_row([-1.0], least=0), is_row("ndcg")
    (True, False, False)
    """
    try:
        row = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return row.ndim == 1 and row.size > 0 and bool(np.isfinite(row).all() and row.min() >= least)


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
