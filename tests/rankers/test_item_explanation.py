"""Why an item is ranked where it is: every number again by hand, for rankers that see the item alone or its list."""

import numpy as np
import pytest
from scipy import sparse

import luce
from luce.data.synthetic import web_search
from luce.data.transforms import SecondOrder
from luce.errors import OptionError
from luce.rankers import item_explanation
from luce.rankers.item_explanation import ItemExplanation, ItemFeature, explain_item

RANKERS = {
    "linear": luce.LinearRanker(transforms=("fill",), n_jobs=1),
    "within lists": luce.LinearRanker(transforms=("fill", "list-minmax"), n_jobs=1),
    "trees": luce.TreeRanker(n_estimators=10, n_jobs=1),
    "mcrank": luce.TreeRanker("mcrank", n_estimators=3, n_jobs=1),
    "ensemble": luce.EnsembleRanker(
        [("a", luce.LinearRanker(transforms=("fill",))), ("b", luce.TreeRanker(n_estimators=3))], n_jobs=1
    ),
    "attention": luce.NeuralRanker(
        hidden_layer_sizes=(4,), context="attention", epochs=1, transforms=("fill",), device="cpu", n_jobs=1
    ),
}


@pytest.fixture(scope="module")
def data():
    return web_search(20, n_features=6, mean_length=12, missing=0.1, seed=3).dataset


def by_hand(ranker, one, place, column, value):
    """The score and the rank of an item of a single list with another value of one feature."""
    features = np.array(one.features)
    features[place, column] = value
    scores = ranker.predict(one.with_features(features, one.feature_names))
    return scores[place], 1 + np.flatnonzero(np.argsort(-scores, kind="stable") == place)[0]


@pytest.mark.parametrize(("kind", "form"), [*((kind, "dense") for kind in RANKERS), ("trees", "sparse")])
def test_every_number_by_hand(data, kind, form, monkeypatch):
    monkeypatch.setattr(item_explanation, "BLOCK", 150)  # several blocks
    ranker, one = RANKERS[kind].fit(data), data.take([4])
    order = np.argsort(-ranker.predict(one), kind="stable")
    given = data.with_features(sparse.csr_array(data.features)) if form == "sparse" else data
    for rank in (1, 2, len(order)):
        place = order[rank - 1]
        found = explain_item(ranker, given, one.query_ids[0].as_py(), one.document_ids[int(place)].as_py())
        compared = order[: rank - 1] if rank > 1 else order[1:]
        scores = ranker.predict(one)
        assert (found.rank, found.size, found.n_compared) == (rank, len(order), len(compared))
        assert (found.score, found.compared_score) == pytest.approx((scores[place], scores[compared].mean()))
        for column, each in enumerate(found.features[:6]):
            known = np.sort(one.features[compared, column][~np.isnan(one.features[compared, column])])
            typical = known[(len(known) - 1) // 2] if len(known) else np.nan
            np.testing.assert_equal([each.value, each.typical], [one.features[place, column], typical])
            score, new_rank = by_hand(ranker, one, place, column, typical)
            assert (each.new_score, each.new_rank) == (pytest.approx(score, rel=1e-5), new_rank), each
        if kind in ("mcrank", "attention"):
            assert not found.gaps() and np.isnan([each.gap for each in found.features]).all()
        else:
            assert sum(each.gap for each in found.gaps()) == pytest.approx(found.score - found.compared_score)


def test_what_counts_comes_first():
    features = [
        ItemFeature("a", 1.0, 2.0, -0.1, 0.5, 3),
        ItemFeature("b", 1.0, 2.0, 0.3, 0.2, 6),
        ItemFeature("c", 1.0, 2.0, -0.2, 0.6, 3),
        ItemFeature("d", 1.0, 2.0, 0.0, 0.9, 1),
        ItemFeature("a*b", np.nan, np.nan, -0.5, np.nan, None),
    ]
    fifth = ItemExplanation("q", "i", 5, 9, 0.3, 4, 1.0, features)
    assert [each.feature for each in fifth.gaps()] == ["a*b", "c", "a", "d", "b"]
    assert [each.feature for each in fifth.moves()] == ["d", "c", "a"]
    first = fifth._replace(rank=1)
    assert [each.feature for each in first.gaps()] == ["b", "d", "a", "c", "a*b"]
    assert [each.feature for each in first.moves()] == ["b", "a", "c"]


def test_features_that_a_transform_made_have_a_gap_alone(data):
    ranker = luce.LinearRanker(transforms=("fill", SecondOrder(threshold=0.0)), n_jobs=1).fit(data)
    one = data.take([0])
    last = int(np.argsort(ranker.predict(one))[0])
    found = explain_item(ranker, data, one.query_ids[0].as_py(), one.document_ids[last].as_py())
    made = found.features[6:]
    assert made and all(each.new_rank is None and np.isnan(each.value) for each in made)
    assert sum(each.gap for each in found.features) == pytest.approx(found.score - found.compared_score)


def test_items_without_ids_go_by_number_and_one_alone_has_no_others():
    data = luce.Dataset([[1.0], [0.0], [2.0], [5.0]], [1, 0, 2, 1], [0, 3, 4])
    ranker = luce.LinearRanker(n_jobs=1).fit(data)
    found = explain_item(ranker, data, 1, 3)
    assert (found.item, found.rank, found.features[0].value) == ("3", 1, 2.0)
    alone = explain_item(ranker, data, "2", "1")
    assert (alone.rank, alone.size, alone.n_compared, alone.moves()) == (1, 1, 0, [])
    with pytest.raises(OptionError, match=r"no item '4' among the 3 of query 1: 1, 2, 3\. .*--read document=NAME"):
        explain_item(ranker, data, 1, 4)
    with pytest.raises(OptionError, match=r"There is no query '3' among the 2: 1, 2\."):
        explain_item(ranker, data, 3, 1)
