"""Rankers of tables with text, dates and gaps: what they learn, store, and score by name."""

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

import luce
from luce.data import from_table, split
from luce.data.transforms.encoding import MOST_COLUMNS, fit_encoded
from luce.errors import DataError, LuceWarning
from luce.experiments.peers.lightgbm import LightGBMLambdaRank
from luce.rankers import RANKERS
from luce.storage import open_model, save_model

TREES = {"n_estimators": 8, "min_child_samples": 3, "n_jobs": 1, "lightgbm_params": {"min_data_per_group": 1}}
NETWORK = {"hidden_layer_sizes": (4,), "epochs": 2, "steps_per_epoch": 5, "n_jobs": 1}
LIST_SCALED = {"transforms": ("fill", "list-zscore")}
CASES = {
    "linear": luce.LinearRanker(max_iter=10, n_jobs=1),
    "linear, second-order": luce.LinearRanker(
        max_iter=10, n_jobs=1, transforms=("fill", "standardize", "second-order")
    ),
    "linear, bags": luce.LinearRanker(max_iter=5, n_jobs=1, n_bags=2, max_features=0.7),
    "linear, list-scaled": luce.LinearRanker(max_iter=5, n_jobs=1, **LIST_SCALED),
    "neural": luce.NeuralRanker(**NETWORK),
    "trees": luce.TreeRanker(**TREES),
    "trees, bags": luce.TreeRanker(**TREES, n_bags=2, max_features=0.7),
    "trees, list-scaled": luce.TreeRanker(**TREES, **LIST_SCALED),
    "ensemble": luce.EnsembleRanker(
        [("linear", luce.LinearRanker(max_iter=10)), ("trees", luce.TreeRanker(**TREES))], n_jobs=1
    ),
}


def shop(n_lists=20, size=8, seed=0):
    """Offers whose grade depends on a brand, a size, a flag and a price, some of them missing."""
    random = np.random.default_rng(seed)
    n = n_lists * size
    brand = random.choice(["acme", "bolt", "core", None], n, p=[0.3, 0.3, 0.3, 0.1])
    price = np.where(random.random(n) < 0.1, np.nan, random.gamma(2, 20, n))
    frame = pd.DataFrame(
        {
            "query": np.repeat(np.arange(n_lists), size),
            "brand": brand,
            "price": price,
            "fresh": random.random(n) < 0.5,
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 400, n), "D"),
            "size": pd.Categorical(random.choice(["S", "M", "L"], n), ["S", "M", "L"], ordered=True),
            "constant": 1,
            "same price": price,
            "shop": random.choice([10, 20, 30], n),
        }
    )
    good = 1.5 * (brand == "bolt") - (brand == "core") + frame["fresh"] + 0.5 * frame["size"].cat.codes
    return frame.assign(label=pd.qcut(good - np.nan_to_num(price) / 60, 3, labels=False))


@pytest.fixture(scope="module")
def frame():
    return shop()


@pytest.fixture(scope="module")
def data(frame):
    return from_table(frame, categorical=["shop"])


def test_every_kind_of_ranker_of_lists_has_a_case():
    assert {case.split(",")[0] for case in CASES} == set(RANKERS) - {"labels"}


