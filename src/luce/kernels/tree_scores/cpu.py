"""QuickScorer (Lucchese et al., 2015) for several rows at a time, and a walk for trees that it does not fit."""

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from luce.arrays import Floats, Integers
from luce.compiled import compiled, inlined

_intrinsic: Any = intrinsic  # whose own type counts the typing context among what a caller passes

ROWS = 16
"""Rows scored side by side: a vector register holds the float32 values of a feature, or a word of leaves, of them."""

ALL = np.uint32(0xFFFFFFFF)
WORD, MASK = range(2)
"""Columns of `conditions`: which word of leaves of the block, and the leaves that it keeps where a value is above."""
COLUMN, KIND, LEFT, RIGHT, SET_START, SET_WORDS = range(6)
"""Columns of `splits`, of which groups have the first two; the kind is LightGBM's decision_type."""
TREE, N_WORDS = range(2)
"""Columns of `blocks`: the first tree, and how many words the trees of the block have."""
LEAF, WORDS, FIRST_WORD = range(3)
"""Columns of `trees`: its first leaf, how many words its leaves have, 0 for one that is walked, and the first."""

ZERO_THRESHOLD = np.float64(np.float32(1e-35))
"""Numbers of at most this size are zeros to LightGBM."""


class FlatForest(NamedTuple):
    """The trees as the kernel takes them; the constants above name the columns of the arrays that have several.

    The leaves of a tree are bits in words, numbered from left to right. A condition clears those in one word that a
    split has on its left, where a value is above the threshold. Conditions are sorted by block of trees, by group and
    by threshold. A group is the splits of one kind by one feature. Large trees, and those with categories, are walked
    from split to split.
    """

    threshold: NDArray[Any]
    conditions: NDArray[np.uint32]
    bounds: NDArray[np.uint64]
    """Where the conditions of each block and group begin, and where the next do, (blocks, groups + 1)."""
    groups: Integers
    blocks: Integers
    trees: Integers
    leaf_value: Floats
    splits: Integers
    split_threshold: Floats
    sets: NDArray[np.uint32]
    """The categories that go left, as bits, one set after the other."""


@compiled
def leaf_order(leaf_starts, left_child, right_child, begin, middle, place):
    """Number the leaves of each tree from left to right: `place` of each, and below each split those from `begin` to
    before `middle` on the left side."""
    for tree in range(len(leaf_starts) - 1):
        first_leaf = leaf_starts[tree]
        first, n_splits = first_leaf - tree, leaf_starts[tree + 1] - first_leaf - 1
        for split in range(n_splits - 1, -1, -1):  # children come after their parent: leaves on the left, and in all
            left, right = left_child[first + split], right_child[first + split]
            middle[first + split] = 1 if left < 0 else begin[first + left]
            begin[first + split] = middle[first + split] + (1 if right < 0 else begin[first + right])
        if n_splits:
            begin[first] = 0
        else:
            place[first_leaf] = 0
        for split in range(n_splits):
            left, right = left_child[first + split], right_child[first + split]
            middle[first + split] += begin[first + split]
            if left < 0:
                place[first_leaf + ~left] = begin[first + split]
            else:
                begin[first + left] = begin[first + split]
            if right < 0:
                place[first_leaf + ~right] = middle[first + split]
            else:
                begin[first + right] = middle[first + split]


@compiled
def add_scores(start, stop, features, arrays, result):
    """Add to `result` (N, outputs) the scores of the rows from `start` to before `stop`.

    The arrays are those of a FlatForest in a plain tuple, which numba takes in a third of the time.
    """
    forest = FlatForest(*arrays)
    n_groups = len(forest.groups)
    values = np.empty((n_groups, ROWS), features.dtype)
    highest = np.empty(n_groups, features.dtype)
    words = _aligned(forest.blocks[:, N_WORDS].max())
    for row in range(start, stop, ROWS):
        count = min(ROWS, stop - row)
        side_by_side = ROWS if count > 1 else 1
        _load_values(features, forest.groups, row, count, values, highest)
        for block in range(len(forest.blocks) - 1):
            words[: side_by_side * forest.blocks[block, N_WORDS]] = ALL
            for group in range(n_groups):
                top = highest[group]
                for j in range(forest.bounds[block, group], forest.bounds[block, group + 1]):  # unsigned: no wraparound
                    threshold, word, mask = forest.threshold[j], forest.conditions[j, WORD], forest.conditions[j, MASK]
                    if not top > threshold:
                        break
                    if count == 1:
                        words[word] &= mask
                    else:
                        keep_above(words, word, mask, values, group, threshold)
            _add_leaves(features, forest, block, row, count, words, side_by_side, result)


@inlined
def _aligned(n_words):
    """Memory for words of all rows side by side, each in one line of the processor's cache."""
    memory = np.empty((n_words + 1) * ROWS, np.uint32)
    begin = -memory.ctypes.data % 64 // 4
    return memory[begin : begin + n_words * ROWS]


