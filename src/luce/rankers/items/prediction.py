"""What a fitted model says of rankings it has not seen: their probabilities, and draws of more."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import expit, logsumexp, softmax
from sklearn.utils.validation import check_is_fitted

from luce.arrays import Floats
from luce.data.rankings import Rankings
from luce.data.rankings.display import listed
from luce.errors import DataError
from luce.kernels.davidson_ties import TiedRankings, davidson_ties
from luce.rankers.items.davidson_part import log_deltas
from luce.rankers.items.likelihood import Likelihood
from luce.rankers.items.observed import observe
from luce.rankers.items.ranking_scores import ranking_log_probabilities
from luce.rankers.items.simulation import simulated


class Predicting:
    """Methods of a fitted PlackettLuce that apply it to rankings and sets of items."""

    def log_prob(self, rankings: Any) -> Floats:
        """log P of each ranking (Q,); −inf for a tie of an order that the fit has not seen (Davidson)."""
        likelihood, scores = self._applied(rankings)
        if likelihood.ties == "davidson" or likelihood.ties == "rao-kupper":
            return ranking_log_probabilities(likelihood, scores, self._ties)
        return ranking_log_probabilities(likelihood, scores, np.zeros(0))

    def score(self, rankings: Any, y: Any = None) -> float:
        """The mean log-probability of a choice, weighted: what cross-validation compares. 0 is certainty.

        >>> from luce.data.rankings import Rankings
        >>> from luce.rankers.items import PlackettLuce
        >>> pairs = Rankings.from_pairs(["a", "b"], ["b", "a"], weights=[30, 10])
        >>> round(PlackettLuce().fit(pairs).score(pairs), 4)
        -0.5623
        """
        likelihood, _ = self._applied(rankings)
        weights = likelihood.observed.weights
        total = float(weights @ likelihood.observed.n_choices)
        if total == 0:
            raise DataError("There is no choice to score: every ranking is one level.")
        return float(weights @ self.log_prob(rankings)) / total

    def predict_proba(self, sets: Iterable[Sequence[Hashable]]) -> list[Floats]:
        """For each set of items, the probability that each of them comes first, alone; the rest is that of a tie.

        >>> from luce.data.rankings import Rankings
        >>> from luce.rankers.items import PlackettLuce
        >>> pairs = Rankings.from_pairs(["a", "b"], ["b", "a"], weights=[30, 10])
        >>> PlackettLuce().fit(pairs).predict_proba([["b", "a"]])
        [array([0.25, 0.75])]
        """
        check_is_fitted(self)
        return [self._first_places(self._scores_of(list(items))) for items in sets]

    def win_matrix(self, items: Sequence[Hashable] | None = None) -> Floats:
        """The probability that the item of the row is placed above that of the column, two by two; NaN against itself.

        All items by default, in the order of `names_`; NaN for those that cannot be estimated.
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
        """Rankings drawn from the model: of each set of items; or as given rankings, of their items and levels; or n.

        With an integer, so many rankings of all items. Ties are drawn where the model has them as outcomes, else the
        levels of given rankings are kept.

        >>> from luce.data.rankings import Rankings
        >>> from luce.rankers.items import PlackettLuce
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
        likelihood, scores = self._applied(shapes)
        drawn = simulated(likelihood, scores, self._ties, np.random.default_rng(random_state))
        return Rankings(
            **{name: getattr(drawn, name) for name in ("items", "places", "offsets", "open_end", "pool")},
            pools=shapes.pools,
            rankers=shapes.rankers,
            ranker_names=shapes.ranker_names,
            names=shapes.names,
        )

    @property
    def _ties(self) -> Floats:
        return self._posterior.split(self._point)[1]

    def _applied(self, rankings: Any) -> tuple[Likelihood, Floats]:
        """The model's likelihood of other rankings, and the scores of their items."""
        check_is_fitted(self)
        given = as_rankings(rankings)
        observed = observe(replace(given, weights=np.ones(len(given))) if not (given.weights > 0).all() else given)
        scores = self._known_scores(given.names)
        used = np.unique(np.concatenate([observed.items, observed.pool_items]))
        lost = used[np.isnan(scores[used])]
        if lost.size:
            raise self._no_worth([given.names[code] for code in lost])
        fitted = self._posterior.likelihood
        likelihood = fitted.of(observed.replace(weights=given.weights), self.ties)
        return likelihood, np.nan_to_num(scores)

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
        known = [name for name in names if name in self.inestimable_]
        if known:
            return DataError(f"{known[0]!r} has no worth: {self.inestimable_[known[0]]}. Give a prior when fitting.")
        what = f"There is no worth for {listed(list(map(repr, names)))}" if names else "A set must have items"
        return DataError(f"{what}. The model knows {len(self.names_):,} items: {listed(list(map(repr, self.names_)))}.")

    def _first_places(self, scores: Floats) -> Floats:
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
    ties: str | None
    teams: Any
    names_: tuple[Hashable, ...]
    estimable_: Any
    inestimable_: dict[Hashable, str]
    log_worths_: Floats
    worths_: Floats


def as_rankings(given: Any) -> Rankings:
    """Rankings as they are, or orderings as rankings."""
    return given if isinstance(given, Rankings) else Rankings.from_orderings(given)
