"""The expected gain of a Plackett-Luce policy, E[Σ_k θ_k ρ(y_k)], and its gradient, from sampled rankings.

θ are the discounts of the places and ρ the gains of the items: of any metric that is linear in them, or the derivatives
of any function of the items' exposures E[Σ_k θ_k 1(y_k = d)], which makes the gradient that of the function.
"""

from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats, Integers, check_rows, list_of_row, selected_offsets
from luce.errors import DataError
from luce.kernels.expected_gain import cpu
from luce.kernels.expected_gain.samples import DIRECT, PLACEMENT, POLICY
from luce.kernels.sampled_rankings import Rankings, check_scores
from luce.randomness import Draw
from luce.threads import over_lists

ESTIMATORS = {"policy-gradient": POLICY, "pl-rank-1": PLACEMENT, "pl-rank-2": DIRECT}
"""Names of the 2021 paper, and the kernels' numbers for them."""

LONGEST_ON_GPU = 16_384
"""Items of a list that a program holds; longer lists run in plain PyTorch."""

AUTO = 0
"""Instead of a number of samples: as many as make the signal as strong as the noise."""

PILOT, LEAST, MOST = 64, 16, 1_024
"""Pilot samples from which that number is estimated, the fewest and the most samples."""


class Estimate(NamedTuple):
    """An estimate from samples.

    value: (Q,), the expected gain. gradient: (N,), in the scores. value_variance (Q,), gradient_variance
    (N,): of these estimates, if asked for; NaN of one sample. samples: (Q,), how many, 0 where none were needed.
    """

    value: Floats
    gradient: Floats
    value_variance: Floats | None
    gradient_variance: Floats | None
    samples: Integers


def expected_gain(
    scores: Floats,
    gains: Floats,
    offsets: Integers,
    discounts: Floats,
    *,
    samples: int = 100,
    estimator: str = "pl-rank-2",
    rankings: Rankings | None = None,
    variance: bool = False,
    draw: Draw | None = None,
    first_sample: int = 0,
    n_jobs: int | None = None,
) -> Estimate:
    """Estimate E[Σ_k θ_k ρ(y_k)] of each list and its gradient in O(n + samples · K) per list, K = len(discounts).

    Rankings are drawn as `sample_rankings` draws them, from `first_sample` on, or given: then none are drawn.
    samples=AUTO: as many as make the signal as strong as the noise, 16 to 1,024 per list, from 64 pilot samples that
    are used for nothing else, so that the estimate stays unbiased. A list whose gains are all alike needs no sample.

    >>> two = np.array([0.0, 0.0]), np.array([1.0, 0.0]), np.array([0, 2])
    >>> estimate = expected_gain(*two, discounts=np.array([1.0]), samples=10_000, variance=True)
    >>> np.abs(estimate.gradient - [0.25, -0.25]).max() < 4 * np.sqrt(estimate.gradient_variance.max()) < 0.02
    np.True_
    """
    check_scores(scores)
    check_rows("gains", gains, len(scores))
    discounts = np.trim_zeros(check_rows("discounts", discounts), "b")
    draw, n_lists, code = draw or Draw(), len(offsets) - 1, ESTIMATORS[estimator]
    inputs = offsets, scores, gains, discounts
    results = [np.zeros(size) for size in (n_lists, len(scores), n_lists * variance, len(scores) * variance)]
    counts = np.full(n_lists, samples)
    if rankings is not None:
        rankings = np.ascontiguousarray(rankings, dtype=np.int32)
        _check_rankings(rankings, scores, offsets, len(discounts))
        counts[:] = rankings.shape[1]
        over_lists(cpu.given_gain, *inputs, rankings, code, results=results, n_jobs=n_jobs)
    else:
        if samples == AUTO:
            same: dict[str, Any] = {"estimator": estimator, "draw": draw, "first_sample": first_sample}
            pilot = expected_gain(
                scores, gains, offsets, discounts, samples=PILOT, variance=True, n_jobs=n_jobs, **same
            )
            counts, first_sample = _samples_needed(pilot, offsets), first_sample + PILOT
        settings = *draw.stream(n_lists), first_sample, code
        over_lists(cpu.expected_gain, *inputs, *settings, results=[counts, *results], n_jobs=n_jobs)
    value, gradient, noise, noises = results
    return Estimate(value, gradient, noise if variance else None, noises if variance else None, counts)


def _samples_needed(pilot: Estimate, offsets: Integers) -> Integers:
    """For each list the variance of one sample over the squares of the gradient: then an estimate has both alike."""
    assert pilot.gradient_variance is not None
    lists, n_lists = list_of_row(offsets), len(offsets) - 1
    noise = np.bincount(lists, pilot.gradient_variance, n_lists)
    signal = np.bincount(lists, pilot.gradient**2, n_lists) - noise  # the pilot's own noise is no signal
    needed = np.where(noise > 0, np.inf, 0.0)
    np.divide(PILOT * noise, signal, out=needed, where=signal > 0)
    return np.clip(np.ceil(needed), LEAST, MOST).astype(np.int64)


def _check_rankings(rankings: Rankings, scores: Floats, offsets: Integers, depth: int) -> None:
    """Every place that the discounts pay for, as far as there are items to place, must have an item of its own."""
    n_lists = len(offsets) - 1
    if rankings.ndim != 3 or len(rankings) != n_lists or rankings.shape[1] == 0:
        raise DataError(f"rankings must be ({n_lists} lists, samples, ranks). Got shape {rankings.shape}.")
    live = np.diff(selected_offsets(scores > -np.inf, offsets))
    places = np.minimum(depth, live)
    if rankings.shape[2] < places.max(initial=0):
        raise DataError(f"rankings must have {places.max()} ranks. Got {rankings.shape[2]}.")
    for q in range(n_lists):
        paid = np.sort(rankings[q, :, : places[q]], axis=1)
        placeable = np.flatnonzero(scores[offsets[q] : offsets[q + 1]] > -np.inf)
        bad = ~np.isin(paid, placeable).all(axis=1) | (np.diff(paid, axis=1) == 0).any(axis=1)
        if bad.any():
            raise DataError(
                f"The first {places[q]} ranks of a ranking of list {q + 1} must be different items, by their positions "
                f"in the list from 0 on, with scores above −inf. Got {rankings[q, bad.argmax()].tolist()}."
            )
