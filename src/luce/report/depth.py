"""The section on depth: the metric of every ranker when a reader looks at the first place, the first two, and so on."""

from typing import Any

import numpy as np

from luce.arrays import Floats
from luce.errors import DataError, OptionError
from luce.metrics import evaluate
from luce.report.contents import Report
from luce.report.leader import family, leading, scored
from luce.report.multiples import lines

DEEPEST = 20
TABLE = 1, 3, 5, 10, 20
"""The depths of the picture end here, or with the longest list; those of the table."""


def depth(report: Report) -> dict[str, Any] | None:
    """Means at depth 1, 2, … of each ranker that has scores."""
    leader = leading(report)
    if leader is None:
        return None
    try:
        name = family(leader.metric)
        places = np.arange(1.0, min(DEEPEST, int(report.dataset.sizes.max(initial=0))) + 1)
        means = {ranker: _means(report, ranker, name, places) for ranker in report.scores if ranker in report.results}
    except (DataError, OptionError):  # a measure of the user's own, or grades whose gains no number holds
        return None
    means = {ranker: values for ranker, values in means.items() if np.isfinite(values).any()}
    if not means or len(places) < 2:
        return None
    pictures = lines("depth", f"{name} by depth", "first places that count", places, means)
    columns = [int(place) for place in TABLE if place <= len(places)]
    rows = {ranker: [values[column - 1] for column in columns] for ranker, values in means.items()}
    return {"metric": name, "pictures": pictures, "small": len(pictures) > 1, "columns": columns, "rows": rows}


def _means(report: Report, ranker: str, name: str, places: Floats) -> Floats:
    dataset, scores = scored(report, ranker)
    one = report.results[ranker]
    settings: dict[str, Any] = {"empty": one.empty, "gain": one.gain, "max_grade": one.max_grade, "n_bootstrap": 0}
    found = evaluate(scores, dataset, [f"{name}@{place:g}" for place in places], **settings)
    return np.array(list(found.means.values()))
