"""Connectivity and ordered partitions agree with their definitions, worked out pair by pair."""

from itertools import pairwise, product

import numpy as np
import pytest

from luce.aggregation import Rankings, ordered_partition
from luce.errors import DataError


def closure(beats):
    """Which item reaches which by one edge or more (Warshall)."""
    reach = beats.copy()
    for k in range(len(reach)):
        reach |= np.outer(reach[:, k], reach[k])
    return reach


def beats_of(rankings, ties):
    """The win graph by its definition: every pair of every ranking."""
    beats = np.zeros((rankings.n_items, rankings.n_items), dtype=bool)
    for q in np.flatnonzero(rankings.weights > 0):
        rows = slice(rankings.offsets[q], rankings.offsets[q + 1])
        items, places = rankings.items[rows].tolist(), rankings.places[rows].tolist()
        rest = [] if rankings.pool[q] < 0 else set(rankings.pools[rankings.pool[q]].tolist()) - set(items)
        for (i, a), (j, b) in product(zip(items, places, strict=True), repeat=2):
            open_level = rankings.open_end[q] and a == places[-1]
            beats[i, j] |= a < b or (ties and a == b and i != j and not open_level)
        for i, j in product(items, rest):
            beats[i, j] = True
    return beats


def random_rankings(rng, n_items, n_rankings):
    """Rankings of every kind: strict, tied, open-ended, with pools, of weight 0."""
    pools = [np.sort(rng.permutation(n_items)[: rng.integers(2, n_items + 1)]) for _ in range(3)]
    items, places, sizes, open_end, pool = [], [], [], [], []
    for _ in range(n_rankings):
        number = int(rng.integers(-2, 3))
        of = np.arange(n_items) if number < 0 else pools[number]
        named = rng.permutation(of)[: rng.integers(1 if number >= 0 else 2, min(len(of), 6) + 1)]
        steps = np.cumsum(np.concatenate([[0], rng.random(len(named) - 1) < rng.choice([0.3, 0.7, 1])]))
        items += named.tolist()
        places += steps.tolist()
        sizes.append(len(named))
        open_end.append(number == -2 and steps[-1] > 0)
        pool.append(max(number, -1))
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    weights = (rng.random(n_rankings) < 0.9).astype(float)
    return Rankings(items, places, offsets, open_end, pool, pools, weights, names=range(100, 100 + n_items))


@pytest.mark.parametrize("seed", range(150))
def test_connectivity_agrees_with_all_pairs(seed):
    rng = np.random.default_rng(seed)
    rankings = random_rankings(rng, int(rng.integers(2, 14)), int(rng.integers(1, 7)))
    ties = bool(seed % 2)
    found = rankings.connectivity(ties=ties)
    beats = beats_of(rankings, ties)
    reach = closure(beats) | np.eye(len(beats), dtype=bool)
    linked = closure(beats | beats.T) | np.eye(len(beats), dtype=bool)
    same = found.component[:, None] == found.component
    np.testing.assert_array_equal(same, reach & reach.T)
    np.testing.assert_array_equal(found.group[:, None] == found.group, linked)
    winners, losers = np.nonzero(beats)
    assert np.all(found.component[winners] <= found.component[losers])
    assert found.n_components == len(np.unique(found.component)) == len(found.components)
    assert found.n_groups == len(np.unique(found.group))
    wins, losses = beats.any(axis=1), beats.any(axis=0)
    assert found.never_lose.tolist() == np.flatnonzero(wins & ~losses).tolist()
    assert found.never_win.tolist() == np.flatnonzero(losses & ~wins).tolist()
    assert found.unseen.tolist() == np.flatnonzero(~wins & ~losses).tolist()
    for number, codes in enumerate(found.components):
        assert codes.tolist() == np.flatnonzero(found.component == number).tolist()
    sizes = np.bincount(found.component)
    assert len(found.largest) == sizes.max() and len(set(found.component[found.largest])) == 1
    assert found.is_connected == bool(reach.all())


def test_a_large_pool_is_reached_through_a_tree():
    n_items = 1000
    tops = [[0], [1, 2], [[3, 4]], [999, 0]]
    found = Rankings.from_top(tops, range(n_items)).connectivity()
    assert found.n_components == n_items - 6 + 1
    assert sorted(found.components[0].tolist()) == [0, 1, 2, 3, 4, 999]
    assert found.never_win.tolist() == list(range(5, 999))
    alone = Rankings.from_top([[7, 0]] * 3, range(n_items)).connectivity()
    assert alone.components[0].tolist() == [7] and alone.components[1].tolist() == [0]


def test_two_large_levels_meet_in_few_edges():
    upper, lower = list(range(300)), list(range(300, 600))
    there = Rankings.from_orderings([[upper, lower]])
    assert there.connectivity().n_components == 600
    both = Rankings.from_orderings([[upper, lower], [lower, upper]])
    assert both.connectivity().is_connected


def test_ties_link_only_where_a_model_learns_from_them():
    tied = Rankings.from_orderings([[["a", "b"]], ["b", "c"], ["c", "b"]])
    assert tied.connectivity(ties=True).is_connected
    assert tied.connectivity().unseen.tolist() == [0]
    open_end = Rankings.from_choices(["a"], [["a", "b", "c"]])
    assert open_end.connectivity(ties=True).n_components == 3


