"""Terms of the log-likelihood for rankings with ties, row by row: order unknown, or Davidson-Luce."""

from functools import cached_property

import numpy as np
from scipy import sparse

from luce.aggregation.observed import ObservedRankings, by_item
from luce.arrays import Floats, Integers, list_of_row, offsets_of_sizes
from luce.kernels.davidson_ties import TiedRankings, davidson_hessian, davidson_product, davidson_ties
from luce.kernels.partition_curvature import partition_hessian, partition_product
from luce.kernels.partition_likelihood import level_likelihood
from luce.kernels.ranked_choices import NARROW, pool_rests, spread_over_rests

TOLERANCE = 1e-12


class PartitionTerm:
    """log P of ordered levels; what is left of a pool is one more row, the log of its worth."""

    costly = True  # its products: an integral for every tie

    def __init__(self, observed: ObservedRankings, n_ties: int, n_jobs: int | None):
        self.observed, self.n_ties, self.n_jobs = observed, n_ties, n_jobs
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
        self.places[self.rest_rows] = observed.n_levels[pooled]
        self.weights = observed.weights
        self.row_weights = np.repeat(self.weights, np.diff(self.offsets))

    @cached_property
    def expanded(self) -> "PartitionTerm":
        """The same with the items of pools row by row."""
        return PartitionTerm(self.observed.expand_pools(), self.n_ties, self.n_jobs)

    def too_wide(self, scores: Floats) -> bool:
        """Whether pools must be expanded: with worths so far apart the rest of a pool is lost in rounding."""
        return len(self.rest_rows) > 0 and bool(np.ptp(scores) > NARROW)

    def rows(self, scores: Floats) -> tuple[Floats, Floats]:
        """The score of each row, and the worth of what is left of each ranking's pool (Q,)."""
        rows = scores[self.items]
        rest = np.zeros(len(self.weights))
        if len(self.rest_rows):
            rest = pool_rests(self.observed.choices_of_rows(), scores, n_jobs=self.n_jobs)[0]
            rows[self.rest_rows] = np.log(rest[self.rankings]) + scores.max()
        return rows, rest

    def log_probabilities(self, scores: Floats, ties: Floats) -> tuple[Floats, Floats]:
        """log P of each ranking (Q,), and its gradient in the score of each row."""
        rows = self.rows(scores)[0]
        loss, gradient = level_likelihood(rows, self.places, self.offsets, TOLERANCE, n_jobs=self.n_jobs)
        return -loss, -gradient

    def to_items(self, scores: Floats, rest: Floats, rows: Floats) -> Floats:
        """The sums by item of values of rows; the value of a rest is shared out over its items by worth."""
        total = by_item(self.items[self.named], rows[self.named], self.n_items)
        if len(self.rest_rows):
            amounts = np.zeros(len(self.weights))
            amounts[self.rankings] = rows[self.rest_rows]
            total = total + spread_over_rests(self.observed.choices_of_rows(), scores, rest, amounts)
        return total

    def value_and_gradient(self, scores: Floats, ties: Floats) -> tuple[float, Floats, Floats]:
        """The log-likelihood and its gradient in the scores and in the tie parameters."""
        if self.too_wide(scores):
            return self.expanded.value_and_gradient(scores, ties)
        log_p, gradient = self.log_probabilities(scores, ties)
        rest = self.rows(scores)[1]
        value = float(self.weights @ log_p)
        return value, self.to_items(scores, rest, self.row_weights * gradient), np.zeros(self.n_ties)

    def information(self, scores: Floats, ties: Floats) -> "PartitionInformation":
        """Minus the second derivative."""
        if self.too_wide(scores):
            return self.expanded.information(scores, ties)
        return PartitionInformation(self, scores)


