"""The ordered likelihood of ragged lists on a GPU: one program sorts a list and computes its loss and gradient.

Where lists may be long, PyTorch sorts all of them at once before.

Ties are broken by random keys of the stream (seed, step, list, sample): the same draw gives the same order on every
GPU, but not the order that the shuffle of the CPU gives.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

from luce.kernels.ordered_likelihood import TO_THE_LOWEST

NO_WEIGHTS, HALVING, GIVEN = range(3)
PLACES, WHOLE_GRADES, ABOVE_THE_LOWEST = range(3)

LONGEST_TO_SORT = 4_096
"""Items of a list that the program of the list sorts itself; PyTorch's radix sort is faster for longer ones."""

MOST_AT_ONCE = 1 << 15
"""Lists whose numbers fit into 64 bits beside the 48 of a key; with more of them, each program sorts its own."""

KEYS = 1_024
"""Keys that a program writes at a time."""


def ordered_lists(
    scores: Tensor,
    labels: Tensor,
    offsets: Tensor,
    stream: Tensor,
    numbers: Tensor | None,
    longest: int,
    *,
    depth: int,
    sample: int = 0,
    whole_grades: bool = False,
    place_weights: Tensor | None = None,
    halving: bool = False,
    item_weights: Tensor | None = None,
    factor: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """Losses (Q,), and gradient (N,) times a factor, of lists of at most `longest` items; NaN labels are left out.

    `stream` and `numbers` are those of `DeviceLists`; `depth`, `whole_grades`, `place_weights` and `halving` those of
    `Order`.
    """
    losses = torch.empty(len(offsets) - 1, device=scores.device, dtype=torch.float32)
    gradient = torch.empty(len(scores), device=scores.device, dtype=torch.float32)
    mode = HALVING if halving else NO_WEIGHTS if place_weights is None else GIVEN
    rule = ABOVE_THE_LOWEST if depth == TO_THE_LOWEST else WHOLE_GRADES if whole_grades else PLACES
    weights, n_weights = (scores, 0) if place_weights is None else (place_weights, len(place_weights))
    largest = triton.next_power_of_2(max(longest, 128))
    presorted = longest > LONGEST_TO_SORT and len(losses) <= MOST_AT_ONCE
    if len(losses):
        _ordered_lists[(len(losses),)](
            scores, labels, offsets, offsets if numbers is None else numbers, weights,
            scores if item_weights is None else item_weights,
            _sorted_rows(labels, offsets, stream, numbers, sample) if presorted else offsets,
            losses, gradient, factor, stream, sample, min(depth, longest), n_weights, numbers is not None,
            item_weights is not None, presorted, mode, rule, largest,
            num_warps=max(4, min(largest // 512, 16 if presorted else 32)),
        )  # fmt: skip
    return losses, gradient


def _sorted_rows(labels: Tensor, offsets: Tensor, stream: Tensor, numbers: Tensor | None, sample: int) -> Tensor:
    """The rows of each list, (N,), in the order of `_sorted_places`; last the rows after the last list."""
    keys = torch.full(labels.shape, torch.iinfo(torch.int64).max, device=labels.device)
    _write_keys[(len(offsets) - 1,)](
        labels, offsets, offsets if numbers is None else numbers, stream, keys, sample, numbers is not None, KEYS
    )
    return keys.argsort(stable=True)


@triton.jit
def _write_keys(labels, offsets, numbers, stream, keys, sample, numbered: tl.constexpr, block: tl.constexpr):
    """Keys that sort the rows of all lists at once, equal ones as they stand."""
    row = tl.program_id(0).to(tl.int64)
    begin = tl.load(offsets + row)
    count = (tl.load(offsets + row + 1) - begin).to(tl.int32)
    number = row
    if numbered:
        number = tl.load(numbers + row)
    seed, step = tl.load(stream), tl.load(stream + 1)
    for first in range(0, count, block):
        places = first + tl.arange(0, block)
        y = tl.load(labels + begin + places, mask=places < count, other=float("nan")).to(tl.float32)
        key = _keys(tl.where(y == y, y, 0.0), places, y == y, seed, step, number, sample)
        tl.store(keys + begin + places, row * 281474976710656 + key, mask=places < count)


@triton.jit
def _either(top, total, other_top, other_total):
    """Two sums on scales of their own as one."""
    highest = tl.maximum(top, other_top)
    shift = tl.where(highest == -float("inf"), 0.0, highest)
    return highest, total * tl.exp(top - shift) + other_total * tl.exp(other_top - shift)


@triton.jit
def _keys(y, places, here, seed, step, number, sample):
    """Keys of 48 bits, rising from the highest label down, ties in random order, what is not observed last."""
    bits = (y + 0.0).to(tl.int32, bitcast=True)  # −0 is 0
    rising = tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits)
    falling = tl.where(here, -rising.to(tl.int64), 2147483647)  # more than that of −inf
    zero = places * 0
    word, _, _, _ = tl.philox(seed, (places).to(tl.uint32), (zero + sample).to(tl.uint32),
                              (zero + number).to(tl.uint32), (zero + step).to(tl.uint32))  # fmt: skip
    return falling * 65536 + (word >> 16).to(tl.int64)


@triton.jit
def _sorted_places(y, places, here, seed, step, number, sample):
    """The places of a list in the order of their keys, equal ones as they stand."""
    keys = _keys(y, places, here, seed, step, number, sample)
    return (tl.sort(keys * 16384 + places.to(tl.int64)) & 16383).to(tl.int32)  # the place has 14 bits


@triton.jit
def _ordered_lists(
    scores, labels, offsets, numbers, weights, item_weights, order, losses, gradient, factor, stream, sample, depth,
    n_weights, numbered: tl.constexpr, weighted: tl.constexpr, presorted: tl.constexpr, mode: tl.constexpr,
    rule: tl.constexpr, largest: tl.constexpr,
):  # fmt: skip
    """An eighth of the workspace, or half of it, where that holds the list."""
    row = tl.program_id(0)
    begin = tl.load(offsets + row)
    count = (tl.load(offsets + row + 1) - begin).to(tl.int32)
    number, loss, out = row.to(tl.int64), losses + row, gradient + begin
    seed, step = tl.load(stream), tl.load(stream + 1)
    if numbered:
        number = tl.load(numbers + row)
    scores, labels, item_weights = scores + begin, labels + begin, item_weights + begin
    if count <= largest // 8:
        _ordered_list(scores, labels, weights, item_weights, order, begin, loss, out, count, factor, seed, step,
                      number, sample, depth, n_weights, weighted, presorted, mode, rule, largest // 8)  # fmt: skip
    elif count <= largest // 2:
        _ordered_list(scores, labels, weights, item_weights, order, begin, loss, out, count, factor, seed, step,
                      number, sample, depth, n_weights, weighted, presorted, mode, rule, largest // 2)  # fmt: skip
    else:
        _ordered_list(scores, labels, weights, item_weights, order, begin, loss, out, count, factor, seed, step,
                      number, sample, depth, n_weights, weighted, presorted, mode, rule, largest)  # fmt: skip


@triton.jit
def _ordered_list(
    scores, labels, weights, item_weights, order, begin, loss, out, count, factor, seed, step, number, sample, depth,
    n_weights, weighted: tl.constexpr, presorted: tl.constexpr, mode: tl.constexpr, rule: tl.constexpr,
    size: tl.constexpr,
):  # fmt: skip
    places = tl.arange(0, size)
    y = tl.load(labels + places, mask=places < count, other=float("nan")).to(tl.float32)
    seen = y == y
    n = tl.sum(seen.to(tl.int32), 0)
    if presorted:
        item = (tl.load(order + begin + places, mask=places < count, other=0) - begin).to(tl.int32)
    else:
        item = _sorted_places(tl.where(seen, y, 0.0), places, seen, seed, step, number, sample)
    placed = places < n
    s = tl.load(scores + item, mask=placed, other=-float("inf")).to(tl.float32)
    top, total = tl.associative_scan((s, tl.where(placed, 1.0, 0.0)), 0, _either, reverse=True)
    highest = tl.max(tl.where(seen, y, -float("inf")), 0)
    lowest = tl.min(tl.where(seen, y, float("inf")), 0)
    ties = n * 0
    if rule == 1:
        falling = tl.load(labels + item, mask=placed, other=-float("inf")).to(tl.float32)
        cut = tl.max(tl.where(places == tl.minimum(depth, n) - 1, falling, -float("inf")), 0)
        depth = tl.sum((seen & (y >= cut)).to(tl.int32), 0)
    if rule == 2:
        falling = tl.load(labels + item, mask=placed, other=-float("inf")).to(tl.float32)
        above = placed & (falling > lowest)
        depth = tl.sum(above.to(tl.int32), 0)
        tl.store(out + places, falling, mask=places < count)
        tl.debug_barrier()  # each place reads the next one
        following = tl.load(out + places + 1, mask=places + 1 < n, other=-float("inf"))
        ties = tl.sum((above & (following == falling)).to(tl.int32), 0)
        tl.debug_barrier()
    weight = tl.where(placed & (places < depth), 1.0, 0.0)
    if mode == 1:
        last = tl.exp2(1.0 - n.to(tl.float32))
        weight = tl.where(n > 1, weight * (tl.exp2(-places.to(tl.float32)) - last) / (1.0 - last), 0.0)
    if mode == 2:
        weight *= tl.load(weights + places, mask=places < n_weights, other=0.0).to(tl.float32)
    if weighted:
        weight *= tl.load(item_weights + item, mask=placed, other=0.0).to(tl.float32)
    weight = tl.where((highest > lowest) & (ties == 0), weight, 0.0)
    mass = tl.where(placed, total, 1.0)
    term = tl.where(weight > 0.0, weight * (tl.where(placed, top - s, 0.0) + tl.log(mass)), 0.0)
    tl.store(loss, tl.where(ties > 0, float("nan"), tl.sum(term, 0)))
    scale, hazard = tl.associative_scan((tl.where(placed, -top, -float("inf")), weight / mass), 0, _either)
    derivative = tl.where(placed, hazard * tl.exp(tl.where(placed, s + scale, 0.0)) - weight, 0.0)
    tl.store(out + places, 0.0, mask=places < count)
    tl.debug_barrier()  # items that are not observed keep the 0
    tl.store(out + item, derivative * factor, mask=placed)
