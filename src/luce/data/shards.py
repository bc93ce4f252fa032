"""The share of a dataset that one of several ranks works on: complete lists, about as many rows for each rank."""

from typing import TypeVar

import numpy as np

from luce.arrays import Integers
from luce.data.extreme import TaggedData
from luce.data.ragged import Dataset
from luce.errors import DataError

Data = TypeVar("Data", Dataset, TaggedData)


def share_of(dataset: Data, rank: int, size: int) -> Data:
    """The lists of one rank, which follow each other in the dataset; no array is copied.

    Parameters
    ----------
    dataset : Dataset or TaggedData
        All lists, the same on every rank; each tagged row counts as a list.
    rank, size : int
        Whose share, from 0, and among how many.

    Returns
    -------
    Dataset or TaggedData
        The shares of all ranks are the dataset, and each has about as many rows.

    Examples
    --------
    >>> data = Dataset(np.zeros((6, 1)), np.zeros(6), [0, 3, 4, 5, 6])
    >>> [share_of(data, rank, 2).query_ids.to_pylist() for rank in (0, 1)]
    [[1], [2, 3, 4]]
    """
    offsets = dataset.offsets if isinstance(dataset, Dataset) else np.arange(dataset.n_rows + 1)
    cuts = even_cuts(offsets, size)
    return dataset.take(np.arange(cuts[rank], cuts[rank + 1]))


def even_cuts(offsets: Integers, size: int) -> Integers:
    """The numbers of the lists at which the share of each rank starts, and where the last one ends; none is empty.

    >>> even_cuts(np.array([0, 3, 4, 5, 6]), 2)
    array([0, 1, 4])
    """
    n_lists = len(offsets) - 1
    if n_lists < size:
        raise DataError(f"{size} ranks need at least {size} lists, one each. Got {n_lists}. Start fewer ranks.")
    ideal = offsets[-1] * np.arange(size + 1) / size
    after = np.clip(np.searchsorted(offsets, ideal), 1, n_lists)
    cuts = np.where(ideal - offsets[after - 1] < offsets[after] - ideal, after - 1, after)
    ranks = np.arange(size + 1)
    cuts[0], cuts[-1] = 0, n_lists
    rising = np.maximum.accumulate(cuts - ranks) + ranks  # one list each, also before and after a long one
    return np.minimum(rising, n_lists - size + ranks)
