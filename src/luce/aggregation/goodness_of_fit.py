"""Whether the fitted worths describe the rankings: first places and pair margins against draws of the model."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from luce.aggregation.names import count
from luce.aggregation.observed import ObservedRankings, by_item
from luce.aggregation.posterior import Posterior
from luce.aggregation.simulated_margins import (
    Margins,
    determines_first_places,
    fit_to_draw_from,
    most_comparisons,
    no_margins,
    rankings_to_draw,
    simulated_margins,
)
from luce.aggregation.summary import name_column
from luce.arrays import Floats
from luce.errors import OptionError

MOST_ITEMS = 60
"""Items whose pairs are checked: those in most rankings."""

LEAST = 5.0
"""First places of an item, or comparisons of a pair, that are expected at least."""

EXPLAINED = 0.95
"""Share of the variance of a count above which the fit determines it, so that nothing is left to check."""

LEVEL = 0.05
SHOWN = 2
"""Deviations that the text names, of each kind."""


@dataclass(frozen=True, eq=False)
class GoodnessOfFit:
    """A check whether the worths, with the model of ties, describe the rankings they were estimated from.

    `PlackettLuce.goodness_of_fit` returns it; printed, it is a few lines of text.

    Attributes
    ----------
    p_value : float
        How often rankings drawn from the fitted model deviate from it as much, in first places or in pairs, as the
        rankings do; NaN if nothing can be checked.
    first_choices_p_value, pairs_p_value : float
        The same for each of the two alone; NaN if it cannot be checked.
    first_choices : pyarrow.Table
        Columns item, observed (share of first places in the rankings of the item, a tie for the first place being
        shared), expected, z and n_rankings; the largest deviations first.
    pairs : pyarrow.Table
        Columns item, other, observed (share of comparisons in which the item stands above the other, without ties),
        expected, z and n_comparisons; the largest deviations first.
    mean_deviation : float
        Mean absolute difference of observed and expected shares of the pairs.
    chance_deviation : float
        The mean of `mean_deviation` in rankings drawn from the model: what chance alone gives.
    n_samples : int
        How many times the rankings were drawn.
    n_rankings : int
        How many rankings were checked.
    notes : tuple of str
        What was not checked, or not as it was given.
    subject : str
        What is checked, as the text calls it.
    """

    p_value: float
    first_choices_p_value: float
    pairs_p_value: float
    first_choices: pa.Table
    pairs: pa.Table
    mean_deviation: float
    chance_deviation: float
    n_samples: int
    n_rankings: int
    notes: tuple[str, ...]
    subject: str = "One worth per item"

    @property
    def describes_data(self) -> bool | None:
        """Whether p_value is above 0.05; None if nothing can be checked."""
        return None if np.isnan(self.p_value) else self.p_value > LEVEL

    def __str__(self) -> str:
        if self.describes_data is None:
            return "\n".join(["The fit cannot be checked against these rankings.", *self.notes])
        lowest = 1 / (self.n_samples + 1)
        p = f"p < {1 / self.n_samples:.2g}" if self.p_value <= lowest else f"p = {self.p_value:.2g}"
        if self.describes_data:
            lines = [f"{self.subject} describes these rankings: no significant deviation ({p})."]
        else:
            lines = [f"{self.subject} does not describe these rankings ({p}): {'; '.join(self._largest())}."]
        if self.pairs.num_rows:
            lines.append(
                f"Shares of {count(self.pairs.num_rows, 'pair')} differ from the expected ones by "
                f"{100 * self.mean_deviation:.1f} percentage points on average, "
                f"{100 * self.chance_deviation:.1f} by chance alone."
            )
        if not self.describes_data:
            lines.append(
                "The worths are averages, for example over unlike rankers: fit groups separately (command line: --by), "
                "and use robust standard errors (kind='sandwich', --errors sandwich)."
            )
        return "\n".join([*lines, *self.notes])

    def _largest(self) -> list[str]:
        """The largest deviations in words, of the checks that failed or, if neither did alone, of both."""
        failed = [p <= LEVEL for p in (self.first_choices_p_value, self.pairs_p_value)]
        firsts, pairs = failed if any(failed) else (True, True)
        words = []
        for row in self.first_choices.slice(0, SHOWN if firsts else 0).to_pylist():
            words.append(f"{row['item']!r} comes first in {_shares(row)} of {count(row['n_rankings'], 'ranking')}")
        for row in self.pairs.slice(0, SHOWN if pairs else 0).to_pylist():
            n = count(row["n_comparisons"], "comparison")
            words.append(f"{row['item']!r} stands above {row['other']!r} in {_shares(row)} of {n}")
        return words


def _shares(row: dict[str, Any]) -> str:
    return f"{100 * row['observed']:.1f} % (expected {100 * row['expected']:.1f} %)"


class _Check(NamedTuple):
    """One kind of counts: which are checked, the deviations of the rankings (row 0) and draws from what is expected.

    z (kept,): of the rankings. p_values (1 + S,): of the rankings and, as if they were these, of the draws.
    """

    kept: NDArray[np.bool_]
    deviations: Floats
    z: Floats
    p_values: Floats


class GoodnessOfFitMixin:
    """The method of a fitted PlackettLuce that checks it."""

    def goodness_of_fit(self, *, n_samples: int = 200, random_state: int = 0) -> GoodnessOfFit:
        """Check whether one worth per item, with the model of ties, describes the rankings.

        Two counts are compared with those of rankings drawn from the fitted model, of the same sets of items: how often
        each item comes first, and for each pair how often one stands above the other. Both are corrected for the
        estimation of the worths from the same rankings, to first order. The statistic is the sum of (observed −
        expected)² / variance, and the p-value the share of draws in which it is at least as large.

        Rankings are taken as independent, also those of one ranker. A ranking of weight w counts as w rankings, if all
        weights are whole numbers, else as one.

        Parameters
        ----------
        n_samples : int, default 200
            How many times the rankings are drawn, at least 19; the lowest p-value is 1 / (n_samples + 1).
        random_state : int, default 0
            Seed of the draws.

        Returns
        -------
        GoodnessOfFit

        Examples
        --------
        >>> from luce.aggregation import PlackettLuce, Rankings
        >>> winners, losers = ["rock", "paper", "scissors"], ["scissors", "rock", "paper"]
        >>> cycle = Rankings.from_pairs(winners + losers, losers + winners, weights=[30] * 3 + [10] * 3)
        >>> fit = PlackettLuce().fit(cycle).goodness_of_fit()
        >>> fit.describes_data, round(fit.pairs_p_value, 3), fit.pairs["observed"].to_pylist()
        (False, 0.005, [0.75, 0.75, 0.75])
        """
        check_is_fitted(self)
        if n_samples < 19:
            raise OptionError(f"n_samples must be at least 19, for a test at 5 %. Got {n_samples!r}.")
        if self.adherence_ is not None:
            raise OptionError("goodness_of_fit is not available with adherence: fit without it.")
        random = np.random.default_rng(random_state)
        posterior, point = fit_to_draw_from(self._posterior, self._point)
        drawn, is_part = rankings_to_draw(posterior.likelihood.observed, n_samples, random)
        n_seen = by_item(drawn.items, np.repeat(drawn.weights, drawn.sizes), drawn.n_items)
        items = np.sort(np.argsort(-n_seen, kind="stable")[:MOST_ITEMS])
        determined = determines_first_places(posterior, drawn)
        if (determined or n_seen.max() < LEAST) and most_comparisons(drawn, items) < LEAST:
            margins = no_margins(drawn, items, n_samples)
        else:
            margins = simulated_margins(posterior, point, drawn, items, n_samples, random)
        first, pairs = _checks(margins, determined)
        names = self._item_names
        distances = _mean_distances(pairs, margins)
        return GoodnessOfFit(
            p_value=_joint_p_value(first, pairs),
            first_choices_p_value=float(first.p_values[0]),
            pairs_p_value=float(pairs.p_values[0]),
            first_choices=_first_table(first, margins, names, n_seen),
            pairs=_pair_table(pairs, margins, [names[i] for i in items]),
            mean_deviation=float(distances[0]),
            chance_deviation=float(distances[1:].mean()),
            n_samples=n_samples,
            n_rankings=drawn.n_rankings,
            notes=tuple(self._notes(drawn, is_part, first, pairs)),
            subject=self._subject,
        )

    @property
    def _item_names(self) -> list[Hashable]:
        """The names of the items whose rankings are drawn."""
        names = list(self.rankings_.names)
        return names if self.teams else [name for name, has in zip(names, self.estimable_, strict=True) if has]

    def _notes(self, drawn: ObservedRankings, is_part: bool, first: _Check, pairs: _Check) -> Iterator[str]:
        """What was not checked, or not as it was given."""
        if not first.kept.any():
            yield f"First places are not checked: the fit determines them, or no item has {LEAST:.0f}."
        if not pairs.kept.any():
            yield f"Pairs are not checked: the fit determines them, or no pair was compared {LEAST:.0f} times."
        if self.ties_ == "half-wins" and self._posterior.likelihood.observed.tied.any():
            yield "Ties are left out of the check: as half wins they are no outcome of the model."
        if not (first.kept.any() or pairs.kept.any()):
            return
        if is_part:
            total = self._posterior.likelihood.observed.weights.sum()
            yield f"Checked on a random part, {drawn.n_rankings:,} of {total:,.0f} rankings, because of the cost."
        if drawn.n_items > MOST_ITEMS:
            yield f"The pairs are those of the {MOST_ITEMS} items in most rankings, of {drawn.n_items:,} items."
        if (drawn.weights != 1).any():
            yield "Not all weights are whole numbers: each ranking counts as one observation of that weight."
        rankers = self.rankings_.rankers
        if rankers is not None and len(np.unique(rankers)) < len(rankers):
            yield "Rankings are taken as independent, also those of one ranker."

    @property
    def _subject(self) -> str:
        """What the check is about."""
        if self.teams:
            return "The sum of its members' worths"
        return (
            "One worth per item" if self._posterior.parametrization.n_effects else "A linear function of the features"
        )

    _posterior: Posterior
    _point: Floats
    adherence_: dict[Hashable, float] | None
    rankings_: Any
    teams: Any
    ties_: str | None
    estimable_: NDArray[np.bool_]


def _check(counts: Floats, residuals: Floats, enough: NDArray[np.bool_]) -> _Check:
    """The check of those counts that are large enough and not determined by the fit."""
    kept = enough & (residuals.var(axis=0) > (1 - EXPLAINED) * counts.var(axis=0))
    own = residuals[:, kept]
    # With the rankings among the draws in means and variances, all are exchangeable if the model holds.
    statistics = ((own - own.mean(axis=0)) ** 2 / own.var(axis=0)).sum(axis=1)
    deviations = own - own[1:].mean(axis=0)
    p_values = np.mean(statistics >= statistics[:, None], axis=1) if kept.any() else np.full(len(own), np.nan)
    return _Check(kept, deviations, deviations[0] / own[1:].std(axis=0), p_values)


def _checks(margins: Margins, determined: bool) -> tuple[_Check, _Check]:
    """Of first places, unless determined, and of pairs, in which the less likely order must be expected once too."""
    comparisons, margin = margins.comparisons.mean(axis=0), np.abs(margins.margins.mean(axis=0))
    often = (comparisons >= LEAST) & (comparisons - margin >= 2)
    firsts = (margins.first.mean(axis=0) >= LEAST) & (not determined)
    return _check(margins.first, margins.first_residuals, firsts), _check(
        margins.margins, margins.margin_residuals, often
    )


def _mean_distances(pairs: _Check, margins: Margins) -> Floats:
    """The mean distance of the shares of pairs from the expected ones, in the rankings and in each draw (1 + S,)."""
    if not pairs.kept.any():
        return np.full(len(pairs.deviations), np.nan)
    return np.mean(np.abs(pairs.deviations) / (2 * margins.comparisons[:, pairs.kept].mean(axis=0)), axis=1)


def _joint_p_value(first: _Check, pairs: _Check) -> float:
    """The rank of the smaller of the two p-values among those of the draws; where equal, of the larger one."""
    known = [own.p_values for own in (first, pairs) if own.kept.any()]
    if not known:
        return np.nan
    key = np.min(known, axis=0) + np.max(known, axis=0) / (2 * len(known[0]))  # p-values are multiples of 1 / (1 + S)
    return float(np.mean(key <= key[0]))


def _first_table(first: _Check, margins: Margins, names: Sequence[Hashable], n_seen: Floats) -> pa.Table:
    order = np.argsort(-np.abs(first.z), kind="stable")
    which = np.flatnonzero(first.kept)[order]
    own, n = margins.first[0, which], n_seen[which]
    return pa.table(
        {
            "item": name_column([names[i] for i in which]),
            "observed": own / n,
            "expected": np.clip((own - first.deviations[0, order]) / n, 0, 1),
            "z": first.z[order],
            "n_rankings": np.round(n).astype(np.int64),
        }
    )


def _pair_table(pairs: _Check, margins: Margins, names: Sequence[Hashable]) -> pa.Table:
    """Each pair with the item first that stands above the other more often than expected."""
    order = np.argsort(-np.abs(pairs.z), kind="stable")
    which = np.flatnonzero(pairs.kept)[order]
    sign = np.where(pairs.z[order] < 0, -1, 1)
    upper = np.stack(np.triu_indices(len(names), 1))[:, which]
    item, other = np.where(sign > 0, upper, upper[::-1])
    margin, n = sign * margins.margins[0, which], margins.comparisons[:, which]
    expected = margin - sign * pairs.deviations[0, order]
    return pa.table(
        {
            "item": name_column([names[i] for i in item]),
            "other": name_column([names[i] for i in other]),
            "observed": 0.5 + margin / (2 * np.maximum(n[0], 1)),
            "expected": np.clip(0.5 + expected / (2 * n.mean(axis=0)), 0, 1),
            "z": np.abs(pairs.z[order]),
            "n_comparisons": np.round(n[0]).astype(np.int64),
        }
    )
