"""Sorting the rows of a list by label, highest first, in linear time for grades and for evenly spread labels."""

import numpy as np
from numba import uint32, uint64

from luce.compiled import compiled, inlined

FEW_GRADES = 64

PARTS = 4
"""A list is counted in so many parts: a counter is slow to count twice in a row, but four can do it side by side."""

CROWDED = 16
"""Rows of a slot up to which they are sorted by insertion."""


@compiled
def longest_list(first, last, offsets):
    """Rows of the longest of the lists first … last − 1."""
    longest = 0
    for q in range(first, last):
        longest = max(longest, offsets[q + 1] - offsets[q])
    return longest


@compiled
def sort_by_label(labels, start, stop, order):
    """Write the rows of a list to `order`, those not observed last; return how many are observed.

    It allocates its workspace: kernels for which that costs too much call `sort_into_sets`.
    """
    ends = np.empty(stop - start, np.int64)
    sets = sort_into_sets(labels, start, stop, order, ends, sorting_space(stop - start))
    return ends[sets - 1] if sets else 0


@compiled
def sorting_space(longest):
    """Workspace to sort a list of so many rows: the slot of each row, and a counter of each slot for each part."""
    return np.empty(longest, np.uint32), np.empty((PARTS, max(longest, FEW_GRADES) + 3), np.uint32)


@compiled
def sort_into_sets(labels, start, stop, order, ends, space):
    """Write the rows of a list to `order`, highest label first, equal ones as they stood, those not observed last.

    `ends` gets where each set of equal labels ends; returns how many sets there are.
    """
    slots, counts = space[0][: stop - start], space[1]
    n_grades = _slots_of_grades(labels[start:stop], slots)
    n_slots = n_grades if n_grades else _slots_of_labels(labels[start:stop], slots)
    _sort_by_slot(slots, n_slots, counts, start, order)
    if n_grades:
        return _ends_of_slots(n_slots, counts, ends)
    n = _sort_crowded_slots(labels, n_slots, counts, order)
    _sort_by_insertion(labels, order[:n])
    return _ends_of_labels(labels, order[:n], ends)


@inlined
def _slots_of_grades(labels, slots):
    """Slot 1 + y for a grade y < 64, 0 for NaN; returns how many slots there are, 0 if a label is no such grade."""
    top, other = np.int32(-1), False
    for i in range(len(labels)):
        y = labels[i]
        grade = np.int32(y if 0.0 <= y < FEW_GRADES else -1.0)
        slots[i] = grade + 1
        top = max(top, grade)
        other |= (y < 0.0) | ((grade != y) & (y == y))
    return 0 if other else top + 2


@inlined
def _slots_of_labels(labels, slots):
    """Slot 0 for NaN, 1 for the lowest label and then by even steps; about as many slots as labels; returns how many.

    The lowest label has its slot to itself: it is often that of all unjudged items.
    """
    lowest, highest = np.inf, -np.inf
    for i in range(len(labels)):
        if labels[i] == labels[i]:
            lowest, highest = min(lowest, labels[i]), max(highest, labels[i])
    scale = len(labels) / (highest - lowest)
    even = 0.0 < scale < np.inf  # else the labels are too near, or too far apart, for their difference
    for i in range(len(labels)):
        y = labels[i]
        steps = np.int64(np.ceil((y - lowest) * scale)) if even and y == y else 0
        slots[i] = 1 + steps if y == y else 0
    return len(labels) + 3


@inlined
def _sort_by_slot(slots, n_slots, counts, start, order):
    """Count the rows of each slot, then write each row to its place, highest slot first; `counts` gets their ends."""
    n, parts = uint64(len(slots)), uint64(PARTS)  # unsigned: an index that cannot count from the end is quicker
    size = n // parts
    for part in range(parts):
        for slot in range(n_slots):
            counts[part, slot] = 0
    for i in range(size):
        for part in range(parts):
            counts[part, slots[part * size + i]] += uint32(1)
    for i in range(parts * size, n):
        counts[PARTS - 1, slots[i]] += uint32(1)
    place = uint32(0)
    for slot in range(n_slots - 1, -1, -1):
        for part in range(parts):
            counts[part, slot], place = place, place + counts[part, slot]
    for i in range(size):
        for part in range(parts):
            _put(part * size + i, slots, counts[part], start, order)
    for i in range(parts * size, n):
        _put(i, slots, counts[PARTS - 1], start, order)


@inlined
def _put(row, slots, next_place, start, order):
    place = next_place[slots[row]]
    order[place] = uint64(start) + row
    next_place[slots[row]] = place + uint32(1)


@inlined
def _ends_of_slots(n_slots, counts, ends):
    """Where the slots end that hold observed rows; returns how many do."""
    sets, begin = 0, np.int64(0)
    for slot in range(n_slots - 1, 0, -1):
        end = np.int64(counts[PARTS - 1, slot])
        if end > begin:
            ends[sets] = end
            sets, begin = sets + 1, end
    return sets


@inlined
def _sort_crowded_slots(labels, n_slots, counts, order):
    """Sort the rows of slots with too many for insertion; returns how many rows are observed."""
    begin = np.int64(0)
    for slot in range(n_slots - 1, 0, -1):
        end = np.int64(counts[PARTS - 1, slot])
        if end - begin > CROWDED:
            merge_sort(labels, order[begin:end])
        begin = end
    return begin


@compiled
def merge_sort(labels, order):
    """Sort rows by label, highest first, equal ones as they stood; NumPy's sort compiles in seconds in every kernel."""
    n, size, left = len(order), 1, np.empty(len(order), np.int64)
    while size < n:
        for begin in range(0, n - size, 2 * size):
            middle, end = begin + size, min(begin + 2 * size, n)
            if labels[order[middle - 1]] >= labels[order[middle]]:
                continue
            for i in range(size):
                left[i] = order[begin + i]
            i, j, place = 0, middle, begin
            while i < size:
                take_left = j == end or labels[left[i]] >= labels[order[j]]
                order[place] = left[i] if take_left else order[j]
                i, j, place = i + take_left, j + (not take_left), place + 1
        size *= 2


@inlined
def _sort_by_insertion(labels, order):
    for j in range(1, len(order)):
        row, place = order[j], j
        while place > 0 and labels[order[place - 1]] < labels[row]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = row


@inlined
def _ends_of_labels(labels, order, ends):
    """Where each set of equal labels ends; returns how many sets there are."""
    sets = 0
    for j in range(len(order)):
        if j == len(order) - 1 or labels[order[j]] != labels[order[j + 1]]:
            ends[sets] = j + 1
            sets += 1
    return sets
