"""Compiled copying of parsed rows: sorted by index, packed, and put where they belong in the whole."""

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
def place_dense_in_dense(table, rows, shift, out):
    """Row i of a table to row rows[i] of the whole, its columns `shift` further."""
    width = table.shape[1]
    for row in range(len(table)):
        # Two views, so that the copy uses vector registers.
        source, target = table[row], out[rows[row], shift : shift + width]
        for column in range(width):
            target[column] = source[column]


@compiled
def place_sparse_in_dense(ends, index, value, rows, shift, out):
    """The entries of row i, up to ends[i], to row rows[i] of the whole, which must be zero there."""
    entry = 0
    for row in range(len(ends)):
        target = out[rows[row]]
        while entry < ends[row]:
            target[index[entry] + shift] = value[entry]
            entry += 1


@compiled
def place_dense_in_sparse(bits, rows, shift, starts, out_index, out_bits):
    """What is not zero in row i of a table to the entries from starts[rows[i]] of the whole; −0 stays, as above."""
    for row in range(len(bits)):
        entry = starts[rows[row]]
        for column in range(bits.shape[1]):
            if bits[row, column] != 0:
                out_index[entry] = column + shift
                out_bits[entry] = bits[row, column]
                entry += 1


@compiled
def place_sparse_in_sparse(ends, index, value, rows, shift, starts, out_index, out_value):
    """The entries of row i, up to ends[i], to the entries from starts[rows[i]] of the whole."""
    entry = 0
    for row in range(len(ends)):
        to = starts[rows[row]] - entry
        while entry < ends[row]:
            out_index[to + entry] = index[entry] + shift
            out_value[to + entry] = value[entry]
            entry += 1


@compiled
def place_tokens(ends, text, rows, starts, out):
    """The bytes of token i, up to ends[i], to the bytes from starts[rows[i]] of the whole."""
    at = 0
    for row in range(len(ends)):
        to = starts[rows[row]] - at
        while at < ends[row]:
            out[to + at] = text[at]
            at += 1
