"""The section of results: each ranker's means with intervals, in a table and pictures, and tests of differences."""

import math
from collections.abc import Sequence
from typing import Any

from luce.errors import OptionError
from luce.metrics import Comparison, Results
from luce.metrics import metric as find_metric
from luce.report.charts import Whisker, whiskers
from luce.report.contents import Cost, Report
from luce.report.wording import count, number

SURE = 0.05
"""A difference with a smaller p-value, after the correction, is more than chance."""

COSTS = {"Fit": "fit_seconds", "Rank": "predict_seconds", "Memory": "peak_bytes"}
"""The columns of what a ranker took, each the field of `Cost` that it shows."""


def results(report: Report) -> dict[str, Any] | None:
    """A row of means for each ranker, the lists counted by each metric, a picture for each metric, the comparisons."""
    if not report.results:
        return None
    every = list(report.results.values())
    metrics = list(dict.fromkeys(name for result in every for name in result.means))
    columns = {metric: _column(report, metric) for metric in metrics}
    level = f"{number(100 * every[0].confidence)} %"
    verdicts = {metric: _verdicts(metric, rows) for metric, rows in report.comparisons.items()}
    return {
        "names": metrics,
        "metrics": {metric: higher_is_better(metric) for metric in metrics},
        "verdicts": verdicts,
        "marked": any(verdicts.get(metric) for metric in metrics),
        "costs": {title: field for title, field in COSTS.items() if _known(report, field)},
        "taken": {ranker: report.costs.get(ranker, Cost(math.nan)) for ranker in report.results},
        "rows": {ranker: [columns[metric][place] for metric in metrics] for place, ranker in enumerate(report.results)},
        "counted": [_counted(every, metric) for metric in metrics],
        "level": level,
        "notes": _notes(every[0]),
        "pictures": [
            whiskers(f"metric-{place}", metric, columns[metric], level) for place, metric in enumerate(metrics)
        ],
        "comparisons": {metric: rows for metric, rows in report.comparisons.items() if rows},
    }


def higher_is_better(metric: str) -> bool:
    """What the table of metrics says of this name; a measure of the user's own counts as better when higher.

    >>> higher_is_better("ndcg@10"), higher_is_better("arp"), higher_is_better("my own")
    (True, False, True)
    """
    try:
        return find_metric(metric).higher_is_better
    except OptionError:
        return True


def _column(report: Report, metric: str) -> list[Whisker]:
    means = [result.means.get(metric, math.nan) for result in report.results.values()]
    finite = [mean for mean in means if not math.isnan(mean)]
    best = (max if higher_is_better(metric) else min)(finite, default=math.nan) if len(means) > 1 else math.nan
    return [
        Whisker(ranker, mean, *result.intervals.get(metric, (math.nan, math.nan)), mean == best)
        for (ranker, result), mean in zip(report.results.items(), means, strict=True)
    ]


def _verdicts(metric: str, tests: Sequence[Comparison]) -> dict[str, str]:
    """Of each ranker that surely differs from the baseline whether it is better or worse."""
    sign = 1 if higher_is_better(metric) else -1
    return {
        test.name: "better" if sign * test.difference > 0 else "worse"
        for test in tests
        if test.randomization_holm < SURE
    }


def _known(report: Report, field: str) -> bool:
    return any(not math.isnan(getattr(cost, field)) for cost in report.costs.values())


def _counted(results: Sequence[Results], metric: str) -> str:
    """The lists behind a mean: "564 of 784", or from the fewest to the most where rankers differ."""
    counts = {result.n_lists - result.skipped[metric] for result in results if metric in result.means}
    of = max(result.n_lists for result in results)
    fewest, most = min(counts), max(counts)
    return f"{fewest:,} of {of:,}" if fewest == most else f"{fewest:,} to {most:,} of {of:,}"


def _notes(one: Results) -> list[str]:
    """How the means came to be, where it can change them."""
    empty = max(one.n_empty.values(), default=0)
    notes = []
    if empty and one.empty == "skip":
        notes.append("Lists in which a metric has nothing to measure are not counted.")
    elif empty:
        notes.append(
            f"Lists in which a metric has nothing to measure, up to {count(empty, 'list')}, count as {one.empty}."
        )
    if one.gain != "exponential":
        notes.append(f"Gains are {one.gain}.")
    if one.max_grade is not None:
        notes.append(f"The highest grade for err is {number(one.max_grade)}.")
    return notes
