"""The expected gain of each list and its gradient, estimated from rankings that are sampled here or given."""

import numpy as np

from luce.compiled import compiled
from luce.kernels.expected_gain.samples import (
    TIER,
    TIERS,
    LinearGain,
    SampleSums,
    add_carefully,
    add_common,
    add_far,
    add_quickly,
)
from luce.kernels.label_order import longest_list
from luce.kernels.sampled_rankings.cpu import fill_chunk, make_chunk, open_urn
from luce.kernels.sampled_rankings.numbers import Stream
from luce.kernels.sampled_rankings.race import add_up
from luce.kernels.sampled_rankings.urn import CHEAPEST, count_live, fill_urn, make_urn


@compiled
def expected_gain(
    first,
    last,
    offsets,
    scores,
    gains,
    discounts,
    numbers,
    seed,
    step,
    first_sample,
    estimator,
    samples,
    value,
    gradient,
    value_variance,
    gradient_variance,
):
    """samples: (Q,); none for a list whose gains are all alike."""
    longest, noisy = longest_list(first, last, offsets), gradient_variance.size > 0
    depth = min(len(discounts), longest)
    workspace, chunk = make_urn(longest), make_chunk(longest, depth, CHEAPEST)
    all_sums, scratch, width = make_sums(longest), np.empty((2, depth + 1)), len(chunk.near)
    for q in range(first, last):
        rows = slice(offsets[q], offsets[q + 1])
        own, places = scores[rows], min(depth, count_live(scores[rows]))
        if places == 0 or _all_alike(gains[rows]):
            value[q] = np.sum(discounts[:places]) * gains[rows.start] if places > 0 else 0.0
            samples[q] = 0
            continue
        linear_gain, sums = LinearGain(gains[rows], discounts[:places], estimator), cleared(all_sums, len(own), noisy)
        urn, n_racers, tail = open_urn(workspace, own, places, CHEAPEST)
        for done in range(0, samples[q], width):
            stream, now = Stream(seed, step, numbers[q], first_sample + done), min(width, samples[q] - done)
            fill_chunk(urn, n_racers, tail, places, stream, now, chunk)
            _add(linear_gain, urn, now, chunk, scratch, sums)
        add_common(linear_gain, urn.weights, sums)
        _average(q, rows, samples[q], sums, value, gradient, value_variance, gradient_variance)


@compiled
def given_gain(
    first,
    last,
    offsets,
    scores,
    gains,
    discounts,
    rankings,
    estimator,
    value,
    gradient,
    value_variance,
    gradient_variance,
):
    """The same of given rankings."""
    longest, noisy = longest_list(first, last, offsets), gradient_variance.size > 0
    depth = min(len(discounts), longest)
    workspace, chunk = make_urn(longest), make_chunk(0, depth, CHEAPEST)
    all_sums, scratch = make_sums(longest), np.empty((2, depth + 1))
    for q in range(first, last):
        rows = slice(offsets[q], offsets[q + 1])
        own, places = scores[rows], min(depth, count_live(scores[rows]))
        if places == 0:
            continue
        linear_gain, sums = LinearGain(gains[rows], discounts[:places], estimator), cleared(all_sums, len(own), noisy)
        urn = fill_urn(workspace, own)
        for sample in range(rankings.shape[1]):
            for k in range(places):
                chunk.rankings[0, k] = rankings[q, sample, k]
            ranking = chunk.rankings[0, :places]
            chunk.near[0] = add_up(_left(urn, ranking), urn.weights, ranking, chunk.masses[0])
            _add(linear_gain, urn, 1, chunk, scratch, sums)
        add_common(linear_gain, urn.weights, sums)
        _average(q, rows, rankings.shape[1], sums, value, gradient, value_variance, gradient_variance)


@compiled
def _left(urn, ranking):
    """What the items that are not in the ranking weigh."""
    urn.drawn[0] += 1
    for item in ranking:
        urn.placed[item] = urn.drawn[0]
    left = 0.0
    for j in range(len(urn.weights)):
        left += urn.weights[j] if urn.placed[j] != urn.drawn[0] else 0.0
    return left


@compiled
def _all_alike(values):
    alike = True
    for value in values:
        alike &= value == values[0]
    return alike


@compiled
def make_sums(longest):
    return SampleSums(np.empty(longest), np.empty(longest), np.empty((TIERS, 5)), np.empty(2), np.zeros(1, np.int64))


@compiled
def cleared(workspace, n, noisy):
    sums = SampleSums(
        workspace.given[:n],
        workspace.squares[: n if noisy else 0],
        workspace.common,
        workspace.earned,
        workspace.deepest,
    )
    sums.given[:], sums.squares[:], sums.earned[:], sums.common[:], sums.deepest[:] = 0.0, 0.0, 0.0, 0.0, 0
    return sums


@compiled
def _add(linear_gain, urn, samples, chunk, scratch, sums):
    """Add the samples of a chunk, each in the quickest way that keeps its digits."""
    depth, quick = len(linear_gain.discounts), sums.squares.size == 0
    if quick:
        add_quickly(linear_gain, samples, chunk.rankings, chunk.masses, chunk.near, urn.weights, sums)
    for i in range(samples):
        if not chunk.near[i]:
            add_far(linear_gain, chunk.rankings[i, :depth], urn.scores, scratch, sums)
        elif not quick or chunk.masses[i, depth - 1] < TIER:
            add_carefully(linear_gain, chunk.rankings[i, :depth], chunk.masses[i], urn.weights, scratch, sums)


@compiled
def _average(q, rows, n, sums, value, gradient, value_variance, gradient_variance):
    value[q] = sums.earned[0] / n
    if len(sums.squares):
        value_variance[q] = variance_of_mean(sums.earned[1], value[q], n)
    for j in range(len(sums.given)):
        mean = sums.given[j] / n
        gradient[rows.start + j] = mean
        if len(sums.squares):
            gradient_variance[rows.start + j] = variance_of_mean(sums.squares[j], mean, n)


@compiled
def variance_of_mean(squares, mean, n):
    """Of a mean of n numbers whose squares have this sum; NaN of one."""
    return max(squares / n - mean * mean, 0.0) / (n - 1) if n > 1 else np.nan
