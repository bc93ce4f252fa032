"""What all rankers share: lists given by query or by size, validation scores, kinds that load on first use."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.base import clone

import luce
from luce.data.synthetic import web_search
from luce.errors import DataError, OptionError
from luce.experiments.peers import peer
from luce.objectives import Objective
from luce.rankers import RANKERS, LabelRanker, LinearRanker, NeuralRanker, Ranker, TreeRanker

from .tagged import tagged

KINDS = {
    "linear": LinearRanker(max_iter=3, n_jobs=1),
    "coordinate ascent": LinearRanker(optimizer="coordinate-ascent", max_iter=2, restarts=0, n_jobs=1),
    "neural": NeuralRanker(hidden_layer_sizes=(4,), epochs=2, device="cpu", n_jobs=1),
    "trees": TreeRanker(n_estimators=3, num_leaves=3, n_jobs=1),
}


@pytest.fixture(scope="module")
def data():
    return web_search(20, n_features=4, mean_length=6, seed=3).dataset


@pytest.mark.parametrize("kind", ["linear", "neural", "trees"])
def test_list_sizes_mean_the_same_as_queries(data, kind):
    X, y, group, qid = data.features, data.labels, data.sizes, np.repeat(np.arange(data.n_lists) + 1, data.sizes)
    normalized = clone(KINDS[kind]).set_params(transforms=("fill", "list-zscore"))
    by_size = clone(normalized).fit(X, y, group=group.tolist())
    by_query = clone(normalized).fit(X, y, qid)
    np.testing.assert_array_equal(by_size.predict(X, group=group), by_query.predict(X, qid))
    assert by_size.rank(X, group=group, top=2) == by_query.rank(X, qid, top=2)
    assert by_size.score(X, y, group=group) == by_query.score(X, y, qid)
    if kind == "linear":
        explained = by_size.explain(X, group=group).contributions
        np.testing.assert_array_equal(explained, by_query.explain(X, qid).contributions)


@pytest.mark.parametrize(
    ("group", "words"),
    [
        ([2, 2], "group must sum to the 3 rows of X. Its sum is 4"),
        ([3, 0], "group must be positive"),
        ([1.5, 1.5], "group must be a one-dimensional array of integers"),
        (["a", "a", "b"], "group must be a one-dimensional array of integers"),
    ],
)
def test_sizes_that_are_none(group, words):
    with pytest.raises(DataError, match=words):
        LinearRanker().fit(np.eye(3), [0, 1, 2], group=group)


def test_queries_and_sizes_exclude_each_other(data):
    ranker = clone(KINDS["linear"]).fit(data)
    for call in (
        lambda: ranker.fit(np.eye(4), [0, 1, 2, 0], [1, 1, 2, 2], group=[2, 2]),
        lambda: ranker.predict(np.eye(4), [1, 1, 2, 2], group=[2, 2]),
        lambda: ranker.rank(np.eye(4), [1, 1, 2, 2], group=[2, 2]),
        lambda: ranker.score(np.eye(4), [0, 1, 2, 0], [1, 1, 2, 2], group=[2, 2]),
    ):
        with pytest.raises(OptionError, match=r"either qid, .* or group, .* Got both"):
            call()
    with pytest.raises(DataError, match="query qid of each row or the sizes group of the lists"):
        ranker.fit(np.eye(4), [0, 1, 2, 0])


def test_a_ranking_names_the_rows_as_they_were_given(data):
    ranker = clone(KINDS["linear"]).fit(data)
    order = np.random.default_rng(0).permutation(data.n_rows)
    X, qid = data.features[order], np.repeat(np.arange(data.n_lists), data.sizes)[order]
    table = ranker.rank(X, qid)
    rows = table["row"].to_numpy()
    np.testing.assert_array_equal(ranker.predict(X)[rows], table["score"].to_numpy())
    np.testing.assert_array_equal(qid[rows], table["query"].to_numpy())


@pytest.mark.parametrize("name", [*KINDS, "lightgbm-lambdarank"])
def test_the_validation_score_is_that_of_evaluate(data, name):
    train, rest = data.take(np.arange(10)), data.take(np.arange(10, 20))
    weights = np.linspace(0.0, 5.0, rest.n_lists) ** 2
    validation = luce.Dataset(rest.features, rest.labels, rest.offsets, list_weights=weights)
    if name in KINDS:
        ranker = clone(KINDS[name])
    else:
        pytest.importorskip("lightgbm")
        ranker = peer(name, n_estimators=3, n_jobs=1)
    ranker.fit(train, validation=validation)
    expected = luce.evaluate(ranker.predict(validation), validation, "ndcg@10").means["ndcg@10"]
    assert ranker.history_[ranker.best_iteration_ - 1]["validation"] == pytest.approx(expected, rel=1e-9)
    if name in KINDS:
        assert ranker.best_score_ == pytest.approx(expected, rel=1e-9)
        assert ranker.score(validation) == pytest.approx(expected, rel=1e-9)


def test_the_validation_score_of_labels_is_that_of_evaluate():
    train, validation = tagged(n_rows=30, n_labels=6), tagged(n_rows=20, n_labels=6, seed=1)
    ranker = LabelRanker(hidden_layer_sizes=(4,), epochs=2, metric="psp@2", device="cpu", n_jobs=1)
    ranker.fit(train, validation=validation)
    expected = ranker.evaluate(validation, metrics="psp@2").means["psp@2"]
    assert ranker.best_score_ == pytest.approx(expected, rel=1e-9) == ranker.score(validation)


def test_the_score_without_validation_is_unknown(data):
    assert clone(KINDS["linear"]).fit(data).best_score_ is None


class ByFirstFeature(Ranker):
    """The smallest ranker of one's own."""

    def __init__(
        self, objective="listmle", metric="ndcg@10", early_stopping_rounds=1, transforms=(), random_state=0, n_jobs=1
    ):
        self.objective, self.metric, self.early_stopping_rounds = objective, metric, early_stopping_rounds
        self.transforms, self.random_state, self.n_jobs = transforms, random_state, n_jobs

    def fit(self, X, y=None, qid=None, *, group=None, validation=None, callback=None, checkpoint=None):
        self.check_params()
        training = self.prepare_training_data(X, y, qid, group, validation)
        curve = self.new_curve(validated=validation is not None)
        curve.add(1, 0.0, self.validation_score(training.features[:, 0], training.dataset), {})
        self.history_, self.best_iteration_ = curve.history, curve.best_iteration
        return self

    def compute_scores(self, features, offsets):
        return features[:, 0]


