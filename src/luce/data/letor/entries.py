"""Compiled work on the entries of parsed rows: sorted by index, without zeros, written into a table."""

from luce.compiled import compiled


@compiled
def sort_rows(ends, index, value):
    """Sort the entries of each row by index; (row, index) of the first index that a row has twice, or (−1, −1)."""
    start = 0
    for row in range(len(ends)):
        end = ends[row]
        in_order = True
        for entry in range(start + 1, end):
            in_order &= index[entry] > index[entry - 1]
        if not in_order:
            _heap_sort(index[start:end], value[start:end])
            for entry in range(start + 1, end):
                if index[entry] == index[entry - 1]:
                    return row, index[entry]
        start = end
    return -1, -1


@compiled
def _heap_sort(index, value):
    """In place, and never slow: a hostile line can have millions of entries in any order."""
    count = len(index)
    for root in range(count // 2 - 1, -1, -1):
        _sift_down(index, value, root, count)
    for last in range(count - 1, 0, -1):
        index[0], index[last] = index[last], index[0]
        value[0], value[last] = value[last], value[0]
        _sift_down(index, value, 0, last)


@compiled
def _sift_down(index, value, root, count):
    while 2 * root + 1 < count:
        child = 2 * root + 1
        if child + 1 < count and index[child + 1] > index[child]:
            child += 1
        if index[child] <= index[root]:
            return
        index[root], index[child] = index[child], index[root]
        value[root], value[child] = value[child], value[root]
        root = child


@compiled
def copy_tokens(text, places, out):
    """Copy the bytes from places[i, 0] to places[i, 1] of the text, one token after the other."""
    filled = 0
    for number in range(len(places)):
        for at in range(places[number, 0], places[number, 1]):
            out[filled] = text[at]
            filled += 1


@compiled
def drop_zeros(ends, index, bits):
    """Move the entries that are not zero to the front; `ends` changes with them. As bits, −0 is not zero, and stays."""
    start = kept = 0
    for row in range(len(ends)):
        for entry in range(start, ends[row]):
            if bits[entry] != 0:
                index[kept] = index[entry]
                bits[kept] = bits[entry]
                kept += 1
        start = ends[row]
        ends[row] = kept


@compiled
def scatter(ends, index, value, rows, shift, table):
    """Write the entries of row i, up to ends[i], into row rows[i] of a table, which must be zero there."""
    entry = 0
    for row in range(len(ends)):
        target = table[rows[row]]
        while entry < ends[row]:
            target[index[entry] + shift] = value[entry]
            entry += 1
