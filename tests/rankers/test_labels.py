"""The label ranker: objectives train it, sparse or dense, whole or sampled; it tells the best few labels in blocks."""

import numpy as np
import pytest
import torch
from scipy import sparse

import luce
from luce.errors import DataError, LuceError, OptionError
from luce.metrics import measure_labels, propensities
from luce.rankers import RANKERS
from luce.rankers.labels import learner, prediction
from luce.rankers.labels.learner import LabelLearner
from luce.rankers.labels.network import LabelNetwork
from luce.rankers.neural.entries import rows_to

from .tagged import parts, quick, tagged

OBJECTIVES = ("pl-partition", "pl-lb", "attrank", "ranknet", "ranksvm", "softmax", "bce", "squared-label")


@pytest.fixture(scope="module")
def data():
    return parts()


def by_frequency(train, test):
    """Precision@3 of the labels that are most frequent in training."""
    ranking = np.tile(np.argsort(-train.label_counts)[:3], (test.n_rows, 1))
    return measure_labels(ranking, test, "precision@3")["precision@3"].mean()


def precision(ranker, test):
    return ranker.evaluate(test, metrics="precision@3", n_bootstrap=0).means["precision@3"]


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_objectives_train_it(data, objective):
    ranker = quick(objective).fit(data["train"], validation=data["validation"])
    assert precision(ranker, data["test"]) > by_frequency(data["train"], data["test"]) + 0.15


@pytest.mark.parametrize(
    "settings",
    [
        {"hidden_layer_sizes": (16, 8), "activation": "tanh", "dropout": 0.1},
        {"activation": "identity", "objective": "squared-label"},
        {"negatives": 10},
        {"negatives": 10, "negative_sampling": "frequency"},
        {"negatives": 5, "negative_sampling": "hard", "weight_decay": 1e-4},
        {"optimizer": "adagrad", "learning_rate": 0.1, "weight_decay": 1e-4},
        {"transforms": ("standardize",)},
    ],
)
def test_settings_learn_and_come_back_from_their_file(data, settings, tmp_path):
    ranker = quick(**settings).fit(data["train"], validation=data["validation"])
    assert precision(ranker, data["test"]) > by_frequency(data["train"], data["test"]) + 0.1
    ranker.save(tmp_path / "a.luce")
    again = luce.load(tmp_path / "a.luce")
    scores = ranker.predict(data["test"])
    np.testing.assert_allclose(again.predict(data["test"]), scores, rtol=1e-4, atol=1e-5)  # a GPU rounds differently
    np.testing.assert_array_equal(again.label_counts_, ranker.label_counts_)
    assert again.training_rows_ == 300 and isinstance(again, RANKERS["labels"])


def test_sparse_and_dense_rows_are_the_same(data):
    dense = luce.TaggedData(data["train"].features.toarray(), data["train"].labels)
    one, two = quick(epochs=3).fit(data["train"]), quick(epochs=3).fit(dense)
    np.testing.assert_allclose(one.predict(data["test"]), two.predict(data["test"].features.toarray()), atol=1e-4)
    pair = quick(epochs=3).fit(data["train"].features, data["train"].labels)
    np.testing.assert_array_equal(pair.predict(data["test"]), one.predict(data["test"]))


def test_a_step_goes_down_the_gradient_of_the_mean_loss(data):
    """Plain gradient descent written out for one batch gives the same last layer; rows without labels do not count."""
    train = data["train"].take(np.arange(12))
    one_step = {"batch_size": 12, "steps_per_epoch": 1, "epochs": 1}
    ranker = quick("bce", activation="identity", optimizer="sgd", learning_rate=0.1, **one_step).fit(train)
    torch.manual_seed(0)
    start = LabelNetwork(30, 40, hidden_layer_sizes=(16,), activation="identity")
    x = train.features.toarray()[3:]
    hidden = x @ start.first.weight.detach().numpy() + start.first.bias.detach().numpy()
    scores = hidden @ start.out.weight.detach().numpy().T + start.out.bias.detach().numpy()
    slope = (1 / (1 + np.exp(-scores)) - train.labels.toarray()[3:]) / 9
    expected = start.out.weight.detach().numpy() - 0.1 * slope.T @ hidden
    np.testing.assert_allclose(ranker.network_.out.weight.detach().numpy(), expected, atol=1e-6)


