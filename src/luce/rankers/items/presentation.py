"""A fitted model as tables: its worths with what is known of them, and ratings as in chess."""

from collections.abc import Hashable

import numpy as np
import pyarrow as pa
from sklearn.utils.validation import check_is_fitted

from luce.arrays import Floats
from luce.errors import OptionError
from luce.rankers.items.uncertainty import InferenceMixin


class SummaryMixin(InferenceMixin):
    """Methods of a fitted PlackettLuce that put it into tables."""

    def to_elo(
        self,
        anchor: tuple[Hashable, float] | float = 1500.0,
        *,
        base: float = 10.0,
        scale: float = 400.0,
        level: float = 0.95,
    ) -> pa.Table:
        """Ratings in which `scale` points are odds of `base` to one: item, rating, its comparison interval; best first.

        `anchor` gives an item a rating, or all items a mean. The intervals are those of quasi standard errors, so that
        the anchor does not widen them.

        >>> from luce.data.rankings import Rankings
        >>> from luce.rankers.items import PlackettLuce
        >>> pairs = Rankings.from_pairs(["a", "b"], ["b", "a"], weights=[30, 10])
        >>> PlackettLuce().fit(pairs).to_elo(("b", 1000))["rating"].to_pylist()
        [1190.8485..., 1000.0]
        """
        check_is_fitted(self)
        if not (base > 1 and scale > 0):
            raise OptionError(f"to_elo needs a base above 1 and a scale above 0. Got {base!r} and {scale!r}.")
        points = scale / np.log(base)
        name, value = anchor if isinstance(anchor, tuple) else (None, anchor)
        zero = 0.0 if name is None else self.log_worths_[self._number(name)]
        known = np.flatnonzero(self.estimable_)
        order = known[np.argsort(-self.log_worths_[known], kind="stable")]
        bounds = self.comparison_intervals(level)
        columns = {"rating": self.log_worths_, "lower": bounds[:, 0], "upper": bounds[:, 1]}
        return pa.table(
            {"item": name_column([self.names_[i] for i in order])}
            | {key: value + points * (column[order] - zero) for key, column in columns.items()}
        )

    def summary(self, *, level: float = 0.95, kind: str = "observed") -> pa.Table:
        """The worths as a table, best first: log worth less the mean, its errors and interval, worth, ranks and tier.

        Items that cannot be estimated come last, with nulls and the reason in `note`.
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
        table["note"] = pa.array([self.inestimable_.get(self.names_[i]) for i in order], pa.string())
        return pa.table(table)

    worths_: Floats


def name_column(names: list[Hashable]) -> pa.Array:
    """Names as a column; as text where they are of several kinds."""
    try:
        return pa.array(names)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array(list(map(str, names)))
