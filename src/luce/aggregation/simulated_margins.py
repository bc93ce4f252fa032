"""First places and pair margins of rankings, and of rankings drawn from a fitted model in place of them.

Worths that were estimated from rankings fit these better than others. So each count is taken less its regression on
the score of the likelihood, which is what an estimate follows to first order: θ̂ − θ ≈ H⁻¹ score (Neyman's C(α)). What
is left hardly depends on how far the worths are off, also with a prior, and no draw has to be fitted.
"""

from copy import copy
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.linalg import cg

from luce.aggregation.likelihood import Likelihood, ranking_scores
from luce.aggregation.observed import ObservedRankings
from luce.aggregation.posterior import Posterior
from luce.aggregation.prediction import simulate_rankings
from luce.arrays import Floats, Integers, list_of_row, offsets_of_sizes
from luce.errors import DataError, OptionError
from luce.optimizers.newton import LARGEST_MATRIX

BATCH = 200_000
"""Rows in a batch of draws, about, with pairs of rows counted as parts of a row by their cost."""

MOST_ROWS = 15_000_000
"""The same in all draws, a matter of seconds: of more rankings than that, a random part is drawn."""

ROWS_PER_PAIR = 1 / 8

MOST_PRODUCTS = 50_000_000
"""Products of a pair and a score in the regression, which needs few draws of large data."""

DAMPING = 1e-9
"""Share of the mean diagonal added to the information, which has none along a shift of all log worths."""

FEW_STEPS = 5
"""Newton steps from the fit with ties to that without, which may leave an item without a win or a loss."""


class Margins(NamedTuple):
    """Counts in the rankings, row 0, and in each draw: first places (1 + S, n), and margins of pairs (1 + S, m).

    A tie for the first place is shared. The margin of a pair is how often the one stood above the other less how often
    below, `comparisons` the sum of the two. Residuals are free of what the fit explains, up to their mean.
    """

    first: Floats
    first_residuals: Floats
    margins: Floats
    margin_residuals: Floats
    comparisons: Floats


def fit_to_draw_from(posterior: Posterior, point: Floats) -> tuple[Posterior, Floats]:
    """A posterior and its parameters; where ties are half wins and no outcome, those of the comparisons without one."""
    likelihood = posterior.likelihood
    seen = likelihood.observed
    decided = np.flatnonzero(~seen.tied) if likelihood.ties == "half-wins" else np.arange(seen.n_rankings)
    if not (likelihood.terms and len(decided)):
        raise DataError("There is nothing to check: in every ranking all items are tied.")
    if len(decided) == seen.n_rankings:
        return posterior, point
    others = posterior.with_likelihood(Likelihood(seen.take(decided), None, likelihood.n_jobs))
    return others, others.maximize(point, tol=1e-6, max_iter=FEW_STEPS)[0]


def rankings_to_draw(
    observed: ObservedRankings, n_samples: int, random: np.random.Generator
) -> tuple[ObservedRankings, bool]:
    """The rankings, of weight w w times, with the items of pools as rows; and whether they are a random part.

    Weights that are not whole numbers stay as they are: each ranking is drawn once, and counts so much.
    """
    whole = bool((observed.weights == np.round(observed.weights)).all())
    copies = observed.weights.astype(np.int64) if whole else np.ones(observed.n_rankings, np.int64)
    share = MOST_ROWS / n_samples / float(copies @ _costs(observed))
    if share < 1:
        copies = random.binomial(copies, share)
    if not copies.any():
        raise OptionError(f"The rankings are too long to be drawn {n_samples:,} times. Lower n_samples.")
    taken = observed.take(np.repeat(np.arange(observed.n_rankings), copies))
    return (taken.replace(weights=np.ones(taken.n_rankings)) if whole else taken).expand_pools(), share < 1


