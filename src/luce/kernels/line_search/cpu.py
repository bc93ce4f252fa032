"""The sweep over crossings: lists are kept in order with the crossing times of all neighbors; the earliest is next.

Neighbors change places only where the lower one rises faster, so each pair does it once, whatever rounding does to the
times, and the sweep ends. From `depth` on the items stand in no order: of them only the next to rise is known.
"""

from typing import NamedTuple

import numpy as np

from luce.arrays import Floats, Integers
from luce.compiled import compiled
from luce.kernels.label_order import longest_list
from luce.kernels.line_search.ties import ADD, KEEP, SHIFT, WORTH, fill_block

BLOCK = 16
"""Clocks in a block: the first to ring is known of each block, its leader, so finding the first of all is short."""


class Sweep(NamedTuple):
    """Where all lists stand; row offsets[q] + r belongs to place r of list q.

    heights, slopes: (N,), the line at the place.
    order: (N,), its place at t = −∞, where it finds its item, and which items on one line keep among themselves.
    items: (N, 4), as they stood at t = −∞: worth, shift, keep, add.
    prefix: (N,), what the places above leave of P.
    """

    heights: Floats
    slopes: Floats
    order: Integers
    items: Floats
    prefix: Floats


@compiled
def begin(first, last, offsets, kind, worths, depth, sweep):
    """Fill the items, their order and the prefixes for lines as they stand at t = −∞, with worths in that order."""
    for q in range(first, last):
        one = _take(sweep, offsets[q], offsets[q + 1])
        start, p = 0, 1.0
        while start < len(one.order):
            end = _line_end(one, start)
            fill_block(kind, worths[offsets[q] + start : offsets[q] + end], depth, one.items[start:end])
            start = end
        for place in range(len(one.order)):
            one.order[place], one.prefix[place] = place, p
            p = p * one.items[place, KEEP] + one.items[place, ADD]


@compiled
def _line_end(one, start):
    """The end of the items on the line of the one at `start`."""
    end = start + 1
    while end < len(one.order) and one.slopes[end] == one.slopes[start] and one.heights[end] == one.heights[start]:
        end += 1
    return end


