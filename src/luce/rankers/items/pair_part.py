"""Comparisons of two items: counted once, then one term a pair."""

import numpy as np

from luce.arrays import Floats
from luce.kernels.pair_counts import PairCounts, PairSums, count_pairs, pair_product, pair_sums
from luce.rankers.items.observed import Observed
from luce.rankers.items.remembered import Remembered


class PairPart:
    """log P of comparisons under one of the OUTCOMES; `tie` is the number of its tie parameter, if it has one."""

    costly = False

    def __init__(self, counts: PairCounts, n_ties: int, n_jobs: int | None, outcome: str, tie: int = -1):
        self.counts, self.n_ties, self.n_jobs = counts, n_ties, n_jobs
        self.outcome, self.tie = outcome, tie
        self.sums = Remembered(self._sums)
        n = len(counts.starts) - 1
        self.first = np.repeat(np.arange(n), np.diff(counts.starts))
        self.wins = None
        if outcome != "rao-kupper":  # whose ties are no fixed part of a win
            self.wins = np.bincount(self.first, counts.wins + 0.5 * counts.ties, minlength=n)
            self.wins += np.bincount(counts.second, counts.losses + 0.5 * counts.ties, minlength=n)

    def _parameter(self, ties: Floats) -> float:
        return float(ties[self.tie]) if self.tie >= 0 else 0.0

    def _sums(self, scores: Floats, ties: Floats) -> PairSums:
        parameter = self._parameter(ties)
        return pair_sums(self.counts, scores, outcome=self.outcome, parameter=parameter, n_jobs=self.n_jobs)

    def value_and_gradient(self, scores: Floats, ties: Floats) -> tuple[float, Floats, Floats]:
        """The log-likelihood and its gradient in the scores and in the tie parameters."""
        slopes = np.zeros(self.n_ties)
        if self.outcome == "rao-kupper" and self._parameter(ties) <= 0.0:
            return -np.inf, np.zeros(len(scores)), slopes
        sums = self.sums(scores, ties)
        if self.tie >= 0:
            slopes[self.tie] = sums.derivative
        return sums.value, sums.gradient, slopes

    def expected_wins(self, scores: Floats, ties: Floats) -> Floats:
        """How often each item should have won, a tie of Davidson's being half a win."""
        assert self.wins is not None
        return self.wins - self.value_and_gradient(scores, ties)[1]

    def curvature(self, scores: Floats, ties: Floats) -> "PairCurvature":
        """Minus the second derivative."""
        return PairCurvature(self, self.sums(scores, ties))


class PairCurvature:
    """Minus the second derivative of a PairPart at some scores."""

    def __init__(self, part: PairPart, sums: PairSums):
        self.part, self.sums = part, sums

    def product(self, direction: Floats, tie_direction: Floats) -> tuple[Floats, Floats]:
        part, slopes = self.part, np.zeros(self.part.n_ties)
        own = pair_product(part.counts, self.sums.curvature, direction, n_jobs=part.n_jobs)
        if part.tie >= 0:
            along = tie_direction[part.tie]
            own = own + self.sums.border * along
            slopes[part.tie] = float(self.sums.border @ direction) + self.sums.corner * along
        return own, slopes

    def diagonal(self) -> Floats:
        ties = np.zeros(self.part.n_ties)
        if self.part.tie >= 0:
            ties[self.part.tie] = self.sums.corner
        return np.concatenate([self.sums.degree, ties])

    def matrix(self) -> Floats:
        part, n = self.part, len(self.sums.border)
        matrix = np.zeros((n + part.n_ties, n + part.n_ties))
        matrix[part.first, part.counts.second] = -self.sums.curvature
        matrix += matrix.T
        if part.tie >= 0:
            matrix[:n, n + part.tie] = matrix[n + part.tie, :n] = self.sums.border
        matrix[np.diag_indices(len(matrix))] += self.diagonal()
        return matrix


def pair_counts_of(observed: Observed) -> PairCounts:
    """The counts of rankings of two items."""
    return count_pairs(observed.items, observed.places, observed.weights, observed.n_items)


def ghost_counts(n_before: int, n_items: int, wins: float) -> PairCounts:
    """Each of some items, which come after `n_before` others, against one more, the last: so many wins and losses."""
    starts = np.clip(np.arange(n_before + n_items + 2) - n_before, 0, n_items)
    each = np.full(n_items, float(wins))
    return PairCounts(starts, np.full(n_items, n_before + n_items), each, each, np.zeros(n_items))