def _costs(observed: ObservedRankings) -> Floats:
    """The rows of each ranking, those of its pool too, and the pairs of rows in a known order, as parts of a row."""
    rows = np.where(observed.pool >= 0, observed.pool_sizes, observed.sizes)
    below = rows - np.where(observed.pool >= 0, observed.sizes, observed.n_chosen)
    return rows + ROWS_PER_PAIR * (rows * (rows - 1) - below * (below - 1)) / 2


def determines_first_places(posterior: Posterior, drawn: ObservedRankings) -> bool:
    """Whether the score consists of the first places of the items: in comparisons of two, with a worth for each item.

    A tie shares the first place as it shares the score, except in the model of Rao and Kupper.
    """
    whole = posterior.parametrization.free and posterior.likelihood.ties != "rao-kupper"
    return whole and bool((drawn.sizes == 2).all() and (drawn.pool < 0).all())


def most_comparisons(drawn: ObservedRankings, items: Integers) -> float:
    """The largest number of rankings, by weight, that name both of two of the items."""
    rankings = sparse.csr_array(
        (np.ones(len(drawn.items)), drawn.items, drawn.offsets), shape=(drawn.n_rankings, drawn.n_items)
    )
    named = rankings[:, items]
    together = (named.T @ sparse.diags_array(drawn.weights) @ named).toarray()
    return float(np.max(together[np.triu_indices(len(items), 1)], initial=0.0))


