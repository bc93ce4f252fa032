"""The section that shows single lists: what was placed where, by whom, with labels, scores and features."""

from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats, Integers
from luce.data.ragged import Dataset
from luce.report.contents import Report
from luce.report.differences import Chosen, chosen_lists
from luce.report.formatting import isolated, plain
from luce.report.layout import Section
from luce.report.results import Leader, leading

DEPTH, LOWER, FEATURES = 10, 5, 4
"""Items from the top of a list, relevant ones from further down, and features of each."""


class Item(NamedTuple):
    """One item: its places from 1, its grade (NaN where not observed) with the length of its bar, scores, features.

    before: the rival's place; None where it has not scored the list.
    """

    rank: int
    before: int | None
    document: str
    label: float
    length: float
    score: float
    rival_score: float
    features: list[float]


class ShownList(NamedTuple):
    """A list with its top items and, from further down, relevant ones that the reader would miss."""

    chosen: Chosen
    items: list[Item]
    lower: list[Item]
    features: list[str]


def lists(report: Report) -> Section | None:
    """The lists to look at, each with its items where the leader has scores."""
    leader = leading(report)
    if leader is None or (leader.name not in report.scores and leader.rival is None):
        return None
    rival = leader.rival if leader.rival in report.scores and leader.name in report.scores else None
    name, metric = isolated(leader.name), plain(leader.metric, 40)
    intro = (
        "The lists with the largest losses and gains"
        if leader.rival
        else f"The lists with the lowest and highest {metric}"
    )
    intro += f", and a typical list: the top items as ranked by {name}"
    intro += f", with their ranks by {isolated(rival)}." if rival else "."
    important = leader.name in report.importances
    columns = f"most important to {name}" if important else "most correlated with the score within the list"
    data = {
        "intro": intro,
        "note": f"The last columns are the features {columns}.",
        "metric": metric,
        "leader": leader,
        "rival": rival,
        "shown": shown_lists(report, leader),
    }
    return Section("Lists to look at", template="lists.html.j2", data=data)


def shown_lists(report: Report, leader: Leader) -> list[ShownList]:
    """The chosen lists; items of equal score keep the order of their rows."""
    return [_shown(report, leader, chosen) for chosen in chosen_lists(report, leader)]


def _shown(report: Report, leader: Leader, chosen: Chosen) -> ShownList:
    if leader.name not in report.scores:
        return ShownList(chosen, [], [], [])
    dataset, rows = report.dataset, report.dataset.rows(chosen.number)
    scores, labels = report.scores_of(leader.name)[rows], dataset.labels[rows]
    versus = report.scores.get(leader.rival or "", np.full(dataset.n_rows, np.nan))[rows]
    order, ranks = np.argsort(-scores, kind="stable"), places(scores)
    before = [None] * len(versus) if np.isnan(versus).any() else places(versus).tolist()
    missed = [row for row in np.argsort(-labels, kind="stable") if labels[row] > 0 and ranks[row] > DEPTH][:LOWER]
    values = _features(dataset, rows)
    columns = _columns(report, leader, values, scores)
    lengths = bar_lengths(labels, dataset.labels)

    def item(row: int) -> Item:
        shown = [float(values[row, column]) for column in columns]
        name, both = _document(dataset, rows.start + row), (float(scores[row]), float(versus[row]))
        return Item(int(ranks[row]), before[row], name, float(labels[row]), float(lengths[row]), *both, shown)

    tops, others = ([item(int(row)) for row in chosen] for chosen in (order[:DEPTH], sorted(missed, key=ranks.item)))
    return ShownList(chosen, tops, others, [_feature(dataset, column) for column in columns])


def places(scores: Floats) -> Integers:
    """The place of each item, from 1.

    >>> places(np.array([0.5, 2.0, 0.5]))
    array([2, 1, 3])
    """
    found = np.empty(len(scores), dtype=np.int64)
    found[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return found


def _features(dataset: Dataset, rows: slice) -> Any:
    values = dataset.features[rows]
    return values.toarray() if dataset.is_sparse else values


def _columns(report: Report, leader: Leader, values: Any, scores: Floats) -> list[int]:
    """The features worth most to the leader; where that is not known, those that go with its scores in this list."""
    if leader.name in report.importances:
        found = report.importances[leader.name]
        known = {report.dataset.feature_name(column): column for column in range(report.dataset.n_features)}
        return [known[found.names[i]] for i in found.order if found.names[i] in known][:FEATURES]
    strength = correlations(values, scores)
    order = np.argsort(-strength, kind="stable")[:FEATURES]
    return [int(column) for column in order if strength[column] > 0]


def correlations(values: Any, scores: Floats) -> Floats:
    """The absolute correlation of each feature with the scores; 0 where one of them is constant.

    >>> correlations(np.array([[1.0, 7.0], [3.0, 7.0]]), np.array([5.0, 4.0]))
    array([1., 0.])
    """
    finite = np.where(np.isfinite(scores), scores, np.nan)
    columns = np.column_stack([values.astype(np.float64), finite])
    with np.errstate(invalid="ignore", divide="ignore"):
        known = ~np.isnan(columns)
        means = np.where(known, columns, 0).sum(axis=0) / known.sum(axis=0)
        off = np.where(known, columns - means, 0.0)
        off /= np.abs(off).max(axis=0, initial=0.0)  # squares of large numbers overflow
        size = np.sqrt((off**2).sum(axis=0))
        return np.nan_to_num(np.abs(off[:, :-1].T @ off[:, -1]) / (size[:-1] * size[-1]))


def _feature(dataset: Dataset, column: int) -> str:
    return dataset.feature_name(column) if dataset.feature_names else f"feature {column + 1}"


def _document(dataset: Dataset, row: int) -> str:
    given = None if dataset.document_ids is None else dataset.document_ids[row].as_py()
    return f"row {row + 1}" if given is None else str(given)


def bar_lengths(labels: Floats, all_labels: Floats) -> Floats:
    """0 for no bar, 1 for the dataset's highest grade; bars start at grade 0, or below where grades do."""
    observed = all_labels[~np.isnan(all_labels)]
    low, high = min(0.0, observed.min(initial=0.0)), observed.max(initial=0.0)
    # Halved first: the distance between two finite grades need not be finite.
    return np.nan_to_num((labels / 2 - low / 2) / ((high / 2 - low / 2) or 1.0))
