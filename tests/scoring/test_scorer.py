"""The scorer of a ranker and of its file: the scores of predict, whatever the model, and nothing heavy imported."""

import subprocess
import sys
import threading

import numpy as np
import pytest
from scipy import sparse

import luce
from luce.data.synthetic import web_search
from luce.errors import DataError, OptionError
from luce.objectives import OBJECTIVES
from luce.scoring.models import RANKING_SCORES

DATA = web_search(30, n_features=6, seed=3).dataset
TREES = {"n_estimators": 6, "min_child_samples": 3, "n_jobs": 1, "validation_fraction": None}
NETWORK = {"hidden_layer_sizes": (4,), "epochs": 2, "device": "cpu", "n_jobs": 1}


def linear(*args, **params):
    return luce.LinearRanker(*args, **{"max_iter": 5, "n_jobs": 1} | params)


def trees(*args, **params):
    return luce.TreeRanker(*args, **TREES | params)


def ensemble(*members):
    return luce.EnsembleRanker([(f"m{i}", each) for i, each in enumerate(members)], n_jobs=1)


def categorical(data):
    codes = np.abs(data.features[:, 0] * 7) % 3 // 1
    names = [*(f"f{i}" for i in range(data.n_features))]
    categories = [("a", "b", "c"), *[None] * (data.n_features - 1)]
    features = np.column_stack([codes, data.features[:, 1:]])
    return luce.data.Dataset(features, data.labels, data.offsets, feature_names=names, categories=categories)


LIGHT = {
    "linear": linear(),
    "linear, several outputs": linear("mcrank"),
    "linear, bags": linear(n_bags=2, max_features=0.7),
    "within lists": linear(transforms=("fill", "list-zscore", "list-minmax")),
    "products": linear(transforms=("fill", "standardize", "second-order")),
    "trees": trees(),
    "trees, several outputs": trees("mcrank"),
    "trees, bags": trees(n_bags=3),
    "trees, transforms": trees(transforms=("list-minmax",)),
    "ensemble": ensemble(linear(), trees(), linear("listnet"), trees("listnet")),
}
OTHERS = {
    "network": luce.NeuralRanker(**NETWORK),
    "attention": luce.NeuralRanker(**NETWORK, context="attention", attention_heads=2),
    "ensemble with a network": ensemble(linear(), luce.NeuralRanker(**NETWORK)),
}


def assert_same(ranker, data, tmp_path):
    ranker.save(tmp_path / "model.luce")
    expected = luce.load(tmp_path / "model.luce").predict(data)
    np.testing.assert_array_equal(ranker.predict(data), expected)
    for scorer in (ranker.scorer(), luce.load_scorer(tmp_path / "model.luce")):
        assert (scorer.n_features, scorer.feature_names, scorer.categories) == (*ranker.features, ranker.categories_)
        np.testing.assert_array_equal(scorer.score(data.features, data.offsets), expected)
        assert scorer.needs_lists == bool(ranker.list_context)
        if scorer.needs_lists:
            with pytest.raises(OptionError, match="pass offsets"):
                scorer.score(data.features)
        else:
            np.testing.assert_array_equal(scorer.score(data.features.astype(np.float64)), expected)


@pytest.mark.parametrize("name", {**LIGHT, **OTHERS})
def test_the_scores_are_those_of_predict(name, tmp_path):
    assert_same(({**LIGHT, **OTHERS})[name].fit(DATA), DATA, tmp_path)


@pytest.mark.parametrize("background", [linear(), linear(transforms=("list-zscore",)), luce.NeuralRanker(**NETWORK)])
def test_trees_that_start_from_another_model(background, tmp_path):
    assert_same(trees().fit(DATA, init_model=background.fit(DATA)), DATA, tmp_path)


@pytest.mark.parametrize("ranker", [linear(), trees(), trees(transforms=("standardize",)), ensemble(linear(), trees())])
def test_categories(ranker, tmp_path):
    data = categorical(DATA)
    assert_same(ranker.fit(data), data, tmp_path)
    wrong = np.array(data.features)
    wrong[3, 0] = 7
    with pytest.raises(DataError, match=r"category codes from 0 to 2, or NaN where missing. Got 7 at row 4"):
        ranker.scorer().score(wrong)


@pytest.mark.parametrize("ranker", [linear(transforms=("standardize",)), trees()])
def test_sparse_rows(ranker):
    scorer = ranker.fit(DATA).scorer()
    data = luce.from_arrays(sparse.csr_array(DATA.features), DATA.labels, group=DATA.sizes)
    np.testing.assert_array_equal(scorer.score(data.features), ranker.predict(data))
    np.testing.assert_array_equal(scorer.score(sparse.coo_matrix(DATA.features)), ranker.predict(data))


def test_rows_of_another_shape_are_refused():
    scorer = linear().fit(DATA).scorer()
    for wrong, words in (([1.0, 2], r"Got \(2,\)"), ([[1.0, 2]], r"Got \(1, 2\)"), ([["a"]], "must be numbers")):
        with pytest.raises(DataError, match=words):
            scorer.score(wrong)
    assert scorer.score(np.empty((0, 6))).shape == (0,)
    with pytest.raises(AttributeError):
        scorer.n_features = 3


def test_threads_share_a_scorer():
    scorer = LIGHT["ensemble"].fit(DATA).scorer()
    expected, found = scorer.score(DATA.features), []
    threads = [threading.Thread(target=lambda: found.append(scorer.score(DATA.features))) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(found) == 4
    assert all(np.array_equal(scores, expected) for scores in found)


def test_objectives_with_several_outputs_are_those_of_the_table():
    assert {name: each.ranking_score for name, each in OBJECTIVES.items() if each.ranking_score} == RANKING_SCORES


def test_other_models_are_refused(tmp_path):
    with pytest.raises(DataError, match="no model file"):
        luce.load_scorer(tmp_path / "none.luce")
    tags = luce.LabelRanker(epochs=1, n_jobs=1, device="cpu")
    tags.fit(DATA.features, sparse.csr_array(np.eye(3)[np.arange(DATA.n_rows) % 3]))
    tags.save(tmp_path / "tags.luce")
    with pytest.raises(DataError, match="LabelRanker"):
        luce.load_scorer(tmp_path / "tags.luce")


CODE = """
import sys, luce, numpy as np
scorer = luce.load_scorer(sys.argv[1])
scorer.score(np.ones((4, scorer.n_features)), [0, 4])
heavy = ("sklearn", "torch", "lightgbm", "pyarrow", "pandas", "scipy.sparse", "scipy.linalg", "scipy.special")
print([name for name in heavy if name in sys.modules])
"""


@pytest.mark.parametrize("name", LIGHT)
def test_a_fresh_process_imports_nothing_that_trained_the_model(name, tmp_path):
    LIGHT[name].fit(DATA).save(tmp_path / "model.luce")
    command = [sys.executable, "-c", CODE, str(tmp_path / "model.luce")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"
