"""The log-likelihood of all rankings as a function of scores and tie parameters: a sum of terms."""

from copy import copy
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from scipy.special import expit, gammaln, logsumexp

from luce.aggregation.likelihood_terms import ChoiceTerm, PairTerm, pair_counts_of, with_half_wins
from luce.aggregation.observed import ObservedRankings
from luce.aggregation.tie_terms import DavidsonTerm, PartitionTerm
from luce.arrays import Floats, Integers, list_of_row
from luce.errors import DataError
from luce.kernels.pair_counts import PairCounts

TIES = ("auto", "exact", "davidson", "rao-kupper", "half-wins", None)
TIE_MODELS = ("davidson", "rao-kupper", "half-wins")
"""Those in which a tie is evidence of similar worths, and so links the tied items."""

COUNTED = "ties='davidson' (--ties davidson), where a tie is an outcome"
UNKNOWN = "ties='exact' (--ties exact), where the order is unknown"
"""Models for ties of any size, as messages offer them."""


class LikelihoodTerm(Protocol):
    """One kind of observation: its log-likelihood in the scores and tie parameters, and the observed information.

    The information is minus the second derivative: its product with a direction, its diagonal, or the matrix. Terms
    may have `wins` (n_items,): how often each item was chosen; less the gradient these are the expected wins.
    """

    costly: bool
    """Whether a product with the information costs so much more than a value that the matrix is made earlier."""

    def value_and_gradient(self, scores: Floats, ties: Floats) -> tuple[float, Floats, Floats]: ...

    def information(self, scores: Floats, ties: Floats) -> Any: ...


class Likelihood:
    """Σ over the terms. The tie parameters are log δ of each tie order but the lowest, or the margin, or none.

    orders: the sizes of chosen sets that occur (Davidson), else (1,).
    """

    def __init__(self, observed: ObservedRankings, ties: str | None, n_jobs: int | None = None):
        self.observed, self.n_jobs, self.n_items = observed, n_jobs, observed.n_items
        self.ties = ties if observed.tied.any() else None
        self.orders = _tie_orders(observed) if self.ties == "davidson" else np.array([1])
        self.n_ties = {"davidson": len(self.orders) - 1, "rao-kupper": 1}.get(self.ties or "", 0)
        self.terms = self._build_terms()

    def for_rankings(self, observed: ObservedRankings, asked: str | None) -> "Likelihood":
        """The same model of ties for other rankings, with the same tie orders."""
        check_ties(observed, asked)
        other = copy(self)
        other.observed, other.n_items = observed, observed.n_items
        if asked in ("exact", "half-wins"):
            other.ties = asked
        elif asked in TIE_MODELS and self.ties is None:
            other.ties = "davidson"  # ties that never occurred have probability 0
        other.terms = other._build_terms()
        return other

    def with_terms(self, terms: list[Any]) -> "Likelihood":
        """The same model of ties with other terms."""
        other = copy(self)
        other.terms = terms
        return other

    def _build_terms(self) -> list[Any]:
        seen = self.observed
        pairs = seen.pairs
        tied = seen.tied
        counted = pairs & ~tied if self.ties == "exact" else pairs
        terms: list[Any] = []
        if counted.any():
            terms.append(self.pair_term(pair_counts_of(seen.take(np.flatnonzero(counted)))))
        if self.ties == "davidson":
            rest = seen.take(np.flatnonzero(~pairs))
            return [*terms, DavidsonTerm(rest, self.orders, self.n_jobs)] if rest.n_rankings else terms
        strict, levels = (seen.take(np.flatnonzero(~pairs & seen.ordered & flag)) for flag in (~tied, tied))
        if strict.n_rankings:
            terms.append(ChoiceTerm(strict, self.n_ties, self.n_jobs))
        if levels.n_rankings:
            terms.append(PartitionTerm(levels, self.n_ties, self.n_jobs))
        return terms

    def pair_term(self, counts: PairCounts) -> PairTerm:
        """Comparisons of two under the model of ties."""
        if self.ties == "rao-kupper":
            return PairTerm(counts, self.n_ties, self.n_jobs, "rao-kupper", 0)
        if self.ties == "davidson" and self.orders[:2].tolist() == [1, 2]:
            return PairTerm(counts, self.n_ties, self.n_jobs, "davidson", 0)
        if self.ties == "half-wins":
            counts = with_half_wins(counts)
        return PairTerm(counts, self.n_ties, self.n_jobs, "bradley-terry")

    @property
    def tie_names(self) -> list[str]:
        """Names of the tie parameters: tie2, tie3, … as in R, or margin."""
        return ["margin"] if self.ties == "rao-kupper" else [f"tie{order}" for order in self.orders[1:]]

    def initial_tie_parameters(self) -> Floats:
        """Tie parameters with which items of equal worth tie about as often as they did."""
        seen = self.observed
        if self.ties == "rao-kupper":
            share = float(seen.weights @ seen.tied / seen.weights.sum())
            return np.array([np.log1p(share) - np.log1p(-min(share, 0.99))])
        if self.ties != "davidson":
            return np.zeros(0)
        size, left, weight = _choices(seen.expand_pools())
        ways = [_log_ways(left, int(order), weight) for order in self.orders]
        counts = [float(weight[size == order].sum()) for order in self.orders]
        logs = np.log(counts) - ways
        return logs[1:] - logs[0]

    def value_and_gradient(self, scores: Floats, ties: Floats) -> tuple[float, Floats, Floats]:
        """The log-likelihood and its gradient in the scores (n_items,) and in the tie parameters (T,)."""
        value, gradient, tie_gradient = 0.0, np.zeros(len(scores)), np.zeros(self.n_ties)
        for term in self.terms:
            own = term.value_and_gradient(scores, ties)
            value, gradient, tie_gradient = value + own[0], gradient + own[1], tie_gradient + own[2]
        return value, gradient, tie_gradient