def test_connectivity_in_words():
    assert str(Rankings.from_orderings([["a", "b"], ["b", "a"]]).connectivity()) == (
        "Connected: a chain of wins leads from every item to every other (2 items)."
    )
    rankings = Rankings.from_orderings(
        [["a", "b", "c"], ["c", "b"], ["e", "f"], ["c", "d"]], names=[*"abcdef", "g"], weights=[1, 1, 1, 1]
    )
    found = rankings.connectivity()
    assert repr(found) == "Connectivity(7 items, 6 components)"
    lines = str(found).splitlines()
    assert lines[0] == "Not connected: 7 items in 6 components without chains of wins in both directions. Best first:"
    assert sorted(lines[1:6]) == ["  a", "  b, c", "  d", "  e", "  f"]
    assert [line for line in lines[1:6] if line not in ("  e", "  f")] == ["  a", "  b, c", "  d"]
    assert lines[6:] == [
        "Never lose: a, e",
        "Never win: d, f",
        "Never compared with the others: e, f",
        "In no comparison: g",
    ]


def test_the_words_show_the_largest_parts_and_count_the_rest():
    strict = Rankings.from_orderings([list("abcdefghij"), ["j", "g"]]).connectivity()
    lines = str(strict).splitlines()
    assert lines[1:7] == ["  a", "  b", "  c", "  d", "  g, h, i, j", "  … 2 more, none larger"]
    many = Rankings.from_top([["a"]], among=list("abcdefgh")).connectivity()
    assert "Never win: b, c, d, e, f, … (7 in total)" in str(many)
    five = Rankings.from_top([["a"]], among=list("abcdef")).connectivity()
    assert str(five).splitlines()[-1] == "Never win: b, c, d, e, f"


def levels_by_definition(beats):
    """The ordinal sum by trying every cut of every size: a cut keeps all of those above before all of those below."""
    reach = closure(beats)
    n_items = len(beats)
    above = reach.sum(axis=0)  # in a cut the items above have fewer above them than those below
    order = np.argsort(above, kind="stable")
    cuts = [k for k in range(1, n_items) if reach[np.ix_(order[:k], order[k:])].all()]
    return [np.sort(level).tolist() for level in np.split(order, cuts)]


@pytest.mark.parametrize("seed", range(200))
def test_ordered_partition_agrees_with_every_cut(seed):
    rng = np.random.default_rng(seed)
    n_items = int(rng.integers(1, 9))
    sure = np.triu(rng.random((n_items, n_items)) < rng.choice([0.3, 0.6, 0.9]), 1)
    name = rng.permutation(n_items)
    beats = np.zeros_like(sure)
    beats[np.ix_(name, name)] = sure
    edges = rng.permutation(np.argwhere(beats).repeat(2, axis=0)).tolist()
    assert ordered_partition(edges, items=range(n_items)) == levels_by_definition(beats)


def test_a_chain_of_known_levels_is_found_again():
    sizes = [3, 1, 40, 2, 2]
    bounds = np.cumsum([0, *sizes])
    levels = [list(range(a, b)) for a, b in pairwise(bounds)]
    edges = np.array([pair for a, b in pairwise(levels) for pair in product(a, b)])
    assert ordered_partition(edges) == levels
    rankings = Rankings.from_orderings([ordered_partition(edges)])
    assert np.bincount(rankings.places).tolist() == sizes
    missing = [pair for pair in edges.tolist() if pair != [44, 46]]
    assert ordered_partition(missing, items=range(48)) == [*levels[:3], levels[3] + levels[4]]


def test_items_in_no_edge_cannot_be_placed():
    assert ordered_partition([("a", "b")], items=["c", "a", "b"]) == [["c", "a", "b"]]
    assert ordered_partition([], items=["a"]) == [["a"]]


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        ([("a", "b"), ("b", "c"), ("c", "d"), ("d", "b"), ("d", "e")], "These do: b > c > d > b.$"),
        ([("a", "b"), ("c", "c")], "These do: c > c.$"),
        ([("x", "a"), *zip("abcde", "badec", strict=True)], "These do: a > b > a. Items in cycles: a, b, c, d, e."),
        (zip("abccd", "bcbda", strict=True), "These do: b > c > b. Items in cycles: a, b, c, d."),
        ([("a", "b", "c")], r"An edge must be a pair \(better, worse\). Got \('a', 'b', 'c'\)"),
        ([("a", "b"), ("b", None)], "Edge 2 has a missing value"),
        ([], "Got none"),
    ],
)
def test_bad_edges(edges, words):
    with pytest.raises(DataError, match=words):
        ordered_partition(edges)


def test_long_cycles_are_cut_and_strange_items_told():
    ring = [(n, (n + 1) % 30) for n in range(30)]
    with pytest.raises(DataError, match=r"0 > 1 > .* > 11 > … \(30 items\)\.$"):
        ordered_partition(ring)
    with pytest.raises(DataError, match="Edge 2 has 'c', which is not one of the 2 names"):
        ordered_partition([("a", "b"), ("b", "c")], items=["a", "b"])
