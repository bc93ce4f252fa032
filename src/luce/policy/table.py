"""Sampled rankings as an Arrow table with one row per rank."""

import numpy as np
import pyarrow as pa

from luce.data import Dataset
from luce.kernels.sampled_rankings import Rankings
from luce.policy.policy import Policy


def rankings_table(policy: Policy, rankings: Rankings, dataset: Dataset) -> pa.Table:
    """Query, sample, rank, document (where there are ids), score and row of rankings (Q, samples, K) of a dataset.

    >>> data = Dataset([[0.0], [0.0], [0.0]], [1, 0, 2], [0, 2, 3], query_ids=["a", "b"])
    >>> policy = Policy([0.0, 1000.0, 5.0], data.offsets)
    >>> table = rankings_table(policy, policy.sample(1), data)
    >>> table.select(["query", "sample", "rank", "row"]).to_pylist()
    [{'query': 'a', 'sample': 1, 'rank': 1, 'row': 1},
     {'query': 'a', 'sample': 1, 'rank': 2, 'row': 0},
     {'query': 'b', 'sample': 1, 'rank': 1, 'row': 2}]
    """
    lists, samples, places = np.nonzero(rankings >= 0)
    rows = dataset.offsets[lists] + rankings[lists, samples, places]
    columns = {"query": dataset.query_ids.take(pa.array(lists)), "sample": pa.array(samples + 1)}
    columns["rank"] = pa.array(places + 1)
    if dataset.document_ids is not None:
        columns["document"] = dataset.document_ids.take(pa.array(rows))
    return pa.table(columns | {"score": pa.array(policy.scores[rows]), "row": pa.array(rows)})
