"""Splits by list: no query is on both sides, and the same seed gives the same split on every machine."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol, Self, TypeVar

import numpy as np

from luce.arrays import Integers
from luce.data.ragged import Dataset, concatenate
from luce.errors import DataError, OptionError


class Splittable(Protocol):
    """What can be split: lists of items, or tagged rows, each a list of its labels."""

    @property
    def n_lists(self) -> int: ...

    def take(self, lists: Integers) -> Self: ...


Data = TypeVar("Data", bound=Splittable)


class Fold(NamedTuple):
    """One turn of a cross-validation; with two parts there is none left for validation."""

    train: Dataset
    validation: Dataset | None
    test: Dataset


def split(dataset: Data, fractions: Sequence[float] = (0.8, 0.2), seed: int = 0) -> tuple[Data, ...]:
    """Split a dataset by list, at random: every list is in exactly one part, and no part is empty.

    Parameters
    ----------
    dataset : Dataset or TaggedData
        The data to split; each tagged row counts as a list.
    fractions : sequence of float
        The share of the lists in each part; positive, with sum 1.
    seed : int
        The same seed gives the same split on every machine.

    Returns
    -------
    tuple of Dataset or TaggedData
        One for each fraction.

    Examples
    --------
    >>> data = Dataset(np.zeros((10, 1)), np.zeros(10), np.arange(11))
    >>> train, test = split(data, (0.7, 0.3), seed=1)
    >>> train.n_lists, test.n_lists
    (7, 3)
    """
    shares = np.asarray(fractions, dtype=np.float64)
    if shares.ndim != 1 or not shares.size or not np.all(shares > 0) or abs(shares.sum() - 1) > 1e-9:
        raise OptionError(f"fractions must be positive and sum to 1. Got {fractions}.")
    return _cut(dataset, _sizes(shares, dataset.n_lists), seed)


def parts(dataset: Data, k: int = 5, seed: int = 0) -> tuple[Data, ...]:
    """Split a dataset by list into k parts whose sizes differ by at most one; `rotations` makes folds of them.

    Parameters
    ----------
    dataset : Dataset or TaggedData
        What to split.
    k : int
        The number of parts, at least 2.
    seed : int
        The same seed gives the same parts on every machine.

    Returns
    -------
    tuple of Dataset or TaggedData

    Examples
    --------
    >>> data = Dataset(np.zeros((10, 1)), np.zeros(10), np.arange(11))
    >>> [part.n_lists for part in parts(data, 3)]
    [4, 3, 3]
    """
    if k < 2:
        raise OptionError(f"k must be at least 2 parts. Got {k}.")
    return _cut(dataset, _sizes(np.full(k, 1 / k), dataset.n_lists), seed)


def rotations(parts: Sequence[Dataset]) -> Iterator[Fold]:
    """The folds of a cross-validation over parts, as in LETOR.

    With five parts, the first fold trains on 1, 2, 3, validates on 4 and tests on 5; the next starts at part 2, and so
    on. With two parts there is one to train and one to test, and no validation.

    Parameters
    ----------
    parts : sequence of Dataset
        At least two.

    Yields
    ------
    Fold

    Examples
    --------
    >>> data = [Dataset([[i]], [0], [0, 1], [i]) for i in (1, 2, 3, 4, 5)]
    >>> folds = list(rotations(data))
    >>> [part.query_ids.to_pylist() for part in folds[1]]
    [[2, 3, 4], [5], [1]]
    """
    k = len(parts)
    if k < 2:
        raise OptionError(f"A cross-validation needs at least 2 parts. Got {k}.")
    training = max(1, k - 2)
    for start in range(k):
        turn = [parts[(start + i) % k] for i in range(k)]
        yield Fold(concatenate(turn[:training]), turn[-2] if k > 2 else None, turn[-1])


def _sizes(shares: np.ndarray, n_lists: int) -> Integers:
    """Whole numbers near shares of the lists: what rounding leaves goes where most was lost, then to what is empty."""
    if n_lists < len(shares):
        raise DataError(
            f"{len(shares)} parts need at least {len(shares)} lists. Got {n_lists}. Give more lists, or use fewer "
            "parts "
            "(on the command line --folds)."
        )
    sizes = np.floor(shares * n_lists).astype(np.int64)
    lost = np.argsort(sizes - shares * n_lists, kind="stable")
    sizes[lost[: n_lists - sizes.sum()]] += 1
    while not sizes.all():
        sizes[np.argmin(sizes)] += 1
        sizes[np.argmax(sizes)] -= 1
    return sizes


def _cut(dataset: Data, sizes: Integers, seed: int) -> tuple[Data, ...]:
    if seed < 0:
        raise OptionError(f"seed must not be negative. Got {seed}.")
    # The bits of Philox are the same in every release of NumPy; its shuffles need not be.
    shuffled = np.argsort(np.random.Philox(key=seed).random_raw(dataset.n_lists), kind="stable")
    return tuple(dataset.take(np.sort(lists)) for lists in np.split(shuffled, np.cumsum(sizes)[:-1]))
