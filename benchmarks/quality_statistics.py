"""Means of NDCG@10 and of paired differences, with standard errors over lists and rotations."""

import math
from typing import NamedTuple

import numpy as np

Results = dict[str, dict[str, np.ndarray]]
"""The values (lists, rotations) by dataset and system; NaN for a list without a relevant item."""
MEAN = "mean"
"""What the mean over datasets is called beside their names."""


class Estimate(NamedTuple):
    """A mean and its standard error."""

    mean: float
    standard_error: float

    @property
    def word(self) -> str:
        """Of a difference: whether it is beyond two standard errors.

        >>> [Estimate(x, 1).word for x in (2.5, -1, -2.5)]
        ['ahead', 'level', 'behind']
        """
        if abs(self.mean) <= 2 * self.standard_error:
            return "level"
        return "ahead" if self.mean > 0 else "behind"


def crossed(values: np.ndarray) -> Estimate:
    """The mean of values (lists, rotations), where both the lists and the rotations are samples.

    A rotation is a new carving of the data and a new training seed. The squared standard error is

        variance of the list means / lists + variance of the rotation means / rotations.

    Each term also contains the variance of a single value (the interaction, and all that training makes random), so
    that this is counted twice: the error is overestimated rather than underestimated. With one rotation only the
    first term is left. Lists with a NaN are left out.

    >>> crossed(np.array([[1.0, 3], [3, 5], [np.nan, np.nan]]))  # 2 / 2 + 2 / 2
    Estimate(mean=3.0, standard_error=1.4142135623730951)
    """
    values = values[~np.isnan(values).any(axis=1)]
    terms = [means.var(ddof=1) / len(means) for means in (values.mean(axis=1), values.mean(axis=0)) if len(means) > 1]
    return Estimate(float(values.mean()), math.sqrt(sum(terms)))


def over_datasets(estimates: list[Estimate]) -> Estimate:
    """The unweighted mean over datasets, whose errors are independent.

    >>> over_datasets([Estimate(1.0, 3.0), Estimate(2.0, 4.0)])
    Estimate(mean=1.5, standard_error=2.5)
    """
    error = math.hypot(*(one.standard_error for one in estimates)) / len(estimates)
    return Estimate(sum(one.mean for one in estimates) / len(estimates), error)


def estimates(results: Results, system: str, other: str | None = None) -> dict[str, Estimate]:
    """100 × NDCG@10 of a system, or its paired difference to another, for each dataset and for their mean."""
    each = {
        name: crossed(100 * (values[system] - (0.0 if other is None else values[other])))
        for name, values in results.items()
    }
    return {**each, MEAN: over_datasets(list(each.values()))}


def better(results: Results, systems: list[str]) -> str:
    """The system with the highest mean over datasets."""
    return max(systems, key=lambda name: estimates(results, name)[MEAN].mean)
