"""Terms of the log-likelihood that are summed by item or by pair: rankings without ties, and comparisons of two."""

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np

from luce.aggregation.observed import ObservedRankings, by_item
from luce.aggregation.tie_terms import PartitionTerm
from luce.arrays import Floats, Integers
from luce.kernels.pair_counts import PairCounts, PairSums, count_pairs, pair_product, pair_sums
from luce.kernels.ranked_choices import (
    NARROW,
    choice_diagonal,
    choice_hessian,
    choice_product,
    choice_sums,
    choice_wins,
    gathered_hessian,
)


class LastCallCache:
    """Calls a function of arrays, unless they are those of the last call.

    >>> twice = LastCallCache(lambda x: print("called") or 2 * x)
    >>> [twice(np.array(value)).item() for value in (1.0, 1.0)]
    called
    [2.0, 2.0]
    """

    def __init__(self, function: Callable[..., Any]):
        self.function = function
        self.arguments: tuple[Floats, ...] | None = None
        self.result: Any = None

    def __call__(self, *arguments: Floats) -> Any:
        same = self.arguments is not None and all(map(np.array_equal, self.arguments, arguments))
        if not same:
            self.result = self.function(*arguments)
            self.arguments = tuple(argument.copy() for argument in arguments)
        return self.result

    def __getstate__(self) -> dict[str, Any]:
        return {"function": self.function, "arguments": None, "result": None}  # the result can be computed again


class PairTerm:
    """log P of comparisons under one of the OUTCOMES; `tie` is the index of its tie parameter, −1 where it has none.

    wins (n_items,): how often each item won, a tie of Davidson's being half a win; None under Rao and Kupper.
    """

    costly = False

    def __init__(self, counts: PairCounts, n_ties: int, n_jobs: int | None, outcome: str, tie: int = -1):
        self.counts, self.n_ties, self.n_jobs = counts, n_ties, n_jobs
        self.outcome, self.tie = outcome, tie
        self.sums = LastCallCache(self._sums)
        n = len(counts.starts) - 1
        self.first = np.repeat(np.arange(n), np.diff(counts.starts))
        self.wins = None
        if outcome != "rao-kupper":  # where a tie is no fixed share of a win
            self.wins = np.bincount(self.first, counts.wins + 0.5 * counts.ties, minlength=n)
            self.wins += np.bincount(counts.second, counts.losses + 0.5 * counts.ties, minlength=n)

    def _parameter(self, ties: Floats) -> float:
        return float(ties[self.tie]) if self.tie >= 0 else 0.0

    def _sums(self, scores: Floats, ties: Floats) -> PairSums:
        parameter = self._parameter(ties)
        return pair_sums(self.counts, scores, outcome=self.outcome, parameter=parameter, n_jobs=self.n_jobs)

    def value_and_gradient(self, scores: Floats, ties: Floats) -> tuple[float, Floats, Floats]:
        """The log-likelihood and its gradient in the scores and in the tie parameters."""
        tie_gradient = np.zeros(self.n_ties)
        if self.outcome == "rao-kupper" and self._parameter(ties) <= 0.0:
            return -np.inf, np.zeros(len(scores)), tie_gradient
        sums = self.sums(scores, ties)
        if self.tie >= 0:
            tie_gradient[self.tie] = sums.derivative
        return sums.value, sums.gradient, tie_gradient

    def information(self, scores: Floats, ties: Floats) -> "PairInformation":
        """Minus the second derivative."""
        return PairInformation(self, self.sums(scores, ties))


class PairInformation:
    """Minus the second derivative of a PairTerm at some scores."""

    def __init__(self, term: PairTerm, sums: PairSums):
        self.term, self.sums = term, sums

    def product(self, direction: Floats, tie_direction: Floats) -> tuple[Floats, Floats]:
        term, tie_gradient = self.term, np.zeros(self.term.n_ties)
        own = pair_product(term.counts, self.sums.curvature, direction, n_jobs=term.n_jobs)
        if term.tie >= 0:
            along = tie_direction[term.tie]
            own = own + self.sums.border * along
            tie_gradient[term.tie] = float(self.sums.border @ direction) + self.sums.corner * along
        return own, tie_gradient

    def diagonal(self) -> Floats:
        ties = np.zeros(self.term.n_ties)
        if self.term.tie >= 0:
            ties[self.term.tie] = self.sums.corner
        return np.concatenate([self.sums.degree, ties])

    def matrix(self) -> Floats:
        term, n = self.term, len(self.sums.border)
        matrix = np.zeros((n + term.n_ties, n + term.n_ties))
        matrix[term.first, term.counts.second] = -self.sums.curvature
        matrix += matrix.T
        if term.tie >= 0:
            matrix[:n, n + term.tie] = matrix[n + term.tie, :n] = self.sums.border
        matrix[np.diag_indices(len(matrix))] += self.diagonal()
        return matrix

    def gathered(self, items: Integers, scale: Floats, n_items: int) -> Floats:
        """The matrix in the scores of items of which these are multiples, the same for both of a pair."""
        term, squared = self.term, scale**2
        pairs = n_items * items[term.first] + items[term.counts.second]
        flat = by_item(pairs, squared[term.first] * self.sums.curvature, n_items**2)
        matrix = -flat.reshape(n_items, n_items)
        matrix += matrix.T
        matrix[np.diag_indices(n_items)] += by_item(items, squared * self.sums.degree, n_items)
        return matrix