@pytest.mark.parametrize("case", CASES)
def test_scores_by_name_after_a_file(case, frame, data, tmp_path):
    ranker = clone(CASES[case]).fit(data)
    assert ranker.categories_ == data.categories
    ranker.save(tmp_path / "a.luce")
    loaded = luce.load(tmp_path / "a.luce")
    assert loaded.categories_ == data.categories
    scores = ranker.predict(data)
    assert len(np.unique(scores)) > 10
    mixed = frame[frame.columns[::-1]].assign(extra="more", title=[f"no. {i}" for i in range(len(frame))])
    named = {"qid": frame["query"]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for other in (mixed, pl.from_pandas(mixed), pa.table(mixed)):
            np.testing.assert_array_equal(loaded.predict(other, **named), scores)
        some = from_table(mixed, features=list(mixed)[1:-3], categorical=["shop"])
        assert some.feature_names == data.feature_names[::-1]
        np.testing.assert_array_equal(loaded.predict(some), scores)
    unseen, missing = mixed.copy(), mixed.copy()
    unseen.loc[[3, 5], "brand"], missing.loc[[3, 5], "brand"] = ["new", "newer"], None
    unseen["shop"] = unseen["shop"].where(unseen.index != 7, 40)
    missing["shop"] = missing["shop"].where(missing.index != 7)
    with pytest.warns(
        LuceWarning, match=r"'new', 'newer' in feature 'brand' \(2 rows\); '40' in feature 'shop'"
    ) as said:
        found = loaded.predict(unseen, **named)
    assert [each.filename for each in said] == [__file__]
    np.testing.assert_array_equal(found, loaded.predict(missing, **named))
    with pytest.raises(DataError, match="The data lack features that the model was trained on: 'price', 'day'"):
        loaded.predict(mixed.drop(columns=["day", "price"]), **named)
    assert loaded.rank(mixed, **named).num_rows == len(frame)


@pytest.mark.parametrize("case", ["linear", "linear, second-order", "trees", "trees, list-scaled", "ensemble"])
def test_explanations_name_the_features_of_the_table(case, data):
    ranker = clone(CASES[case]).fit(data)
    why = ranker.explain(data)
    assert why.names[: data.n_features] == data.feature_names
    np.testing.assert_allclose(why.scores, ranker.predict(data), atol=1e-9)
    brand = why.contributions[:, 0]
    assert brand[data.features[:, 0] == 1].mean() > brand[data.features[:, 0] == 2].mean()


def test_a_linear_ranker_has_a_weight_for_each_category(data):
    ranker = luce.LinearRanker(max_iter=20, n_jobs=1).fit(data)
    weights = dict(zip(ranker.transformed_feature_names, ranker.coef_, strict=True))
    assert weights["brand=bolt"] > weights["brand=acme"] > weights["brand=core"]
    why = ranker.explain(data)
    missing = np.isnan(data.features[:, 0])
    np.testing.assert_array_equal(why.contributions[missing, 0], 0)
    np.testing.assert_allclose(why.contributions[data.features[:, 0] == 1, 0], weights["brand=bolt"])


def test_trees_split_by_category(data):
    ranker = luce.TreeRanker(**TREES).fit(data)
    codes = data.with_features(data.features, data.feature_names)
    same = luce.TreeRanker(**TREES, categorical_feature=["brand", "size", "shop"]).fit(codes)
    np.testing.assert_array_equal(same.predict(codes), ranker.predict(data))
    other = luce.TreeRanker(**TREES).fit(codes)
    assert (other.predict(codes) != ranker.predict(data)).any()


def test_many_categories_share_columns():
    n = 2 * MOST_COLUMNS
    values = tuple(f"id {i}" for i in range(n))
    features = np.column_stack([np.arange(n), np.arange(n)])
    many = luce.Dataset(features, np.arange(n) % 3, [0, n], categories=[values, None], feature_names=("id", "x"))
    (encode,) = fit_encoded([], many, one_hot=True)
    names = encode.feature_names(many.feature_names)
    assert names[:2] == ("x", "id#0")
    assert len(names) == 1 + MOST_COLUMNS == encode.n_outputs(2)
    shown = encode.apply(many.features, many.offsets)
    assert (shown[:, 1:].sum(axis=1) == 1).all()
    assert (shown[:, 1:].sum(axis=0) < 12).all()
    ranker = luce.LinearRanker(max_iter=3, n_jobs=1).fit(many)
    assert ranker.explain(many).names == ("id", "x")


def test_validation_lists_of_another_file_have_the_categories_of_the_training(data):
    other = from_table(shop(seed=1).assign(brand="bolt"), categorical=["shop"])
    assert other.categories[0] == ("bolt",)
    ranker = luce.TreeRanker(**TREES).fit(data, validation=other)
    codes = np.column_stack([np.full(other.n_rows, data.categories[0].index("bolt")), other.features[:, 1:]])
    same = other.with_features(codes, data.feature_names, data.categories)
    np.testing.assert_array_equal(ranker.predict(other), ranker.predict(same))
    assert ranker.best_score_ == pytest.approx(ranker.score(same))


def test_permutation_importance_names_the_features_whatever_their_order(data, frame):
    ranker = luce.LinearRanker(max_iter=10, n_jobs=1).fit(data)
    other = from_table(frame[frame.columns[::-1]], categorical=["shop"])
    one, two = (luce.permutation_importance(ranker, each, repeats=1) for each in (data, other))
    assert one.names == two.names == data.feature_names
    np.testing.assert_allclose(one.values, two.values)
    assert one.table()["feature"][0].as_py() in ("brand", "price", "same price")


def test_another_library_is_given_the_categories(data):
    train, test = split(data)
    peer = LightGBMLambdaRank(n_estimators=5, n_jobs=1).fit(train)
    assert "num_cat=0" not in peer._booster.model_to_string().split("Tree=1")[0]
    np.testing.assert_array_equal(
        peer.predict(test), peer.predict(from_table(shop(), categorical=["shop"]).take(_lists(test)))
    )


def _lists(part):
    return part.query_ids.to_numpy()


@pytest.mark.parametrize(
    "categories",
    [[["a", "a"]], "ab", 5, [None] * 3, [[1], *[None] * 8], [{"a": 1}, *[None] * 8], [["a"], *[None] * 7]],
)
def test_a_model_file_with_wrong_categories_is_refused(categories, data, tmp_path):
    luce.LinearRanker(max_iter=2, n_jobs=1).fit(data).save(tmp_path / "a.luce")
    manifest, arrays = open_model(tmp_path / "a.luce", RANKERS)
    manifest["features"]["categories"] = json.loads(json.dumps(categories))
    manifest.pop("format")
    save_model(tmp_path / "b.luce", manifest, arrays)
    with pytest.raises(DataError, match="does not contain a complete LinearRanker"):
        luce.load(tmp_path / "b.luce")


def test_an_item_is_compared_by_its_categories(data):
    ranker = luce.LinearRanker(max_iter=20, n_jobs=1).fit(data)
    found = luce.explain_item(ranker, data, query=3, item=1 + int(np.argmin(ranker.predict(data.take([3])))))
    brand = found.features[0]
    assert brand.feature == "brand"
    assert brand.value in ("acme", "bolt", "core") or np.isnan(brand.value)
    one = data.take([3])
    above = np.argsort(-ranker.predict(one), kind="stable")[: found.n_compared]
    texts = [one.feature_value(row, 0) for row in above if not np.isnan(one.features[row, 0])]
    assert texts.count(brand.typical) == max(map(texts.count, texts))


def test_one_row_or_a_lazy_frame_is_answered_with_how_to_make_a_frame(data, frame):
    ranker = clone(CASES["linear"]).fit(data)
    for given in (frame.iloc[0], pl.from_pandas(frame).lazy()):
        with pytest.raises(DataError, match=r"X must be two-dimensional.*frame\.iloc\[\[0\]\].*collect\(\)"):
            ranker.predict(given)
