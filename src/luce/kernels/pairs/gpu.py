"""Losses of pairs on a GPU: a program takes some items of a list and meets all its items, tile by tile.

Every program computes both sides of its pairs and keeps the derivatives of its own items alone; the loss of a pair is
counted on one side.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from luce.kernels import pairs
from luce.kernels.gpu_tiles import n_tiles, sum_tiles, tile_of
from luce.kernels.padded import best_first

ROWS, COLUMNS = 8, 128
"""Items of a program, and partners that they meet at a time."""

PLACES = 128
"""Places of a program that looks for equal scores."""

SORTED = 8_192
"""Items of a list that a program sorts."""

RAO_KUPPER, DAVIDSON = tl.constexpr(pairs.DRAWS["rao-kupper"]), tl.constexpr(pairs.DRAWS["davidson"])
HINGE, SQUARE = tl.constexpr(pairs.HINGE), tl.constexpr(pairs.SQUARE)


def pair_losses(
    scores: Tensor,
    labels: Tensor,
    offsets: Tensor,
    longest: int,
    kind: int,
    *,
    item_weights: Tensor | None = None,
    parameter: Tensor | None = None,
    factor: float = 1.0,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Losses (Q,), gradient (N,) times a factor, and (Q, 1) in the parameter of ties, float32; see `pairs`.

    Pairs with a label of NaN are left out.
    """
    n_programs = n_tiles(offsets, len(scores), ROWS)
    losses, derivatives = torch.empty((2, n_programs), device=scores.device, dtype=torch.float32)
    gradient = torch.empty(len(scores), device=scores.device, dtype=torch.float32)
    if n_programs:
        _pair_losses[(n_programs,)](
            scores, labels, scores if item_weights is None else item_weights, offsets,
            scores if parameter is None else parameter, losses, derivatives, gradient, float(factor),
            len(offsets) - 1, kind, item_weights is not None, ROWS, COLUMNS, num_warps=4,
        )  # fmt: skip
    by_parameter = None if parameter is None else sum_tiles(derivatives, offsets, ROWS)[:, None]
    return sum_tiles(losses, offsets, ROWS), gradient, by_parameter


