"""The section of results, means with intervals and tests of differences; and the best ranker and its rival by them."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats
from luce.data.ragged import Dataset
from luce.metrics import Comparison, Results
from luce.metrics import metric as find_metric
from luce.metrics.table import higher_is_better
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

UNSURE = "not significantly different"
TEST = f"p < {SIGNIFICANT}, paired randomization test with Holm's correction"

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
        text = "Two-sided p-values of paired tests, with Holm's correction for the number of rankers compared."
        blocks += [tests[0], note(f"{text} The {level} intervals of the differences are not corrected.")]
    if len(tests) > 1:
        others = [metric for metric, rows in report.comparisons.items() if rows][1:]
        blocks.append(Folded(plain(f"Differences in {', '.join(others)}", 80), tests[1:]))
    return Section("Results", blocks)


def _table(report: Report, columns: Mapping[str, Sequence[Whisker]], level: str) -> list[PageTable | Text]:
    every = list(report.results.values())
    marked = {metric: verdicts(metric, rows) for metric, rows in report.comparisons.items()}
    costs = [(title, field, form) for title, field, form in COSTS if _known(report, field)]
    heads = [Cell(plain(metric, 40), "" if higher_is_better(metric) else "lower is better") for metric in columns]
    rows = []
    for place, ranker in enumerate(report.results):
        cost = report.costs.get(ranker, Cost(math.nan))
        row = [sortable(getattr(cost, field), form) for _, field, form in costs]
        means = [
            Cell(decimal(one.mean), interval(one.low, one.high), one.mean, one.best, marks.get(ranker, ""))
            for one, marks in ((rows[place], marked.get(metric, {})) for metric, rows in columns.items())
        ]
        rows.append([Cell(ranker, report.origins.get(ranker, "")), *means, *row])
    foot = ["Lists counted", *(_counted(every, metric) for metric in columns), *("" for _ in costs)]
    titles = [title for title, _, _ in costs]
    table = PageTable("Results", ["Ranker", *heads, *titles], rows, foot=[foot], sortable=True)
    bold = "; the best mean is in bold" if len(rows) > 1 else ""
    notes = [f"Means over the lists counted, with {level} intervals{bold}."]
    if any(marked.get(metric) for metric in columns):
        baseline = isolated(next(tests[0].baseline for tests in report.comparisons.values() if tests))
        notes.append(f"▲ significantly better and ▼ significantly worse than the baseline, {baseline} ({TEST}).")
    if titles:
        notes.append(f"{', '.join(titles)}: {'time' if len(titles) < 3 else 'time and peak memory'} of each ranker.")
    return [table, note(" ".join([*notes, *_notes(every[0])]))]


def _tests(metric: str, tests: Sequence[Comparison]) -> PageTable:
    rows = [
        [
            t.name,
            Cell(signed(t.difference), interval(t.low, t.high)),
            *map(p_value, (t.randomization_holm, t.t_test_holm)),
            number(t.n_lists),
        ]
        for t in tests
    ]
    columns = ["Ranker", "Difference", "p, randomization test", "p, t-test", "Lists"]
    heading = f"Differences in {plain(metric, 40)} from the baseline, {isolated(tests[0].baseline)}"
    return PageTable(f"Differences in {metric}", columns, rows, heading)


def whiskers_of(report: Report, metric: str) -> list[Whisker]:
    """The mean and interval of each ranker."""
    means = [result.means.get(metric, math.nan) for result in report.results.values()]
    finite = [mean for mean in means if not math.isnan(mean)]
    best = (max if higher_is_better(metric) else min)(finite, default=math.nan) if len(means) > 1 else math.nan
    return [
        Whisker(ranker, mean, *result.intervals.get(metric, (math.nan, math.nan)), mean == best)
        for (ranker, result), mean in zip(report.results.items(), means, strict=True)
    ]


def verdicts(metric: str, tests: Sequence[Comparison]) -> dict[str, str]:
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
        notes.append("Lists for which a metric is undefined, such as those without relevant items, are not counted.")
    elif empty:
        notes.append(f"A list for which a metric is undefined (up to {count(empty, 'list')}) counts as {one.empty}.")
    if one.gain != "exponential":
        notes.append(f"The gain is {one.gain}.")
    if one.max_grade is not None:
        notes.append(f"err assumes a highest grade of {number(one.max_grade)}.")
    if one.ranking is not None:
        notes.append(f"Metrics of fairness are those of {one.ranking} rankings.")
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


def headline(results: Mapping[str, Results], metric: str, tests: Sequence[Comparison]) -> str:
    """What the means and the tests of a metric show, and no more: who has the best mean, and who differs from whom.

    Names are marked as by `formatting.isolated`.
    """
    means = {name: each.means[metric] for name, each in results.items() if not math.isnan(each.means[metric])}
    if not means:
        return f"{metric} has no value."
    upward = higher_is_better(metric)
    leader = (max if upward else min)(means, key=lambda name: means[name])
    if len(results) == 1:
        low, high = results[leader].intervals[metric]
        between = "" if math.isnan(low) else f" ({100 * results[leader].confidence:g} % interval {interval(low, high)})"
        return f"{isolated(leader)} has a mean {metric} of {decimal(means[leader])}{between}."
    extreme = "highest" if upward else "lowest"
    first = f"{isolated(leader)} has the {extreme} mean {metric}, {decimal(means[leader])}."
    if not tests:
        return first
    baseline, verdict_of = tests[0].baseline, verdicts(metric, tests)
    groups = {
        words: [isolated(test.name) for test in tests if verdict_of.get(test.name, "") == verdict]
        for words, verdict in (("significantly better", "better"), ("significantly worse", "worse"), (UNSURE, ""))
    }
    found = [
        f"{_listed(names)} {'are' if len(names) > 1 else 'is'} {words}" for words, names in groups.items() if names
    ]
    mean = "" if baseline == leader else f" ({decimal(means.get(baseline, math.nan))})"
    return f"{first} Compared with {isolated(baseline)}{mean}, {_listed(found, ', and ')} ({TEST})."


def _listed(words: Sequence[str], last: str = " and ") -> str:
    """Words or clauses in a sentence.

    >>> _listed(["a", "b", "c"])
    'a, b and c'
    """
    return last.join(filter(None, [", ".join(words[:-1]), words[-1]]))


class Leader(NamedTuple):
    """The ranker with the best mean of a metric, and its rival: None where there is no other."""

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
