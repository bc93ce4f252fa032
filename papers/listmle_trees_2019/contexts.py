"""The contexts that several orders of tied labels share: the compression of Table 3 of the 2019 paper.

A context is the set of items that remain to be chosen. Orders of the same grades share the contexts at the end of each
grade, and others by chance; a shared context is one term of the gradient instead of several.
"""

from typing import NamedTuple

import numpy as np
from numba import uint64

from luce.arrays import Integers
from luce.compiled import compiled
from luce.data import Dataset
from luce.kernels.label_order import longest_list, sort_into_sets, sorting_space
from luce.kernels.ordered_likelihood.cpu import places_that_count
from luce.kernels.shuffles import shuffle_ties, shuffling_space
from luce.threads import over_lists


class Compression(NamedTuple):
    """The number of distinct contexts, of all contexts, and their ratio."""

    different: int
    total: int
    ratio: float


def context_compression(
    dataset: Dataset, permutations: int, *, depth: int = 10, seed: int = 0, n_jobs: int | None = None
) -> Compression:
    """Count the distinct contexts of several random orders of tied labels, each truncated at a depth.

    Contexts of a single item are not counted, since they do not affect the likelihood.

    >>> data = Dataset(np.zeros((4, 1)), [4, 0, 4, 4], [0, 4])
    >>> context_compression(data, 2, seed=1)  # the example of the paper
    Compression(different=4, total=6, ratio=0.666...)
    """
    counts: Integers = np.zeros((dataset.n_lists, 2), dtype=np.int64)
    settings = seed, permutations, depth
    over_lists(_count, dataset.offsets, dataset.labels, *settings, results=[counts], n_jobs=n_jobs)
    different, total = counts.sum(axis=0).tolist()
    return Compression(different, total, different / total if total else 1.0)


@compiled
def _count(first, last, offsets, labels, seed, permutations, depth, counts):
    longest = longest_list(first, last, offsets)
    order, ends = np.empty(longest, np.uint32), np.empty(longest, np.uint32)
    space, words = sorting_space(longest), shuffling_space(longest)
    marks = np.empty((longest + 1, permutations), np.uint64)
    for q in range(first, last):
        own = labels[offsets[q] : offsets[q + 1]]
        sets = sort_into_sets(own, 0, len(own), order, ends, space)
        if sets < 2:
            continue
        n, deep = np.int64(ends[sets - 1]), places_that_count(ends, sets, depth, False, False)
        contexts = min(deep, n - 1)
        for sample in range(permutations):
            shuffle_ties(order, ends, sets, deep, seed, 0, q, sample, words)
            mark = uint64(0)
            for j in range(contexts):
                marks[j, sample] = mark
                mark ^= _mixed(uint64(order[j]))  # of the set of items already chosen, in whatever order
        counts[q, 1] = contexts * permutations
        for j in range(contexts):
            counts[q, 0] += len(np.unique(marks[j]))


@compiled
def _mixed(number):
    """64 bits that look random (SplitMix64), so that sets of items have marks of their own."""
    z = (number + uint64(1)) * uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> uint64(27))) * uint64(0x94D049BB133111EB)
    return z ^ (z >> uint64(31))
