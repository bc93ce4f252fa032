"""Scores turned into a table of rankings."""

import numpy as np
import pyarrow as pa

from luce.arrays import Floats, Integers, list_blocks, list_of_row
from luce.data import Dataset


def ranking_table(scores: Floats, dataset: Dataset, top: int | None = None) -> pa.Table:
    """The items of each list, best first, by any scores: the table that `Ranker.rank` returns."""
    return pa.concat_tables([_rank_block(scores, dataset, lists, top) for lists in list_blocks(dataset.offsets)])


def _rank_block(scores: Floats, dataset: Dataset, block: slice, top: int | None) -> pa.Table:
    offsets = dataset.offsets[block.start : block.stop + 1]
    lists = list_of_row(offsets)
    order = offsets[0] + np.lexsort((-scores[offsets[0] : offsets[-1]], lists))
    ranks: Integers = np.arange(offsets[0], offsets[-1]) - offsets[lists] + 1
    if top is not None:
        order, lists, ranks = order[ranks <= top], lists[ranks <= top], ranks[ranks <= top]
    columns = {"query": dataset.query_ids.take(pa.array(block.start + lists)), "rank": pa.array(ranks)}
    if dataset.document_ids is not None:
        columns["document"] = dataset.document_ids.take(pa.array(order))
    return pa.table(columns | {"score": pa.array(scores[order]), "row": pa.array(order)})
