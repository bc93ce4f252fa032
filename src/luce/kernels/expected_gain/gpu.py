"""The expected gain of a Plackett-Luce policy and its gradient on a GPU, sampling included, for ragged lists.

A program draws some samples of one list, exponential times of which the smallest come first, and then takes running
sums over the places. With float64 times the rankings are those that the CPU draws with way="keys"; where all scores
are near each other float32 is as good, but for items whose times differ by less than a millionth.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from luce.kernels.expected_gain.samples import DIRECT, EXPOSURE, PLACEMENT, POLICY
from luce.kernels.ideal_gpu import ideal_sum
from luce.kernels.place_sums import BINARY, EXPONENTIAL, IDEAL, LENGTH, TOTAL

TILE = 512
"""Samples times items of a program, where one sample alone is not larger."""

OWN_EXPECTED, FOLLOWING, SEEN = tl.constexpr(DIRECT), tl.constexpr(PLACEMENT), tl.constexpr(EXPOSURE)
BINARY_GAIN, EXPONENTIAL_GAIN = tl.constexpr(BINARY), tl.constexpr(EXPONENTIAL)
BY_IDEAL, BY_TOTAL, BY_LENGTH = tl.constexpr(IDEAL), tl.constexpr(TOTAL), tl.constexpr(LENGTH)

NEAR = tl.constexpr(40.0)
"""Scores that lie closer together keep their digits on the scale of the highest in float32."""


def expected_gain_lists(
    scores: Tensor,
    gains: Tensor,
    offsets: Tensor,
    discounts: Tensor,
    stream: Tensor,
    numbers: Tensor | None,
    longest: int,
    *,
    samples: int,
    estimator: int,
    factor: float = 1.0,
    first_sample: int = 0,
) -> tuple[Tensor, Tensor]:
    """Values (Q,) and gradient (N,) times a factor, float32, of lists of at most `longest` items.

    An item with a score of −∞, or a gain of NaN, is never placed. Samples are numbered from `first_sample` on.
    """
    assert estimator in (DIRECT, PLACEMENT, POLICY, EXPOSURE)
    n_lists, largest = len(offsets) - 1, triton.next_power_of_2(max(longest, 128))
    together = max(1, TILE // largest)
    blocks = triton.cdiv(samples, together)
    parts = torch.zeros((blocks, n_lists + len(scores)), device=scores.device, dtype=torch.float32)
    if n_lists:
        _expected_gain[(n_lists, blocks)](
            scores, gains, offsets, discounts, offsets if numbers is None else numbers, parts, factor / samples,
            len(scores), len(discounts), samples, first_sample, stream, numbers is not None, estimator, together,
            largest, num_warps=2 if largest <= 2_048 else 8 if largest <= 8_192 else 16,
        )  # fmt: skip
    # A sum over blocks instead of atomic additions: the same draw gives the same bits.
    whole = parts.sum(0)
    return whole[:n_lists], whole[n_lists:]


def list_gains(
    labels: Tensor, offsets: Tensor, discounts: Tensor, longest: int, worth: int, divisor: int, constant: float
) -> Tensor:
    """The gains (N,) of a linear metric, float32; see `plain.list_gains`."""
    gains = torch.empty(len(labels), device=labels.device, dtype=torch.float32)
    if len(offsets) > 1:
        largest = triton.next_power_of_2(max(longest, 128))
        _list_gains[(len(offsets) - 1,)](
            labels, offsets, discounts, gains, len(discounts), constant, worth, divisor, largest
        )
    return gains


@triton.jit
def _list_gains(
    labels, offsets, discounts, gains, depth, constant, worth: tl.constexpr, divisor: tl.constexpr, size: tl.constexpr
):
    row = tl.program_id(0)
    begin = tl.load(offsets + row)
    count = (tl.load(offsets + row + 1) - begin).to(tl.int32)
    places = tl.arange(0, size)
    y = tl.load(labels + begin + places, mask=places < count, other=float("nan")).to(tl.float32)
    seen = y == y
    y = tl.where(seen & (y > 0.0), y, 0.0)
    gain = y
    if worth == BINARY_GAIN:
        gain = tl.where(y > 0.0, 1.0, 0.0)
    if worth == EXPONENTIAL_GAIN:
        power = tl.floor(tl.max(y, 0)) if divisor == BY_IDEAL else 0.0  # what is divided out anyway
        gain = tl.exp2(y - power) - tl.exp2(y * 0.0 - power)
    highest, lowest = tl.max(tl.where(seen, gain, -1.0), 0), tl.min(tl.where(seen, gain, float("inf")), 0)
    total = constant * 1.0
    if divisor == BY_IDEAL:
        table = tl.load(discounts + places, mask=places < depth, other=0.0).to(tl.float32)
        total = ideal_sum(gain, table, places, depth)
    if divisor == BY_TOTAL:
        total = tl.sum(gain, 0)
    if divisor == BY_LENGTH:
        total = tl.sum(seen.to(tl.float32), 0)
    gain = tl.where(highest > lowest, gain / total, 0.0)
    tl.store(gains + begin + places, tl.where(seen, gain, float("nan")), mask=places < count)


@triton.jit
def _bits(sample, seed, number, step, size: tl.constexpr):
    """52 random bits for each item of each sample, those of `sampled_rankings.numbers`: two items share a block."""
    block = sample * 0 + tl.arange(0, size // 2)[None, :]
    zero = block * 0
    a, b, c, d = tl.philox(seed, block.to(tl.uint32), (zero + sample).to(tl.uint32), (zero + number).to(tl.uint32),
                           (zero + step).to(tl.uint32))  # fmt: skip
    high, low = tl.interleave(a, c), tl.interleave(b, d)
    return (((high.to(tl.uint64) << 32) | low.to(tl.uint64)) >> 12).to(tl.int64)


@triton.jit
def _near_times(bits, s, highest):
    """Exponential times of rate e^{s − highest}, float32 and finite: −log(1 − v), v = 1 − u, exact for a small v."""
    v = ((4503599627370496 - bits).to(tl.float64) * 2.220446049250313e-16 - 1.1102230246251565e-16).to(tl.float32)
    series = v * (1.0 + v * (0.5 + v * (0.33333333 + v * 0.25)))
    rest = tl.maximum(1.0 - v, 2.9802322387695312e-08)  # v may round to 1
    return tl.where(v < 0.01, series, -tl.log(rest)) * tl.exp((highest - s).to(tl.float32))


@triton.jit
def _expected_gain(
    scores, gains, offsets, discounts, numbers, parts, factor, n_rows, depth, samples, first_sample, stream,
    numbered: tl.constexpr, estimator: tl.constexpr, together: tl.constexpr, largest: tl.constexpr,
):  # fmt: skip
    """Where an eighth, a quarter or half of the workspace holds the list, more samples are drawn at a time."""
    row, block, n_lists = tl.program_id(0), tl.program_id(1), tl.num_programs(0)
    begin = tl.load(offsets + row)
    count = (tl.load(offsets + row + 1) - begin).to(tl.int32)
    scores, gains, number = scores + begin, gains + begin, row.to(tl.int64)
    seed, step = tl.load(stream), tl.load(stream + 1)
    if numbered:
        number = tl.load(numbers + row)
    start = parts + block.to(tl.int64) * (n_lists + n_rows)
    value, out = start + row, start + n_lists + begin
    if count <= largest // 8:
        if block * together * 8 < samples:
            _samples_of_list(scores, gains, discounts, value, out, factor, count, depth, samples, first_sample, seed,
                             step, number, block, estimator, together * 8, largest // 8)  # fmt: skip
    elif count <= largest // 4:
        if block * together * 4 < samples:
            _samples_of_list(scores, gains, discounts, value, out, factor, count, depth, samples, first_sample, seed,
                             step, number, block, estimator, together * 4, largest // 4)  # fmt: skip
    elif count <= largest // 2:
        if block * together * 2 < samples:
            _samples_of_list(scores, gains, discounts, value, out, factor, count, depth, samples, first_sample, seed,
                             step, number, block, estimator, together * 2, largest // 2)  # fmt: skip
    else:
        _samples_of_list(scores, gains, discounts, value, out, factor, count, depth, samples, first_sample, seed,
                         step, number, block, estimator, together, largest)  # fmt: skip


@triton.jit
def _samples_of_list(
    scores, gains, discounts, value, out, factor, count, depth, samples, first_sample, seed, step, number, block,
    estimator: tl.constexpr, together: tl.constexpr, size: tl.constexpr,
):  # fmt: skip
    item = tl.arange(0, size)[None, :]
    sample = block * together + tl.arange(0, together)[:, None]
    own = tl.load(scores + item, mask=item < count, other=-float("inf")).to(tl.float32)
    gain = tl.load(gains + item, mask=item < count, other=float("nan")).to(tl.float32)
    live = (own > -float("inf")) & (gain == gain)
    own, gain = tl.where(live, own, -float("inf")), tl.where(live, gain, 0.0)
    highest = tl.max(tl.max(own, 1), 0)
    lowest = tl.min(tl.min(tl.where(live, own, float("inf")), 1), 0)
    bits = _bits(sample + first_sample, seed, number, step, size)
    left = live & (sample < samples)
    n_live = tl.sum(tl.sum(live.to(tl.int32), 1), 0)
    places = tl.minimum(depth, n_live)
    rest = tl.sum(tl.sum(tl.load(discounts + item, mask=item < places, other=0.0).to(tl.float64), 1), 0)
    if highest - lowest < NEAR:
        times = tl.where(left, _near_times(bits, own, highest), float("inf"))
        weight = tl.where(left, tl.exp(own - highest), 0.0)
        reward, derivative = _near_places(times, weight, gains, count, discounts, places, n_live, rest, item, estimator,
                                          together, size)  # fmt: skip
    else:
        u = bits.to(tl.float64) * 2.220446049250313e-16 + 1.1102230246251565e-16
        keys = tl.where(left, own.to(tl.float64) - tl.log(-tl.log(u)), -float("inf"))
        reward, derivative = _far_places(keys, own, gain, left, discounts, places, n_live, rest, item, estimator,
                                         together, size)  # fmt: skip
    tl.store(value, tl.sum(reward, 0) / samples)
    tl.store(out + tl.arange(0, size), tl.sum(derivative, 0) * factor, mask=tl.arange(0, size) < count)


@triton.jit
def _near_places(
    times, weight, gains, n_items, discounts, depth, n_live, rest, item, estimator: tl.constexpr,
    together: tl.constexpr, size: tl.constexpr,
):  # fmt: skip
    """The reward of each sample and the derivative of each item, weights being on one scale.

    With D the mass before a place, the derivative is R·a + b: for an item placed at r, a = 1 − w Σ_{k≤r} 1/D_k and
    b = −(what came before) + w Σ_{k≤r} (ρ θ_k + what came before k) / D_k; for others the 1 and the minus are missing.
    `rest` is the sum of the discounts: with it come the exposures v_r + w Σ_{k≤r} (θ_k − v_k) / D_k of `exposure.cpu`.

    A long list leaves few registers: the time of a placed item becomes −Σ_{k≤r} 1/D_k, and gains are read again.
    """
    reward = tl.zeros([together], tl.float32)
    chances, paid, before = reward, reward, reward
    b = tl.zeros([together, size], tl.float32)
    for place in range(depth):
        discount = tl.load(discounts + place).to(tl.float32)
        mass = tl.sum(tl.where(times >= 0.0, weight, 0.0), 1)
        some = mass > 0.0
        share = tl.where(some, 1.0 / tl.where(some, mass, 1.0), 0.0)
        chances += share
        if estimator == SEEN:
            rest -= discount
            behind = (rest / tl.maximum(n_live - place - 1, 1)).to(tl.float32)
            paid += share * (discount - behind)
        else:
            paid += share * discount
        before += share * reward
        first = tl.argmin(tl.where(times >= 0.0, times, float("inf")), 1)
        chosen = (item == first[:, None]) & (times >= 0.0) & (times < float("inf"))
        gain = tl.load(gains + first, mask=some, other=0.0).to(tl.float32)
        came = reward
        reward += gain * discount
        if estimator == OWN_EXPECTED:
            b = tl.where(chosen, (weight * (gain * paid + before)[:, None]) - reward[:, None], b)
        if estimator == FOLLOWING:
            b = tl.where(chosen, weight * before[:, None] - came[:, None], b)
        if estimator == SEEN:
            b = tl.where(chosen, weight * paid[:, None] + behind, b)
        times = tl.where(chosen, -chances[:, None], times)
    placed = times < 0.0
    derivative = reward[:, None] * tl.where(placed, 1.0 + weight * times, -weight * chances[:, None]) + b
    if estimator == OWN_EXPECTED:
        gain = tl.load(gains + item, mask=item < n_items, other=0.0, volatile=True).to(tl.float32)
        gain = tl.where(gain == gain, gain, 0.0)
        derivative += tl.where(placed, 0.0, weight * (gain * paid[:, None] + before[:, None]))
    if estimator == FOLLOWING:
        derivative += tl.where(placed, 0.0, weight * before[:, None])
    if estimator == SEEN:
        derivative += tl.where(placed, 0.0, weight * paid[:, None])
    return reward, derivative


@triton.jit
def _far_places(
    keys, s, gain, left, discounts, depth, n_live, rest, item, estimator: tl.constexpr,
    together: tl.constexpr, size: tl.constexpr,
):  # fmt: skip
    """The same with the chances of each place on the scale of the highest score that is left."""
    reward = tl.zeros([together], tl.float32)
    a, b = tl.zeros([together, size], tl.float32), tl.zeros([together, size], tl.float32)
    open_ = left
    for place in range(depth):
        discount = tl.load(discounts + place).to(tl.float32)
        highest = tl.max(tl.where(open_, s, -float("inf")), 1)[:, None]
        weight = tl.where(open_, tl.exp(s - tl.where(highest > -float("inf"), highest, 0.0)), 0.0)
        mass = tl.sum(weight, 1)[:, None]
        chance = weight / tl.where(mass > 0.0, mass, 1.0)
        a -= chance
        if estimator == OWN_EXPECTED:
            b += chance * (gain * discount + reward[:, None])
        if estimator == FOLLOWING:
            b += chance * reward[:, None]
        if estimator == SEEN:
            rest -= discount
            behind = (rest / tl.maximum(n_live - place - 1, 1)).to(tl.float32)
            b += chance * (discount - behind)
        chosen = open_ & (item == tl.argmax(keys, 1)[:, None])
        came = reward
        reward += tl.sum(tl.where(chosen, gain, 0.0), 1) * discount
        if estimator == OWN_EXPECTED:
            came = reward
        a += tl.where(chosen, 1.0, 0.0)
        if estimator == OWN_EXPECTED or estimator == FOLLOWING:  # noqa: SIM109 – Triton knows no `in` for numbers
            b -= tl.where(chosen, came[:, None], 0.0)
        if estimator == SEEN:
            b += tl.where(chosen, behind, 0.0)
        open_ = open_ & (chosen == 0)
        keys = tl.where(chosen, -float("inf"), keys)
    return reward, reward[:, None] * a + b
