"""Rankings with ties as outcomes of their own: the Davidson-Luce likelihood, row by row."""

import numpy as np

from luce.arrays import Floats, Integers
from luce.errors import OptionError
from luce.kernels.davidson_ties import TiedRankings, davidson_hessian, davidson_product, davidson_ties
from luce.rankers.items.observed import Observed, by_item

MOST_ROWS = 200_000_000
"""Rows up to which pools are written out, as ties among all of their items need it."""


class DavidsonPart:
    """log P under Davidson-Luce: tie orders (T+1,), the prevalence of the lowest is 1, the others are parameters."""

    costly = True  # its products: sums over all subsets

    def __init__(self, observed: Observed, orders: Integers, n_jobs: int | None, multipliers: Floats | None = None):
        self.observed, self.n_jobs, self.n_ties = written_out(observed), n_jobs, len(orders) - 1
        seen = self.observed
        self.rankings = TiedRankings(seen.places, seen.offsets, seen.open_end, orders)
        self.items, self.weights = seen.items, seen.weights
        self.row_weights = np.repeat(seen.weights, seen.sizes)
        self.multipliers = multipliers
        self.stretch = 1.0 if multipliers is None else np.repeat(multipliers, seen.sizes)
        self.wins = by_item(self.items, self.row_weights * _of_the_chosen(seen), seen.n_items)

    def log_probabilities(self, scores: Floats, ties: Floats) -> tuple[Floats, Floats, Floats]:
        """log P of each ranking (Q,), its gradient in the score of each row, and in the tie parameters (Q, T)."""
        log_p, rows, slopes = davidson_ties(
            self.rankings, self.stretch * scores[self.items], log_deltas(ties), n_jobs=self.n_jobs
        )
        return log_p, rows, slopes[:, 1:]

    def value_and_gradient(self, scores: Floats, ties: Floats) -> tuple[float, Floats, Floats]:
        """The log-likelihood and its gradient in the scores and in the tie parameters."""
        log_p, rows, slopes = self.log_probabilities(scores, ties)
        gradient = by_item(self.items, self.row_weights * self.stretch * rows, len(scores))
        return float(self.weights @ log_p), gradient, self.weights @ slopes

    def expected_wins(self, scores: Floats, ties: Floats) -> Floats:
        """How often each item should have been chosen, a tie of t items being one t-th for each."""
        return self.wins - self.value_and_gradient(scores, ties)[1]

    def curvature(self, scores: Floats, ties: Floats) -> "DavidsonCurvature":
        """Minus the second derivative."""
        return DavidsonCurvature(self, scores, ties)


class DavidsonCurvature:
    """Minus the second derivative of a DavidsonPart at some scores."""

    def __init__(self, part: DavidsonPart, scores: Floats, ties: Floats):
        self.part, self.n_items = part, len(scores)
        self.rows, self.log_delta = part.stretch * scores[part.items], log_deltas(ties)

    def product(self, direction: Floats, tie_direction: Floats) -> tuple[Floats, Floats]:
        part = self.part
        along = part.stretch * direction[part.items]
        given = part.rankings, part.weights, self.rows, self.log_delta, along, log_deltas(tie_direction)
        rows, slopes = davidson_product(*given, n_jobs=part.n_jobs)
        return by_item(part.items, part.stretch * rows, self.n_items), slopes[1:]

    def diagonal(self) -> Floats:
        """A stand-in that is quick: the variance that chances of half would have."""
        part = self.part
        pushed = by_item(part.items, part.row_weights * part.stretch**2, self.n_items)
        return np.concatenate([0.25 * pushed, np.full(part.n_ties, 0.25 * float(part.weights.sum()))])

    def matrix(self) -> Floats:
        part = self.part
        own = (part.rankings, part.items, part.weights, self.rows, self.log_delta, self.n_items)
        if part.multipliers is not None:
            return _by_products(self, self.n_items + part.n_ties, self.n_items)
        whole = davidson_hessian(*own, n_jobs=part.n_jobs)
        kept = np.delete(np.arange(len(whole)), self.n_items)  # the prevalence of the lowest order is no parameter
        return whole[np.ix_(kept, kept)]


def _by_products(here: DavidsonCurvature, size: int, n_items: int) -> Floats:
    columns = [np.concatenate(here.product(unit[:n_items], unit[n_items:])) for unit in np.eye(size)]
    return np.stack(columns, axis=1)


def log_deltas(ties: Floats) -> Floats:
    """log δ of every order, from those of all but the lowest."""
    return np.concatenate([[0.0], ties])


def written_out(observed: Observed) -> Observed:
    """Pools written out, unless that is too much."""
    pool_sizes = np.append(np.diff(observed.pool_offsets), 0)  # the last is read by −1
    rows = int(pool_sizes[observed.pool].sum())
    if rows > MOST_ROWS:
        raise OptionError(
            f"ties='davidson' writes out what lies below each ranking, {rows:,} rows here; up to {MOST_ROWS:,} are "
            "taken. Use ties='exact', which needs the worth of a pool alone."
        )
    return observed.written_out()


def _of_the_chosen(seen: Observed) -> Floats:
    """One over the size of its level for each row that was chosen, 0 for the others."""
    q = np.repeat(np.arange(seen.n_rankings), seen.sizes)
    level = np.cumsum(np.concatenate([[True], (q[1:] != q[:-1]) | (seen.places[1:] != seen.places[:-1])])) - 1
    size = np.bincount(level)[level]
    in_turn = seen.places < seen.n_choices[q]
    return np.where(in_turn, 1.0 / size, 0.0)
