"""Rankings drawn from the Plackett-Luce distribution that scores give to each list.

P(y) = Π_k e^{s(y_k)} / Σ e^s over the items not placed before k. An item with a score of −∞ is never placed. The same
seed, step, list number and sample number give the same ranking, whatever the threads and the split into batches.
"""

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats, Integers
from luce.errors import DataError
from luce.kernels.sampled_rankings import cpu
from luce.kernels.sampled_rankings.urn import CHEAPEST, KEYS, RACE, TABLE
from luce.randomness import Draw
from luce.threads import over_lists

WAYS = {"cheapest": CHEAPEST, "table": TABLE, "race": RACE, "keys": KEYS}

Rankings = NDArray[np.int32]
"""(Q, samples, K): positions of items in their list, best first, −1 where no item is left to place."""


def sample_rankings(
    scores: Floats,
    offsets: Integers,
    *,
    samples: int,
    depth: int | None = None,
    draw: Draw | None = None,
    first_sample: int = 0,
    way: str = "cheapest",
    n_jobs: int | None = None,
) -> Rankings:
    """Rankings (Q, samples, K) of the lists, K = `depth`, or the length of the longest list where that is less.

    Samples are numbered from `first_sample` on: other numbers give other, independent rankings. The ways to draw:
    "table", an alias table with repeats rejected, for lists in which no few items have most of the mass;
    "race", an exponential time for each of the K heaviest items against a stream of all the others;
    "keys", an exponential time for each item, for deep rankings. The first two cost O(n + samples · K) per list, plus
    a sort of about K numbers per sample.

    >>> sample_rankings(np.array([0.0, 1000.0, -np.inf, 2000.0]), np.array([0, 3, 4]), samples=2)
    array([[[ 1,  0, -1],
            [ 1,  0, -1]],
           [[ 0, -1, -1],
            [ 0, -1, -1]]], dtype=int32)
    """
    check_scores(scores)
    n_lists, longest = len(offsets) - 1, int(np.diff(offsets).max(initial=0))
    draw, places = draw or Draw(), longest if depth is None else min(depth, longest)
    rankings = np.full((n_lists, samples, places), -1, dtype=np.int32)
    settings = *draw.stream(n_lists), first_sample, WAYS[way]
    if rankings.size:
        over_lists(cpu.sample_rankings, offsets, scores, *settings, results=[rankings], n_jobs=n_jobs)
    return rankings


def gumbel_scores(
    scores: Floats,
    offsets: Integers,
    *,
    sample: int | Integers = 0,
    draw: Draw | None = None,
    n_jobs: int | None = None,
) -> Floats:
    """The scores (N,) plus Gumbel noise, −log(−log u): their order is a Plackett-Luce ranking of all items.

    `sample` is the number of the sample, of all lists or of each.

    >>> noisy = gumbel_scores(np.array([0.0, 1000.0, -np.inf]), np.array([0, 3]))
    >>> noisy.argsort()[::-1]
    array([1, 0, 2])
    """
    check_scores(scores)
    draw, noisy = draw or Draw(), np.empty(len(scores))
    settings = *draw.stream(len(offsets) - 1), np.full(len(offsets) - 1, sample, dtype=np.int64)
    over_lists(cpu.gumbel_scores, offsets, scores, *settings, results=[noisy], n_jobs=n_jobs)
    return noisy


def check_scores(scores: Floats) -> None:
    """Refuse NaN and +∞, which have no place in an order of chances."""
    bad = np.flatnonzero(~(scores < np.inf))
    if bad.size:
        raise DataError(
            f"scores must be numbers, or −inf for an item that is never placed. Got {scores[bad[0]]} at row "
            f"{bad[0] + 1}."
        )
