"""Exact sums over subsets on a GPU: the subsets of one size as the probability that so many items are drawn.

Items that are drawn on their own with odds e^{x_i}, x_i = (s_i − centre)/m + log-odds of m in n, are m with
probability e_m(e^x) / Π (1 + e^{x_i}). That is a coefficient of Π (1 − p_i + p_i y), so the mean of y^−m times this
product over roots of unity y = e^{iθ}. The centre is one for which m items are drawn on average: m is near the
likeliest number then, and nothing cancels, though all sizes and stages are computed apart. The mean of y^−m times the
product times p_i y / (1 − p_i + p_i y) is the probability that they are m and that item i is among them.
"""

import math

import triton
import triton.language as tl

from luce.kernels.padded import best_first
from luce.kernels.subset_choice.gpu_stages import evaluation_of, stages_of, sums_of_workers
from luce.lists import DeviceEvaluation, DeviceLists

TILE = tl.constexpr(512)
"""Roots of unity times items that a program takes at a time."""

NEGLIGIBLE = tl.constexpr(40.0)
"""What is below e^−40 of a sum is left out."""

CIRCLE = tl.constexpr(2.0 * math.pi)


def exact_lists(lists: DeviceLists) -> DeviceEvaluation:
    """As `geometric_choice`, of lists of at most a few hundred items."""
    scores, labels, offsets, longest, *_ = lists
    found, workers = sums_of_workers(lists)
    if len(offsets) > 1:
        size = triton.next_power_of_2(max(longest, 128))
        _exact_lists[((len(offsets) - 1) * workers,)](
            scores, labels, best_first(labels, offsets), offsets, found, len(scores), len(offsets) - 1, workers, size,
            num_warps=4,
        )  # fmt: skip
    return evaluation_of(found, lists)


