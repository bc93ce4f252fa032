"""The label ranker: objectives train it, sparse or dense, whole or sampled; it tells the best few labels in blocks."""

import numpy as np
import pytest
import torch
from scipy import sparse

import luce
from luce.errors import DataError, LuceError, OptionError
from luce.metrics import measure_labels, propensities
from luce.objectives import label_loss
from luce.rankers import RANKERS, LabelRanker
from luce.rankers.labels import learner, prediction
from luce.rankers.labels.candidates import Negatives, only_rows
from luce.rankers.labels.learner import LabelLearner
from luce.rankers.labels.network import LabelNetwork, rows_to
from luce.rankers.labels.rows import HostRows, ResidentRows
from luce.rankers.neural.training import OPTIMIZERS

from .tagged import parts, tagged

OBJECTIVES = ("pl-partition", "pl-lb", "attrank", "ranknet", "ranksvm", "softmax", "bce", "squared-label")


@pytest.fixture(scope="module")
def data():
    return parts()


def quick(objective="pl-partition", **settings):
    base = {
        "hidden_layer_sizes": (16,),
        "learning_rate": 0.02,
        "batch_size": 16,
        "steps_per_epoch": 10,
        "epochs": 8,
        "validation_fraction": None,
        "device": "cpu",
        "n_jobs": 1,
    }
    return LabelRanker(objective, **{**base, **settings})


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


@pytest.mark.parametrize("sampling", ["uniform", "frequency", "hard"])
def test_sampled_negatives_look_at_some_labels_and_at_all_relevant_ones(data, sampling, monkeypatch):
    seen, sizes = [], []
    part, whole = learner.only_rows, LabelNetwork.scores

    def noted(self, hidden, labels=None):
        found = whole(self, hidden, labels)
        sizes.append(found.shape)
        return found

    def rows(layer, chosen, optimizer):
        seen.append(chosen.numpy())
        return part(layer, chosen, optimizer)

    monkeypatch.setattr(learner, "only_rows", rows)
    monkeypatch.setattr(LabelNetwork, "scores", noted)
    train = data["train"].take(np.arange(3, 8))
    quick(negatives=4, negative_sampling=sampling, epochs=1, steps_per_epoch=3, batch_size=5).fit(train)
    relevant = np.unique(train.labels.indices)
    assert sizes == [(5, len(some)) for some in seen]
    assert all(np.isin(relevant, some).all() and len(set(some)) == len(some) for some in seen)
    assert all(len(some) <= len(relevant) + 4 for some in seen)
    if sampling == "frequency":  # no others are relevant to any row
        assert all(len(some) == len(relevant) for some in seen)
        return
    assert len({tuple(some) for some in seen}) > 1  # others are drawn each step


def test_a_step_on_some_labels_leaves_the_others_as_they_are(data, monkeypatch):
    """Weights and moments of the labels that no step has seen keep their bits; those it has seen change."""
    seen, optimizers = set(), []
    part = learner.only_rows

    def rows(layer, chosen, optimizer):
        seen.update(chosen.tolist())
        optimizers.append((layer, optimizer))
        return part(layer, chosen, optimizer)

    monkeypatch.setattr(learner, "only_rows", rows)
    train = data["train"].take(np.arange(3, 8))
    ranker = quick(negatives=4, weight_decay=0.1, epochs=1, steps_per_epoch=2, batch_size=5).fit(train)
    torch.manual_seed(0)
    start = LabelNetwork(30, 40, hidden_layer_sizes=(16,)).out
    found, touched = ranker.network_.out, np.isin(np.arange(40), sorted(seen))
    assert 5 < touched.sum() < 40
    for name in ("weight", "bias"):
        before, after = getattr(start, name).detach().numpy(), getattr(found, name).detach().numpy()
        same = (before == after).reshape(40, -1).all(1)
        np.testing.assert_array_equal(same, ~touched)
    layer, optimizer = optimizers[-1]
    for moment in ("exp_avg", "exp_avg_sq"):
        entries = optimizer.state[layer.weight][moment]
        assert entries.shape == layer.weight.shape and layer.weight.grad is None
        np.testing.assert_array_equal((entries != 0).any(1).numpy(), touched)


def lazily(name, w, slope, memory, t, lr, decay):
    """One step of an optimizer on one row, as its paper has it; `memory`: two sums."""
    slope = slope + decay * w
    if name == "sgd":
        return w - lr * slope
    if name == "adagrad":
        memory[0] += slope**2
        return w - lr * slope / (np.sqrt(memory[0]) + 1e-10)
    memory[0], memory[1] = 0.9 * memory[0] + 0.1 * slope, 0.999 * memory[1] + 0.001 * slope**2
    return w - lr * memory[0] / (1 - 0.9**t) / (np.sqrt(memory[1] / (1 - 0.999**t)) + 1e-8)


