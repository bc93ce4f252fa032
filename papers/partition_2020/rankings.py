"""Plackett-Luce rankings cut into ordered partitions: the simulated data of the 2020 paper."""

from typing import NamedTuple

import numpy as np
from numpy.random import default_rng

from luce.arrays import Floats, Integers, offsets_of_sizes


class PartitionedRankings(NamedTuple):
    """Rankings of the same items, cut into ordered partitions; only the items above the last partition are stored.

    Attributes
    ----------
    items
        The items of the top partitions, sample after sample, in the order of the full ranking.
    labels
        M−1 for the first partition down to 1; items that are not stored have 0.
    offsets
        int64 (n+1,), the start of each sample.
    worths
        (N,), the Plackett-Luce probabilities that the rankings were drawn from; they sum to one.
    """

    items: Integers
    labels: Integers
    offsets: Integers
    worths: Floats


def partitioned_rankings(
    n_items: int, n_samples: int, n_partitions: int = 4, *, top: int = 500, seed: int = 0
) -> PartitionedRankings:
    """Samples of a Plackett-Luce model with the order inside partitions removed (section 4.1 of the 2020 paper).

    The worths are softmax(q), q uniform on (0, log N). Each full ranking is cut at M−1 places, drawn at random among
    the first `top`; memory is that of the items above the last cut.

    >>> partitioned_rankings(n_items=6, n_samples=2, n_partitions=3).labels
    array([2, 1, 1, 1, 2, 2, 1, 1, 1])
    """
    places = min(top, n_items - 1)
    random = default_rng([seed, 2])
    scores = random.uniform(0, np.log(n_items), n_items)
    items, labels = [], []
    for _ in range(n_samples):
        cuts = 1 + np.sort(random.choice(places, n_partitions - 1, replace=False))
        # Scores plus Gumbel noise, sorted, are a Plackett-Luce draw; only the first of them are wanted.
        keys = scores + random.gumbel(size=n_items)
        best = np.argpartition(-keys, cuts[-1] - 1)[: cuts[-1]]
        items.append(best[np.argsort(-keys[best])])
        labels.append(n_partitions - 1 - np.searchsorted(cuts, np.arange(cuts[-1]), side="right"))
    worths = np.exp(scores - scores.max())
    offsets = offsets_of_sizes([len(sample) for sample in items])
    return PartitionedRankings(np.concatenate(items), np.concatenate(labels), offsets, worths / worths.sum())
