"""Why a ranker ranks as it does: feature importance, and contributions to the scores of one list; a page of either."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from luce.arrays import Floats
from luce.data.ragged import Dataset
from luce.metrics import METRICS
from luce.report.contents import Report
from luce.report.formatting import LETTERS, count, decimal, isolated, number, plain, plus_minus, short, shown_value
from luce.report.layout import Cell, Folded, PageTable, Pictures, Section, Text, note, write_page
from luce.report.svg import ACCENT, INK, MUTED, Picture, picture

if TYPE_CHECKING:  # a ranker loads scikit-learn, and a page needs none
    from luce.rankers.explanation import Explainable
    from luce.rankers.importance import Importance

WEIGHTS = "size of the weight"
"""The measure of linear models, as `luce.rankers.importance.learned_importance` names it."""

FEATURES, ITEM_FEATURES, ITEMS = 10, 6, 4
"""Features of a picture of importance or a table, and of one item, where the others are summed; items not folded."""


class Contribution(NamedTuple):
    """What one feature adds to the score of an item; its value is NaN where it is missing or made from others, text
    where it is a category."""

    feature: str
    value: float | str
    contribution: float


class ExplainedItem(NamedTuple):
    """An item of a list, with what sets it apart from the mean item there, feature by feature."""

    rank: int
    document: str
    row: int
    score: float
    label: float
    contributions: list[Contribution]

    def shown(self, most: int = ITEM_FEATURES) -> list[Contribution]:
        """The largest contributions, up or down, and what the others come to."""
        largest = sorted(self.contributions, key=lambda each: -abs(each.contribution))
        if len(largest) <= most + 1:
            return largest
        rest = sum(each.contribution for each in largest[most:])
        return [*largest[:most], Contribution(f"{len(largest) - most:,} others", np.nan, rest)]


class ExplainedList(NamedTuple):
    """The top of one list: its query, how many items it has, their mean score, and the items."""

    query: str
    size: int
    mean: float
    items: list[ExplainedItem]

    def by_feature(self, most: int) -> list[tuple[str, list[Contribution]]]:
        """The features that move these items most, with what each adds to every item, and the sum of the others."""
        added = np.array([[each.contribution for each in item.contributions] for item in self.items])
        largest = np.argsort(-np.abs(added).sum(axis=0), kind="stable")
        most = len(largest) if len(largest) == most + 1 else most
        rows = [
            (self.items[0].contributions[i].feature, [item.contributions[i] for item in self.items])
            for i in largest[:most]
        ]
        if len(largest) > most:
            name = f"{len(largest) - most:,} others"
            rows.append(
                (name, [Contribution(name, np.nan, float(rest)) for rest in added[:, largest[most:]].sum(axis=1)])
            )
        return rows


def explained_list(ranker: "Explainable", dataset: Dataset, list_number: int, top: int = 10) -> ExplainedList:
    """What sets the top items of a list that is not empty apart from its mean item: score = mean + Σ contributions.

    >>> import luce
    >>> data = luce.from_arrays([[1.0], [3], [2]], [0, 2, 1], ["q", "q", "q"])
    >>> found = explained_list(luce.LinearRanker().fit(data), data, 0, top=1)
    >>> found.items[0].row, found.items[0].contributions[0].value, found.items[0].contributions[0].contribution > 0
    (2, 3.0, True)
    """
    from luce.rankers.item_explanation import item_name

    one, _ = ranker.check_input(dataset.take([list_number]))
    scores, why = ranker.predict(one), ranker.explain(one).within_lists(one.offsets)
    start = dataset.rows(list_number).start
    given = {one.feature_name(column): column for column in range(one.n_features)}
    columns = [given.get(name, -1) for name in why.names]
    items = []
    for place, row in enumerate(np.argsort(-scores, kind="stable")[:top].tolist()):
        known = (one.feature_value(row, column) if column >= 0 else np.nan for column in columns)
        contributions = list(map(Contribution, why.names, known, why.contributions[row].tolist()))
        name = item_name(one, row)
        name = name if one.document_ids is not None else f"item {name}"
        facts = start + row + 1, float(scores[row]), float(one.labels[row])
        items.append(ExplainedItem(place + 1, name, *facts, contributions))
    return ExplainedList(str(one.query_ids[0].as_py()), len(scores), float(why.base[0]), items)


def write_explanation(
    path: str | os.PathLike[str], found: ExplainedList | Sequence["Importance"], **about: Any
) -> Path:
    """Write a page about one list or the importance of features; `about` is as for `write_page`."""
    if isinstance(found, ExplainedList):
        return write_page(path, {"contributions": _list_section(found)}, **about)
    return write_page(path, {"importance": _importance_section(found)}, **about)


def _list_section(found: ExplainedList) -> Section:
    reach = max((abs(each.contribution) for item in found.items for each in item.shown()), default=0.0)
    top = f"the top {len(found.items)} of " if len(found.items) < found.size else ""
    rows = [
        [plain(name, 60)]
        + [
            Cell(decimal(c.contribution), f"at {shown_value(c.value)}" if c.value == c.value else "")
            for c in contributions
        ]
        for name, contributions in found.by_feature(FEATURES)
    ]
    foot = [
        ["Score", *(decimal(item.score) for item in found.items)],
        ["Grade", *(number(item.label) for item in found.items)],
    ]
    columns = ["Feature", *(f"{item.rank}. {isolated(plain(item.document, 20))}" for item in found.items)]
    heading = "Why the items are ranked in this order"
    drawn = [item_picture(item, reach) for item in found.items]
    others = [Folded(f"The next {count(len(drawn) - ITEMS, 'item')}", [Pictures(drawn[ITEMS:])])]
    explained = note(
        "The mean score and the contributions of a column add up to the score. A contribution that is the same for all "
        "items does not change their order and is left out. Small print: the value of the feature."
    )
    return Section(
        heading,
        [
            Text(
                f"Query {isolated(found.query)}: {top}its {count(found.size, 'item')}, whose mean score is "
                f"{decimal(found.mean)}. A bar to the right is what a feature adds to it, a bar to the left what it "
                "takes away."
            ),
            Pictures(drawn[:ITEMS]),
            *(others if len(drawn) > ITEMS else []),
            Folded("All numbers", [PageTable(heading, columns, rows, "", foot), explained]),
        ],
    )


def _importance_section(found: Sequence["Importance"]) -> Section:
    measures = [each.measure for each in found]
    text = (
        "What the metric loses when the values of a feature are shuffled over all rows; the lines are two standard "
        "errors over lists each way. A feature whose information is also in others loses little."
    )
    text += " Gain and splits show how much the trees use a feature." if "gain" in measures else ""
    pictures = Pictures([importance_picture(each) for each in found])
    features = max(len(each.names) for each in found)
    folded = Folded(f"All numbers, of {count(features, 'feature')}", [importance_table(found)])
    return Section("Feature importance", [pictures, note(text), folded])


def importance_table(found: Sequence["Importance"], most: int | None = None) -> PageTable:
    """A row for each of the most important features, a column for each measure."""
    measures = [each.measure for each in found]
    titles = [{"gain": "Gain", "split": "Splits"}.get(measure, f"{measure} lost") for measure in measures]
    rows = [
        [plain(row["feature"], 40), *(_importance_cell(row[each], row.get(f"{each} error"), each) for each in measures)]
        for row in importance_rows(found)[:most]
    ]
    return PageTable("Feature importance", ["Feature", *titles], rows)


def _importance_cell(value: float | None, error: float | None, measure: str) -> Cell:
    if value is None:
        return Cell("–")
    form = number if measure in ("gain", "split") else decimal
    return Cell(form(value), "" if error is None else plus_minus(error))


def importance_rows(found: Sequence["Importance"]) -> list[dict[str, Any]]:
    """A row for each feature, most important by the first measure first: what each measure says of it, and its error.

    A measure that does not know a feature, such as one made by a transform, says None.
    """
    rows: dict[str, dict[str, Any]] = {each.names[i]: {} for each in found for i in each.order}
    columns = [each.measure for each in found] + [f"{each.measure} error" for each in found if each.errors is not None]
    for name, row in rows.items():
        row.update({"feature": name} | dict.fromkeys(columns))
    for each in found:
        for i, name in enumerate(each.names):
            rows[name][each.measure] = float(each.values[i])
            if each.errors is not None:
                rows[name][f"{each.measure} error"] = float(each.errors[i])
    return list(rows.values())


def importance_picture(found: "Importance", name: str | None = None, heading: str | None = None) -> Picture:
    """A bar for each of the most important features, with two standard errors both ways where they are known.

    `name` tells the picture from others of the page; the measure is the heading where none is given.
    """
    chosen = found.order[:FEATURES]
    values, names = found.values[chosen], [short(found.names[i]) for i in chosen]
    spread = np.zeros(len(chosen)) if found.errors is None else 2 * np.nan_to_num(found.errors[chosen])
    measure = measured(found.measure)
    note = "in all trees" if found.measure in ("gain", "split") else ""
    note = note if found.errors is None else "two standard errors each way"
    title = measure if heading is None else heading
    below = note if heading is None else plain(measure, 50)

    def draw(axes: Any) -> None:
        axes.barh(np.arange(len(values)), values, height=0.62, color=ACCENT)
        axes.hlines(np.arange(len(values)), values - spread, values + spread, color=INK, linewidth=1.2)
        axes.axvline(0, color=MUTED, linewidth=0.8)

    spoken = "; ".join(f"{name} {decimal(value)}" for name, value in zip(names, values, strict=True))
    description = f"{title if heading is None else f'{title}, {measure}'}, most important first: {spoken}."
    looks: Any = {"title": plain(title, 40), "xlabel": below, "grid": "x", "rows": names}
    return picture(name or f"importance-{found.measure}", description, 84 + 17 * len(names), draw, **looks)


def measured(measure: str) -> str:
    """What the values of an importance are, in words.

    >>> measured("rbp(p=0.9)@10"), measured("gain"), measured("size of the weight")
    ('rbp(p=0.9)@10 lost', 'Gain of its splits', 'size of the weight')
    """
    known = {"gain": "Gain of its splits", "split": "Number of its splits"}
    return known.get(measure, f"{measure} lost" if _is_metric(measure) else measure)


def _is_metric(measure: str) -> bool:
    return re.split("[(@]", measure)[0] in METRICS


def item_picture(item: ExplainedItem, reach: float) -> Picture:
    """A bar to the right for each feature that puts the item above the mean of its list, to the left for the others."""
    contributions = item.shown()
    values: Floats = np.array([each.contribution for each in contributions])
    shown_values = [f" = {shown_value(each.value)}" if each.value == each.value else "" for each in contributions]
    names = [
        short(each.feature, LETTERS - len(value)) + value
        for each, value in zip(contributions, shown_values, strict=True)
    ]
    title = f"{item.rank}. {item.document}"
    caption = f"score {decimal(item.score)}, grade {number(item.label)}"

    def draw(axes: Any) -> None:
        colors = [ACCENT if value > 0 else MUTED for value in values]
        axes.barh(np.arange(len(values)), values, height=0.62, color=colors)
        axes.axvline(0, color=INK, linewidth=0.8)
        axes.set_xlim(-1.05 * reach or -1.0, 1.05 * reach or 1.0)

    spoken = "; ".join(f"{name}: {decimal(value)}" for name, value in zip(names, values, strict=True))
    looks: Any = {"title": plain(title, 40), "xlabel": caption, "grid": "x", "rows": names}
    return picture(f"item-{item.rank}", f"{title}, {caption}. {spoken}.", 78 + 17 * len(names), draw, **looks)


def features(report: Report) -> Section | None:
    """A picture for each ranker, its most important features first."""
    known = {name: found for name, found in report.importances.items() if len(found.names)}
    if not known:
        return None
    pictures = [
        importance_picture(found, f"importance-{place}", short(name, 40))
        for place, (name, found) in enumerate(known.items())
    ]
    notes = importance_note(list(dict.fromkeys(found.measure for found in known.values())))
    return Section("Feature importance", [Pictures(pictures), *notes])


def importance_note(measures: Sequence[str]) -> list[Text]:
    """What the pictures of these measures show, in small print."""
    lost = ", ".join(measure for measure in measures if _is_metric(measure))
    notes = []
    if lost:
        notes.append(
            f"The loss of {plain(lost, 80)} when the values of a feature are shuffled; a feature whose information "
            "others share loses little."
        )
    if not {"gain", "split"}.isdisjoint(measures):
        notes.append("Gain and splits show how much the trees use a feature.")
    if WEIGHTS in measures:
        notes.append("The weights are those of the features after the transforms.")
    return [note(" ".join(notes))] if notes else []