def no_margins(drawn: ObservedRankings, items: Integers, n_samples: int) -> Margins:
    """What `simulated_margins` returns, without a count, where none can be checked."""
    first, pairs = (
        np.zeros((1 + n_samples, drawn.n_items)),
        np.zeros((1 + n_samples, len(items) * (len(items) - 1) // 2)),
    )
    return Margins(first, first, pairs, pairs, pairs)


def simulated_margins(
    posterior: Posterior,
    point: Floats,
    drawn: ObservedRankings,
    items: Integers,
    n_samples: int,
    random: np.random.Generator,
) -> Margins:
    """The margins of rankings and of draws of the same sets, for all items and for the pairs of some `items`."""
    counter = _Counter(posterior, point, items)
    rows = [counter.count(drawn, 1)]
    size = max(1, int(BATCH / float(_costs(drawn).sum())))
    for done in range(0, n_samples, size):
        copies = min(size, n_samples - done)
        tiled = drawn.take(np.tile(np.arange(drawn.n_rankings), copies))
        likelihood = _with_rankings(posterior.likelihood, tiled)
        sample = simulate_rankings(likelihood, counter.scores, counter.ties, random)
        rows.append(counter.count(sample, copies, regress=True))
    first, above, score = (np.concatenate(parts) for parts in zip(*rows, strict=True))
    upper = np.triu_indices(len(items), 1)
    wins, losses = above[:, *upper], above.transpose(0, 2, 1)[:, *upper]
    moved = counter.estimates(score)
    first_fit, margin_fit = counter.first_products @ moved, counter.margin_products @ moved
    return Margins(first, first - first_fit.T, wins - losses, wins - losses - margin_fit.T, wins + losses)


def _with_rankings(likelihood: Likelihood, observed: ObservedRankings) -> Likelihood:
    """The same model for other rankings, without the terms, which a draw does not need."""
    other = copy(likelihood)
    other.observed = observed
    return other


class _Counter:
    """Counts of copies of the rankings, and the sums of products for their regression on the score."""

    def __init__(self, posterior: Posterior, point: Floats, items: Integers):
        self.likelihood, self.items = posterior.likelihood, items
        self.scores, self.ties = posterior.scores_and_ties(point)
        n = self.likelihood.n_items
        self.jacobian, size = None, n + len(self.ties)
        if not posterior.parametrization.free:
            own = posterior.score_jacobian(point)
            self.jacobian = sparse.block_diag([own, sparse.eye_array(len(self.ties))], format="csr")
            size = self.jacobian.shape[1]
        self.number = np.full(n, -1)
        self.number[items] = np.arange(len(items))
        width = len(items)
        self.pair = np.zeros((width, width), np.int64)
        self.pair[np.triu_indices(width, 1)] = np.arange(width * (width - 1) // 2)
        self.pair += self.pair.T
        self.information = sparse.csr_array((size, size))
        self.first_products = sparse.csr_array((n, size))
        self.margin_products = sparse.csr_array((width * (width - 1) // 2, size))
        self.n_products = 0

    def count(self, seen: ObservedRankings, copies: int, regress: bool = False) -> tuple[Floats, Floats, Floats]:
        """Of each copy: first places (copies, n), items above items (copies, C, C) and the score (copies, P)."""
        q, n_rankings = list_of_row(seen.offsets), seen.n_rankings // copies
        shape = copies, seen.n_rankings
        by_copy = sparse.csr_array((seen.weights, np.arange(shape[1]), np.arange(copies + 1) * n_rankings), shape=shape)
        score = ranking_scores(_with_rankings(self.likelihood, seen), self.scores, self.ties)
        score = score if self.jacobian is None else score @ self.jacobian
        top = np.flatnonzero(seen.places == 0)
        sizes = np.bincount(q[top], minlength=seen.n_rankings)
        rows = 1 / sizes[q[top]], seen.items[top], offsets_of_sizes(sizes)
        first = sparse.csr_array(rows, shape=(shape[1], seen.n_items))
        up, low = _pairs_of_rows(seen)
        codes = self.number[seen.items]
        if len(self.items) < seen.n_items:
            kept = (codes[up] >= 0) & (codes[low] >= 0)
            up, low = up[kept], low[kept]
        width = len(self.items)
        keys = ((q[up] // n_rankings) * width + codes[up]) * width + codes[low]
        weights = None if (seen.weights == 1).all() else seen.weights[q[up]]
        above = np.bincount(keys, weights, copies * width**2).reshape(copies, width, width).astype(np.float64)
        if regress and self.n_products < MOST_PRODUCTS:
            self._regress(seen, first, score, q[up], codes[up], codes[low])
        return (by_copy @ first).toarray(), above, (by_copy @ score).toarray()

    def _regress(
        self,
        seen: ObservedRankings,
        first: sparse.csr_array,
        score: sparse.csr_array,
        q: Integers,
        up: Integers,
        low: Integers,
    ) -> None:
        ends = offsets_of_sizes(np.bincount(q, minlength=seen.n_rankings))
        signs = np.where(up < low, 1.0, -1.0)
        shape = seen.n_rankings, self.margin_products.shape[0]
        margins = sparse.csr_array((signs, self.pair[up, low], ends), shape=shape)
        weighted = sparse.diags_array(seen.weights) @ score
        self.information = self.information + score.T @ weighted
        self.first_products = self.first_products + first.T @ weighted
        self.margin_products = self.margin_products + margins.T @ weighted
        n_scores = np.diff(score.indptr)
        self.n_products += int((np.diff(margins.indptr) + n_scores) @ n_scores)

    def estimates(self, scores: Floats) -> Floats:
        """H⁻¹ times each score (P, copies), in the units of the sums of products."""
        diagonal = self.information.diagonal()
        damped = self.information + DAMPING * (float(diagonal.mean()) or 1.0) * sparse.eye_array(len(diagonal))
        if len(diagonal) <= LARGEST_MATRIX:
            return cho_solve(cho_factor(damped.toarray()), scores.T)
        scaling = sparse.diags_array(1 / np.maximum(diagonal, DAMPING * diagonal.max()))
        return np.stack([cg(damped, score, rtol=1e-4, maxiter=500, M=scaling)[0] for score in scores], axis=1)


def _pairs_of_rows(seen: ObservedRankings) -> tuple[Integers, Integers]:
    """The rows of all pairs of which one stands above the other in a ranking: the upper and the lower one."""
    starts = np.append(seen.level_starts, len(seen.items))
    below = np.repeat(starts[1:], np.diff(starts))  # where the next level begins
    count = np.repeat(seen.offsets[1:], seen.sizes) - below
    up = np.repeat(np.arange(len(count)), count)
    return up, np.arange(len(up)) + np.repeat(below - np.cumsum(count) + count, count)
