"""The section on exposure: how much attention each grade and each group gets, against what it deserves."""

from typing import Any

import numpy as np

from luce.errors import DataError
from luce.report.contents import Report
from luce.report.exposure import Share, attention, shares_picture
from luce.report.leader import leading, scored

ITEMS = 60_000
"""Rankings are drawn of lists with about so many items in all, evenly from the whole dataset: more only takes time."""


def merit(report: Report) -> dict[str, Any] | None:
    """Shares by grade and by group under the leader's scores, pictures of them, and the rival's shares beside them."""
    leader = leading(report)
    names = [name for name in (leader.name, leader.rival) if name in report.scores] if leader is not None else []
    try:
        found = {str(name): _attention(report, str(name)) for name in names}
    except DataError:  # no merit anywhere, or grades whose gains no number holds
        return None
    if not found:
        return None
    (first, (shares, n_lists)), *others = found.items()
    tables = {"Grade": shares.by_grade, "Group": shares.by_group}
    return {
        "name": first,
        "rival": others[0][0] if others else None,
        "n_lists": shares.n_lists,
        "drawn": n_lists if n_lists < report.dataset.n_lists else None,
        "tables": {of: _beside(rows, others[0][1][0] if others else None, of) for of, rows in tables.items() if rows},
        "pictures": [
            shares_picture(f"merit-{of}-{place}", of, rows, name)
            for of in ("grade", "group")
            for place, (name, (each, _)) in enumerate(found.items())
            for rows in [getattr(each, f"by_{of}")]
            if rows
        ],
    }


def _attention(report: Report, name: str) -> tuple[Any, int]:
    """The shares that the scores of one ranker give, and the number of lists looked at."""
    dataset, scores = scored(report, name)
    step = max(1, -(-dataset.n_rows // ITEMS))
    if step > 1:
        inside = np.repeat(np.arange(dataset.n_lists) % step == 0, dataset.sizes)
        dataset, scores = dataset.take(np.arange(0, dataset.n_lists, step)), scores[inside]
    return attention(scores, dataset, gain=report.results[name].gain), dataset.n_lists


def _beside(rows: list[Share], other: Any, of: str) -> list[tuple[Share, float]]:
    """Each share with the rival's share of attention, NaN where it has none."""
    known = {} if other is None else {row.name: row.of_attention for row in getattr(other, f"by_{of.lower()}")}
    return [(row, known.get(row.name, np.nan)) for row in rows]
