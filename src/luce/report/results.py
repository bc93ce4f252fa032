"""The section of results, means with intervals and tests of differences; and the best ranker and its rival by them."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats
from luce.data.ragged import Dataset
from luce.errors import OptionError
from luce.metrics import Comparison, Results
from luce.metrics import metric as find_metric
from luce.report.contents import Cost, Report
from luce.report.formatting import (
    amount,
    count,
    decimal,
    duration,
    interval,
    isolated,
    number,
    p_value,
    plain,
    short,
    signed,
)
from luce.report.layout import Cell, Folded, PageTable, Pictures, Section, Text, note, sortable
from luce.report.svg import ACCENT, MUTED, Picture, picture

SIGNIFICANT = 0.05
"""A difference with a smaller p-value, after the correction, is significant."""

COSTS = (("Fit", "fit_seconds", duration), ("Rank", "predict_seconds", duration), ("Memory", "peak_bytes", amount))
"""The columns of what a ranker costs, each with the field of `Cost` that it shows and its form."""


class Whisker(NamedTuple):
    """One mean with its interval; NaN where there is none."""

    name: str
    mean: float
    low: float
    high: float
    best: bool


def results(report: Report) -> Section | None:
    """A row of means for each ranker, a picture for each metric, and the tests against the baseline."""
    if not report.results:
        return None
    every = list(report.results.values())
    metrics = list(dict.fromkeys(name for result in every for name in result.means))
    columns = {metric: whiskers_of(report, metric) for metric in metrics}
    level = f"{number(100 * every[0].confidence)} %"
    pictures = [whiskers(f"metric-{place}", metric, columns[metric], level) for place, metric in enumerate(metrics)]
    tests = [_tests(metric, rows) for metric, rows in report.comparisons.items() if rows]
    blocks: list[Any] = [*_table(report, columns, level), Pictures(pictures[:4])]
    if len(pictures) > 4:
        blocks.append(Folded(plain(f"Pictures of {', '.join(metrics[4:])}", 80), [Pictures(pictures[4:])]))
    if tests:
        correction = "Holm's correction for the number of rankers in the table"
        blocks += [tests[0], note(f"Two-sided p-values of tests paired by list, with {correction}.")]
    if len(tests) > 1:
        others = [metric for metric, rows in report.comparisons.items() if rows][1:]
        blocks.append(Folded(plain(f"Differences in {', '.join(others)}", 80), tests[1:]))
    return Section("Results", blocks)


def _table(report: Report, columns: Mapping[str, Sequence[Whisker]], level: str) -> list[PageTable | Text]:
    every = list(report.results.values())
    verdicts = {metric: _verdicts(metric, rows) for metric, rows in report.comparisons.items()}
    costs = [(title, field, form) for title, field, form in COSTS if _known(report, field)]
    heads = [Cell(plain(metric, 40), "" if higher_is_better(metric) else "lower is better") for metric in columns]
    rows = []
    for place, ranker in enumerate(report.results):
        cost = report.costs.get(ranker, Cost(math.nan))
        row = [sortable(getattr(cost, field), form) for _, field, form in costs]
        means = [
            Cell(decimal(one.mean), interval(one.low, one.high), one.mean, one.best, marks.get(ranker, ""))
            for one, marks in ((rows[place], verdicts.get(metric, {})) for metric, rows in columns.items())
        ]
        rows.append([Cell(ranker), *means, *row])
    foot = ["Lists counted", *(_counted(every, metric) for metric in columns), *("" for _ in costs)]
    titles = [title for title, _, _ in costs]
    table = PageTable("Results", ["Ranker", *heads, *titles], rows, foot=[foot], sortable=True)
    notes = [f"Means over the lists counted, with {level} intervals{'; the best in bold' if len(rows) > 1 else ''}."]
    if any(verdicts.get(metric) for metric in columns):
        notes.append("▲ better and ▼ worse than the baseline, significant at 5 % (randomization test, Holm).")
    if titles:
        notes.append(f"{', '.join(titles)}: cost of each ranker{', memory at its peak' if 'Memory' in titles else ''}.")
    return [table, note(" ".join([*notes, *_notes(every[0])]))]


def _tests(metric: str, tests: Sequence[Comparison]) -> PageTable:
    rows = [
        [t.name, signed(t.difference), p_value(t.randomization_holm), p_value(t.t_test_holm), number(t.n_lists)]
        for t in tests
    ]
    columns = ["Ranker", "Difference", "p, randomization", "p, t-test", "Lists"]
    heading = f"Differences in {plain(metric, 40)} from {isolated(tests[0].baseline)}"
    return PageTable(f"Differences in {metric}", columns, rows, heading)


def higher_is_better(metric: str) -> bool:
    """What the table of metrics says of this name; a measure of the user's own counts as better when higher.

    >>> higher_is_better("ndcg@10"), higher_is_better("arp"), higher_is_better("my own")
    (True, False, True)
    """
    try:
        return find_metric(metric).higher_is_better
    except OptionError:
        return True


def whiskers_of(report: Report, metric: str) -> list[Whisker]:
    """The mean and interval of each ranker."""
    means = [result.means.get(metric, math.nan) for result in report.results.values()]
    finite = [mean for mean in means if not math.isnan(mean)]
    best = (max if higher_is_better(metric) else min)(finite, default=math.nan) if len(means) > 1 else math.nan
    return [
        Whisker(ranker, mean, *result.intervals.get(metric, (math.nan, math.nan)), mean == best)
        for (ranker, result), mean in zip(report.results.items(), means, strict=True)
    ]


def _verdicts(metric: str, tests: Sequence[Comparison]) -> dict[str, str]:
    """Of each ranker that differs significantly from the baseline whether it is better or worse."""
    sign = 1 if higher_is_better(metric) else -1
    return {
        test.name: "better" if sign * test.difference > 0 else "worse"
        for test in tests
        if test.randomization_holm < SIGNIFICANT
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


def whiskers(name: str, metric: str, rows: Sequence[Whisker], level: str) -> Picture:
    """A dot for each mean and a line for its interval of this level, the names above them."""

    def draw(axes: Any) -> None:
        for place, row in enumerate(rows):
            color = ACCENT if row.best else MUTED
            axes.hlines(place, row.low, row.high, color=color, linewidth=2)
            axes.plot(row.mean, place, "o", color=color, markersize=7)
            text = short(row.name, 44) if np.isfinite(row.mean) else f"{short(row.name, 34)}: no value"
            looks = {"va": "bottom", "weight": "bold" if row.best else "normal", "clip_on": False}
            axes.text(0, place - 0.22, text, transform=axes.get_yaxis_transform(), **looks)
        axes.set_ylim(len(rows) - 0.5, -1)
        axes.set_yticks([])
        axes.spines.left.set_visible(False)
        if not np.isfinite([row.mean for row in rows]).any():
            axes.set_xticks([])

    spoken = "; ".join(f"{row.name} {decimal(row.mean)}, {decimal(row.low)} to {decimal(row.high)}" for row in rows)
    description = f"{metric}, mean and {level} interval of each ranker: {spoken}."
    return picture(name, description, 66 + 34 * len(rows), draw, title=metric, grid="x")


class Leader(NamedTuple):
    """The best ranker by a metric, and its rival: None where there is no other."""

    metric: str
    name: str
    rival: str | None


def leading(report: Report) -> Leader | None:
    """The best by the first metric that was compared, else by the first that has a value for each list; None without.

    Its rival is the baseline of the comparison, or the next best where the baseline itself leads or there is none.
    """
    metrics = dict.fromkeys([*report.comparisons, *(name for each in report.results.values() for name in each.values)])
    for metric in metrics:
        means = {name: each.means[metric] for name, each in report.results.items() if metric in each.values}
        sign = -1 if higher_is_better(metric) else 1
        ordered = sorted((name for name in means if not np.isnan(means[name])), key=lambda name: sign * means[name])
        if not ordered:
            continue
        tests = report.comparisons.get(metric, ())
        baseline = tests[0].baseline if tests else None
        others = [name for name in ordered[1:] if name == baseline] or ordered[1:]
        return Leader(metric, ordered[0], others[0] if others else None)
    return None


def goodness(report: Report, metric: str, ranker: str) -> Floats:
    """The value of each list, turned so that higher is better."""
    values = report.results[ranker].values[metric]
    return values if higher_is_better(metric) else -values


def scored(report: Report, ranker: str) -> tuple[Dataset, Floats]:
    """The lists that a ranker has scored, and their scores; one NaN or +∞ leaves a list out."""
    dataset, scores = report.dataset, report.scores_of(ranker)
    bad = np.isnan(scores) | (scores == np.inf)
    if not bad.any():
        return dataset, scores
    before = np.concatenate([[0], np.cumsum(bad)])
    complete = np.flatnonzero(before[dataset.offsets[1:]] == before[dataset.offsets[:-1]])
    inside = np.repeat(np.isin(np.arange(dataset.n_lists), complete), dataset.sizes)
    return dataset.take(complete), scores[inside]


def family(metric: str) -> str:
    """The metric to look at by depth: this one without its cutoff, or ndcg where it takes none.

    >>> family("precision@5"), family("arp")
    ('precision', 'ndcg')
    """
    found = find_metric(metric)
    return found.name if found.takes_cutoff and not found.is_stochastic else "ndcg"
