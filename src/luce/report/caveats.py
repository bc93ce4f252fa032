"""What to be careful with, of one model and of the data it is evaluated on: facts in sentences."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from luce.data.leakage import suspicious_features
from luce.metrics.table import higher_is_better
from luce.report.formatting import count, isolated, number, plain

SHOWN = 10
"""Names of features in a sentence."""


def model_caveats(ranker: Any) -> Iterator[str]:
    """What the model itself says."""
    training = (ranker.provenance_ or {}).get("training")
    if training is None:
        yield "The model file does not say what the model was trained on: it was written by an earlier version."
    if ranker.best_score_ is None:
        yield "No validation score was measured in the training."
    if context := getattr(ranker, "list_context", ""):
        yield f"This ranker {context}: score complete lists, as a part of a list gets other scores."
    coded = [values is not None for values in ranker.categories_ or ()]
    if any(coded):
        of = names_of(ranker, np.flatnonzero(coded))
        yield f"Values of {of} that were not in the training data are treated as missing."
    if training is None or "lists" not in training:
        return
    if training["constant_features"]:
        names = ", ".join(map(isolated, training["constant_feature_names"][:SHOWN]))
        several = training["constant_features"] > 1
        same = "the same value" if not several else "one value each"
        of = count(training["constant_features"], "feature")
        yield f"{of} had {same} in all rows of the training data, so nothing was learned of {names}."
    if training["rows_without_label"]:
        rows, were = training["rows_without_label"], "was" if training["rows_without_label"] == 1 else "were"
        yield f"{count(rows, 'row')} of the training data had no label and {were} left out."


def data_caveats(ranker: Any, dataset: Any, summary: Mapping[str, Any], data: str) -> Iterator[str]:
    """What the data of the evaluation, and `summarize` of them, say against those of the training."""
    training = (ranker.provenance_ or {}).get("training")
    leaks = suspicious_features(dataset)
    if leaks:
        names = ", ".join(isolated(each.name) for each in leaks[:SHOWN])
        yield f"These features may give the label away, or may not be known when items are ranked: {names}."
    if training is None:
        return
    if summary["fingerprint"] == training["fingerprint"]:
        yield f"{isolated(data)} is what the model was trained on: new lists will be ranked less well than these."
        return
    new = _unseen_labels(training["labels"], summary["labels"])
    if new:
        yield f"Labels of {isolated(data)} that were not in the training data: {new}."
    if summary["missing_values"] and not training["missing_values"]:
        yield f"Feature values are missing in {isolated(data)}; none was in the training data."
    longest, seen = (each["list_lengths"].get("most", 0) for each in (summary, training))
    if longest > seen:
        yield f"The longest list of {isolated(data)} has {number(longest)} items; in the training data, {number(seen)}."
    constant = set(summary["constant_feature_names"]) - set(training["constant_feature_names"])
    if constant and training["constant_features"] is not None:
        names = ", ".join(isolated(name) for name in sorted(constant)[:SHOWN])
        yield f"Constant in {isolated(data)}, but not in the training data: {names}."


def metric_caveats(results: Any, equal_scores: Any) -> Iterator[str]:
    """The metrics by which the ranking may be no better than a random order."""
    for name, equal in equal_scores.means.items():
        low, high = results.intervals[name]
        if (low <= equal) if higher_is_better(name) else (high >= equal):
            yield f"By {name}, the ranking cannot be told from that of equal scores, which is a random order."


def names_of(ranker: Any, columns: Any) -> str:
    """The names of some features, the first few of many."""
    _, names = ranker.features
    shown = ", ".join(isolated(names[column] if names else f"feature {column + 1}") for column in columns[:SHOWN])
    return shown if len(columns) <= SHOWN else f"{shown} and {count(len(columns) - SHOWN, 'other feature')}"


def _unseen_labels(training: Mapping[str, float], given: Mapping[str, float]) -> str:
    """The labels that are not among those of the training, or outside their range."""
    if "least" not in given and "least" not in training:
        return plain(", ".join(label for label in given if label not in training), 100)
    (low, high), (least, most) = (_ends(each) for each in (training, given))
    return (
        f"{number(least)} to {number(most)}, beyond {number(low)} to {number(high)}"
        if least < low or most > high
        else ""
    )


def _ends(labels: Mapping[str, float]) -> tuple[float, float]:
    if "least" in labels:
        return labels["least"], labels["most"]
    values = [float(label) for label in labels]
    return (min(values), max(values)) if values else (np.inf, -np.inf)