@compiled
def advance(first, last, offsets, pairs, scales, discounts, depth, until, sweep):
    """Sweep on to the time `until`; returns the times and sizes of the steps, list after list."""
    longest = min(depth, longest_list(first, last, offsets)) + BLOCK
    clocks, leaders = np.empty(longest), np.empty(longest // BLOCK, np.int64)
    times, sizes, n = np.empty(1_024), np.empty(1_024), 0
    for q in range(first, last):
        one, now = _take(sweep, offsets[q], offsets[q + 1]), -np.inf
        counted = min(depth, len(one.order))
        while counted:
            n_blocks = _wind(one, counted, now, clocks, leaders)
            n, now = _run(
                one, counted, pairs, scales[q], discounts, now, until, clocks, leaders[:n_blocks], times, sizes, n
            )
            if n < len(times):
                break
            times, sizes = np.append(times, times), np.append(sizes, sizes)
    return times[:n], sizes[:n]


@compiled
def _take(sweep, low, high):
    """One list of a sweep."""
    return Sweep(
        sweep.heights[low:high],
        sweep.slopes[low:high],
        sweep.order[low:high],
        sweep.items[low:high],
        sweep.prefix[low:high],
    )


@compiled
def _run(one, counted, pairs, scale, discounts, now, until, clocks, leaders, times, sizes, n):
    """Sweep one list until the time, or the workspace for steps, is over; returns the number of steps and the time."""
    size = 0.0
    while True:
        place = _earliest(clocks, leaders)
        time = clocks[place]
        if size != 0.0 and time > now:
            times[n], sizes[n], n, size = now, size, n + 1, 0.0
            if n == len(times):
                return n, now
        if time > until or time == np.inf:
            return n, now
        now = time
        size += scale * _change(one, place, pairs, discounts)
        _exchange(one, place, place + 1)
        _rewind(one, place, counted, now, clocks, leaders)


@compiled
def _change(one, place, pairs, discounts):
    """What it changes when the item below `place` rises above the one there."""
    below, items, p = place + 1, one.items, one.prefix[place]
    a, b = one.order[place], one.order[below]
    u_a, u_b, shift_a, shift_b = items[a, WORTH], items[b, WORTH], items[a, SHIFT], items[b, SHIFT]
    if pairs:
        return np.sign(u_b - u_a)
    after_a, after_b = items[a, KEEP] * p + items[a, ADD], items[b, KEEP] * p + items[b, ADD]
    one.prefix[below] = after_b
    was = discounts[place] * u_a * (p + shift_a) + discounts[below] * u_b * (after_a + shift_b)
    becomes = discounts[place] * u_b * (p + shift_b) + discounts[below] * u_a * (after_b + shift_a)
    return becomes - was


@compiled
def _exchange(one, i, j):
    heights, slopes, order = one.heights, one.slopes, one.order
    heights[i], heights[j] = heights[j], heights[i]
    slopes[i], slopes[j] = slopes[j], slopes[i]
    order[i], order[j] = order[j], order[i]


@compiled
def _crossing(one, place):
    """When the line below `place` rises above the one there; never, if it does not rise faster."""
    gap = one.slopes[place + 1] - one.slopes[place]
    return (one.heights[place] - one.heights[place + 1]) / gap if gap > 0.0 else np.inf


@compiled
def _next_to_rise(one, counted):
    """Bring the first line that rises to the last place that counts to the top of those below; returns when.

    Of several through one point the steepest, which is above the others from there on; of one line by their order.
    """
    slopes, order = one.slopes, one.order
    least, at = np.inf, -1
    for j in range(counted, len(order)):
        gap = slopes[j] - slopes[counted - 1]
        if gap > 0.0:
            time = (one.heights[counted - 1] - one.heights[j]) / gap
            if time < least:
                least, at = time, j
            elif time == least < np.inf and (slopes[j], -order[j]) > (slopes[at], -order[at]):
                at = j
    if at >= 0:
        _exchange(one, at, counted)
    return least


@compiled
def _wind(one, counted, now, clocks, leaders):
    """Set all clocks of a list; returns the number of blocks."""
    n_blocks = (counted + BLOCK - 1) // BLOCK
    clocks[: n_blocks * BLOCK] = np.inf
    for place in range(counted - 1):
        clocks[place] = max(now, _crossing(one, place))
    clocks[counted - 1] = max(now, _next_to_rise(one, counted))
    for block in range(n_blocks):
        _note(block, clocks, leaders)
    return n_blocks


@compiled
def _rewind(one, place, counted, now, clocks, leaders):
    """Set the clocks of the swapped pair and of its neighbours; time does not run back where rounding says so."""
    clocks[place] = np.inf
    if place > 0:
        clocks[place - 1] = max(now, _crossing(one, place - 1))
    if place < counted - 2:
        clocks[place + 1] = max(now, _crossing(one, place + 1))
    else:
        clocks[counted - 1] = max(now, _next_to_rise(one, counted))
    first, last = max(place - 1, 0) // BLOCK, min(place + 1, counted - 1) // BLOCK
    _note(first, clocks, leaders)
    if last > first:
        _note(last, clocks, leaders)


@compiled
def _note(block, clocks, leaders):
    first, least = block * BLOCK, np.inf
    for place in range(first, first + BLOCK):
        if clocks[place] < least:
            first, least = place, clocks[place]
    leaders[block] = first


@compiled
def _earliest(clocks, leaders):
    """The place of the first crossing, the upper of several."""
    earliest, least = 0, np.inf
    for leader in leaders:
        if clocks[leader] < least:
            earliest, least = leader, clocks[leader]
    return earliest
