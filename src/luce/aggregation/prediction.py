"""A fitted model applied to other rankings: probabilities and simulation."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import expit, logsumexp, softmax
from sklearn.utils.validation import check_is_fitted

from luce.aggregation.connectivity import OFFER
from luce.aggregation.likelihood import Likelihood, ranking_log_probabilities
from luce.aggregation.names import listed
from luce.aggregation.observed import ObservedRankings, observe
from luce.aggregation.own_items import own_items
from luce.aggregation.rankings import Rankings
from luce.aggregation.tie_terms import log_deltas
from luce.arrays import Floats, Integers, list_of_row
from luce.errors import DataError
from luce.kernels.davidson_ties import TiedRankings, davidson_ties, draw_tied_rankings


class PredictionMixin:
    """Methods of a fitted PlackettLuce that apply it to rankings and sets of items.

    With adherence, rankings have that of their ranker, by name; it is 1 for rankers that the fit has not seen, and for
    sets of items.
    """

    def log_prob(self, rankings: Any) -> Floats:
        """Log-probability of each ranking.

        Parameters
        ----------
        rankings : Rankings or list of orderings
            Their items must be known to the model. With adherence, rankers are found by name; the adherence of those
            that the fit has not seen is 1.

        Returns
        -------
        ndarray of shape (n_rankings,)
            −inf for a tie of an order that the fit has not seen (Davidson).
        """
        likelihood, scores, _ = self._apply_to(rankings)
        return ranking_log_probabilities(likelihood, scores, self._ties)

    def score(self, rankings: Any, y: Any = None) -> float:
        """Mean log-probability of a choice, weighted: what cross-validation compares. 0 is certainty.

        Parameters
        ----------
        rankings : Rankings or list of orderings
            Their items must be known to the model.
        y : ignored
            There for scikit-learn's conventions.

        Returns
        -------
        float

        Examples
        --------
        >>> from luce.aggregation import PlackettLuce, Rankings
        >>> pairs = Rankings.from_pairs(["a", "b"], ["b", "a"], weights=[30, 10])
        >>> round(PlackettLuce().fit(pairs).score(pairs), 4)
        -0.5623
        """
        likelihood = self._apply_to(rankings)[0]
        weights = likelihood.observed.weights
        total = float(weights @ likelihood.observed.n_choices)
        if total == 0:
            raise DataError("There is nothing to score: in every ranking all items are tied.")
        return float(weights @ self.log_prob(rankings)) / total

    def predict_proba(self, sets: Iterable[Sequence[Hashable]]) -> list[Floats]:
        """Probability that each item of a set is ranked first, alone; the rest is the probability of a tie.

        Parameters
        ----------
        sets : iterable of sequences of items
            The sets to choose from.

        Returns
        -------
        list of ndarray
            One array per set, in the order of its items.

        Examples
        --------
        >>> from luce.aggregation import PlackettLuce, Rankings
        >>> pairs = Rankings.from_pairs(["a", "b"], ["b", "a"], weights=[30, 10])
        >>> PlackettLuce().fit(pairs).predict_proba([["b", "a"]])
        [array([0.25, 0.75])]
        """
        check_is_fitted(self)
        probabilities = []
        for items in sets:
            if isinstance(items, str):
                raise DataError(f"predict_proba needs a list of sets, as in [['a', 'b']]. Got {items!r} as a set.")
            probabilities.append(self._choice_probabilities(self._scores_of(list(items))))
        return probabilities

    def win_matrix(self, items: Sequence[Hashable] | None = None) -> Floats:
        """Probability that the item of the row is placed above that of the column, in a comparison of the two.

        Parameters
        ----------
        items : sequence of items, optional
            All items by default, in the order of `names_`.

        Returns
        -------
        ndarray of shape (n, n)
            NaN on the diagonal and for items that cannot be estimated.
        """
        check_is_fitted(self)
        scores = self._known_scores(self.names_ if items is None else items)
        gap = scores[:, None] - scores
        likelihood = self._posterior.likelihood
        orders = likelihood.orders.tolist()
        if likelihood.ties == "rao-kupper":
            result = expit(gap - self._ties[0])
        elif likelihood.ties == "davidson" and 2 in orders and 1 in orders:
            tie = log_deltas(self._ties)[orders.index(2)]
            result = 1 / (1 + np.exp(-gap) + np.exp(tie - gap / 2))
        else:
            result = expit(gap)
        np.fill_diagonal(result, np.nan)
        return result

    def simulate(self, sets: Any = 1, *, random_state: int = 0) -> Rankings:
        """Rankings drawn from the model.

        Parameters
        ----------
        sets : int, iterable of sequences of items, or Rankings, default 1
            The number of rankings of all items; or sets, for one ranking each; or rankings to draw again.
            Ties are drawn if they are outcomes of the model ("davidson", "rao-kupper"). With "exact" the levels of
            given rankings are unchanged; with "half-wins" one of two tied items wins.
        random_state : int, default 0
            Seed of the draws.

        Returns
        -------
        Rankings

        Examples
        --------
        >>> from luce.aggregation import PlackettLuce, Rankings
        >>> model = PlackettLuce().fit(Rankings.from_pairs(["a", "b"], ["b", "a"], weights=[30, 10]))
        >>> print(model.simulate([["a", "b"]] * 3, random_state=1))
        3 rankings of 2 items, 2 each
          a > b
          a > b
          a > b
        """
        check_is_fitted(self)
        shapes = sets
        if isinstance(sets, (int, np.integer)):
            known = [name for name, has in zip(self.names_, self.estimable_, strict=True) if has]
            shapes = [list(self.teams) if self.teams else known] * int(sets)
        if not isinstance(shapes, Rankings):
            names = tuple(dict.fromkeys(name for own in shapes for name in own))
            shapes = Rankings.from_orderings(shapes, names=names)
        shapes = replace(shapes, weights=np.ones(len(shapes)))
        likelihood, scores, items = self._apply_to(shapes)
        drawn = simulate_rankings(likelihood, scores, self._ties, np.random.default_rng(random_state))
        return Rankings(
            items=items[drawn.items],
            **{name: getattr(drawn, name) for name in ("places", "offsets", "open_end", "pool")},
            pools=shapes.pools,
            rankers=shapes.rankers,
            ranker_names=shapes.ranker_names,
            names=shapes.names,
        )

    @property
    def _ties(self) -> Floats:
        return self._posterior.split(self._point)[1]

    def _apply_to(self, rankings: Any) -> tuple[Likelihood, Floats, Integers]:
        """The model's likelihood of other rankings, the scores of its items, and which item of theirs each is."""
        check_is_fitted(self)
        given = as_rankings(rankings)
        observed = observe(replace(given, weights=np.ones(len(given))) if not (given.weights > 0).all() else given)
        scores = self._known_scores(given.names)
        used = np.unique(np.concatenate([observed.items, observed.pool_items]))
        lost = used[np.isnan(scores[used])]
        if lost.size:
            raise self._no_worth([given.names[code] for code in lost])
        fitted = self._posterior.likelihood
        observed, scores, items = observed.replace(weights=given.weights), np.nan_to_num(scores), np.arange(len(scores))
        if self.adherence_ and self.rankings_.rankers is not None and given.rankers is not None:
            adherence = np.array([self.adherence_.get(name, 1.0) for name in given.ranker_names])
            own = own_items(observed, given.rankers, len(adherence))
            observed, scores, items = own.observed, adherence[own.rankers] * scores[own.items], own.items
        return fitted.for_rankings(observed, self.ties_), scores, items

    def _known_scores(self, names: Sequence[Hashable]) -> Floats:
        """The log worth of each name, or of a team of that name; NaN where there is none."""
        number = {name: code for code, name in enumerate(self.names_)}
        teams = self.teams or {}
        scores = np.full(len(names), np.nan)
        for at, name in enumerate(names):
            members = [number[member] for member in teams.get(name, [name]) if member in number]
            if len(members) == len(list(teams.get(name, [name]))):
                scores[at] = logsumexp(self.log_worths_[members]) if len(members) > 1 else self.log_worths_[members[0]]
        return scores

    def _scores_of(self, names: Sequence[Hashable]) -> Floats:
        scores = self._known_scores(names)
        if np.isnan(scores).any() or not len(names):
            raise self._no_worth([name for name, score in zip(names, scores, strict=True) if np.isnan(score)])
        return scores

    def _no_worth(self, names: list[Hashable]) -> DataError:
        known = [name for name in names if name in self.not_estimable_]
        if known:
            return DataError(f"{known[0]!r} has no worth: {self.not_estimable_[known[0]]}. {OFFER}")
        what = f"There is no worth for {listed(list(map(repr, names)))}" if names else "A set must have items"
        return DataError(f"{what}. The model knows {len(self.names_):,} items: {listed(list(map(repr, self.names_)))}.")

    def _choice_probabilities(self, scores: Floats) -> Floats:
        likelihood = self._posterior.likelihood
        n = len(scores)
        if likelihood.ties == "rao-kupper":
            if n != 2:
                raise DataError(f"Rao and Kupper's model compares two items. Got a set of {n}.")
            gap = scores[0] - scores[1]
            return expit(np.array([gap, -gap]) - self._ties[0])
        if likelihood.ties != "davidson" or n == 1:
            return softmax(scores)
        shift = np.array([np.roll(np.arange(n), -i) for i in range(n)])
        firsts = TiedRankings(
            np.tile(np.minimum(np.arange(n), 1), n), np.arange(n + 1) * n, np.ones(n, bool), likelihood.orders
        )
        return np.exp(davidson_ties(firsts, scores[shift.ravel()], log_deltas(self._ties), n_jobs=1)[0])

    _posterior: Any
    _point: Floats
    ties_: str | None
    teams: Any
    names_: tuple[Hashable, ...]
    estimable_: Any
    not_estimable_: dict[Hashable, str]
    log_worths_: Floats
    worths_: Floats
    adherence_: dict[Hashable, float] | None
    rankings_: Any


