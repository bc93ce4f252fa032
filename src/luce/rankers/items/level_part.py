"""Rankings in which the order inside a level is unknown: the exact partition likelihood, row by row."""

from functools import cached_property

import numpy as np

from luce.arrays import Floats, Integers, list_of_row, offsets_of_sizes
from luce.kernels.partition_curvature import partition_hessian, partition_product
from luce.kernels.partition_likelihood import partition_likelihood
from luce.kernels.ranked_choices import NARROW, pool_rests, spread_over_rests
from luce.lists import Lists
from luce.rankers.items.observed import Observed, by_item

TOLERANCE = 1e-12


class LevelPart:
    """log P of ordered levels; what is left of a pool is one more row, the log of its worth.

    `multipliers` (Q,) stretch the scores of whole rankings (ranker adherence); pools must be written out then.
    """

    costly = True  # its products: an integral for every tie

    def __init__(self, observed: Observed, n_ties: int, n_jobs: int | None, multipliers: Floats | None = None):
        self.observed, self.n_ties, self.n_jobs = observed, n_ties, n_jobs
        self.multipliers = multipliers
        pooled = observed.pool >= 0
        self.n_items = observed.n_items
        self.offsets = offsets_of_sizes(observed.sizes + pooled)
        self.rest_rows = self.offsets[1:][pooled] - 1
        self.rankings = np.flatnonzero(pooled)
        is_rest = np.zeros(self.offsets[-1], bool)
        is_rest[self.rest_rows] = True
        self.named = ~is_rest if pooled.any() else slice(None)
        self.items = np.zeros(self.offsets[-1], np.int64)
        self.places = np.empty(self.offsets[-1], np.int64)
        self.items[self.named], self.places[self.named] = observed.items, observed.places
        self.places[self.rest_rows] = observed.levels[pooled]
        self.labels = -self.places.astype(np.float64)
        self.weights = observed.weights
        self.row_weights = np.repeat(self.weights, np.diff(self.offsets))
        self.stretch = 1.0 if multipliers is None else np.repeat(multipliers, np.diff(self.offsets))

    @cached_property
    def written_out(self) -> "LevelPart":
        return LevelPart(self.observed.written_out(), self.n_ties, self.n_jobs)

    def too_wide(self, scores: Floats) -> bool:
        """Whether pools must be written out: worths so far apart lose the rest of a pool."""
        return len(self.rest_rows) > 0 and bool(np.ptp(scores) > NARROW)

    def rows(self, scores: Floats) -> tuple[Floats, Floats]:
        """The score of each row, and the worth of what is left of each ranking's pool (Q,)."""
        rows = self.stretch * scores[self.items]
        rest = np.zeros(len(self.weights))
        if len(self.rest_rows):
            rest = pool_rests(self.observed.choices_of_rows(), scores, n_jobs=self.n_jobs)[0]
            rows[self.rest_rows] = np.log(rest[self.rankings]) + scores.max()
        return rows, rest

    def log_probabilities(self, scores: Floats, ties: Floats) -> tuple[Floats, Floats]:
        """log P of each ranking (Q,), and its gradient in the score of each row."""
        lists = Lists(self.rows(scores)[0], self.labels, self.offsets, n_jobs=self.n_jobs)
        found = partition_likelihood(lists, TOLERANCE)
        return -found.loss, -found.gradient

    def to_items(self, scores: Floats, rest: Floats, rows: Floats) -> Floats:
        """What belongs to rows summed by item, that of the rests shared out."""
        total = by_item(self.items[self.named], (self.stretch * rows)[self.named], self.n_items)
        if len(self.rest_rows):
            amounts = np.zeros(len(self.weights))
            amounts[self.rankings] = rows[self.rest_rows]
            total = total + spread_over_rests(self.observed.choices_of_rows(), scores, rest, amounts)
        return total

    def value_and_gradient(self, scores: Floats, ties: Floats) -> tuple[float, Floats, Floats]:
        """The log-likelihood and its gradient in the scores and in the tie parameters."""
        if self.too_wide(scores):
            return self.written_out.value_and_gradient(scores, ties)
        log_p, gradient = self.log_probabilities(scores, ties)
        rest = self.rows(scores)[1]
        value = float(self.weights @ log_p)
        return value, self.to_items(scores, rest, self.row_weights * gradient), np.zeros(self.n_ties)

    def curvature(self, scores: Floats, ties: Floats) -> "LevelCurvature":
        """Minus the second derivative."""
        if self.too_wide(scores):
            return self.written_out.curvature(scores, ties)
        return LevelCurvature(self, scores)


