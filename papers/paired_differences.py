"""Paired differences with their standard errors, and what they say about a claim."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from luce.arrays import numbers

FEW = 6
"""So many differences are told one by one."""

SURE = 0.95
"""A difference is clear when its interval of this level has one side of zero."""


class Difference(NamedTuple):
    """The mean of paired differences, its standard error (infinite for fewer than two pairs), and how many they are.

    >>> print(Difference(0.0123, 0.004, 200))
    +0.0123 ± 0.0040
    """

    mean: float
    error: float
    n: int

    @property
    def reach(self) -> float:
        """Half of the interval: Student's t for so many pairs, times the error; about two errors if they are many.

        >>> round(Difference(0.0, 0.01, 200).reach, 4), round(Difference(0.0, 0.01, 5).reach, 4)
        (0.0197, 0.0278)
        """
        from scipy import special

        return float(special.stdtrit(self.n - 1, (1 + SURE) / 2) * self.error) if self.n > 1 else np.inf

    def above(self) -> list[bool]:
        """Checks of "the first is above the second": both where that is clear, one where it is only so on average.

        >>> Difference(0.1, 0.01, 9).above(), Difference(0.01, 0.1, 9).above(), Difference(-0.01, 0.1, 9).above()
        ([True, True], [False, True], [False, False])
        """
        return self.not_below(0.0)

    def not_below(self, margin: float) -> list[bool]:
        """Checks of "the first is not below the second by more than a margin": both where that is clear, or one.

        >>> Difference(0.0, 0.001, 9).not_below(0.005), Difference(0.0, 0.1, 9).not_below(0.005)
        ([True, True], [False, True])
        """
        return [self.mean - self.reach > -margin, self.mean > -margin]

    def __str__(self) -> str:
        return f"{self.mean:+.4f} ± {self.error:.4f}".replace("-", "−")


def difference(a: ArrayLike, b: ArrayLike) -> Difference:
    """How far a is above b on average, pair by pair; pairs with a NaN are left out.

    >>> difference([0.5, 0.7, 0.9], [0.4, 0.5, 0.6])
    Difference(mean=0.19..., error=0.057..., n=3)
    """
    a = numbers("a", a)
    apart = a - numbers("b", b, len(a))
    apart = apart[~np.isnan(apart)]
    if len(apart) < 2:
        return Difference(float(apart.mean()) if len(apart) else 0.0, np.inf, len(apart))
    return Difference(float(apart.mean()), float(apart.std(ddof=1) / np.sqrt(len(apart))), len(apart))


def all_of(checks: Iterable[list[bool]]) -> list[bool]:
    """The checks of several differences as those of one claim."""
    return [each for some in checks for each in some]


def told(apart: Mapping[str, Difference]) -> str:
    """Differences in words; of many, how many are clear, and the least and the greatest.

    >>> told({"A over B": Difference(0.1, 0.01, 9), "A over C": Difference(-0.2, 0.3, 9)})
    'A over B +0.1000 ± 0.0100; A over C −0.2000 ± 0.3000'
    """
    if len(apart) <= FEW:
        return "; ".join(f"{name} {one}" for name, one in apart.items())
    ordered = sorted(apart, key=lambda name: apart[name].mean)
    least, greatest = (f"{name}, {apart[name]}" for name in (ordered[0], ordered[-1]))
    above, below = (
        sum(abs(one.mean) > one.reach and one.mean * sign > 0 for one in apart.values()) for sign in (1, -1)
    )
    return (
        f"{above} of {len(apart)} are clearly above zero, {below} below; the least is {least}, the greatest {greatest}"
    )
