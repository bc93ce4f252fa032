"""Whom the sections on single lists are about: the ranker with the best mean, and the one it is held against."""

from typing import NamedTuple

import numpy as np

from luce.arrays import Floats
from luce.data.ragged import Dataset
from luce.metrics import metric as find_metric
from luce.report.contents import Report
from luce.report.results import higher_is_better


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
    kept = np.flatnonzero(before[dataset.offsets[1:]] == before[dataset.offsets[:-1]])
    inside = np.repeat(np.isin(np.arange(dataset.n_lists), kept), dataset.sizes)
    return dataset.take(kept), scores[inside]


def family(metric: str) -> str:
    """The metric to look at by depth: this one without its cutoff, or ndcg where it takes none.

    >>> family("precision@5"), family("arp")
    ('precision', 'ndcg')
    """
    found = find_metric(metric)
    return found.name if found.takes_cutoff and not found.is_stochastic else "ndcg"