def tie_model(asked: str | None, observed: ObservedRankings) -> str | None:
    """The model of ties that "auto" stands for with these rankings: Davidson's where all are comparisons of two."""
    if asked != "auto":
        return asked
    return "davidson" if observed.pairs.all() and observed.tied.any() else "exact"


def check_ties(observed: ObservedRankings, ties: str | None) -> None:
    """Refuse rankings that are not in the domain of a model of ties."""
    refused, what = {
        None: (observed.tied, "ties=None (--ties none) allows no ties"),
        "rao-kupper": (~observed.pairs, "ties='rao-kupper' (--ties rao-kupper) needs comparisons of two items"),
        "half-wins": (
            observed.tied & ~observed.pairs,
            "ties='half-wins' (--ties half-wins) counts ties in comparisons of two items",
        ),
    }.get(ties, (np.zeros(1, bool), ""))
    if refused.any():
        q = int(np.flatnonzero(refused)[0])
        size = f"{observed.sizes[q]:,} items{' and others below' if observed.pool[q] >= 0 else ''}"
        has = f"ranking {observed.indices[q] + 1:,} has {'a tie' if ties is None else size}"
        alike = ", or ties='half-wins' (--ties half-wins), half a win for each" if observed.pairs.all() else ""
        raise DataError(f"{what}, but {has} ({refused.sum():,} in total). Use {COUNTED}; {UNKNOWN}{alike}.")


def _choices(seen: ObservedRankings) -> tuple[Integers, Integers, Floats]:
    """For each choice: how many items were chosen, from how many, and the weight of its ranking."""
    q = list_of_row(seen.offsets)[seen.level_starts]
    left = seen.offsets[1:][q] - seen.level_starts
    chosen = (left > 1) & (seen.places[seen.level_starts] < seen.n_choices[q])
    return seen.level_sizes[chosen], left[chosen], seen.weights[q][chosen]


def _tie_orders(seen: ObservedRankings) -> Integers:
    """The sizes of chosen sets that occur, rising. What is left of a pool was there to choose from too."""
    q = list_of_row(seen.offsets)[seen.level_starts]
    return np.flatnonzero(np.bincount(seen.level_sizes[seen.places[seen.level_starts] < seen.n_choices[q]]))


def _log_ways(left: Integers, order: int, weight: Floats) -> float:
    """log Σ w C(left, order)."""
    weights = np.bincount(left, weight)[order:]
    n = np.arange(order, order + len(weights), dtype=np.float64)
    logs = gammaln(n + 1) - gammaln(order + 1) - gammaln(n - order + 1)
    return float(logsumexp(logs, b=weights))


def ranking_log_probabilities(likelihood: Likelihood, scores: Floats, ties: Floats) -> Floats:
    """log P of each ranking (Q,)."""
    if likelihood.ties == "rao-kupper":
        return _rao_kupper_scores(likelihood, scores, ties)[0]
    term = _row_term(likelihood)
    if isinstance(term, PartitionTerm) and term.too_wide(scores):
        term = term.expanded
    log_p = term.log_probabilities(scores, ties)[0]
    if likelihood.ties == "half-wins":
        tied, gap = _tied_pairs(likelihood.observed, scores)
        log_p[tied] = -0.5 * (np.logaddexp(0, gap) + np.logaddexp(0, -gap))
    return log_p