def test_a_ranker_of_ones_own(data, tmp_path):
    ranker = ByFirstFeature(transforms=("fill", "list-zscore")).fit(data)
    assert ranker.best_score_ == pytest.approx(ranker.score(data))
    assert ranker.rank(data, top=1).num_rows == data.n_lists
    with pytest.raises(DataError, match="normalizes features within lists: pass qid or group"):
        ranker.predict(data.features)
    found = luce.permutation_importance(ranker, data, repeats=1)
    assert found.values[0] and not found.values[1:].any()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(ranker)).predict(data), ranker.predict(data))
    with pytest.raises(OptionError, match=r"luce.load could not restore a ByFirstFeature.*Pickle it instead"):
        ranker.save(tmp_path / "own.luce")
    assert not list(tmp_path.iterdir())


def test_a_score_that_overflows_names_the_row_that_was_given():
    X, qid = np.array([[1e-3], [1e-3], [9.0], [1e-3]]), ["b", "a", "b", "a"]
    lists = LinearRanker(transforms=(), n_jobs=1).fit(X, [0, 1, 2, 1], qid)
    lists.coef_[:] = 1e308
    labels = LabelRanker(hidden_layer_sizes=(2,), epochs=1, device="cpu", n_jobs=1).fit(X, np.eye(4))
    labels.network_.first.weight.data.fill_(3e38)
    for predict in (lambda: lists.predict(X, qid), lambda: labels.predict(X)):
        with pytest.raises(DataError, match="The score of row 3 is not finite: its features are too large"):
            predict()