def as_rankings(given: Any) -> Rankings:
    """Rankings as they are, or orderings as rankings."""
    return given if isinstance(given, Rankings) else Rankings.from_orderings(given)


def simulate_rankings(
    likelihood: Likelihood, scores: Floats, ties: Floats, random: np.random.Generator
) -> ObservedRankings:
    """The rankings of a likelihood drawn again: of the same items, or from the same pools.

    Where ties are outcomes they are drawn too; else the drawn order is cut into levels as the ranking was, and of tied
    pairs that are half wins one item wins.
    """
    if likelihood.ties == "rao-kupper":
        return _draw_rao_kupper(likelihood.observed, scores, float(ties[0]), random)
    if likelihood.ties == "davidson":
        return _draw_davidson(likelihood, scores, ties, random)
    drawn = _draw_orders(likelihood.observed, scores, random)
    if likelihood.ties == "half-wins":
        places = drawn.places.copy()
        places[drawn.offsets[:-1][drawn.tied] + 1] = 1
        drawn = drawn.replace(places=places)
    return drawn


def _draw_davidson(
    likelihood: Likelihood, scores: Floats, ties: Floats, random: np.random.Generator
) -> ObservedRankings:
    """Sets of Davidson-Luce; as many levels as before where the ranking had an open end or a pool."""
    seen = likelihood.observed.expand_pools()
    levels = np.where(seen.open_end, seen.n_choices, seen.sizes)
    seed = int(random.integers(2**62))
    rows = seen.offsets, seen.items, scores[seen.items]
    model = likelihood.orders, log_deltas(ties)
    items, places, is_open = draw_tied_rankings(*rows, *model, levels, seed, n_jobs=likelihood.n_jobs)
    return seen.replace(items=items, places=places, open_end=is_open)


