"""Preferences between items as labels of lists: levels by definition, and their likelihood by enumeration."""

from itertools import combinations, pairwise, permutations

import numpy as np
import pytest

from luce.data import Dataset, rank_breaking
from luce.errors import DataError, OptionError
from luce.kernels.enumeration import log_probability, ordered_partitions
from luce.objectives import objective


def made(sizes):
    """Lists of these sizes whose only feature is the row."""
    n_rows = sum(sizes)
    return Dataset(np.arange(n_rows)[:, None], np.full(n_rows, np.nan), np.cumsum([0, *sizes]))


def random_edges(rng, rows):
    """A preference between some pairs, none against a hidden order of the rows; some twice."""
    rows = rng.permutation(rows)
    share = rng.choice([0.2, 0.5, 0.9])
    edges = [(int(a), int(b)) for a, b in combinations(rows, 2) if rng.random() < share]
    return edges + edges[:2]


def reached(edges):
    """All (a, b) with a chain of preferences from a to b."""
    pairs = set(edges)
    while more := {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs:
        pairs |= more
    return pairs


def parts_of(edges):
    """The sets of rows that edges connect."""
    parts = []
    for edge in edges:
        joined = set(edge).union(*(part for part in parts if part & set(edge)))
        parts = [part for part in parts if not part & joined] + [joined]
    return sorted(map(sorted, parts))


def most_levels(rows, edges):
    """The grades of the ordered partition of the rows with the most levels that the preferences allow, from all."""
    pairs = reached(edges)

    def is_allowed(grades):
        ranked = list(zip(rows, grades, strict=True))
        return all((a, b) in pairs for a, y in ranked for b, z in ranked if y > z)

    allowed = [grades for grades in ordered_partitions(len(rows)) if is_allowed(grades)]
    best = max(map(max, allowed))
    (found,) = [grades for grades in allowed if max(grades) == best]  # there is only one
    return dict(zip(rows, found, strict=True))


def lists_of(dataset):
    """The grades by row of each list."""
    rows, labels = dataset.features.ravel().astype(int).tolist(), dataset.labels.tolist()
    return [dict(zip(rows[a:b], labels[a:b], strict=True)) for a, b in pairwise(dataset.offsets)]


@pytest.mark.parametrize("seed", range(40))
def test_levels_are_the_most_of_all_ordered_partitions(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, 3)
    bounds = np.cumsum([0, *sizes])
    edges = [edge for a, b in pairwise(bounds) for edge in random_edges(rng, range(a, b))]
    expected = [most_levels(part, edges) for part in parts_of(edges)]
    expected = [grades for grades in expected if max(grades.values()) > 0]
    if not expected:
        with pytest.raises(DataError, match="No list has two levels" if edges else "At least one edge"):
            rank_breaking(made(sizes), edges)
        return
    found = rank_breaking(made(sizes), rng.permutation(edges))
    assert lists_of(found) == expected
    assert found.query_ids.to_pylist() == [1 + int(np.searchsorted(bounds, min(g), "right")) - 1 for g in expected]


def chance_of_levels(scores, grades):
    """log P that a Plackett-Luce ranking has every higher grade above every lower one, over all rankings."""
    rows = list(grades)
    own = [scores[row] for row in rows]
    agree = [
        log_probability(own, order)
        for order in permutations(range(len(rows)))
        if all(grades[rows[a]] >= grades[rows[b]] for a, b in pairwise(order))
    ]
    return np.logaddexp.reduce(agree)


def total_loss(lists, scores):
    rows = lists.features.ravel().astype(int)
    return objective("pl-partition").value_and_gradient(scores[rows], lists.labels, lists.offsets).loss.sum()


@pytest.mark.parametrize("order", [1, 2, None])
def test_order_m_is_the_likelihood_of_the_small_levels(order):
    scores = np.random.default_rng(0).normal(size=6)
    levels = [[4], [0, 5], [1], [2, 3]]
    edges = [(a, b) for above, below in pairwise(levels) for a in above for b in below]
    expected = 0.0
    for place, level in enumerate(levels[:-1]):
        below = [row for later in levels[place + 1 :] for row in later]
        if order is None or len(level) <= order:
            expected += chance_of_levels(scores, {**dict.fromkeys(level, 1), **dict.fromkeys(below, 0)})
    found = rank_breaking(made([6]), edges, order=order)
    assert total_loss(found, scores) == pytest.approx(-expected, rel=1e-9)
    assert found.n_lists == (2 if order == 1 else 1)


def test_unconnected_items_are_independent():
    scores = np.random.default_rng(1).normal(size=6)
    edges = [(0, 2), (0, 4), (5, 1)]  # of row 3 nothing is known
    found = rank_breaking(made([6]), edges)
    assert lists_of(found) == [{0: 1, 2: 0, 4: 0}, {1: 0, 5: 1}]
    agree = [
        log_probability(scores, order)
        for order in permutations(range(6))
        if all(order.index(a) < order.index(b) for a, b in edges)
    ]
    assert total_loss(found, scores) == pytest.approx(-np.logaddexp.reduce(agree), rel=1e-9)


def test_what_belongs_to_a_row_or_a_list_goes_with_it():
    data = Dataset(
        np.arange(6.0)[:, None],
        [9.0] * 6,
        [0, 3, 6],
        query_ids=["x", "y"],
        document_ids=list("abcdef"),
        item_weights=np.arange(6.0),
        list_weights=[2.0, 3.0],
    )
    found = rank_breaking(data, [(5, 3), (3, 4)])
    assert found.query_ids.to_pylist() == ["y"] and found.document_ids.to_pylist() == list("def")
    assert found.labels.tolist() == [1, 0, 2]
    assert (found.item_weights.tolist(), found.list_weights.tolist()) == ([3, 4, 5], [3])


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        (
            [(0, 1), (4, 5), (5, 3), (3, 4)],
            r"query 2 do: row indices (3 > 4 > 5 > 3|4 > 5 > 3 > 4|5 > 3 > 4 > 5)\.",
        ),
        ([(2, 2)], r"Those of query 1 do: row indices 2 > 2\."),
        ([(0, 1), (1, 0)], "indices (0 > 1 > 0|1 > 0 > 1)"),
        ([(0, 1), (2, 3)], r"Edge 2 is \(2, 3\), of the queries 1 and 2 \(1 in total\)"),
        ([(0, 1), (0, 6)], r"from 0 to 5\. Edge 2 is \(0, 6\)"),
        ([(-1, 1)], r"Edge 1 is \(-1, 1\)"),
        ([(0, 1, 2)], r"pairs of rows, integers \(E, 2\)\. Got int64 of shape \(1, 3\)"),
        ([(0.5, 1.0)], "Got float64"),
        ([(0, 1), (1,)], "pairs of rows"),
        ([], "At least one edge is needed"),
    ],
)
def test_bad_edges(edges, words):
    with pytest.raises(DataError, match=words):
        rank_breaking(made([3, 3]), edges)


def test_bad_settings():
    with pytest.raises(OptionError, match=r"order must be an integer ≥ 1, or None\. Got 0"):
        rank_breaking(made([3]), [(0, 1)], order=0)
    with pytest.raises(DataError, match=r"at most 1 items\. Use a higher order"):
        rank_breaking(made([3]), [(0, 1), (2, 1)], order=1)
    with pytest.raises(DataError, match="needs a Dataset"):
        rank_breaking([[1.0]], [(0, 0)])