@pytest.mark.parametrize("kind", ["linear", "neural", "trees"])
def test_learned_parameters_of_the_objective_are_checked_when_they_come_from_a_file(data, kind):
    ranker = clone(KINDS[kind]).set_params(objective="pairties-davidson").fit(data)
    (value,) = ranker.nuisance_.values()
    ranker.load_state_dict(ranker.state_dict() | {"nuisance": np.array([value + 1])})
    assert list(ranker.nuisance_.values()) == [value + 1]
    for wrong in (np.array([np.nan]), np.array([np.inf]), np.zeros(0), np.zeros((1, 1))):
        with pytest.raises(DataError, match="finite numbers of the right shape"):
            ranker.load_state_dict(ranker.state_dict() | {"nuisance": wrong})


@pytest.mark.parametrize("kind", ["linear", "neural"])
def test_labels_too_high_for_their_gains_are_told(data, kind):
    grade_20, grade_21 = (data.labels.copy() for _ in range(2))
    grade_20[0], grade_21[0] = 20, 21
    low, high = (luce.Dataset(data.features, labels, data.offsets) for labels in (grade_20, grade_21))
    words = r"c-kl weights an item by the gain .* the highest label is 21: .* use objective='pl-partition'"
    with pytest.warns(luce.LuceWarning, match=words) as found:
        clone(KINDS[kind]).fit(high)
    assert [warning.filename for warning in found] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clone(KINDS[kind]).fit(low)
        clone(KINDS[kind]).set_params(objective="pl-partition").fit(high)


def test_a_label_ranker_is_no_ranker():
    assert [kind for kind in RANKERS if not issubclass(RANKERS[kind], Ranker)] == ["labels"]
    assert RANKERS["labels"] is LabelRanker and len(RANKERS) == 5 and "forest" not in RANKERS


LOADED = """
import sys, luce
{code}
print(*sorted({{name.split(".")[2] for name in sys.modules if name.startswith("luce.rankers.")}}))
print(*(name for name in ("torch", "lightgbm") if name in sys.modules))
"""


ALONE = """
import sys, luce
luce.TreeRanker(n_estimators=1, min_child_samples=1, n_jobs=1).fit([[1.0], [2.0]], [0, 1], [1, 1])
print(*(name for name in sys.modules if name.startswith("luce.rankers.trees.") or name == "torch"))
"""


def test_trees_of_one_machine_do_without_the_network():
    loaded = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=True).stdout.split()
    assert "luce.rankers.trees.learner" in loaded
    assert "luce.rankers.trees.collectives" not in loaded
    assert "torch" not in loaded


def modules_after(code):
    process = subprocess.run(
        [sys.executable, "-c", LOADED.format(code=code)], capture_output=True, text=True, check=True
    )
    own, others = process.stdout.split("\n")[:2]
    return set(own.split()), others


def test_a_kind_is_imported_when_it_is_used(tmp_path, data):
    KINDS["linear"].fit(data).save(tmp_path / "a.luce")
    assert modules_after("import luce.rankers; sorted(luce.rankers.RANKERS)") == (set(), "")
    for code in ("luce.LinearRanker", f"luce.load({str(tmp_path / 'a.luce')!r})", "luce.preset('l-listmle')"):
        own, others = modules_after(code)
        assert "linear" in own and not own & {"neural", "trees", "labels", "items"}
        assert others == ""


@pytest.mark.parametrize(
    "ranker", [LinearRanker(max_iter=5, n_jobs=1), TreeRanker(n_estimators=5, validation_fraction=None, n_jobs=1)]
)
def test_the_lists_of_a_training_are_checked_once(ranker, monkeypatch):
    calls = []
    for name in ("check", "evaluate"):
        original = getattr(Objective, name)
        monkeypatch.setattr(
            Objective, name, lambda *given, name=name, original=original: calls.append(name) or original(*given)
        )
    clone(ranker).fit(web_search(20, n_features=4, mean_length=8, seed=0).dataset)
    assert calls.count("check") == 1 and calls.count("evaluate") > 3
