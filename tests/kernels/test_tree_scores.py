"""The scores of random trees, bit for bit against LightGBM and against a walk in Python, on hostile values."""

import lightgbm
import numpy as np
import pytest
from scipy import sparse

from luce.kernels.tree_scores import BLOCK, layout_of, reference, scores_of
from luce.scoring.forest import CATEGORICAL, DTYPES, Forest, Tree

N_FEATURES = 7
HOSTILE = np.array([0.0, -0.0, 1e-35, -1e-35, 1e-36, -1e-36, np.nan, np.inf, -np.inf, 1e300, -0.5, 31, 32, 1e9, 1.5])


def random_tree(rng: np.random.Generator, n_leaves: int, kinds: tuple[int, ...], thresholds) -> Tree:
    """A tree of any shape whose splits are of these kinds, in LightGBM's bits."""
    n = n_leaves - 1
    left, right, open_ends = np.zeros(n, int), np.zeros(n, int), []
    for split in range(n):
        if split:
            side, parent = open_ends.pop(rng.integers(len(open_ends)))
            side[parent] = split
        open_ends += [(left, split), (right, split)]
    for leaf, (side, parent) in enumerate(open_ends):
        side[parent] = ~leaf
    decision = rng.choice(kinds, n)
    threshold = rng.choice(thresholds, n)
    by_category = np.flatnonzero(decision & 1)
    threshold[by_category] = np.arange(len(by_category))
    words = rng.integers(0, 2**32, 2 * len(by_category))
    known = {
        "split_feature": rng.integers(0, N_FEATURES, n), "threshold": threshold, "decision_type": decision,
        "left_child": left, "right_child": right, "leaf_value": rng.normal(size=n_leaves),
        "leaf_weight": np.ones(n_leaves), "leaf_count": np.ones(n_leaves), "internal_count": np.ones(n),
        "cat_boundaries": np.arange(0, 2 * len(by_category) + 1, 2) if len(by_category) else [], "cat_threshold": words,
    }  # fmt: skip
    arrays = {name: np.array(known.get(name, np.zeros(n)), dtype) for name, dtype in DTYPES.items()}
    if not len(by_category):
        arrays |= {name: np.array([], np.int64) for name in CATEGORICAL}
    tree = Tree(**arrays, shrinkage=1.0)
    tree.check(N_FEATURES)
    return tree


def hostile_rows(rng, trees, n_rows, dtype):
    """Rows of thresholds, of their neighbours, and of values with a meaning of their own."""
    thresholds = np.concatenate([tree.threshold for tree in trees])
    near = np.concatenate([thresholds, np.nextafter(thresholds, np.inf), np.nextafter(thresholds, -np.inf)])
    with np.errstate(over="ignore"):
        near = near.astype(dtype)
        pool = np.concatenate([near, np.nextafter(near, dtype(9)), HOSTILE.astype(dtype), rng.normal(size=20)])
    return rng.choice(pool.astype(dtype), (n_rows, N_FEATURES))


NUMBERS = (0, 2, 4, 6, 8, 10)
KINDS = {"numbers": NUMBERS, "categories": (*NUMBERS, 1, 9), "never missing": (0,), "missing left": (10,)}
THRESHOLDS = {
    "normal": np.random.default_rng(5).normal(size=50),
    "extreme": np.array([0.0, 1e-35, float(np.float32(1e-35)), -float(np.float32(1e-35)), 1e300, -1e300, 3e38, 1e-40]),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize("thresholds", THRESHOLDS)
def test_every_bit_is_that_of_lightgbm_and_of_a_walk(dtype, kinds, thresholds):
    rng = np.random.default_rng([len(kinds), len(thresholds)])
    sizes = [1, 2, 5, 31, 32, 33, 64, 65, 200, 512, 513, 700]
    trees = tuple(random_tree(rng, n, KINDS[kinds], THRESHOLDS[thresholds]) for n in sizes if n > 1)
    rows = hostile_rows(rng, trees, 203, dtype)
    found = scores_of(layout_of(trees, 1), rows, n_jobs=1)
    np.testing.assert_array_equal(found, reference.scores_of(trees, 1, rows)[:, 0])
    text = Forest(trees, 1, ("none",) * N_FEATURES).text()
    np.testing.assert_array_equal(found, lightgbm.Booster(model_str=text).predict(rows, num_threads=1))


def test_outputs_take_turns_and_a_tree_of_one_leaf_adds_its_value():
    rng = np.random.default_rng(1)
    trees = tuple(random_tree(rng, n, NUMBERS, THRESHOLDS["normal"]) for n in (3, 40, 1, 7, 2, 600))
    rows = hostile_rows(rng, trees, 50, np.float32)
    np.testing.assert_array_equal(scores_of(layout_of(trees, 3), rows), reference.scores_of(trees, 3, rows))


@pytest.mark.parametrize("n_rows", [0, 1, 15, 16, 17, 33])
def test_any_number_of_rows(n_rows):
    rng = np.random.default_rng(2)
    trees = tuple(random_tree(rng, n, NUMBERS, THRESHOLDS["normal"]) for n in (31, 33, 70, 200, 600) for _ in range(9))
    rows = hostile_rows(rng, trees, n_rows, np.float32)
    np.testing.assert_array_equal(scores_of(layout_of(trees, 1), rows), reference.scores_of(trees, 1, rows)[:, 0])


@pytest.mark.parametrize("n_rows", [1, 17, 20])  # a row alone has a sum of its own
def test_more_words_than_a_block_holds(n_rows):
    rng = np.random.default_rng(3)
    trees = tuple(random_tree(rng, int(n), NUMBERS, THRESHOLDS["normal"]) for n in rng.integers(2, 300, 120))
    rows = hostile_rows(rng, trees, n_rows, np.float32)
    np.testing.assert_array_equal(scores_of(layout_of(trees, 1), rows), reference.scores_of(trees, 1, rows)[:, 0])


def test_sparse_rows_have_the_scores_of_dense_ones(monkeypatch):
    rng = np.random.default_rng(4)
    trees = tuple(random_tree(rng, 31, (*NUMBERS, 1), THRESHOLDS["normal"]) for _ in range(9))
    rows = hostile_rows(rng, trees, 300, np.float32)
    rows[rng.random(rows.shape) < 0.6] = 0
    monkeypatch.setattr("luce.kernels.tree_scores.CELLS", 50 * N_FEATURES)
    layout = layout_of(trees, 1)
    np.testing.assert_array_equal(scores_of(layout, sparse.csr_array(rows)), scores_of(layout, rows))


def test_threads_change_no_bit():
    rng = np.random.default_rng(6)
    trees = tuple(random_tree(rng, 20, NUMBERS, THRESHOLDS["normal"]) for _ in range(5))
    rows = hostile_rows(rng, trees, 9 * BLOCK + 5, np.float32)
    layout = layout_of(trees, 1)
    np.testing.assert_array_equal(scores_of(layout, rows, n_jobs=3), scores_of(layout, rows, n_jobs=1))
    np.testing.assert_array_equal(scores_of(layout, rows, n_jobs=2)[-7:], scores_of(layout, rows[-7:]))
