"""What a ranking does not list was not compared, or is below it in unknown order."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from luce.aggregation import PlackettLuce, PseudoRankings, Rankings
from luce.errors import DataError, LuceWarning, OptionError

NAMES = ["ann", "böb", 3, "dee"]


def ballots(seed, n_rankings=40, n_items=5):
    """Tops of uneven length, some with ties; the last item is in none of them."""
    rng = np.random.default_rng(seed)
    result = []
    for _ in range(n_rankings):
        items = rng.permutation(n_items - 1)[: rng.integers(1, n_items)].tolist()
        result.append([items[0], items[1:]] if len(items) > 2 and rng.random() < 0.4 else items)
    return result


def assert_same(first, second):
    for field in ("items", "places", "offsets", "open_end", "pool", "weights"):
        np.testing.assert_array_equal(getattr(first, field), getattr(second, field), err_msg=field)
    np.testing.assert_array_equal(np.concatenate(first.pools), np.concatenate(second.pools))
    assert first.names == second.names


def test_below_is_the_top_of_all_items():
    orderings = [["böb", "ann"], [3], [[3, "ann"]], ["dee", 3, "böb", "ann"]]
    below = Rankings.from_orderings(orderings, names=NAMES, unlisted="below", weights=[1, 0, 2, 3])
    assert_same(below, Rankings.from_top(orderings, among=NAMES, weights=[1, 0, 2, 3]))
    assert below.pool.tolist() == [0, 0, 0, -1] and below.n_rows == 9 and not below.left_out


def test_below_is_meant_of_all_items_in_the_data():
    below = Rankings.from_orderings([["a", "b"], ["c"]], unlisted="below")
    assert str(below) == ("2 rankings of 3 items, 1 to 2 each, pools in 2\n  a > b > the other 1\n  c > the other 2")
    codes = Rankings.from_orderings([[1, 0], [2]], n_items=5, unlisted="below")
    assert codes.pools[0].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("make", [np.array, sparse.csr_array, lambda ranks: np.where(np.array(ranks), ranks, np.nan)])
def test_items_without_a_rank(make):
    ranks = [[2.0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 1, 0], [4, 3, 2, 1]]
    orderings = [["böb", "ann"], [3], [["ann", 3]], ["dee", 3, "böb", "ann"]]
    below = Rankings.from_ranks(make(ranks), names=NAMES, unlisted="below")
    assert_same(below, Rankings.from_orderings(orderings, names=NAMES, unlisted="below"))


def test_ranks_of_zero_or_nan_that_a_sparse_matrix_stores():
    ranks = sparse.csr_array((np.array([2.0, 0, 1, np.nan]), np.array([0, 1, 2, 3]), np.array([0, 4])), shape=(1, 4))
    assert Rankings.from_ranks(ranks).items.tolist() == [2, 0]
    assert ranks.nnz == 4
    assert Rankings.from_ranks(ranks, unlisted="below").pools[0].tolist() == [0, 1, 2, 3]


def test_rankings_of_one_item_are_left_out_with_a_hint():
    hint = r"unlisted='below' \(--read unlisted=below\) makes rankings of one item count"
    with pytest.warns(LuceWarning, match=rf"left out: 1 of 2\. .*{hint}"):
        Rankings.from_orderings([["a"], ["a", "b"]])
    with pytest.raises(DataError, match=rf"All 2 have fewer\. .*{hint}"):
        Rankings.from_orderings([["a"], ["b"]])
    with pytest.warns(LuceWarning, match=r"left out: 1 of 2\.$"):
        Rankings.from_orderings([[], ["a", "b"]])


def test_absent_is_the_default():
    with pytest.warns(LuceWarning, match="left out: 1 of 2"):
        absent = Rankings.from_ranks([[0, 1, 0], [1, 2, 0]])
    assert not absent.pools and len(absent) == 1
    with pytest.warns(LuceWarning, match="left out: 1 of 2"):
        assert not Rankings.from_orderings([["a"], ["a", "b"]], unlisted="absent").pools


@pytest.mark.parametrize("ties", ["exact", "davidson"])
@pytest.mark.parametrize("seed", range(3))
def test_below_agrees_with_open_ends_written_out(seed, ties):
    orderings = ballots(seed)
    weights = np.random.default_rng(seed).integers(0, 3, len(orderings)).astype(float)
    below = Rankings.from_orderings(orderings, n_items=5, unlisted="below", weights=weights)
    rest = [sorted(set(range(5)) - set(np.hstack(ordering).tolist())) for ordering in orderings]
    whole = Rankings.from_orderings([[*o, r] for o, r in zip(orderings, rest, strict=True)], n_items=5)
    open_ends = Rankings(
        whole.items, whole.places, whole.offsets, open_end=[len(r) > 1 for r in rest], weights=weights, names=range(5)
    )
    assert below.n_rows < open_ends.n_rows and not open_ends.pools
    prior = PseudoRankings(0.5)  # the last item never wins
    model, other = (PlackettLuce(ties, prior=prior, n_jobs=1).fit(rankings) for rankings in (below, open_ends))
    np.testing.assert_allclose(model.log_worths_, other.log_worths_, atol=1e-6)
    np.testing.assert_allclose(model.log_prob(below), model.log_prob(open_ends), atol=1e-9)
    first, second = (each.standard_errors(kind="observed") for each in (model, other))
    np.testing.assert_allclose(first, second, rtol=1e-4)


def test_below_is_the_sum_over_all_orders_of_the_rest():
    model = PlackettLuce(n_jobs=1).fit([[0, 1, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0], [1, 2, 0, 3]])
    whole = list(itertools.permutations(range(4)))
    prob = dict(zip(whole, np.exp(model.log_prob(Rankings.from_orderings(whole, n_items=4))), strict=True))
    tops = [[2], [1, 3], [0, 3, 1], [3, 2]]
    below = Rankings.from_orderings(tops, n_items=4, unlisted="below")
    expected = [sum(p for order, p in prob.items() if order[: len(top)] == tuple(top)) for top in tops]
    np.testing.assert_allclose(np.exp(model.log_prob(below)), expected, rtol=1e-9)


def test_an_empty_ranking_says_nothing():
    with pytest.warns(LuceWarning, match="left out: 2 of 3"):
        below = Rankings.from_orderings([[], ["a"], []], names="ab", unlisted="below", weights=[1, 2, 3])
    assert below.weights.tolist() == [2] and below.left_out == {"rankings of fewer than two items": 2}
    with pytest.warns(LuceWarning, match="left out: 1 of 2"):
        Rankings.from_ranks([[0, 0], [0, 1]], unlisted="below")


@pytest.mark.parametrize("orderings", [[], [[]], [["a"]]])
def test_nothing_to_compare(orderings):
    with pytest.raises(DataError, match="At least one ranking of two or more items is needed"):
        Rankings.from_orderings(orderings, unlisted="below")


def test_other_values_are_refused():
    for make in (Rankings.from_orderings, Rankings.from_ranks):
        with pytest.raises(OptionError, match=r"unlisted must be 'absent' or 'below'. Got 'last'"):
            make([[1, 2]], unlisted="last")
