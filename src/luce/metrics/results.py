"""The results of an evaluation: a value for each list, means with their intervals, and how they came to be."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from luce.arrays import Floats

Empty = Literal["skip", 0, 1]


@dataclass(frozen=True, eq=False, repr=False)
class Results:
    """What `evaluate` found; dictionaries go by the name of the metric, such as 'ndcg@10'.

    Attributes:
        values: float64 (Q,) per metric, NaN where the list was skipped.
        means: over the lists that were not skipped, weighted by the list weights of the dataset where it has them.
        intervals: (low, high) of each mean; (NaN, NaN) where fewer than two lists count or no bootstrap was asked for.
        n_empty: the number of lists with nothing to measure.
        query_ids: Arrow array (Q,).
        list_weights: float64 (Q,), or None.
        empty: what became of the empty lists: "skip", or the value 0 or 1.
        gain: "exponential" or "linear".
        max_grade: the highest grade that ERR reckoned with; None where no metric reads it.
        confidence: of the intervals.
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
    confidence: float

    @property
    def n_lists(self) -> int:
        return len(self.query_ids)

    @property
    def skipped(self) -> dict[str, int]:
        """The number of lists left out of each mean."""
        return {name: count if self.empty == "skip" else 0 for name, count in self.n_empty.items()}

    def table(self) -> pa.Table:
        """One row per list: its query id, and a column per metric, NaN where the list was skipped."""
        columns = {name: pa.array(values) for name, values in self.values.items()}
        return pa.table({"query": self.query_ids, **columns})

    def to_dict(self) -> dict[str, Any]:
        """The summary without the values per list, ready for JSON: what is not a finite number is None."""
        return {
            "n_lists": self.n_lists,
            "empty": self.empty,
            "gain": self.gain,
            "max_grade": self.max_grade,
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
        decided = "skipped" if self.empty == "skip" else f"empty, as {self.empty}"
        rows = [("metric", "mean", f"{100 * self.confidence:g} % interval", "lists", decided)]
        for name, mean in self.means.items():
            low, high = self.intervals[name]
            between = "–" if math.isnan(low) else f"{_number(low)} to {_number(high)}"
            counted = self.n_lists - self.skipped[name]
            rows.append((name, _number(mean), between, f"{counted:,}", f"{self.n_empty[name]:,}"))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(
                [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
            )
            for row in rows
        ]
        if self.max_grade is not None:
            lines.append(f"err with max_grade {self.max_grade:g}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        means = ", ".join(f"{name} {_number(mean)}" for name, mean in self.means.items())
        return f"Results({self.n_lists:,} lists, {means})"


def _number(value: float) -> str:
    return f"{value:.4f}" if value == 0 or 1e-3 <= abs(value) < 1e5 else f"{value:.4g}"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
