"""The log-likelihood of all rankings as a function of scores and tie parameters, put together of parts."""

from typing import Any, Protocol

import numpy as np
from scipy.special import gammaln, logsumexp

from luce.arrays import Floats, Integers, list_of_row
from luce.errors import DataError
from luce.kernels.pair_counts import PairCounts
from luce.rankers.items.choice_part import ChoicePart
from luce.rankers.items.davidson_part import DavidsonPart, written_out
from luce.rankers.items.level_part import LevelPart
from luce.rankers.items.observed import Observed
from luce.rankers.items.pair_part import PairPart, pair_counts_of

TIES = ("exact", "davidson", "rao-kupper", None)
TIE_MODELS = ("davidson", "rao-kupper")
"""Those in which a tie is an outcome, and so links the tied items."""


class Part(Protocol):
    """One kind of observation: its log-likelihood in the scores and tie parameters, and minus its second derivative."""

    costly: bool

    def value_and_gradient(self, scores: Floats, ties: Floats) -> tuple[float, Floats, Floats]: ...

    def curvature(self, scores: Floats, ties: Floats) -> Any: ...


class Likelihood:
    """Σ over the parts. The tie parameters are log δ of each tie order but the lowest, or the margin, or none.

    orders: the sizes of chosen sets that occur (Davidson), else (1,). wins (n_items,): how often each item was chosen,
    where that is known.
    """

    def __init__(self, observed: Observed, ties: str | None, n_jobs: int | None = None):
        self.observed, self.n_jobs, self.n_items = observed, n_jobs, observed.n_items
        self.ties = ties if observed.tied.any() else None
        self.orders = _tie_orders(observed) if self.ties == "davidson" else np.array([1])
        self.n_ties = {"davidson": len(self.orders) - 1, "rao-kupper": 1}.get(self.ties or "", 0)
        self.parts: list[Any] = self._made_parts(ties)

    def of(self, observed: Observed, asked: str | None) -> "Likelihood":
        """The same model of ties for other rankings, with the same tie orders."""
        if asked is None and observed.tied.any():
            raise DataError("This model takes no ties (ties=None), but the rankings have some.")
        other = object.__new__(Likelihood)
        other.__dict__.update(self.__dict__, observed=observed, n_items=observed.n_items)
        if asked == "davidson" and self.ties is None:
            other.ties = asked  # ties that never occurred have probability 0
        elif asked == "exact":
            other.ties = asked
        other.parts = other._made_parts(asked)
        return other

    def _made_parts(self, asked: str | None) -> list[Any]:
        seen = self.observed
        pairs = (seen.sizes == 2) & (seen.pool < 0)
        if asked == "rao-kupper" and not pairs.all():
            q = int(np.flatnonzero(~pairs)[0])
            raise DataError(
                f"ties='rao-kupper' takes comparisons of two items. Ranking {q} has {seen.sizes[q]}"
                f"{' and a pool' if seen.pool[q] >= 0 else ''}. Use ties='davidson' or ties='exact'."
            )
        tied = seen.tied
        counted = pairs & ~tied if self.ties == "exact" else pairs
        parts: list[Any] = []
        if counted.any():
            parts.append(self.pair_part(pair_counts_of(seen.take(np.flatnonzero(counted)))))
        if self.ties == "davidson":
            rest = seen.take(np.flatnonzero(~pairs))
            return [*parts, DavidsonPart(rest, self.orders, self.n_jobs)] if rest.n_rankings else parts
        several = (seen.levels > 1) | (seen.pool >= 0)  # one level in unknown order says nothing
        strict, levels = (seen.take(np.flatnonzero(~pairs & several & flag)) for flag in (~tied, tied))
        if strict.n_rankings:
            parts.append(ChoicePart(strict, self.n_ties, self.n_jobs))
        if levels.n_rankings:
            parts.append(LevelPart(levels, self.n_ties, self.n_jobs))
        return parts

    def pair_part(self, counts: PairCounts) -> PairPart:
        """Comparisons of two under the model of ties."""
        if self.ties == "rao-kupper":
            return PairPart(counts, self.n_ties, self.n_jobs, "rao-kupper", 0)
        if self.ties == "davidson" and self.orders[:2].tolist() == [1, 2]:
            return PairPart(counts, self.n_ties, self.n_jobs, "davidson", 0)
        return PairPart(counts, self.n_ties, self.n_jobs, "bradley-terry")

    @property
    def tie_names(self) -> list[str]:
        """What the tie parameters are called: tie2, tie3, … as R has them, or margin."""
        return ["margin"] if self.ties == "rao-kupper" else [f"tie{order}" for order in self.orders[1:]]

    def start_of_ties(self) -> Floats:
        """Tie parameters with which items of equal worth tie about as often as they did."""
        seen = self.observed
        if self.ties == "rao-kupper":
            share = float(seen.weights @ seen.tied / seen.weights.sum())
            return np.array([np.log1p(share) - np.log1p(-min(share, 0.99))])
        if self.ties != "davidson":
            return np.zeros(0)
        size, left, weight = _choices(written_out(seen))
        ways = [_log_ways(left, int(order), weight) for order in self.orders]
        counts = [float(weight[size == order].sum()) for order in self.orders]
        logs = np.log(counts) - ways
        return logs[1:] - logs[0]

    def value_and_gradient(self, scores: Floats, ties: Floats) -> tuple[float, Floats, Floats]:
        """The log-likelihood and its gradient in the scores (n_items,) and in the tie parameters (T,)."""
        value, gradient, slopes = 0.0, np.zeros(len(scores)), np.zeros(self.n_ties)
        for part in self.parts:
            own = part.value_and_gradient(scores, ties)
            value, gradient, slopes = value + own[0], gradient + own[1], slopes + own[2]
        return value, gradient, slopes

    def curvature(self, scores: Floats, ties: Floats) -> "LikelihoodCurvature":
        """Minus the second derivative at some point."""
        return LikelihoodCurvature([part.curvature(scores, ties) for part in self.parts], len(scores))


