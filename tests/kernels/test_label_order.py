"""The order that labels give a list."""

from itertools import pairwise

import numpy as np
import pytest

from luce.kernels.label_order import CROWDED, longest_list, sort_by_label, sort_into_sets, sorting_space


def sets_of(labels, start=0, stop=None):
    """The sets of equal labels of a list, highest first, as lists of rows; and the rows that are not observed."""
    stop = len(labels) if stop is None else stop
    order, ends = np.full(stop - start, -1), np.full(stop - start, -1)
    sets = sort_into_sets(labels, start, stop, order, ends, sorting_space(stop - start))
    begins = [0, *ends[:sets].tolist()]
    found = [order[a:b].tolist() for a, b in pairwise(begins)]
    return found, order[begins[-1] :].tolist()


def expected_of(labels, start=0, stop=None):
    rows = range(start, len(labels) if stop is None else stop)
    values = sorted({labels[row] for row in rows if not np.isnan(labels[row])}, reverse=True)
    return [[row for row in rows if labels[row] == y] for y in values], [row for row in rows if np.isnan(labels[row])]


@pytest.mark.parametrize("scale", [1.0, 0.5, 1000.0, -1.0, 1e307, 5e-324])
def test_highest_label_first_and_stable(scale):
    labels = np.array([9.0, 0, 2, np.nan, 2, 1, 0, 2, 3, 1]) * scale
    assert sets_of(labels, 1, 9) == expected_of(labels, 1, 9)
    order = np.full(8, -1)
    assert sort_by_label(labels, 1, 9, order) == 7
    assert order.tolist() == ([8, 2, 4, 7, 5, 1, 6, 3] if scale > 0 else [1, 6, 5, 2, 4, 7, 8, 3])


LABELS = {
    "grades": lambda rng, n: rng.integers(0, 5, n),
    "one grade": lambda rng, n: np.full(n, 3),
    "grades to 63": lambda rng, n: rng.integers(0, 64, n),
    "grades to 64": lambda rng, n: rng.integers(0, 65, n),
    "one fraction": lambda rng, n: np.full(n, 0.5),
    "an order": lambda rng, n: rng.permutation(n),
    "an order below 0": lambda rng, n: -rng.permutation(n),
    "even": lambda rng, n: rng.random(n),
    "far apart": lambda rng, n: rng.uniform(-1, 1, n) * 1e308,
    "one far off": lambda rng, n: np.where(np.arange(n) == 1, 1e9, rng.random(n).round(2)),
    "an order above the rest": lambda rng, n: np.maximum(rng.permutation(n) - n // 2, 0) / 7,
    "lowest and nearly lowest": lambda rng, n: np.where(rng.random(n) < 0.5, 0, rng.random(n) ** 20),
}


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 8, CROWDED + 2, 200])
@pytest.mark.parametrize("unobserved", [0.0, 0.3, 1.0])
def test_sets_of_any_labels(kind, n, unobserved):
    rng = np.random.default_rng(n)
    labels = LABELS[kind](rng, n).astype(float)
    labels[rng.random(n) < unobserved] = np.nan
    assert sets_of(labels) == expected_of(labels)


def test_longest_list():
    offsets = np.array([0, 9, 9, 12, 16])
    assert longest_list(0, 4, offsets) == 9
    assert longest_list(1, 4, offsets) == 4
    assert longest_list(2, 2, offsets) == 0