def pair_counts_of(observed: ObservedRankings) -> PairCounts:
    """The counts of rankings of two items."""
    return count_pairs(observed.items, observed.places, observed.weights, observed.n_items)


def with_half_wins(counts: PairCounts) -> PairCounts:
    """The counts with half a win and half a loss for every tie."""
    half = 0.5 * counts.ties
    return counts._replace(wins=counts.wins + half, losses=counts.losses + half, ties=np.zeros(len(half)))


def pseudo_item_counts(n_before: int, n_items: int, wins: float) -> PairCounts:
    """Each of some items, which come after `n_before` others, against one more, the last: so many wins and losses."""
    starts = np.clip(np.arange(n_before + n_items + 2) - n_before, 0, n_items)
    each = np.full(n_items, float(wins))
    return PairCounts(starts, np.full(n_items, n_before + n_items), each, each, np.zeros(n_items))


class ChoiceTerm:
    """log P of rankings without ties; scores too far apart for one scale are left to a PartitionTerm."""

    costly = False

    def __init__(self, observed: ObservedRankings, n_ties: int, n_jobs: int | None):
        self.observed, self.n_ties, self.n_jobs = observed, n_ties, n_jobs
        self.choices = observed.choices()
        self.wins = choice_wins(self.choices)
        self.sums = LastCallCache(partial(choice_sums, self.choices, n_jobs=n_jobs))
        self.ratio: Floats | None = None

    @cached_property
    def row_term(self) -> PartitionTerm:
        return PartitionTerm(self.observed, self.n_ties, self.n_jobs)

    def value_and_gradient(self, scores: Floats, ties: Floats) -> tuple[float, Floats, Floats]:
        """The log-likelihood and its gradient in the scores and in the tie parameters."""
        if np.ptp(scores) > NARROW:
            return self.row_term.value_and_gradient(scores, ties)
        log_z, expected = self.sums(scores)
        return float(self.wins @ scores) - log_z, self.wins - expected, np.zeros(self.n_ties)

    def information(self, scores: Floats, ties: Floats) -> "ChoiceInformation | object":
        """Minus the second derivative."""
        if np.ptp(scores) > NARROW:
            return self.row_term.information(scores, ties)
        return ChoiceInformation(self, scores)


class ChoiceInformation:
    """Minus the second derivative of a ChoiceTerm at some scores."""

    def __init__(self, term: ChoiceTerm, scores: Floats):
        self.term, self.scores = term, scores
        self.expected = term.sums(scores)[1]

    def product(self, direction: Floats, tie_direction: Floats) -> tuple[Floats, Floats]:
        own = choice_product(self.term.choices, self.scores, self.expected, direction, n_jobs=self.term.n_jobs)
        return own, np.zeros(self.term.n_ties)

    def diagonal(self) -> Floats:
        """About the diagonal: its ratio to the expected wins changes little and is computed once."""
        term = self.term
        if term.ratio is None:
            exact = choice_diagonal(term.choices, self.scores, self.expected, n_jobs=term.n_jobs)
            term.ratio = np.ones(len(exact))
            np.divide(exact, self.expected, out=term.ratio, where=self.expected > 0)
            term.ratio = np.clip(term.ratio, 0.01, 1.0)
        return np.concatenate([term.ratio * self.expected, np.zeros(term.n_ties)])

    def matrix(self) -> Floats:
        own = choice_hessian(self.term.choices, self.scores, self.expected, n_jobs=self.term.n_jobs)
        return np.pad(own, (0, self.term.n_ties))

    def gathered(self, items: Integers, scale: Floats, n_items: int) -> Floats:
        """The matrix in the scores of items of which these are multiples, the same in a ranking; without pools."""
        choices, squared = self.term.choices, scale**2
        weights = choices.weights * squared[choices.items[choices.offsets[:-1]]]
        given = choices._replace(weights=weights), self.scores, squared * self.expected
        return gathered_hessian(*given, items, n_items, n_jobs=self.term.n_jobs)