@pytest.mark.parametrize("objective", ["pl-partition", "pl-lb", "attrank"])
def test_a_batch_too_large_for_a_gpu_is_trained_without_all_of_its_scores(data, monkeypatch, objective):
    settings = {"optimizer": "sgd", "learning_rate": 0.1, "epochs": 2}
    stored, sizes = quick(objective, **settings).fit(data["train"]), []

    def is_fused(device, n_scores):
        sizes.append(n_scores)
        return True

    with monkeypatch.context() as patch:
        patch.setattr(learner, "is_fused", is_fused)
        patch.delattr(LabelNetwork, "scores")
        fused = quick(objective, **settings).fit(data["train"])
    assert len(sizes) == 20 and max(sizes) == 16 * 40
    np.testing.assert_allclose(fused.predict(data["test"]), stored.predict(data["test"]), atol=1e-4)


def test_the_first_layer_is_a_sum_over_entries():
    features = sparse.random_array((6, 9), density=0.3, dtype=np.float32, rng=np.random.default_rng(0), format="csr")
    network = LabelNetwork(9, 4, hidden_layer_sizes=(5,))
    found = network(rows_to(features, np.array([5, 0, 3]), torch.device("cpu")))
    expected = network(torch.from_numpy(features.toarray()[[5, 0, 3]]))
    torch.testing.assert_close(found, expected)
    found.sum().backward()
    of_entries = network.first.weight.grad.clone()
    network.zero_grad()
    expected.sum().backward()
    torch.testing.assert_close(of_entries, network.first.weight.grad)


def test_grades_order_the_relevant_labels():
    train, test = tagged(300, graded=True), tagged(100, seed=5, graded=True)
    ranker = quick(metric="ndcg@5", epochs=30).fit(train)
    flat = quick(metric="ndcg@5", epochs=30).fit(luce.TaggedData(train.features, train.labels > 0))
    assert ranker.score(test) > flat.score(test) + 0.01
    assert ranker.max_grade_ == 5


def test_the_best_labels_in_blocks_are_those_of_all_scores(data, monkeypatch):
    ranker, test = quick().fit(data["train"]), data["test"]
    scores = ranker.predict(test)
    falling = -np.sort(-scores, axis=1)
    monkeypatch.setattr(prediction, "ROWS", 7)
    monkeypatch.setattr(prediction, "CELLS", 7 * 11)
    for k in (1, 3, 12, 40, 50):
        labels, found = ranker.top_labels(test, k)
        assert labels.shape == found.shape == (test.n_rows, min(k, 40))
        np.testing.assert_allclose(found, falling[:, :k], atol=1e-5)
        np.testing.assert_allclose(np.take_along_axis(scores, labels, axis=1), found, atol=1e-5)
        assert all(len(set(row)) == len(row) for row in labels.tolist())
    assert ranker.rank(test, top=2).slice(4, 1).to_pylist() == [
        {"row": 2, "rank": 1, "label": scores[2].argmax(), "score": pytest.approx(scores[2].max(), abs=1e-5)}
    ]


def test_blocks_hold_few_scores(data, monkeypatch):
    largest = []
    whole = LabelNetwork.scores
    monkeypatch.setattr(prediction, "CELLS", 2_000)

    def noted(self, hidden, labels=None):
        found = whole(self, hidden, labels)
        largest.append(found.numel())
        return found

    ranker = quick(epochs=1).fit(data["train"])
    monkeypatch.setattr(LabelNetwork, "scores", noted)
    ranker.top_labels(data["test"], 5)
    assert max(largest) <= 2_000 < data["test"].n_rows * 40


def test_propensities_come_from_all_rows_that_fit_was_given(data):
    train, validation, test = data["train"], data["validation"], data["test"]
    ranker = quick(epochs=2).fit(train, validation=validation)
    np.testing.assert_array_equal(ranker.label_counts_, train.label_counts + validation.label_counts)
    found = ranker.evaluate(test, metrics="psp@3,psndcg@3", a=0.6, b=2.6, n_bootstrap=0)
    p = propensities(train.label_counts + validation.label_counts, 300, a=0.6, b=2.6)
    expected = measure_labels(ranker.top_labels(test, 3)[0], test, "psp@3,psndcg@3", propensities=p)
    assert found.means["psp@3"] == pytest.approx(expected["psp@3"].mean(), abs=1e-12)
    assert found.means["psp@3"] != pytest.approx(ranker.evaluate(test, metrics="psp@3").means["psp@3"], abs=1e-6)
    assert found.means["psndcg@3"] == pytest.approx(expected["psndcg@3"].mean(), abs=1e-12)