def pair_swaps(
    scores: Tensor,
    gains: Tensor,
    offsets: Tensor,
    longest: int,
    sums: Tensor,
    *,
    level: int,
    change: float,
    gap: float,
    item_weights: Tensor | None = None,
    factor: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """Losses (Q,) and gradient (N,) times a factor, float32; see `pairs.pair_swaps`.

    The gains are those divided by the ideal DCG, NaN of items that are not observed; `sums` are those of
    `pairs.sums_of_discounts` for at least `longest` places.
    """
    device, n_lists = scores.device, len(offsets) - 1
    n_programs = n_tiles(offsets, len(scores), ROWS)
    losses = torch.empty(n_programs, device=device, dtype=torch.float32)
    gradient = torch.empty(len(scores), device=device, dtype=torch.float32)
    items = torch.empty((7, len(scores)), device=device, dtype=torch.float32)
    blocks = torch.empty((2, len(scores)), device=device, dtype=torch.int32)
    weighted, weights = item_weights is not None, scores if item_weights is None else item_weights
    settings = len(scores), sums.shape[1], n_lists, min(level, longest), float(change), float(gap)
    if n_programs:
        order = _rows_by_score(scores, gains, offsets, longest)
        _find_blocks[(n_tiles(offsets, len(scores), PLACES),)](
            scores, gains, weights, offsets, order, sums, items, blocks, *settings, longest.bit_length(), weighted,
            PLACES, num_warps=4,
        )  # fmt: skip
        _pair_swaps[(n_programs,)](
            offsets, order, sums, items, blocks, losses, gradient, *settings, float(factor), bool(change), bool(gap),
            ROWS, COLUMNS, num_warps=4,
        )  # fmt: skip
    return sum_tiles(losses, offsets, ROWS), gradient


def _rows_by_score(scores: Tensor, gains: Tensor, offsets: Tensor, longest: int) -> Tensor:
    """The rows of each list by falling score, those not observed last."""
    if longest > SORTED:
        return best_first(torch.where(gains.isnan(), torch.nan, scores.float()), offsets)
    order = torch.empty(len(scores), device=scores.device, dtype=torch.int64)
    largest = triton.next_power_of_2(max(longest, 128))
    _sort_lists[(len(offsets) - 1,)](scores, gains, offsets, order, largest, num_warps=4 if largest <= 2_048 else 8)
    return order


@triton.jit
def _sort_lists(scores, gains, offsets, order, largest: tl.constexpr):
    """An eighth of the workspace, or half of it, where that holds the list."""
    row = tl.program_id(0)
    begin = tl.load(offsets + row)
    count = (tl.load(offsets + row + 1) - begin).to(tl.int32)
    if count <= largest // 8:
        _sort_list(scores + begin, gains + begin, order + begin, begin, count, largest // 8)
    elif count <= largest // 2:
        _sort_list(scores + begin, gains + begin, order + begin, begin, count, largest // 2)
    else:
        _sort_list(scores + begin, gains + begin, order + begin, begin, count, largest)


@triton.jit
def _sort_list(scores, gains, order, begin, count, size: tl.constexpr):
    places = tl.arange(0, size)
    here = places < count
    gain = tl.load(gains + places, mask=here, other=float("nan"))
    bits = (tl.load(scores + places, mask=here, other=0.0).to(tl.float32) + 0.0).to(tl.int32, bitcast=True)  # −0 is 0
    rising = tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
    falling = tl.where(gain == gain, -rising.to(tl.int64), 2147483649)
    found = tl.sort(falling * 8192 + places.to(tl.int64)) & 8191
    tl.store(order + places, begin + found, mask=here)


@triton.jit
def _find_blocks(
    scores, gains, weights, offsets, order, sums, items, blocks, n_rows, width, n_lists, level, change, gap, steps,
    weighted: tl.constexpr, size: tl.constexpr,
):  # fmt: skip
    """What the pairs need of the item at each place, and where its block of equal scores begins and ends.

    Score, gain, weight, what a swap within the block is worth, and the shares of the block above the level: the
    fraction of its places, and the sum of their discounts over its size; then the mean discount of the whole block.
    An item that is not observed has weight 0 and is a block of its own.
    """
    begin, count, first = tile_of(offsets, n_lists, size)
    n_rows = begin * 0 + n_rows  # in 64 bits
    if first < count:
        place = first + tl.arange(0, size)
        here = place < count
        row = tl.load(order + begin + place, mask=here, other=0)
        s = tl.load(scores + row, mask=here, other=0.0).to(tl.float32)
        gain = tl.load(gains + row, mask=here, other=float("nan")).to(tl.float32)
        seen = gain == gain
        weight = tl.where(seen, 1.0, 0.0)
        if weighted:
            weight = tl.where(seen, tl.load(weights + row, mask=here, other=0.0).to(tl.float32), 0.0)
        start = tl.where(seen, _count_above(scores, gains, order + begin, s, count, steps, False), place)
        end = tl.where(seen, _count_above(scores, gains, order + begin, s, count, steps, True), place + 1)
        counted, lasting = tl.maximum(tl.minimum(end, level), start), (end - start).to(tl.float64)
        before = tl.load(sums + start, mask=here, other=0.0)
        within = tl.load(sums + counted, mask=here, other=0.0)
        whole = tl.load(sums + end, mask=here, other=0.0)
        moment = tl.load(sums + width + counted, mask=here, other=0.0)
        moment -= tl.load(sums + width + start, mask=here, other=0.0)
        falls = (end - 1).to(tl.float64) * (within - before) - (counted - start).to(tl.float64) * whole
        falls += counted.to(tl.float64) * within - start.to(tl.float64) * before - 2.0 * moment
        gaps = (counted - start).to(tl.float64) * tl.load(sums + 1)
        gaps -= tl.load(sums + (end - start), mask=here, other=0.0)
        gaps += tl.load(sums + (end - counted), mask=here, other=0.0)
        pairs = tl.where(lasting > 1.0, 0.5 * lasting * (lasting - 1.0), 1.0)
        at = begin + place
        tl.store(blocks + at, start, mask=here)
        tl.store(blocks + n_rows + at, end, mask=here)
        tl.store(items + at, s, mask=here)
        tl.store(items + n_rows + at, tl.where(seen, gain, 0.0), mask=here)
        tl.store(items + 2 * n_rows + at, weight, mask=here)
        tl.store(items + 3 * n_rows + at, (change * falls + gap * gaps) / pairs, mask=here)
        tl.store(items + 4 * n_rows + at, (counted - start).to(tl.float64) / lasting, mask=here)
        tl.store(items + 5 * n_rows + at, (within - before) / lasting, mask=here)
        tl.store(items + 6 * n_rows + at, (whole - before) / lasting, mask=here)


@triton.jit
def _count_above(scores, gains, order, s, count, steps, equal: tl.constexpr):
    """How many observed items of a list have higher scores, or equal ones too: bisection in the order."""
    low = s.to(tl.int32, bitcast=True) * 0
    high = low + count
    for _ in range(steps):
        open_ = low < high
        middle = (low + high) // 2
        row = tl.load(order + middle, mask=open_, other=0)
        other = tl.load(scores + row, mask=open_, other=0.0).to(tl.float32)
        gain = tl.load(gains + row, mask=open_, other=float("nan")).to(tl.float32)
        above = (other > s) & (gain == gain)
        if equal:
            above = (other >= s) & (gain == gain)
        low, high = tl.where(open_ & above, middle + 1, low), tl.where(open_ & (above == 0), middle, high)
    return low


@triton.jit
def _log1p(x):
    series = x * (1.0 - x * (0.5 - x * (0.33333333 - x * 0.25)))
    return tl.where(x < 0.02, series, tl.log(1.0 + x))


@triton.jit
def _softplus(t):
    """log(1 + e^t) and its derivative."""
    e = tl.exp(-tl.abs(t))
    return _log1p(e) + tl.maximum(t, 0.0), tl.where(t > 0.0, 1.0, e) / (1.0 + e)


@triton.jit
def _rao_kupper_constants(parameter):
    """log θ and its derivative in the parameter α, log(1 − θ^−2), and minus the derivative of that; θ = 1 + e^α."""
    power = tl.exp(parameter.to(tl.float64))
    margin = tl.log(1.0 + power)
    share = power / (1.0 + power)
    constant = parameter + tl.log(2.0 + power) - 2.0 * margin
    derivative = 2.0 * share - 1.0 - power / (2.0 + power)
    return margin.to(tl.float32), share.to(tl.float32), constant.to(tl.float32), derivative.to(tl.float32)


@triton.jit
def _rao_kupper(difference, sign, tied, margin, share, constant, derivative):
    """A win costs log(1 + θ e^{−δ}); a draw one such term either way, less log(θ² − 1).

    In a draw both are taken with 1 / θ for θ, which adds 2 log θ to the constant and keeps the digits of a large θ.
    """
    value, chance = _softplus(tl.where(tied, difference - margin, margin - sign * difference))
    back_value, back = _softplus(-difference - margin)
    return (
        tl.where(tied, value + back_value - constant, value),
        tl.where(tied, chance - back, -sign * chance),
        tl.where(tied, derivative - (chance + back) * share, chance * share),
    )


@triton.jit
def _davidson(difference, sign, tied, parameter):
    """log(1 + ν e^{−δ/2} + e^{−δ}), with the largest of the three terms taken out."""
    distance = tl.abs(difference)
    a = parameter - 0.5 * distance
    small = tl.exp(-tl.abs(a))
    further = tl.exp(-distance - tl.maximum(a, 0.0))
    inverse = 1.0 / (1.0 + small + further)
    draw = tl.where(a > 0.0, 1.0, small) * inverse
    win, lose = tl.where(a > 0.0, small, 1.0) * inverse, further * inverse  # of the item with the higher score
    logarithm = _log1p(small + further)
    margin = sign * difference
    wrong = tl.where(margin > 0.0, lose, win) + 0.5 * draw
    half = 0.5 * (win - lose)
    return (
        tl.where(tied, logarithm + tl.maximum(-a, 0.0), logarithm + tl.maximum(a, 0.0) + tl.maximum(-margin, 0.0)),
        tl.where(tied, tl.where(difference > 0.0, half, -half), -sign * wrong),
        tl.where(tied, -win - lose, draw),
    )


@triton.jit
def _pair_losses(
    scores, labels, weights, offsets, parameters, losses, derivatives, gradient, factor, n_lists, kind: tl.constexpr,
    weighted: tl.constexpr, rows: tl.constexpr, columns: tl.constexpr,
):  # fmt: skip
    begin, count, first = tile_of(offsets, n_lists, rows)
    if first < count:
        scores, labels, weights = scores + begin, labels + begin, weights + begin
        i = first + tl.arange(0, rows)[:, None]
        score = tl.load(scores + i, mask=i < count, other=0.0)
        own = score.to(tl.float32)
        own_label = tl.load(labels + i, mask=i < count, other=float("nan"))
        if weighted:
            own_weight = tl.load(weights + i, mask=i < count, other=0.0).to(tl.float32)
        slopes = tl.zeros([rows, columns], tl.float32)
        values, by_parameter = slopes, slopes
        if kind == RAO_KUPPER:
            margin, share, constant, derivative = _rao_kupper_constants(tl.load(parameters))
        if kind == DAVIDSON:
            parameter = tl.load(parameters).to(tl.float32)
        for at in range(0, count, columns):
            j = at + tl.arange(0, columns)[None, :]
            label = tl.load(labels + j, mask=j < count, other=float("nan"))
            difference = own - tl.load(scores + j, mask=j < count, other=0.0).to(tl.float32)
            sign = tl.where(own_label > label, 1.0, tl.where(own_label < label, -1.0, 0.0))
            counted = sign > 0.0
            if kind == HINGE:  # rounded, the difference may be on the other side of the kink
                exact = score.to(tl.float64) - tl.load(scores + j, mask=j < count, other=0.0).to(tl.float64)
                short = (1.0 - sign * exact).to(tl.float32)
                value, by_score = tl.maximum(short, 0.0), tl.where(short > 0.0, -sign, 0.0)
            elif kind == SQUARE:
                short = 1.0 - sign * difference
                value, by_score = short * short, -2.0 * sign * short
            elif kind == RAO_KUPPER or kind == DAVIDSON:  # noqa: SIM109 – Triton knows no `in` for numbers
                tied = (own_label == label) & (i != j)
                counted = counted | (tied & (i < j))
                if kind == RAO_KUPPER:
                    value, by_score, change = _rao_kupper(difference, sign, tied, margin, share, constant, derivative)
                else:
                    value, by_score, change = _davidson(difference, sign, tied, parameter)
            else:
                value, wrong = _softplus(-sign * difference)
                by_score = -sign * wrong
            if weighted:
                product = own_weight * tl.load(weights + j, mask=j < count, other=0.0).to(tl.float32)
                value, by_score = product * value, product * by_score
            slopes += by_score
            values += tl.where(counted, value, 0.0)
            if kind == RAO_KUPPER or kind == DAVIDSON:  # noqa: SIM109
                if weighted:
                    change = product * change
                by_parameter += tl.where(counted, change, 0.0)
        tl.store(gradient + begin + i, tl.sum(slopes, 1)[:, None] * factor, mask=i < count)
        tl.store(losses + tl.program_id(0), tl.sum(tl.sum(values, 1), 0))
        tl.store(derivatives + tl.program_id(0), tl.sum(tl.sum(by_parameter, 1), 0))


@triton.jit
def _mean_gap(start, end, lower_start, lower_end, sums, level):
    """The mean fall of the discount from the distance of two places to the next, one of each block; 0 below the level.

    In the sum over the lower place only the ends remain, and then sums over the upper place.
    """
    counted = tl.maximum(tl.minimum(end, level), start)
    near = tl.load(sums + tl.maximum(lower_start - start, 0)) - tl.load(sums + tl.maximum(lower_start - counted, 0))
    far = tl.load(sums + tl.maximum(lower_end - start, 0)) - tl.load(sums + tl.maximum(lower_end - counted, 0))
    return ((near - far) / ((end - start).to(tl.float64) * (lower_end - lower_start).to(tl.float64))).to(tl.float32)


@triton.jit
def _pair_swaps(
    offsets, order, sums, items, blocks, losses, gradient, n_rows, width, n_lists, level, change, gap, factor,
    has_change: tl.constexpr, has_gap: tl.constexpr, rows: tl.constexpr, columns: tl.constexpr,
):  # fmt: skip
    """Items of blocks that begin above the level meet all items, the others only these."""
    begin, count, first = tile_of(offsets, n_lists, rows)
    n_rows = begin * 0 + n_rows  # in 64 bits
    if first < count:
        order, items, blocks = order + begin, items + begin, blocks + begin
        i = first + tl.arange(0, rows)[:, None]
        here = i < count
        own, own_gain = tl.load(items + i, mask=here, other=0.0), tl.load(items + n_rows + i, mask=here, other=0.0)
        own_weight = tl.load(items + 2 * n_rows + i, mask=here, other=0.0)
        inside = tl.load(items + 3 * n_rows + i, mask=here, other=0.0)
        own_start = tl.load(blocks + i, mask=here, other=0)
        own_end = tl.load(blocks + n_rows + i, mask=here, other=1)
        if has_change:
            own_fraction = tl.load(items + 4 * n_rows + i, mask=here, other=0.0)
            own_upper = tl.load(items + 5 * n_rows + i, mask=here, other=0.0)
            own_mean = tl.load(items + 6 * n_rows + i, mask=here, other=0.0)
        stop = count
        if tl.load(blocks + first) >= level:
            stop = tl.load(blocks + n_rows + level - 1)
        slopes = tl.zeros([rows, columns], tl.float32)
        values = slopes
        for at in range(0, stop, columns):
            j = at + tl.arange(0, columns)[None, :]
            there = j < stop
            start = tl.load(blocks + j, mask=there, other=0)
            worth = tl.zeros([rows, columns], tl.float32)
            if has_change:
                upper = tl.where(own_start < start, own_upper, tl.load(items + 5 * n_rows + j, mask=there, other=0.0))
                fraction = tl.load(items + 4 * n_rows + j, mask=there, other=0.0)
                fraction = tl.where(own_start < start, own_fraction, fraction)
                mean = tl.where(own_start < start, tl.load(items + 6 * n_rows + j, mask=there, other=0.0), own_mean)
                worth += change * (upper - fraction * mean)
            if has_gap:
                end = tl.load(blocks + n_rows + j, mask=there, other=1)
                worth += gap * _mean_gap(
                    tl.minimum(own_start, start), tl.minimum(own_end, end), tl.maximum(own_start, start),
                    tl.maximum(own_end, end), sums, level,
                )  # fmt: skip
            worth = tl.where(own_start == start, inside, worth)
            weight = tl.load(items + 2 * n_rows + j, mask=there, other=0.0) * own_weight * worth
            weight *= own_gain - tl.load(items + n_rows + j, mask=there, other=0.0)
            difference = own - tl.load(items + j, mask=there, other=0.0)
            value, wrong = _softplus(tl.where(weight > 0.0, -difference, difference))
            slopes -= weight * wrong
            values += tl.where(i < j, tl.abs(weight) * value, 0.0)
        row = tl.load(order + i, mask=here, other=0)
        tl.store(gradient + row, tl.sum(slopes, 1)[:, None] * factor, mask=here)
        tl.store(losses + tl.program_id(0), tl.sum(tl.sum(values, 1), 0))