class PartitionInformation:
    """Minus the second derivative of a PartitionTerm at some scores."""

    def __init__(self, term: PartitionTerm, scores: Floats):
        self.term, self.scores = term, scores
        self.rows, self.rest = term.rows(scores)
        self.row_gradient = -term.row_weights * term.log_probabilities(scores, np.zeros(0))[1]

    def product(self, direction: Floats, tie_direction: Floats) -> tuple[Floats, Floats]:
        term = self.term
        along = direction[term.items]
        pooled = term.observed.choices_of_rows()
        if len(term.rest_rows):
            drift = pool_rests(pooled, self.scores, direction, n_jobs=term.n_jobs)[1]
            along[term.rest_rows] = drift[term.rankings]
        turned = partition_product(self.rows, term.places, term.offsets, term.weights, along, n_jobs=term.n_jobs)
        result = term.to_items(self.scores, self.rest, turned)
        if len(term.rest_rows):
            # The log of a rest's worth has a second derivative of its own: times its gradient, diag π − π πᵀ.
            amounts = np.zeros(len(term.weights))
            amounts[term.rankings] = self.row_gradient[term.rest_rows]
            result = result + direction * spread_over_rests(pooled, self.scores, self.rest, amounts)
            result = result - spread_over_rests(pooled, self.scores, self.rest, amounts * drift)
        return result, np.zeros(term.n_ties)

    def diagonal(self) -> Floats:
        """A quick bound from above: the absolute gradients of the rows of each item, summed."""
        bound = self.term.to_items(self.scores, self.rest, np.abs(self.row_gradient))
        return np.concatenate([bound, np.zeros(self.term.n_ties)])

    def matrix(self) -> Floats:
        term, n = self.term, self.term.n_items
        pooled = term.observed.choices_of_rows()
        worth = np.exp(self.scores - self.scores.max())
        coordinates = term.items.copy()
        coordinates[term.rest_rows] = n + term.observed.pool[term.rankings]
        extended = partition_hessian(
            self.rows,
            term.places,
            term.offsets,
            term.weights,
            coordinates,
            self.rest,
            worth[term.items],
            n + pooled.n_pools,
            n_jobs=term.n_jobs,
        )
        if len(term.rest_rows):
            extended = self._with_rests(extended, worth)
        lower = np.zeros((pooled.n_pools, n))
        for p in range(pooled.n_pools):
            members = pooled.pool_items[pooled.pool_offsets[p] : pooled.pool_offsets[p + 1]]
            lower[p, members] = worth[members]
        cross = extended[:n, n:] @ lower
        matrix = extended[:n, :n] + cross + cross.T + lower.T @ extended[n:, n:] @ lower
        if len(term.rest_rows):
            amounts = np.zeros(len(term.weights))
            amounts[term.rankings] = self.row_gradient[term.rest_rows]
            matrix[np.diag_indices(n)] += spread_over_rests(pooled, self.scores, self.rest, amounts)
        return np.pad(matrix, (0, term.n_ties))

    def gathered(self, items: Integers, scale: Floats, n_items: int) -> Floats:
        """The matrix in the scores of items of which these are multiples, the same in a ranking; without pools."""
        term = self.term
        weights = term.weights * scale[term.items[term.offsets[:-1]]] ** 2
        rows = self.rows, term.places, term.offsets, weights, items[term.items], self.rest, np.ones(len(self.rows))
        return partition_hessian(*rows, n_items, n_jobs=term.n_jobs)

    def _with_rests(self, extended: Floats, worth: Floats) -> Floats:
        """Less the gradient of each rest's log worth times π πᵀ, π the pool less the rows of the ranking."""
        term, n = self.term, self.term.n_items
        seen = term.observed
        q = list_of_row(seen.offsets)
        rows = np.flatnonzero(seen.pool[q] >= 0)
        columns: Integers = np.concatenate([seen.items[rows], n + seen.pool[term.rankings]])
        values = np.concatenate([-worth[seen.items[rows]], np.ones(len(term.rankings))])
        where = np.concatenate([q[rows], term.rankings])
        shares = sparse.csr_array((values, (where, columns)), shape=(len(term.weights), len(extended)))
        scale = np.zeros(len(term.weights))
        scale[term.rankings] = self.row_gradient[term.rest_rows] / self.rest[term.rankings] ** 2
        return extended - np.asarray((shares.T @ sparse.diags_array(scale) @ shares).todense())


