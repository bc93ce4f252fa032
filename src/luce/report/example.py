"""The section that shows one list as it was ranked, its grades beside those of the ideal order."""

from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats, numbers
from luce.data.ragged import Dataset
from luce.report.contents import Report


class Item(NamedTuple):
    """One line of the ranking: a grade is NaN where not observed, a length is the part of its bar that it fills."""

    rank: int
    document: str
    score: float
    label: float
    length: float
    ideal: float
    ideal_length: float


def example(report: Report) -> dict[str, Any] | None:
    """The top of one list; items of equal score keep the order of their rows."""
    chosen, dataset = report.example, report.dataset
    if chosen is None:
        return None
    rows = dataset.rows(chosen.list_number)
    labels = dataset.labels[rows]
    scores = numbers("scores", chosen.scores)[rows]
    order = np.argsort(-scores, kind="stable")[: chosen.depth]
    ideal = -np.sort(-labels)[: chosen.depth]  # NaN sorts last either way
    lengths, ideal_lengths = _bar_lengths(labels[order], dataset.labels), _bar_lengths(ideal, dataset.labels)
    items = [
        Item(
            rank=place + 1,
            document=_document(dataset, rows.start + int(row)),
            score=scores[row],
            label=labels[row],
            length=lengths[place],
            ideal=ideal[place],
            ideal_length=ideal_lengths[place],
        )
        for place, row in enumerate(order)
    ]
    query = str(dataset.query_ids[chosen.list_number].as_py())
    return {"ranked": items, "size": len(labels), "query": query, "number": chosen.list_number, "ranker": chosen.ranker}


def _document(dataset: Dataset, row: int) -> str:
    given = None if dataset.document_ids is None else dataset.document_ids[row].as_py()
    return f"row {row}" if given is None else str(given)


def _bar_lengths(labels: Floats, all_labels: Floats) -> Floats:
    """0 for no bar, 1 for the dataset's highest grade; bars start at grade 0, or below where grades do."""
    observed = all_labels[~np.isnan(all_labels)]
    low, high = min(0.0, observed.min(initial=0.0)), observed.max(initial=0.0)
    # Halved first: the distance between two finite grades need not be finite.
    return np.nan_to_num((labels / 2 - low / 2) / ((high / 2 - low / 2) or 1.0))
