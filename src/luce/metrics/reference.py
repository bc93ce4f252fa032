"""The value of a metric for one list by its definition: the mean over all orders of equal scores."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from luce.kernels.enumeration import consistent_orders


class RankedLabels(NamedTuple):
    """The labels of one list in one order, with all that a metric may read."""

    labels: list[float]
    retrieved: int
    cutoff: int | None
    linear: bool
    max_grade: float
    p: float = 0.8

    @property
    def top(self) -> list[float]:
        """The labels of the places that count."""
        return self.labels[: self.retrieved][: self.cutoff]

    @property
    def relevant(self) -> int:
        """The number of relevant items."""
        return count_relevant(self.labels)

    def ideal(self) -> "RankedLabels":
        """The same list, all retrieved, from the highest label down."""
        return self._replace(labels=sorted(self.labels, reverse=True), retrieved=len(self.labels))

    def gain(self, label: float) -> float:
        return max(label, 0.0) if self.linear else 2.0 ** max(label, 0.0) - 1


def count_relevant(labels: Sequence[float]) -> int:
    """The number of labels above zero."""
    return sum(label > 0 for label in labels)


def ratio(value: float, divisor: float) -> float:
    """value / divisor; NaN, nothing to measure, where the divisor is 0."""
    return value / divisor if divisor else math.nan


def average_over_orders(
    reference: Callable[[RankedLabels], float],
    scores: Sequence[float],
    labels: Sequence[float],
    cutoff: int | None = None,
    *,
    linear: bool = False,
    max_grade: float = 4.0,
) -> float:
    """The mean of a reference function over every order of the equal scores of a list; NaN = nothing to measure.

    >>> average_over_orders(lambda ranked: ranked.gain(ranked.labels[0]), [1.0, 1.0], [0, 1])
    0.5
    """
    observed = [i for i, label in enumerate(labels) if not math.isnan(label)]
    retrieved = sum(scores[i] > -math.inf for i in observed)
    values = [
        reference(RankedLabels([labels[observed[i]] for i in places], retrieved, cutoff, linear, max_grade))
        for places in consistent_orders([scores[i] for i in observed])
    ]
    return math.fsum(values) / len(values)
