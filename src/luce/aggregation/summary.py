"""A fitted model as tables: its worths with their uncertainty, and Elo ratings."""

from collections.abc import Hashable
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.utils.validation import check_is_fitted

from luce.aggregation.inference import InferenceMixin
from luce.aggregation.parameters import team_members
from luce.arrays import Floats
from luce.errors import OptionError


class SummaryMixin(InferenceMixin):
    """Methods of a fitted PlackettLuce that put it into tables."""

    def to_elo(
        self,
        anchor: tuple[Hashable, float] | float = 1500.0,
        *,
        base: float = 10.0,
        scale: float = 400.0,
        level: float = 0.95,
        kind: str | None = None,
    ) -> pa.Table:
        """Elo ratings: `scale` points are odds of `base` to one.

        Parameters
        ----------
        anchor : float or tuple (item, float), default 1500
            The mean rating of all items, or an item and its rating.
        base, scale : float, default 10 and 400
            A difference of `scale` points means odds of `base` to one.
        level : float, default 0.95
            Confidence level of the intervals. They are based on quasi standard errors, so that they do not
            depend on the anchor.
        kind : {"observed", "expected", "sandwich"}, optional
            What the standard errors are based on, see `standard_errors`.

        Returns
        -------
        pyarrow.Table
            Columns item, rating, lower, upper; best first, without the items that cannot be estimated.

        Examples
        --------
        >>> from luce.aggregation import PlackettLuce, Rankings
        >>> pairs = Rankings.from_pairs(["a", "b"], ["b", "a"], weights=[30, 10])
        >>> PlackettLuce().fit(pairs).to_elo(("b", 1000))["rating"].to_pylist()
        [1190.8485..., 1000.0]
        """
        check_is_fitted(self)
        if not (base > 1 and scale > 0):
            raise OptionError(f"to_elo needs a base above 1 and a scale above 0. Got {base!r} and {scale!r}.")
        if isinstance(anchor, str):
            raise OptionError(f"The anchor of to_elo is a rating, or an item and its rating: ({anchor!r}, 1000).")
        points = scale / np.log(base)
        name, value = anchor if isinstance(anchor, tuple) else (None, anchor)
        zero = 0.0 if name is None else self.log_worths_[self._index(name)]
        known = np.flatnonzero(self.estimable_)
        order = known[np.argsort(-self.log_worths_[known], kind="stable")]
        bounds = self.comparison_intervals(level, kind)
        columns = {"rating": self.log_worths_, "lower": bounds[:, 0], "upper": bounds[:, 1]}
        return pa.table(
            {"item": name_column([self.names_[i] for i in order])}
            | {key: value + points * (column[order] - zero) for key, column in columns.items()}
        )

    def summary(self, *, level: float = 0.95, kind: str | None = None) -> pa.Table:
        """Worths as a table, best first.

        Parameters
        ----------
        level : float, default 0.95
            Confidence level of intervals, ranks and tiers.
        kind : {"observed", "expected", "sandwich"}, optional
            What the standard errors are based on, see `standard_errors`.

        Returns
        -------
        pyarrow.Table
            Columns item, log_worth (less the mean), standard_error, quasi_standard_error, lower, upper, worth, rank,
            rank_lower, rank_upper, tier, n_rankings (those that name the item, by weight) and note. Items that cannot
            be estimated come last, with nulls and the reason in `note`. The metadata of the schema name the standard
            errors and the prior.

        Examples
        --------
        >>> from luce.aggregation import PlackettLuce, Rankings
        >>> votes = Rankings.from_orderings([["a", "b", "c"], ["b", "a"], ["c", "b"]], weights=[2, 1, 1])
        >>> table = PlackettLuce().fit(votes).summary()
        >>> table.select(["item", "n_rankings"]).to_pylist()[0], table.schema.metadata[b"errors"]
        ({'item': 'a', 'n_rankings': 3.0}, b'observed')
        """
        check_is_fitted(self)
        intervals, ranks = self.intervals(level, kind), self.rank_intervals(level, kind)
        order = np.argsort(np.where(self.estimable_, -self.log_worths_, np.inf), kind="stable")
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(1, len(order) + 1)
        columns = {
            "log_worth": self.log_worths_,
            "standard_error": self.standard_errors(kind),
            "quasi_standard_error": self.quasi_standard_errors(kind).errors,
            "lower": intervals[:, 0],
            "upper": intervals[:, 1],
            "worth": self.worths_,
            "rank": rank,
            "rank_lower": ranks[:, 0],
            "rank_upper": ranks[:, 1],
            "tier": self.tiers(level, kind),
        }
        missing = ~self.estimable_[order]
        table = {"item": name_column([self.names_[i] for i in order])}
        table |= {key: pa.array(column[order], mask=missing) for key, column in columns.items()}
        table["n_rankings"] = pa.array(self._n_rankings()[order])
        table["note"] = pa.array([self.not_estimable_.get(self.names_[i]) for i in order], pa.string())
        return pa.table(table, metadata={"errors": self._described(kind), "prior": str(self.prior_)})

    def _n_rankings(self) -> Any:
        """The weight of the rankings that name each item, or a team of each member."""
        rankings = self.rankings_
        count = np.bincount(rankings.items, np.repeat(rankings.weights, rankings.sizes), rankings.n_items)
        if self.teams is None:
            return count
        members, sets = team_members(self.teams, rankings.names)
        sizes = [len(own) for own in sets]
        return np.bincount(np.concatenate(sets), np.repeat(count, sizes), len(members))

    worths_: Floats
    teams: Any


def name_column(names: list[Hashable]) -> pa.Array:
    """Names as a column; as text where they are of several kinds."""
    try:
        return pa.array(names)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array(list(map(str, names)))