class DavidsonTerm:
    """log P under Davidson-Luce: tie orders (T+1,), the prevalence of the lowest is 1, the others are parameters."""

    costly = True  # its products: sums over all subsets

    def __init__(self, observed: ObservedRankings, orders: Integers, n_jobs: int | None):
        self.observed, self.n_jobs, self.n_ties = observed.expand_pools(), n_jobs, len(orders) - 1
        seen = self.observed
        self.rankings = TiedRankings(seen.places, seen.offsets, seen.open_end, orders)
        self.items, self.weights = seen.items, seen.weights
        self.row_weights = np.repeat(seen.weights, seen.sizes)
        self.wins = by_item(self.items, self.row_weights * _win_shares(seen), seen.n_items)

    def log_probabilities(self, scores: Floats, ties: Floats) -> tuple[Floats, Floats, Floats]:
        """log P of each ranking (Q,), its gradient in the score of each row, and in the tie parameters (Q, T)."""
        log_p, rows, tie_gradient = davidson_ties(
            self.rankings, scores[self.items], log_deltas(ties), n_jobs=self.n_jobs
        )
        return log_p, rows, tie_gradient[:, 1:]

    def value_and_gradient(self, scores: Floats, ties: Floats) -> tuple[float, Floats, Floats]:
        """The log-likelihood and its gradient in the scores and in the tie parameters."""
        log_p, rows, tie_gradient = self.log_probabilities(scores, ties)
        gradient = by_item(self.items, self.row_weights * rows, len(scores))
        return float(self.weights @ log_p), gradient, self.weights @ tie_gradient

    def information(self, scores: Floats, ties: Floats) -> "DavidsonInformation":
        """Minus the second derivative."""
        return DavidsonInformation(self, scores, ties)


class DavidsonInformation:
    """Minus the second derivative of a DavidsonTerm at some scores."""

    def __init__(self, term: DavidsonTerm, scores: Floats, ties: Floats):
        self.term, self.n_items = term, len(scores)
        self.rows, self.log_delta = scores[term.items], log_deltas(ties)

    def product(self, direction: Floats, tie_direction: Floats) -> tuple[Floats, Floats]:
        term = self.term
        along = direction[term.items]
        given = term.rankings, term.weights, self.rows, self.log_delta, along, log_deltas(tie_direction)
        rows, tie_gradient = davidson_product(*given, n_jobs=term.n_jobs)
        return by_item(term.items, rows, self.n_items), tie_gradient[1:]

    def diagonal(self) -> Floats:
        """A quick approximation: the variance that probabilities of ½ would have."""
        term = self.term
        weight = by_item(term.items, term.row_weights, self.n_items)
        return np.concatenate([0.25 * weight, np.full(term.n_ties, 0.25 * float(term.weights.sum()))])

    def matrix(self) -> Floats:
        whole = self._hessian(self.term.items, self.term.weights, self.n_items)
        kept = np.delete(np.arange(len(whole)), self.n_items)  # the prevalence of the lowest order is no parameter
        return whole[np.ix_(kept, kept)]

    def gathered(self, items: Integers, scale: Floats, n_items: int) -> Floats:
        """The matrix in the scores of items of which these are multiples, the same in a ranking; without ties."""
        term = self.term
        weights = term.weights * scale[term.items[term.rankings.offsets[:-1]]] ** 2
        return self._hessian(items[term.items], weights, n_items)[:n_items, :n_items]

    def _hessian(self, items: Integers, weights: Floats, n_items: int) -> Floats:
        term = self.term
        own = term.rankings, items, weights, self.rows, self.log_delta, n_items
        return davidson_hessian(*own, n_jobs=term.n_jobs)


def log_deltas(ties: Floats) -> Floats:
    """log δ of every order, from those of all but the lowest."""
    return np.concatenate([[0.0], ties])


def _win_shares(seen: ObservedRankings) -> Floats:
    """What each row has of its level's win: one over the size of the level, 0 where the level was not chosen."""
    is_chosen = seen.places < np.repeat(seen.n_choices, seen.sizes)
    return np.where(is_chosen, np.repeat(1.0 / seen.level_sizes, seen.level_sizes), 0.0)