@triton.jit
def _exact_lists(scores, labels, order, offsets, found, n_rows, n_lists, workers, size: tl.constexpr):
    """An eighth of the workspace, a quarter or half of it, where that holds the list."""
    row, worker = tl.program_id(0) // workers, tl.program_id(0) % workers
    begin = tl.load(offsets + row)
    count = (tl.load(offsets + row + 1) - begin).to(tl.int32)
    found += worker.to(tl.int64) * (n_lists + n_rows)
    loss, shares = found + row, found + n_lists
    if count <= size // 8:
        _exact_list(scores, labels, order, begin, count, loss, shares, worker, workers, size // 8)
    elif count <= size // 4:
        _exact_list(scores, labels, order, begin, count, loss, shares, worker, workers, size // 4)
    elif count <= size // 2:
        _exact_list(scores, labels, order, begin, count, loss, shares, worker, workers, size // 2)
    else:
        _exact_list(scores, labels, order, begin, count, loss, shares, worker, workers, size)


@triton.jit
def _exact_list(scores, labels, order, begin, count, loss, shares, worker, workers, size: tl.constexpr):
    """The share of a worker of the stages."""
    nodes: tl.constexpr = size // 2 if size <= 32 else TILE // size
    places = tl.arange(0, size)
    opens, stage, n, stages = stages_of(labels, order, begin, count, places)
    item = tl.load(order + begin + places, mask=places < n, other=0)
    s = tl.load(scores + item, mask=places < n, other=0.0).to(tl.float64)
    s -= tl.sum(s, 0) / tl.maximum(n, 1)
    total_loss, share = n.to(tl.float64) * 0.0, s * 0.0
    for k in range(worker, stages, workers):
        first = tl.sum(tl.where(opens & (stage == k), places, 0), 0)
        inside, own = (places >= first) & (places < n), tl.where((places < n) & (stage == k), 1.0, 0.0).to(tl.float64)
        length = n - first
        top, total, expected = total_loss * 0.0 - float("inf"), total_loss * 0.0, s * 0.0
        for turn in range(length):
            m = 1 + (turn + length // 2) % length  # sizes in the middle have the most subsets
            value, among = _one_size(s, inside, length, m, top, nodes)
            highest = tl.maximum(top, value)
            before, now = tl.exp(top - highest), tl.exp(value - highest)
            total = total * before + now
            expected = expected * before + among * (now / m)
            top = highest
        total_loss += top + tl.log(total) - tl.sum(own * s, 0) / tl.sum(own, 0)
        share += expected / total - own / tl.sum(own, 0)
    tl.store(loss, total_loss)
    tl.store(shares + item, share, mask=places < n)


@triton.jit
def _one_size(s, inside, length, m, top, nodes: tl.constexpr):
    """log Σ e^{mean of s} over the subsets of size m, and the probability of each item to be in one of them."""
    target = tl.minimum(m.to(tl.float64), length - 0.5)
    log_odds = tl.log(target / (length - target))
    low = tl.min(tl.where(inside, s, float("inf")), 0)
    high = tl.max(tl.where(inside, s, -float("inf")), 0)
    centre = tl.sum(tl.where(inside, s, 0.0), 0) / length
    drawn, left_out, bound = _chances(s, inside, centre, m, log_odds)
    excess, rounds = tl.sum(drawn, 0) - target, 0
    while (tl.abs(excess) > 0.25) & (rounds < 200):
        low, high = tl.where(excess > 0.0, centre, low), tl.where(excess > 0.0, high, centre)
        centre = 0.5 * (low + high)
        drawn, left_out, bound = _chances(s, inside, centre, m, log_odds)
        excess, rounds = tl.sum(drawn, 0) - target, rounds + 1
    bound += centre - m * log_odds
    chance, among = _coefficient(drawn, left_out, length, m, bound < top - NEGLIGIBLE, nodes)
    chance = tl.maximum(chance, 1e-30)
    return bound + tl.log(chance), among / chance


@triton.jit
def _chances(s, inside, centre, m, log_odds):
    """The chance of each item to be drawn, and not to be, and Σ log(1 + e^x)."""
    x = (s - centre) / m + log_odds
    e = tl.exp(-tl.abs(x))
    more, less = 1.0 / (1.0 + e), e / (1.0 + e)
    drawn = tl.where(inside, tl.where(x > 0.0, more, less), 0.0)
    left_out = tl.where(inside, tl.where(x > 0.0, less, more), 1.0)
    return drawn, left_out, tl.sum(tl.where(inside, tl.maximum(x, 0.0) - tl.log(more), 0.0), 0)


@triton.jit
def _coefficient(drawn, left_out, length, m, skipped, nodes: tl.constexpr):
    """The chance that m items are drawn, and that they are and each item is among them."""
    half = (length + 1) // 2
    points = 2 * half + 1  # more than items; odd, so that no factor is 0
    to_angle = 1.0 / points.to(tl.float64) * CIRCLE
    variance = tl.sum(drawn * left_out, 0) - 0.25  # without any one of the items
    p, q = drawn[None, :], left_out[None, :]
    chance, among = to_angle * 0.0, drawn * 0.0
    begin, decay = tl.where(skipped, points, 0), chance
    while (begin <= half) & (decay < NEGLIGIBLE):
        node = begin + tl.arange(0, nodes)
        c, d = tl.cos(node * to_angle)[:, None], tl.sin(node * to_angle)[:, None]
        real, imaginary = q + p * c, p * d
        a, b = tl.reduce((real, imaginary), 1, _times)
        back = (node * m) % points * to_angle
        # Conjugates come in pairs, but for the first.
        weight = tl.where(node > half, 0.0, tl.where(node == 0, 1.0, 2.0)).to(tl.float64) / points
        u = (a * tl.cos(back) + b * tl.sin(back)) * weight
        v = (b * tl.cos(back) - a * tl.sin(back)) * weight
        chance += tl.sum(u, 0)
        ratio = (u[:, None] * (p + q * c) - v[:, None] * (q * d)) / (real * real + imaginary * imaginary)
        among += tl.sum(p * ratio, 0)
        begin, decay = begin + nodes, variance * (1.0 - tl.min(c))  # the product is at most e^−decay from here on
    return chance, among


@triton.jit
def _times(a, b, c, d):
    """(a + ib)(c + id)."""
    return a * c - b * d, a * d + b * c
