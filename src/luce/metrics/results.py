"""The results of an evaluation: a value for each list, and means with confidence intervals."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from luce.arrays import Floats

Empty = Literal["skip", 0, 1]


@dataclass(frozen=True, eq=False, repr=False)
class Results:
    """The results of `evaluate`; the keys of dictionaries are names of metrics, such as "ndcg@10".

    Attributes
    ----------
    values : dict of ndarray of shape (Q,)
        The value of each list, NaN where it was skipped.
    means : dict of float
        Over the lists that were not skipped, weighted by the list weights of the dataset where it has them.
    intervals : dict of tuple of float
        (low, high) of each mean; (NaN, NaN) where fewer than two lists count or without bootstrap.
    n_empty : dict of int
        The number of lists for which the metric is undefined.
    query_ids : pyarrow.Array of length Q
        The ids of the lists.
    list_weights : ndarray of shape (Q,) or None
        The weights of the lists.
    empty : "skip", 0 or 1
        Whether empty lists were skipped, or the value they were given.
    gain : str
        "exponential" or "linear".
    max_grade : float or None
        The highest grade used by ERR; None where no metric reads it.
    ranking : str or None
        "sampled" or "sorted", the rankings that metrics of fairness measured; None where there is no such metric.
    confidence : float
        The level of the intervals.
    """

    values: dict[str, Floats]
    means: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    n_empty: dict[str, int]
    query_ids: Any
    list_weights: Floats | None
    empty: Empty
    gain: str
    max_grade: float | None
    ranking: str | None
    confidence: float

    @property
    def n_lists(self) -> int:
        return len(self.query_ids)

    @property
    def skipped(self) -> dict[str, int]:
        """The number of lists left out of each mean."""
        return {name: count if self.empty == "skip" else 0 for name, count in self.n_empty.items()}

    def table(self) -> pa.Table:
        """The values as a table: one row per list, with its query id and a column per metric."""
        columns = {name: pa.array(values) for name, values in self.values.items()}
        return pa.table({"query": self.query_ids, **columns})

    def to_dict(self) -> dict[str, Any]:
        """The summary without the values per list, as JSON values; numbers that are not finite are None."""
        return {
            "n_lists": self.n_lists,
            "empty": self.empty,
            "gain": self.gain,
            "max_grade": self.max_grade,
            "ranking": self.ranking,
            "confidence": self.confidence,
            "metrics": {
                name: {
                    "mean": _finite(self.means[name]),
                    "low": _finite(self.intervals[name][0]),
                    "high": _finite(self.intervals[name][1]),
                    "lists": self.n_lists - self.skipped[name],
                    "n_empty": self.n_empty[name],
                }
                for name in self.means
            },
        }

    def __str__(self) -> str:
        header = "skipped" if self.empty == "skip" else f"empty, as {self.empty}"
        rows = [("metric", "mean", f"{100 * self.confidence:g} % interval", "lists", header)]
        for name, mean in self.means.items():
            low, high = self.intervals[name]
            counted = self.n_lists - self.skipped[name]
            rows.append((name, number(mean), interval(low, high), f"{counted:,}", f"{self.n_empty[name]:,}"))
        grade = "" if self.max_grade is None else f"\nerr with max_grade {self.max_grade:g}"
        ranking = "" if self.ranking is None else f"\nfairness of {self.ranking} rankings"
        return text_table(rows) + grade + ranking

    def __repr__(self) -> str:
        means = ", ".join(f"{name} {number(mean)}" for name, mean in self.means.items())
        return f"Results({self.n_lists:,} lists, {means})"


def text_table(rows: Sequence[Sequence[str]]) -> str:
    """Rows in columns, the first to the left and the others to the right.

    >>> print(text_table([("metric", "mean"), ("err", "0.4")]))
    metric  mean
    err      0.4
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        )
        for row in rows
    )


def interval(low: float, high: float) -> str:
    """The ends of an interval; a dash where there is none."""
    return "–" if math.isnan(low) else f"{number(low)} to {number(high)}"


def number(value: float) -> str:
    """A mean or a difference, four places where that says something."""
    return f"{value:.4f}" if value == 0 or 1e-3 <= abs(value) < 1e5 else f"{value:.4g}"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