def test_early_stopping_keeps_the_best_epoch_and_the_best_rate(data):
    ranker = quick(learning_rate=[0.03, 1e-6], epochs=25, early_stopping_rounds=3, metric="psp@3")
    ranker.fit(data["train"], validation=data["validation"])
    best = max(ranker.history_, key=lambda record: record["validation"])
    assert ranker.learning_rate_ == 0.03
    assert ranker.best_iteration_ == best["iteration"] == len(ranker.history_) - 3
    assert ranker.score(data["validation"]) == pytest.approx(best["validation"])


def test_a_seed_repeats(data):
    settings = {"dropout": 0.2, "negatives": 8, "epochs": 3}
    one, two = (quick(**settings, random_state=4).fit(data["train"]).predict(data["test"]) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert not np.allclose(one, quick(**settings, random_state=5).fit(data["train"]).predict(data["test"]))


def test_all_labels_relevant_and_rows_without_features():
    train = tagged(30)
    labels = train.labels.toarray()
    labels[5] = 1
    features = train.features.toarray()
    features[6] = 0
    data = luce.TaggedData(sparse.csr_array(features), labels)
    for objective in ("pl-partition", "bce"):
        ranker = quick(objective).fit(data)
        assert np.isfinite(ranker.predict(data)).all()


def test_diverging_is_said(data):
    with pytest.raises(LuceError, match="Training diverges"):
        quick("squared-label", optimizer="sgd", learning_rate=1e4, epochs=30).fit(data["train"])


def test_what_is_refused(data):
    train = data["train"]
    for settings, words in (
        ({"objective": "mcrank"}, "one output per grade"),
        ({"objective": "pairties-davidson"}, "has nuisance parameters"),
        ({"negatives": 0}, "negatives must be an integer ≥ 1"),
        ({"negative_sampling": "all"}, "negative_sampling must be"),
        ({"metric": "err@3"}, "no metric 'err'"),
        ({"metric": "precision"}, "needs a cutoff"),
        ({"transforms": ("list-zscore",)}, "no lists of items"),
        ({"batch_size": 0}, "batch_size must be"),
        ({"learning_rate": [0.1, 0.2]}, "give validation data"),
    ):
        with pytest.raises(OptionError, match=words):
            quick(**settings).fit(train)
    with pytest.raises(DataError, match="nothing to learn from"):
        quick().fit(train.take([0, 1]))
    with pytest.raises(DataError, match="target y is None"):
        quick().fit(train.features)
    ranker = quick(epochs=1).fit(train)
    with pytest.raises(DataError, match="had 40 labels, and these data have 39"):
        ranker.score(luce.TaggedData(train.features, train.labels[:, :39]))
    with pytest.raises(DataError, match="expecting 30 features"):
        ranker.predict(train.features[:, :29])
    with pytest.raises(OptionError, match="k, the number of labels"):
        ranker.top_labels(train, 0)
    with pytest.raises(DataError, match="lists of items"):
        ranker.predict(luce.Dataset([[1.0]], [1], [0, 1]))


def test_rows_without_labels_give_no_step(data, monkeypatch):
    seen = []
    whole = LabelLearner.step
    monkeypatch.setattr(LabelLearner, "step", lambda self, rows, *rest: seen.append(rows) or whole(self, rows, *rest))
    quick(epochs=1).fit(data["train"])
    assert sorted(np.concatenate(seen)) == list(range(3, 150))


@pytest.mark.parametrize(("batch_size", "steps"), [(16, 20), (1, 147)])
def test_an_epoch_is_one_pass_but_at_least_20_steps(data, batch_size, steps, monkeypatch):
    seen = []
    monkeypatch.setattr(LabelLearner, "step", lambda self, *given: seen.append(given) or 0.0)
    quick(epochs=1, batch_size=batch_size, steps_per_epoch=None).fit(data["train"])
    assert len(seen) == steps