def ranking_scores(likelihood: Likelihood, scores: Floats, ties: Floats) -> sparse.csr_array:
    """The gradient of log P of each ranking in the scores and then the tie parameters (Q, n_items + T), sparse."""
    seen = likelihood.observed
    if likelihood.ties == "rao-kupper":
        _, up, by_margin = _rao_kupper_scores(likelihood, scores, ties)
        values = np.stack([up, -up], axis=1).ravel()
        own = sparse.csr_array((values, seen.items, seen.offsets), shape=(seen.n_rankings, seen.n_items))
        return sparse.hstack([own, sparse.csr_array(by_margin[:, None])], format="csr")
    if likelihood.ties != "davidson" and not seen.tied.any():
        return _choice_scores(seen.expand_pools(), scores)
    term = _row_term(likelihood, expand_pools=True)
    shape = term.observed.n_rankings, seen.n_items
    tie_gradient = np.zeros((shape[0], likelihood.n_ties))
    if isinstance(term, DavidsonTerm):
        _, rows, tie_gradient = term.log_probabilities(scores, ties)
    else:
        rows = term.log_probabilities(scores, ties)[1]
    if likelihood.ties == "half-wins":
        tied, gap = _tied_pairs(term.observed, scores)
        start = term.observed.offsets[tied]
        rows[start] = 0.5 - expit(gap)
        rows[start + 1] = -rows[start]
    own = sparse.csr_array((rows, term.observed.items, term.observed.offsets), shape=shape)
    return sparse.hstack([own, sparse.csr_array(tie_gradient)], format="csr")


def _choice_scores(seen: ObservedRankings, scores: Floats) -> sparse.csr_array:
    """The same of rankings without ties and pools: 1 if chosen, less the probability in each choice up to then."""
    rows = np.empty(len(seen.items))
    for rankings, at in seen.by_size():
        own = scores[seen.items[at]]
        left = np.logaddexp.accumulate(own[:, ::-1], axis=1)[:, ::-1]
        chosen = np.arange(at.shape[1]) < seen.n_chosen[rankings][:, None]
        rows[at] = chosen - np.exp(own + np.logaddexp.accumulate(np.where(chosen, -left, -np.inf), axis=1))
    # SciPy sorts the indices in place: a copy, since those of the rankings are read-only.
    return sparse.csr_array((rows, seen.items.copy(), seen.offsets), shape=(seen.n_rankings, seen.n_items))


def _row_term(likelihood: Likelihood, expand_pools: bool = False) -> PartitionTerm | DavidsonTerm:
    """All rankings as rows."""
    if likelihood.ties == "davidson":
        return DavidsonTerm(likelihood.observed, likelihood.orders, likelihood.n_jobs)
    seen = likelihood.observed.expand_pools() if expand_pools else likelihood.observed
    return PartitionTerm(seen, likelihood.n_ties, likelihood.n_jobs)


def _tied_pairs(seen: ObservedRankings, scores: Floats) -> tuple[Integers, Floats]:
    """The rankings that tie two items, and how much higher the first of the two scores."""
    tied = np.flatnonzero(seen.tied)
    start = seen.offsets[tied]
    return tied, scores[seen.items[start]] - scores[seen.items[start + 1]]


def _rao_kupper_scores(likelihood: Likelihood, scores: Floats, ties: Floats) -> tuple[Floats, Floats, Floats]:
    """Of each comparison under Rao and Kupper: log P, its derivatives in the first item's score and in the margin."""
    seen, margin = likelihood.observed, float(ties[0])
    delta = scores[seen.items[::2]] - scores[seen.items[1::2]]
    tied = seen.places[1::2] == 0
    lost_p, lost_q = expit(margin - delta), expit(margin + delta)  # 1 − P(win), 1 − P(loss)
    log_p, log_q = -np.logaddexp(0, margin - delta), -np.logaddexp(0, margin + delta)
    gap = -np.expm1(-2 * margin)
    value = log_p + np.where(tied, log_q + 2 * margin + np.log(gap), 0.0)
    up = lost_p - np.where(tied, lost_q, 0.0)
    by_margin = -lost_p + np.where(tied, 2 / gap - lost_q, 0.0)
    return value, up, by_margin
