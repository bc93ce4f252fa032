"""A page about one model: what it is for, what it was trained on, how good it is, and what to be careful with."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from luce.metrics import Results
from luce.metrics.table import higher_is_better
from luce.report.explanation import importance_note, importance_picture, importance_table
from luce.report.formatting import count, decimal, interval, isolated, number, plain
from luce.report.layout import Cell, Code, Facts, Folded, PageTable, Pictures, Section, Text, note, write_page
from luce.report.results import headline

USE = (
    "This model orders the items of a list, such as the results of one query, by a "
    "score; the higher, the better. It is meant for lists of the kind it was trained on, with the same features, "
    "computed in the same way.",
    "A score has a meaning only beside the scores of the same list: it is no probability, and scores of different "
    "lists are not comparable.",
)
USE_OF_LABELS = (
    "This model scores every label for a row; the higher, the better. It is meant "
    "for rows of the kind it was trained on, with the same features, computed in the same way.",
)


@dataclass(frozen=True, kw_only=True)
class ModelCard:
    """What is known of a model.

    Attributes
    ----------
    name : str
        The model file.
    about : mapping of str to str
        Facts about the file.
    description : mapping
        Kind, objective, transforms and parameters, as `Estimator.describe` gives them.
    progress : mapping of str to str
        What the training came to.
    training, validation : mapping or None
        What `luce.data.summary.summarize` says of the data that were given to `fit`.
    notes : sequence of str
        The paragraphs on the intended use; without any, a general text.
    caveats : sequence of str
    data : str
        The name of the data that the results are of.
    results : Results or None
    equal_scores : Results or None
        The same metrics where all items have the same score.
    importances : sequence of Importance
    usage : mapping of str to str
        A command and code that score with the model, each after where to use it.
    """

    name: str
    about: Mapping[str, str]
    description: Mapping[str, Any]
    progress: Mapping[str, str]
    training: Mapping[str, Any] | None
    validation: Mapping[str, Any] | None
    notes: Sequence[str]
    caveats: Sequence[str]
    data: str = ""
    results: Results | None = None
    equal_scores: Results | None = None
    importances: Sequence[Any] = ()
    usage: Mapping[str, str] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        """The kind, the training data and the first metric, in one or two sentences."""
        kind = {"trees": "boosted trees", "neural": "a neural network", "labels": "a network of many labels"}
        kind |= {"linear": "a linear model", "ensemble": "an ensemble of rankers"}
        what = kind.get(self.description["kind"], self.description["kind"])
        text = f"{what[0].upper()}{what[1:]}, objective {self.description['objective'].partition('(')[0]}"
        if self.training is not None:
            text += f", trained on {_size(self.training)}"
        if self.results is None:
            return f"{text}."
        found = headline({self.name: self.results}, next(iter(self.results.means)), ())
        return f"{text}. On {isolated(self.data)}, {found[0].lower() if found[0].isascii() else found[0]}{found[1:]}"

    def to_dict(self) -> dict[str, Any]:
        """The card as JSON values."""
        names = ("about", "progress", "training", "validation", "notes", "caveats", "usage")
        return {
            "model": self.name,
            **self.description,
            **{name: getattr(self, name) for name in names},
            "data": self.data or None,
            "results": None if self.results is None else self.results.to_dict(),
            "importances": {each.measure: each.table().to_pylist() for each in self.importances},
        }


def write_model_card(path: str | os.PathLike[str], card: ModelCard, **about: Any) -> Path:
    """Write the page of a model; `about` is as for `write_page`."""
    sections = {
        "use": _use(card),
        "model": _model(card),
        "training": _training(card),
        "metrics": _metrics(card),
        "features": _features(card),
        "caveats": Section("Caveats", [*map(Text, card.caveats)]) if card.caveats else None,
        "scoring": Section(
            "Score with it", [part for how, text in card.usage.items() for part in (Text(how), Code(text))]
        ),
    }
    made = {name: section for name, section in sections.items() if section is not None}
    contents = {name: each.heading for name, each in made.items()} | {"repeat": "Reproduce"}
    return write_page(path, made, **about, contents=contents)


def _use(card: ModelCard) -> Section:
    if card.notes:
        return Section("Intended use", [*map(Text, card.notes)])
    general = USE_OF_LABELS if card.description["kind"] == "labels" else USE
    replace = note(
        "A general text. For the purpose of this model, its users and its limits, write your own: --notes FILE."
    )
    return Section("Intended use", [*map(Text, general), replace])


def _code(where: str, text: str) -> tuple[Text, Code]:
    return Text(where), Code(text)


def _model(card: ModelCard) -> Section:
    given = card.description
    facts = {"Kind": given["kind"], "Objective": given["objective"], **card.progress, **card.about}
    settings = {name: _value(value) for name, value in given.items() if name not in ("kind", "objective", "members")}
    members = [Facts(_settings(each), f"Member {isolated(name)}") for name, each in given.get("members", {}).items()]
    return Section("Model", [Facts(facts), Folded("Parameters", [Facts(settings), *members])])


def _settings(description: Mapping[str, Any]) -> dict[str, str]:
    return {name: _value(value) for name, value in description.items()}


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return plain(", ".join(map(str, value)), 200) or "none"
    return "none" if value is None else plain(str(value), 200)


def _training(card: ModelCard) -> Section:
    if card.training is None:
        return Section("Training data", [Text("The model file does not say what the model was trained on.")])
    blocks: list[Any] = [Facts(summary_facts(card.training))]
    if card.validation is not None:
        blocks.append(Facts(summary_facts(card.validation), "Validation data"))
    return Section("Training data", [*blocks, note("The fingerprint differs wherever the data do.")])


def summary_facts(found: Mapping[str, Any]) -> dict[str, str]:
    """What `luce.data.summary.summarize` says, as the page names it."""
    if "n_labels" in found:
        counts = {"Rows": found["rows"], "Features": found["features"], "Labels": found["n_labels"]}
        facts = {name: f"{value:,}" for name, value in counts.items()}
        return facts | {"Labels of a row": _range(found["labels_per_row"]), "Fingerprint": found["fingerprint"]}
    facts = {name: f"{found[name.lower()]:,}" for name in ("Lists", "Rows", "Features")}
    facts |= {"List length": _range(found["list_lengths"]), "Rows by label": _range(found["labels"])}
    others = {"Rows without a label": "rows_without_label", "Missing feature values": "missing_values"}
    facts |= {title: f"{found[name]:,}" if found[name] else "none" for title, name in others.items()}
    constant = found["constant_features"]
    if constant:
        facts["Constant features"] = f"{constant:,}: {plain(', '.join(found['constant_feature_names']), 120)}"
    return facts | {"Fingerprint": found["fingerprint"]}


def _range(found: Mapping[str, float]) -> str:
    """A spread, or counts by label."""
    if "least" not in found:
        return "; ".join(f"{plain(label, 20)}: {rows:,}" for label, rows in found.items()) or "none"
    if found["least"] == found["most"]:
        return number(found["least"])
    text = f"{number(found['least'])} to {number(found['most'])}"
    return f"{text}, median {number(found['median'])}" if "median" in found else text


def _size(found: Mapping[str, Any]) -> str:
    lists = f"{count(found['lists'], 'list')} with " if "lists" in found else ""
    return f"{lists}{count(found['rows'], 'row')} and {count(found['features'], 'feature')}"


def _metrics(card: ModelCard) -> Section | None:
    if card.results is None:
        return None
    found, equal = card.results, card.equal_scores
    rows = []
    for name, mean in found.means.items():
        small = "" if higher_is_better(name) else "lower is better"
        low, high = found.intervals[name]
        row = [Cell(plain(name, 40), small), decimal(mean), interval(low, high) or "–"]
        row += [] if equal is None else [decimal(equal.means[name])]
        rows.append([*row, f"{found.n_lists - found.skipped[name]:,} of {found.n_lists:,}"])
    level = f"{number(100 * found.confidence)} % interval"
    columns = ["Metric", "Mean", level, *([] if equal is None else ["Equal scores"]), "Counted"]
    text = f"On {isolated(card.data)}. The intervals are those of a bootstrap over lists"
    text += "" if equal is None else "; the column of equal scores is what a random order gives on average"
    return Section("Metrics", [PageTable("Metrics", columns, rows), note(f"{text}.")])


def _features(card: ModelCard) -> Section | None:
    if not card.importances:
        return None
    pictures = Pictures([importance_picture(each) for each in card.importances])
    explained = importance_note([each.measure for each in card.importances])
    features = max(len(each.names) for each in card.importances)
    folded = Folded(f"All numbers, of {count(features, 'feature')}", [importance_table(card.importances)])
    return Section("Features by importance", [pictures, *explained, folded])
