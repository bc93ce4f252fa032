"""The exposure of each item under a Plackett-Luce policy, E[Σ_k θ_k 1(y_k = d)], from sampled rankings."""

from typing import NamedTuple

import numpy as np

from luce.arrays import Floats, Integers, check_rows
from luce.errors import DataError
from luce.kernels.exposure import cpu
from luce.kernels.sampled_rankings import check_scores
from luce.randomness import Draw
from luce.threads import over_lists


class Exposure(NamedTuple):
    """value: (N,), the exposure of each item. variance: (N,), of this estimate, if asked for; NaN of one sample."""

    value: Floats
    variance: Floats | None


def exposure(
    scores: Floats,
    offsets: Integers,
    discounts: Floats,
    *,
    samples: int = 1_000,
    variance: bool = False,
    draw: Draw | None = None,
    first_sample: int = 0,
    n_jobs: int | None = None,
) -> Exposure:
    """Estimate the exposure of each item, discounts θ being the exposure of each place, in O(n + samples · K) per list.

    Unbiased, and exact where all scores of a list are equal: a sample does not count where an item was placed, but
    what its chances were (`cpu` says how). Rankings are numbered as in `sample_rankings`.

    >>> exposure(np.zeros(4), np.array([0, 4]), np.array([1.0, 0.5]), samples=1).value
    array([0.375, 0.375, 0.375, 0.375])
    """
    check_scores(scores)
    discounts = np.trim_zeros(check_rows("discounts", discounts), "b")
    if np.isinf(discounts).any():
        raise DataError("discounts must be finite. Got an infinite one.")
    draw, n_lists = draw or Draw(), len(offsets) - 1
    inputs = scores, discounts, *draw.stream(n_lists), first_sample, samples
    value, noise = np.zeros(len(scores)), np.zeros(len(scores) * variance)
    over_lists(cpu.exposure, offsets, *inputs, results=[value, noise], n_jobs=n_jobs)
    return Exposure(value, noise if variance else None)
