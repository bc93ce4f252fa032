"""Rankings of one ranker are not independent: scores of rankers, for robust standard errors, and how many there are."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from luce.aggregation.adherence import adherence_of
from luce.aggregation.likelihood import Likelihood, ranking_scores
from luce.aggregation.observed import ObservedRankings
from luce.arrays import Floats, Integers
from luce.errors import DataError

FEWEST_RANKERS = 3
"""Rankers of equal weight from which robust errors are the default; with Student's t their intervals then cover."""

FEW_PER_ITEM = 5
"""Rankers of an item below which its robust error may be far too small."""

REPEATED = 0.1
"""Share of the rankings, made by rankers of several, from which errors by ranker are the default."""

MOST_ROWS = 20_000_000
"""Rows, the items of pools being expanded, up to which errors by ranker are the default: a copy of them is 480 MB."""


class Rankers(NamedTuple):
    """repeated: whether many rankings are by rankers of several; number: of rankers of equal weight (Kish, 1965).

    rows: how many rows the rankings have, with the items of pools row by row.
    """

    repeated: bool
    number: float
    rows: int

    @property
    def obstacle(self) -> str | None:
        """Why errors by ranker are not the default although rankers repeat."""
        if self.number < FEWEST_RANKERS:
            number = f"here their effective number is {self.number:.2g}"
            return f"need {FEWEST_RANKERS} rankers or more with about as many rankings each; {number}"
        if self.rows > MOST_ROWS:
            return f"would take {self.rows:,} rows with the items below the rankings; kind='sandwich' computes them"
        return None


def count_rankers(observed: ObservedRankings, rankers: Integers) -> Rankers:
    """How the rankings are spread over the rankers; a ranking of weight w counts as w rankings."""
    own, weights = rankers[observed.indices], observed.weights
    total = np.bincount(own, weights)
    several = np.maximum(total, np.bincount(own)) > 1
    share = weights[several[own]].sum() / weights.sum()
    rows = len(observed.items) + int(observed.pool_sizes.sum())
    return Rankers(bool(share >= REPEATED), float(_effective_number(total)), rows)


class ClusterScores(NamedTuple):
    """scores (G, n_items + T): the score of each ranker, or of each ranking; factor: G / (G − 1).

    rankers (n_items,): how many rankers of equal information each item was compared by; infinite without rankers.
    """

    scores: sparse.csr_array
    factor: float
    rankers: Floats


def cluster_scores(likelihood: Likelihood, scores: Floats, ties: Floats, clusters: Integers | None) -> ClusterScores:
    """The scores of all rankings at some point, summed by ranker."""
    term = adherence_of(likelihood)
    each = ranking_scores(likelihood, scores, ties) if term is None else term.ranking_scores(scores, ties)
    weights = likelihood.observed.weights
    rankers = np.full(likelihood.n_items, np.inf)
    if clusters is None:
        # Weights are repetitions: w equal rankings, each on its own.
        gathered, count = sparse.diags_array(np.sqrt(weights)) @ each, check_total(weights)
    else:
        own = np.unique(clusters[likelihood.observed.indices], return_inverse=True)[1]
        shape = int(own.max()) + 1, len(own)
        by_ranker = sparse.csr_array((weights, (own, np.arange(len(own)))), shape=shape)
        gathered, count = by_ranker @ each, float(shape[0])
        squares = each.copy().power(2)  # it sorts the indices, which may be the frozen items of the rankings
        rankers = _effective_number((by_ranker @ squares)[:, : likelihood.n_items])
        if count < 2:
            raise DataError("Robust standard errors need two rankers or more.")
    return ClusterScores(gathered.tocsr(), count / (count - 1), rankers)


def check_total(weights: Floats) -> float:
    """The number of rankings, a ranking of weight w being w of them: at least two, for them to vary."""
    total = float(weights.sum())
    if total < 2:
        raise DataError(
            f"Robust standard errors and the bootstrap need two rankings or more. These weigh {total:.3g}, one of "
            "weight w counting as w: use weights that add up to the number of rankings."
        )
    return total


def _effective_number(amounts: Floats | sparse.sparray) -> Floats:
    """(Σ x)² / Σ x² down the rows: how many equal amounts vary as much (Kish, 1965).

    >>> float(_effective_number(np.array([2.0, 2, 2, 0])))
    3.0
    """
    squares = np.maximum(np.asarray((amounts**2).sum(axis=0)), 1e-300)
    return np.asarray(amounts.sum(axis=0)) ** 2 / squares


class Shortfall(NamedTuple):
    """added (n,): what is added to the robust variances; ratio: of robust to model-based errors, the median."""

    added: Floats
    ratio: float


def shortfall(robust: Floats, model_based: Floats, rankers: Floats) -> Shortfall:
    """What the robust variances (n,) of items that few rankers compared fall short of the model-based ones.

    The scores of an item sum to 0, also if one ranker alone compared it: its robust variance would then be near 0. It
    is raised to the model-based one, times the ratio of the two for other items where that is larger.
    """
    few = rankers < min(FEW_PER_ITEM, rankers.max() / 2)
    counted = (model_based > 0) & ~few
    ratio = float(np.median(np.sqrt(robust[counted] / model_based[counted]))) if counted.any() else 1.0
    missing = np.maximum(max(ratio, 1.0) ** 2 * model_based - robust, 0.0)
    return Shortfall(np.where(few, missing, 0.0), ratio)