class LikelihoodCurvature:
    """Σ of minus the second derivatives of parts, over the scores and then the tie parameters."""

    def __init__(self, parts: list[Any], n_items: int):
        self.parts, self.n_items = parts, n_items

    def product(self, direction: Floats) -> Floats:
        total = np.zeros(len(direction))
        for part in self.parts:
            total += np.concatenate(part.product(direction[: self.n_items], direction[self.n_items :]))
        return total

    def diagonal(self) -> Floats:
        return np.sum([part.diagonal() for part in self.parts], axis=0)

    def matrix(self) -> Floats:
        return np.sum([part.matrix() for part in self.parts], axis=0)


def _choices(seen: Observed) -> tuple[Integers, Integers, Floats]:
    """Of each choice: how many items were chosen, from how many, and the weight of its ranking."""
    q = list_of_row(seen.offsets)
    begins = np.flatnonzero(np.concatenate([[True], (q[1:] != q[:-1]) | (seen.places[1:] != seen.places[:-1])]))
    size = np.diff(np.append(begins, len(q)))
    left = seen.offsets[1:][q[begins]] - begins
    chosen = (left > 1) & (seen.places[begins] < seen.n_choices[q[begins]])
    return size[chosen], left[chosen], seen.weights[q[begins]][chosen]


def _tie_orders(observed: Observed) -> Integers:
    """The sizes of chosen sets that occur, rising. What is left of a pool was there to choose from too."""
    q = list_of_row(observed.offsets)
    begins = np.concatenate([[True], (q[1:] != q[:-1]) | (observed.places[1:] != observed.places[:-1])])
    size = np.diff(np.append(np.flatnonzero(begins), len(q)))
    return np.unique(size[observed.places[begins] < observed.n_choices[q[begins]]])


def _log_ways(left: Integers, order: int, weight: Floats) -> float:
    """log Σ w C(left, order)."""
    possible = left >= order
    n = left[possible].astype(np.float64)
    logs = gammaln(n + 1) - gammaln(order + 1) - gammaln(n - order + 1)
    return float(logsumexp(logs, b=weight[possible]))
