"""Trees as the flat arrays of the kernel, sorted so that scoring reads them from front to back."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats, Integers, offsets_of_sizes, read_only
from luce.kernels.tree_scores import cpu

WORD_BITS, KINDS = 32, 16
"""Leaves in a word, and values that a decision_type may have."""
BLOCK_WORDS = 384
"""Words of leaves worked on together: with those of all rows they stay in the processor's first cache."""
MOST_WORDS = 16
"""Words of the leaves of a tree above which a walk takes less time."""


class Layout(NamedTuple):
    """The flat trees for features of float64 and of float32, and the columns of the features that they use."""

    exact: cpu.FlatForest
    single: cpu.FlatForest
    columns: Integers
    outputs: int

    def of_used_columns(self) -> "Layout":
        """The same for features of which only those that are used are there."""
        found = []
        for forest in (self.exact, self.single):
            groups, splits = forest.groups.copy(), forest.splits.copy()
            for array in (groups, splits):
                array[:, cpu.COLUMN] = np.searchsorted(self.columns, array[:, cpu.COLUMN])
            found.append(forest._replace(groups=read_only(groups), splits=read_only(splits)))
        return self._replace(exact=found[0], single=found[1])


def layout_of(trees: Sequence[Any], outputs: int) -> Layout:
    """The flat arrays of trees whose arrays are named as in LightGBM's text, `outputs` of them a round."""
    names = ("split_feature", "threshold", "decision_type", "left_child", "right_child", "leaf_value")
    joined = {name: np.concatenate([getattr(tree, name) for tree in trees]) for name in names}
    sizes = np.array([len(tree.leaf_value) for tree in trees])
    leaf_starts, tree_of_split = offsets_of_sizes(sizes), np.repeat(np.arange(len(trees)), sizes - 1)
    is_set, children = joined["decision_type"] & 1 == 1, (joined["left_child"], joined["right_child"])
    begin, middle, place = (
        np.zeros(count, dtype=np.int64) for count in (*is_set.shape, *is_set.shape, leaf_starts[-1])
    )
    cpu.leaf_order(*map(read_only, (leaf_starts, *children)), begin, middle, place)

    n_words = -(-sizes // WORD_BITS)
    n_words[n_words > MOST_WORDS] = 0
    n_words[tree_of_split[is_set | np.isinf(joined["threshold"])]] = 0
    own_number = np.arange(leaf_starts[-1]) - np.repeat(leaf_starts[:-1], sizes)
    place = np.where(np.repeat(n_words, sizes) > 0, place, own_number)  # a walk ends at the number of a leaf
    leaf_value = np.empty(leaf_starts[-1])
    leaf_value[np.repeat(leaf_starts[:-1], sizes) + place] = joined["leaf_value"]

    before = offsets_of_sizes(n_words)
    block = before[:-1] // BLOCK_WORDS
    first_trees = np.searchsorted(block, np.arange(block[-1] + 2))
    first_word = before[:-1] - before[first_trees[block]]
    scored = n_words[tree_of_split] > 0
    known = joined["split_feature"], joined["decision_type"], joined["threshold"]
    splits = _Splits(tree_of_split, *known, begin, middle).take(scored)
    sets = _category_sets(trees, is_set, joined["threshold"], tree_of_split)
    exact = cpu.FlatForest(
        **_conditions(splits, first_word, block),
        blocks=np.stack([first_trees, np.append(np.diff(before[first_trees]), 0)], axis=1),
        trees=np.stack([leaf_starts[:-1], n_words, first_word], axis=1),
        leaf_value=leaf_value,
        splits=np.stack([joined["split_feature"], joined["decision_type"], *children, *sets], axis=1),
        split_threshold=joined["threshold"],
        sets=np.concatenate([tree.cat_threshold for tree in trees]).astype(np.uint32),
    )
    exact = cpu.FlatForest(*(read_only(np.ascontiguousarray(array)) for array in exact))
    single = exact._replace(threshold=read_only(_rounded_down(exact.threshold)))
    return Layout(exact, single, read_only(np.unique(joined["split_feature"])), outputs)


class _Splits(NamedTuple):
    """Splits of trees that are not walked; on the left of each are the leaves from `begin` to before `middle`."""

    tree: Integers
    feature: Integers
    kind: Integers
    threshold: Floats
    begin: Integers
    middle: Integers

    def take(self, rows: NDArray[Any]) -> "_Splits":
        return _Splits(*(array[rows] for array in self))


def _conditions(splits: _Splits, first_word: Integers, block: Integers) -> dict[str, NDArray[Any]]:
    """The conditions, sorted, one for each word that has leaves on the left of a split; and their groups."""
    keys, group = np.unique(splits.feature * KINDS + splits.kind, return_inverse=True)
    first, last = splits.begin // WORD_BITS, (splits.middle - 1) // WORD_BITS
    counts = last - first + 1
    rows = np.repeat(np.arange(len(counts)), counts)
    number = first[rows] + np.arange(len(rows)) - offsets_of_sizes(counts)[rows]
    each = splits.take(rows)
    mask = _bits_outside(each.begin - WORD_BITS * number, each.middle - WORD_BITS * number)
    order = np.lexsort((each.tree, each.threshold, group[rows], block[each.tree]))
    n_blocks, n_groups = int(block[-1]) + 1, len(keys)
    places = (block[each.tree] * n_groups + group[rows])[order]
    starts = np.searchsorted(places, np.arange(n_blocks * n_groups + 1))
    return {
        "threshold": each.threshold[order],
        "conditions": np.stack([first_word[each.tree] + number, mask], axis=1).astype(np.uint32)[order],
        "bounds": starts[np.arange(n_blocks)[:, None] * n_groups + np.arange(n_groups + 1)].astype(np.uint64),
        "groups": np.stack([keys // KINDS, keys % KINDS], axis=1),
    }


def _bits_outside(begin: Integers, end: Integers) -> NDArray[np.uint32]:
    """Words whose bits from `begin` to before `end` are 0, of which some may lie outside of the word."""
    below = [(np.uint64(1) << np.clip(bound, 0, 32).astype(np.uint64)) - np.uint64(1) for bound in (begin, end)]
    return ~(below[1] & ~below[0]).astype(np.uint32)


def _rounded_down(thresholds: Floats) -> NDArray[np.float32]:
    """The largest float32 that is no larger: float32 values are above one exactly where they are above the other."""
    with np.errstate(over="ignore"):
        near = thresholds.astype(np.float32)
    return np.where(near > thresholds, np.nextafter(near, np.float32(-np.inf)), near)


def _category_sets(
    trees: Sequence[Any], is_set: NDArray[np.bool_], thresholds: Floats, tree_of_split: Integers
) -> tuple[Integers, Integers]:
    """For each split by categories where their words begin, and how many there are."""
    starts, sizes = np.zeros((2, len(is_set)), dtype=np.int64)
    before = offsets_of_sizes([len(tree.cat_threshold) for tree in trees])
    for split in np.flatnonzero(is_set).tolist():
        tree, number = tree_of_split[split], int(thresholds[split])
        start, stop = trees[tree].cat_boundaries[number : number + 2]
        starts[split], sizes[split] = before[tree] + start, stop - start
    return starts, sizes