class LevelCurvature:
    """Minus the second derivative of a LevelPart at some scores."""

    def __init__(self, part: LevelPart, scores: Floats):
        self.part, self.scores = part, scores
        self.rows, self.rest = part.rows(scores)
        self.pushed = -part.row_weights * part.log_probabilities(scores, np.zeros(0))[1]

    def product(self, direction: Floats, tie_direction: Floats) -> tuple[Floats, Floats]:
        part = self.part
        along = part.stretch * direction[part.items]
        pooled = part.observed.choices_of_rows()
        if len(part.rest_rows):
            drift = pool_rests(pooled, self.scores, direction, n_jobs=part.n_jobs)[1]
            along[part.rest_rows] = drift[part.rankings]
        turned = partition_product(self.rows, part.places, part.offsets, part.weights, along, n_jobs=part.n_jobs)
        result = part.to_items(self.scores, self.rest, turned)
        if len(part.rest_rows):
            # The log of a rest's worth is curved itself: its slope times (diag π − π πᵀ).
            amounts = np.zeros(len(part.weights))
            amounts[part.rankings] = self.pushed[part.rest_rows]
            result = result + direction * spread_over_rests(pooled, self.scores, self.rest, amounts)
            result = result - spread_over_rests(pooled, self.scores, self.rest, amounts * drift)
        return result, np.zeros(part.n_ties)

    def diagonal(self) -> Floats:
        """A stand-in that is quick and never too small: how hard each item is pushed, up or down."""
        pushed = self.part.to_items(self.scores, self.rest, np.abs(self.pushed)) * _largest(self.part.stretch)
        return np.concatenate([pushed, np.zeros(self.part.n_ties)])

    def matrix(self) -> Floats:
        part, n = self.part, self.part.n_items
        pooled = part.observed.choices_of_rows()
        worth = np.exp(self.scores - self.scores.max())
        coordinates = part.items.copy()
        coordinates[part.rest_rows] = n + part.observed.pool[part.rankings]
        weights = part.weights if part.multipliers is None else part.weights * part.multipliers**2
        extended = partition_hessian(
            self.rows,
            part.places,
            part.offsets,
            weights,
            coordinates,
            self.rest,
            worth[part.items],
            n + pooled.n_pools,
            n_jobs=part.n_jobs,
        )
        if len(part.rest_rows):
            extended = self._with_curved_rests(extended, worth)
        lower = np.zeros((pooled.n_pools, n))
        for p in range(pooled.n_pools):
            members = pooled.pool_items[pooled.pool_offsets[p] : pooled.pool_offsets[p + 1]]
            lower[p, members] = worth[members]
        cross = extended[:n, n:] @ lower
        matrix = extended[:n, :n] + cross + cross.T + lower.T @ extended[n:, n:] @ lower
        if len(part.rest_rows):
            amounts = np.zeros(len(part.weights))
            amounts[part.rankings] = self.pushed[part.rest_rows]
            matrix[np.diag_indices(n)] += spread_over_rests(pooled, self.scores, self.rest, amounts)
        return np.pad(matrix, (0, part.n_ties))

    def _with_curved_rests(self, extended: Floats, worth: Floats) -> Floats:
        """Less the slope of each rest's log worth times π πᵀ, π the pool less the rows of the ranking."""
        from scipy import sparse

        part, n = self.part, self.part.n_items
        seen = part.observed
        q = list_of_row(seen.offsets)
        rows = np.flatnonzero(seen.pool[q] >= 0)
        columns: Integers = np.concatenate([seen.items[rows], n + seen.pool[part.rankings]])
        values = np.concatenate([-worth[seen.items[rows]], np.ones(len(part.rankings))])
        where = np.concatenate([q[rows], part.rankings])
        shares = sparse.csr_array((values, (where, columns)), shape=(len(part.weights), len(extended)))
        scale = np.zeros(len(part.weights))
        scale[part.rankings] = self.pushed[part.rest_rows] / self.rest[part.rankings] ** 2
        return extended - np.asarray((shares.T @ sparse.diags_array(scale) @ shares).todense())


def _largest(stretch: Floats | float) -> float:
    return float(np.max(stretch))