@pytest.mark.parametrize("name", list(OPTIMIZERS))
@pytest.mark.parametrize("decay", [0.0, 0.3])
def test_rows_of_a_layer_are_updated_by_hand(name, decay):
    torch.manual_seed(1)
    layer = torch.nn.Linear(3, 6)
    optimizer = OPTIMIZERS[name](layer.parameters(), lr=0.1, weight_decay=decay)
    expected = np.column_stack([layer.weight.detach(), layer.bias.detach()]).astype(float)
    memory = np.zeros((6, 2, 4))
    inputs = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    for t, chosen in enumerate(([4, 1], [1, 0, 5], [4, 1, 5]), start=1):
        with only_rows(layer, torch.tensor(chosen), optimizer):
            optimizer.zero_grad()
            layer(torch.from_numpy(inputs)).square().sum().backward()
            optimizer.step()
        with_bias = np.column_stack([inputs, np.ones(4)])
        for row in chosen:
            slope = 2 * (with_bias @ expected[row]) @ with_bias
            expected[row] = lazily(name, expected[row], slope, memory[row], t, 0.1, decay)
        np.testing.assert_allclose(layer.weight.detach(), expected[:, :3], atol=2e-5)
        np.testing.assert_allclose(layer.bias.detach(), expected[:, 3], atol=2e-5)


def test_negatives_follow_their_frequency_or_their_scores():
    counts, drawn = np.array([0, 60, 30, 10, 0]), np.zeros(5)
    negatives = Negatives(1, "frequency", counts, seed=3)
    for step in range(2_000):
        found = negatives.draw(np.array([3]), step)
        drawn[found] += 1
    np.testing.assert_allclose(drawn / 2_000, [0, 0.6, 0.3, 0, 0], atol=0.04)  # 3 is known
    hard, layer = Negatives(2, "hard", counts, seed=3), torch.nn.Linear(1, 5)
    assert len(hard.draw(np.array([3]), 0)) > 2
    with torch.no_grad():
        layer.weight[:, 0], layer.bias[:] = torch.tensor([1.0, -3, 0, 9, 2]), 0.0
        chosen = hard.hardest(torch.tensor([0, 1, 2, 4]), torch.tensor([[1.0], [-1.0]]), layer)
    assert sorted(chosen.tolist()) == [1, 4]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"objective": "softmax"},
        {"objective": "bce", "hidden_layer_sizes": ()},
        {"objective": "ranknet"},
        {"negatives": 6},
        {"negatives": 6, "objective": "c-kl", "negative_sampling": "hard"},
        {"fused": True, "objective": "c-kl"},
        {"fused": True, "negatives": 8},
    ],
    ids=str,
)
@pytest.mark.parametrize(("is_sparse", "graded"), [(True, False), (False, False), (True, True)])
def test_the_way_of_a_device_is_that_of_the_host(settings, is_sparse, graded, monkeypatch):
    """Rows that lie there, and losses by its kernels: on a CPU here."""
    train = tagged(graded=graded)
    if not is_sparse:
        train = luce.TaggedData(train.features.toarray(), train.labels)
    settings = {"optimizer": "sgd", "learning_rate": 0.1, "epochs": 2} | settings
    fused, used = settings.pop("fused", False), []
    expected = quick(**settings).fit(train)

    def rows(device, *given):
        used.append(device)
        return ResidentRows(*given, device)

    monkeypatch.setattr(learner, "rows_on", rows)
    monkeypatch.setattr(label_loss, "one_device", lambda *tensors: "cuda")
    monkeypatch.setattr(learner, "is_fused", lambda *given: fused)
    found = quick(**settings).fit(train)
    assert used and found.history_[-1]["loss"] == pytest.approx(expected.history_[-1]["loss"], rel=1e-4)
    np.testing.assert_allclose(found.predict(train), expected.predict(train), atol=2e-4)


@pytest.mark.parametrize("graded", [False, True])
def test_rows_on_a_device_are_those_of_the_host(graded):
    data, some = tagged(graded=graded), np.array([7, 0, 149, 7, 30])
    host, there = (each(data.features, data, torch.device("cpu")) for each in (HostRows, ResidentRows))
    for found, expected in zip(there.features(some), host.features(some), strict=True):
        assert found.dtype == expected.dtype and torch.equal(found, expected)
    found, expected = there.relevant(some), host.relevant(some)
    assert found.longest == expected.longest and (found.grades is not None) == graded
    for ours, theirs in zip(found[:3], expected[:3], strict=True):
        assert ours is theirs is None or torch.equal(ours.double(), theirs.double())


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
