"""`luce inspect`: what is in a file of judged lists."""

from typing import Any

from luce.cli.features import feature_names, feature_summary, warn_of_leakage
from luce.cli.options import Data, Json, Reading
from luce.cli.output import say, show, show_json, show_table
from luce.cli.reading import read_data


def inspect(data: Data, read: Reading = None, json: Json = False) -> None:
    """Describe a data file: rows, lists, features, grades, list lengths, missing values, and suspicious features.

    Example: luce inspect train.txt

    Example: luce inspect shop.csv --read query=session --read label=bought --read 'exclude=click*,position'
    """
    dataset = read_data(data, read)
    facts = describe(dataset)
    suspicious = warn_of_leakage(dataset, data, read)
    if facts["labels"] and not facts["lists_with_different_labels"]:
        say("No list has items with different labels, so there is nothing to learn. Check the query and label.", "Note")
    if json:
        found = [each._asdict() for each in suspicious]
        show_json(facts | {"feature_names": feature_names(dataset), "suspicious_features": found})
        return
    show_table(None, ["", ""], [[key.replace("_", " "), _words(value)] for key, value in facts.items()])
    show(f"Features: {feature_summary(dataset)}")  # too long for the table


def describe(dataset: Any) -> dict[str, Any]:
    """Counts of a dataset, as `luce inspect` prints them."""
    import numpy as np

    from luce.data.summary import spread
    from luce.objectives import objective

    observed = dataset.labels[~np.isnan(dataset.labels)]
    grades, counts = np.unique(observed, return_counts=True)
    sizes = dataset.sizes
    best = np.full(dataset.n_lists, -np.inf)
    known = np.where(np.isnan(dataset.labels), -np.inf, dataset.labels)
    best[sizes > 0] = np.maximum.reduceat(known, dataset.offsets[:-1][sizes > 0]) if observed.size else -np.inf
    differ = objective("listmle").has_signal(dataset.labels, dataset.offsets)
    stored = dataset.features.data if dataset.is_sparse else dataset.features
    return {
        "rows": dataset.n_rows,
        "lists": dataset.n_lists,
        "features": dataset.n_features,
        "storage": "sparse" if dataset.is_sparse else "dense",
        "list_lengths": spread(sizes),
        "labels": dict(zip(grades.tolist(), counts.tolist(), strict=True)) if len(grades) <= 20 else spread(observed),
        "labels_not_observed": int(dataset.n_rows - observed.size),
        "lists_without_relevant_items": int((best <= 0).sum()),
        "lists_with_different_labels": int(differ.sum()),
        "missing_feature_values": sum(
            int(np.isnan(stored[i : i + 65_536]).sum()) for i in range(0, len(stored), 65_536)
        ),
        "document_ids": dataset.document_ids is not None,
        "item_weights": dataset.item_weights is not None,
        "list_weights": dataset.list_weights is not None,
        "item_groups": 0 if dataset.item_groups is None else len(dataset.item_groups.unique()),
    }


def _words(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, dict):
        return ", ".join(f"{key if isinstance(key, str) else f'{key:g}'}: {item:,g}" for key, item in value.items())
    return str(value)