@inlined
def _load_values(features, groups, row, count, values, highest):
    """The values of the rows by which splits of each group decide: a missing one is below or above all thresholds."""
    zero, infinity = features.dtype.type(0), features.dtype.type(np.inf)
    if 1 < count < ROWS:
        values[:] = -infinity
    for group in range(len(groups)):
        column, kind = groups[group, COLUMN], groups[group, KIND]
        missing = -infinity if kind & 2 else infinity
        top = -infinity
        for r in range(count):
            value = features[row + r, column]
            if abs(value) <= ZERO_THRESHOLD or (kind < 4 and np.isnan(value)):
                value = zero
            if kind >= 4 and (np.isnan(value) or (kind < 8 and value == zero)):
                value = missing
            if count > 1:
                values[group, r] = value
            top = max(top, value)
        highest[group] = top


@inlined
def _add_leaves(features, forest, block, row, count, words, side_by_side, result):
    """Add the values of the leaves, tree by tree: the first leaf that is left is the one that a row falls into."""
    begin, outputs = forest.blocks[block, TREE], result.shape[1]
    output = begin % outputs
    is_single, total = count == 1 and outputs == 1, result[row, 0]  # a single sum waits for itself: in a register
    for tree in range(begin, forest.blocks[block + 1, TREE]):
        first, n_words, word = forest.trees[tree, LEAF], forest.trees[tree, WORDS], forest.trees[tree, FIRST_WORD]
        for r in range(count):
            place = word * side_by_side + r
            if n_words == 1:
                leaf = first + lowest_bit(words[place])
            elif n_words > 1:
                k = 0
                while words[place + k * side_by_side] == 0:
                    k += 1
                leaf = first + 32 * k + lowest_bit(words[place + k * side_by_side])
            else:
                leaf = first + _walk(features, forest, first - tree, row + r)
            if is_single:
                total += forest.leaf_value[leaf]
            else:
                result[row + r, output] += forest.leaf_value[leaf]
        output = output + 1 if output + 1 < outputs else 0
    if is_single:
        result[row, 0] = total


@inlined
def _walk(features, forest, first, row):
    """The leaf of a row in a tree of any size and any kind of splits, from split to split."""
    node = 0
    while node >= 0:
        split = first + node
        kind, threshold = forest.splits[split, KIND], forest.split_threshold[split]
        value = np.float64(features[row, forest.splits[split, COLUMN]])
        if abs(value) <= ZERO_THRESHOLD or (kind < 4 and kind & 1 == 0 and np.isnan(value)):
            value = np.float64(0)
        if kind & 1:
            start, n_words = forest.splits[split, SET_START], forest.splits[split, SET_WORDS]
            left = False
            if -1 < value < 32.0 * n_words:  # not where it is NaN
                category = np.int64(value)
                left = forest.sets[start + category // 32] >> np.uint32(category % 32) & np.uint32(1) > 0
        elif np.isnan(value) or (4 <= kind < 8 and value == 0):
            left = kind & 2 > 0
        else:
            left = value <= threshold
        node = forest.splits[split, LEFT] if left else forest.splits[split, RIGHT]
    return ~node


@_intrinsic
def lowest_bit(typing, word):
    """The place of the lowest bit of a word that is not 0."""

    def generate(context, builder, signature, arguments):
        found = builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))
        return builder.zext(found, ir.IntType(64))

    return types.int64(types.uint32), generate


@_intrinsic
def keep_above(typing, words, word, mask, values, group, threshold):
    """words[word] &= mask, in those of the rows side by side whose values[group] is above the threshold.

    Written in vectors, as a loop over the rows is not compiled to them: the two arrays might overlap.
    """

    def generate(context, builder, signature, arguments):
        _, word, mask, _, group, threshold = arguments
        integer, place = ir.IntType(32), ir.IntType(64)

        def row_of(array, number):
            data = context.make_array(signature.args[array])(context, builder, arguments[array]).data
            lanes = ir.VectorType(data.type.pointee, ROWS)
            first = builder.mul(builder.zext(number, place) if number.type != place else number, place(ROWS))
            return builder.bitcast(builder.gep(data, [first]), lanes.as_pointer()), lanes

        def in_all(value, lanes):
            one = builder.insert_element(lanes(ir.Undefined), value, integer(0))
            return builder.shuffle_vector(one, lanes(ir.Undefined), ir.VectorType(integer, ROWS)([0] * ROWS))

        target, whole = row_of(0, word)
        source, numbers = row_of(3, group)
        before = builder.load(target, align=4)
        above = builder.fcmp_ordered(">", builder.load(source, align=4), in_all(threshold, numbers))
        builder.store(builder.select(above, builder.and_(before, in_all(mask, whole)), before), target, align=4)
        return context.get_dummy_value()

    return types.none(words, word, mask, values, group, threshold), generate