def _draw_orders(observed: ObservedRankings, scores: Floats, random: np.random.Generator) -> ObservedRankings:
    """Items sorted by score plus Gumbel noise, those of a pool cut to what the ranking named."""
    whole = observed.expand_pools()
    noisy = scores[whole.items] + random.gumbel(size=len(whole.items))
    items = np.empty_like(whole.items)
    for _, rows in whole.by_size():
        items[rows] = np.take_along_axis(whole.items[rows], np.argsort(-noisy[rows], axis=1), axis=1)
    pooled = observed.pool >= 0
    if not pooled.any():
        return observed.replace(items=items)
    q = list_of_row(whole.offsets)
    place_in_ranking = np.arange(len(q)) - whole.offsets[q]
    return observed.replace(items=items[place_in_ranking < observed.sizes[q]])


def _draw_rao_kupper(
    observed: ObservedRankings, scores: Floats, margin: float, random: np.random.Generator
) -> ObservedRankings:
    """Outcomes of Rao and Kupper's model: the second ahead by more than the margin, the first, or neither."""
    first, second = observed.items[::2], observed.items[1::2]
    gap = scores[first] - scores[second] + random.logistic(size=len(first))
    won, lost = gap > margin, gap < -margin
    items = np.stack([np.where(lost, second, first), np.where(lost, first, second)], axis=1).ravel()
    places = np.stack([np.zeros(len(first), np.int64), (won | lost).astype(np.int64)], axis=1).ravel()
    return observed.replace(items=items, places=places, open_end=np.zeros(len(first), bool))
