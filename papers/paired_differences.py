"""Paired differences with standard errors, and the checks of a claim that they give."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from luce.arrays import as_floats

MAX_LISTED = 6
"""More differences than this are summarized instead of listed."""

CONFIDENCE = 0.95
"""The level of the interval: a difference is clear if its interval excludes zero."""


class Difference(NamedTuple):
    """The mean of paired differences, its standard error (infinite for fewer than two pairs), and the number of pairs.

    >>> print(Difference(0.0123, 0.004, 200))
    +0.0123 ± 0.0040
    """

    mean: float
    error: float
    n: int

    @property
    def half_width(self) -> float:
        """Half the width of the interval: the quantile of Student's t for this number of pairs, times the error.

        >>> round(Difference(0.0, 0.01, 200).half_width, 4), round(Difference(0.0, 0.01, 5).half_width, 4)
        (0.0197, 0.0278)
        """
        from scipy import special

        return float(special.stdtrit(self.n - 1, (1 + CONFIDENCE) / 2) * self.error) if self.n > 1 else np.inf

    def above(self) -> list[bool]:
        """Two checks of "the first is above the second": the interval is above zero; the mean is.

        >>> Difference(0.1, 0.01, 9).above(), Difference(0.01, 0.1, 9).above(), Difference(-0.01, 0.1, 9).above()
        ([True, True], [False, True], [False, False])
        """
        return self.not_below(0.0)

    def not_below(self, margin: float) -> list[bool]:
        """Two checks of "the first is at most a margin below the second": the interval is; the mean is.

        >>> Difference(0.0, 0.001, 9).not_below(0.005), Difference(0.0, 0.1, 9).not_below(0.005)
        ([True, True], [False, True])
        """
        return [self.mean - self.half_width > -margin, self.mean > -margin]

    def __str__(self) -> str:
        return f"{self.mean:+.4f} ± {self.error:.4f}".replace("-", "−")


def difference(a: ArrayLike, b: ArrayLike) -> Difference:
    """The mean of a − b over pairs without a NaN.

    >>> difference([0.5, 0.7, 0.9], [0.4, 0.5, 0.6])
    Difference(mean=0.19..., error=0.057..., n=3)
    """
    a = as_floats("a", a)
    values = a - as_floats("b", b, len(a))
    values = values[~np.isnan(values)]
    if len(values) < 2:
        return Difference(float(values.mean()) if len(values) else 0.0, np.inf, len(values))
    return Difference(float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))), len(values))


def all_above(differences: Iterable[Difference]) -> list[bool]:
    """The checks of a claim that every one of several differences is above zero."""
    return [check for each in differences for check in each.above()]


def describe(differences: Mapping[str, Difference]) -> str:
    """A few differences listed; of many, how many are clear, and the smallest and the largest.

    >>> describe({"A over B": Difference(0.1, 0.01, 9), "A over C": Difference(-0.2, 0.3, 9)})
    'A over B +0.1000 ± 0.0100; A over C −0.2000 ± 0.3000'
    """
    if len(differences) <= MAX_LISTED:
        return "; ".join(f"{name} {each}" for name, each in differences.items())
    ordered = sorted(differences, key=lambda name: differences[name].mean)
    smallest, largest = (f"{name}, {differences[name]}" for name in (ordered[0], ordered[-1]))
    above, below = (
        sum(abs(each.mean) > each.half_width and each.mean * sign > 0 for each in differences.values())
        for sign in (1, -1)
    )
    return (
        f"{above} of {len(differences)} are clearly above zero, {below} below; "
        f"the smallest is {smallest}, the largest {largest}"
    )
