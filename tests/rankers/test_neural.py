"""The neural ranker: every objective trains it, lists stay apart, and the same seed gives the same bits."""

import numpy as np
import pytest
import torch
from scipy import sparse

import luce
from luce.data.transforms import base
from luce.errors import DataError, LuceError, OptionError
from luce.objectives import OBJECTIVES
from luce.rankers import NeuralRanker
from luce.rankers.neural.network import Network
from luce.rankers.neural.training import TorchLearner

from .made import for_objective, ndcg, parts, random_ndcg


@pytest.fixture(scope="module")
def data():
    return parts()


def quick(objective="listmle", **settings):
    base = {
        "hidden_layer_sizes": (16,),
        "learning_rate": 0.01,
        "batch_size": 16,
        "steps_per_epoch": 4,
        "epochs": 8,
        "validation_fraction": None,
        "device": "cpu",
        "n_jobs": 1,
    }
    return NeuralRanker(objective, **{**base, **settings})


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_every_objective_trains_it(data, objective):
    train, test = for_objective(objective, data["train"]), data["test"]
    ranker = quick(objective).fit(train, validation=data["validation"])
    assert ndcg(ranker.predict(test), test) > random_ndcg(test) + 0.1


@pytest.mark.parametrize(
    "settings",
    [
        {"activation": "sigmoid", "optimizer": "adagrad", "learning_rate": 0.1},
        {"activation": "tanh", "optimizer": "sgd", "learning_rate": 0.05},
        {"normalization": "batch", "dropout": 0.1},
        {"normalization": "layer", "hidden_layer_sizes": (16, 8)},
        {"context": "attention", "attention_blocks": 1, "dropout": 0.1},
        {"hidden_layer_sizes": (), "optimizer": "sgd", "learning_rate": 0.3},
        {"transforms": ("fill", "list-zscore")},
    ],
)
def test_networks_learn_and_come_back_from_their_file(data, settings, tmp_path):
    ranker = quick("listnet", **settings).fit(data["train"], validation=data["validation"])
    scores = ranker.predict(data["test"])
    assert ndcg(scores, data["test"]) > random_ndcg(data["test"]) + 0.1
    ranker.save(tmp_path / "a.luce")
    again = luce.load(tmp_path / "a.luce")
    np.testing.assert_allclose(again.predict(data["test"]), scores, rtol=1e-4, atol=1e-5)  # a GPU rounds differently
    assert again.get_params()["hidden_layer_sizes"] == list(ranker.hidden_layer_sizes)
    assert again.learning_rate_ == ranker.learning_rate_


def test_a_step_goes_down_the_gradient_of_the_mean_loss(data):
    """Plain gradient descent by hand on a linear network gives the same weights, list and item weights included."""
    train = data["train"].take(np.arange(8))
    rng = np.random.default_rng(0)
    weighted = luce.Dataset(
        np.nan_to_num(train.features),
        train.labels,
        train.offsets,
        item_weights=rng.random(train.n_rows),
        list_weights=rng.random(8),
    )
    one_step = {"batch_size": 8, "steps_per_epoch": 1, "epochs": 1}
    ranker = quick(
        "squared-label", hidden_layer_sizes=(), optimizer="sgd", transforms=(), weight_decay=0.1, **one_step
    ).fit(weighted)
    torch.manual_seed(0)
    start = Network(40, None, hidden_layer_sizes=())
    w, b = start.out.weight.detach().double().numpy()[0], start.out.bias.item()
    scores = weighted.features @ w + b
    evaluation = luce.objective("squared-label").value_and_gradient(
        scores, weighted.labels, weighted.offsets, item_weights=weighted.item_weights
    )
    slope = evaluation.gradient * np.repeat(weighted.list_weights, weighted.sizes) / 8
    expected = w - 0.01 * (weighted.features.T @ slope + 0.1 * w)
    np.testing.assert_allclose(ranker.network_.out.weight.detach().numpy()[0], expected, rtol=1e-5, atol=1e-6)
    assert ranker.network_.out.bias.item() == pytest.approx(b - 0.01 * (slope.sum() + 0.1 * b), abs=1e-6)
    assert ranker.history_[0]["loss"] == pytest.approx((evaluation.loss * weighted.list_weights).mean(), rel=1e-5)


def test_the_tie_parameter_is_learned(data, tmp_path):
    ranker = quick("pairties-davidson").fit(data["train"])
    (name, start) = next(iter(OBJECTIVES["pairties-davidson"].nuisance.items()))
    assert ranker.nuisance_[name] != start
    ranker.save(tmp_path / "a.luce")
    assert luce.load(tmp_path / "a.luce").nuisance_ == ranker.nuisance_


def test_history_early_stopping_and_the_best_epoch(data):
    seen = []
    ranker = quick(epochs=30, early_stopping_rounds=3, learning_rate=0.03)
    ranker.fit(data["train"], validation=data["validation"], callback=seen.append)
    whole = [record for record in seen if "validation" in record]
    assert whole == ranker.history_
    best = max(whole, key=lambda record: record["validation"])
    assert ranker.best_iteration_ == best["iteration"] < 27
    assert len(whole) == best["iteration"] + 3
    assert ndcg(ranker.predict(data["validation"]), data["validation"]) == pytest.approx(best["validation"])


def test_progress_inside_an_epoch(data, monkeypatch):
    monkeypatch.setattr("luce.optimizers.gradient_descent.PROGRESS_INTERVAL", 0.0)
    seen = []
    quick(epochs=2, steps_per_epoch=3).fit(data["train"], callback=seen.append)
    assert [round(record["iteration"], 2) for record in seen] == [0.33, 0.67, 1, 1.33, 1.67, 2]
    assert all(np.isfinite(record["loss"]) for record in seen)


@pytest.mark.parametrize(
    ("n_lists", "settings", "sizes"),
    [
        (30, {}, [8, 8, 8, 6]),
        (300, {}, [8] * 37 + [4]),
        (3_000, {}, [30] * 100),
        (10_000, {}, [64] * 156 + [16]),
        (30, {"batch_size": 5, "steps_per_epoch": 250}, [5] * 6),
        (10_000, {"steps_per_epoch": 30}, [64] * 156 + [16]),
    ],
)
def test_batches_and_epochs_by_the_number_of_lists(n_lists, settings, sizes, monkeypatch):
    data = luce.Dataset(np.arange(2.0 * n_lists)[:, None], np.arange(2 * n_lists) % 2, np.arange(n_lists + 1) * 2)
    seen = []
    monkeypatch.setattr(
        "luce.rankers.neural.learner.NetworkLearner.step", lambda self, *given: seen.append(given) or 0.0
    )
    ranker = NeuralRanker(
        hidden_layer_sizes=(), epochs=2, validation_fraction=None, device="cpu", n_jobs=1, **settings
    ).fit(data)
    assert len(ranker.history_) == 2
    assert len(seen) == 2 * settings.get("steps_per_epoch", max(20, len(sizes)))
    whole = [(int(epoch), step, len(chosen)) for chosen, epoch, step in seen]
    assert whole == [(step // len(sizes), step, sizes[step % len(sizes)]) for step in range(len(seen))]


@pytest.mark.parametrize("context", [None, "attention"])
def test_lists_and_the_order_of_rows_play_no_part(data, context):
    test = data["test"]
    ranker = quick("listnet", context=context, epochs=2).fit(data["train"])
    scores = ranker.predict(test)
    turned = test.take(np.arange(test.n_lists)[::-1])
    back = np.concatenate([np.arange(test.n_rows)[test.rows(q)] for q in range(test.n_lists - 1, -1, -1)])
    np.testing.assert_allclose(ranker.predict(turned), scores[back], rtol=1e-4, atol=1e-5)
    qid = np.repeat(np.arange(test.n_lists), test.sizes)
    order = np.random.default_rng(0).permutation(test.n_rows)
    shuffled = ranker.predict(test.features[order], qid[order])
    np.testing.assert_allclose(shuffled, scores[order], rtol=1e-4, atol=1e-5)
    if context == "attention":
        with pytest.raises(DataError, match="attend to each other: pass qid"):
            ranker.predict(test.features)
        half = test.take([0])
        fewer = luce.Dataset(half.features[:-1], half.labels[:-1], [0, half.n_rows - 1])
        assert not np.allclose(ranker.predict(fewer), ranker.predict(half)[:-1])  # the list is looked at


def test_chunks_of_lists_change_nothing(data, monkeypatch):
    ranker = quick("listnet", context="attention", epochs=1).fit(data["train"])
    scores = ranker.predict(data["test"])
    monkeypatch.setattr(base, "CELLS", 7)
    np.testing.assert_allclose(ranker.predict(data["test"]), scores, rtol=1e-5, atol=1e-6)


def test_a_seed_repeats_and_leaves_the_random_state_of_others_alone(data):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    one = quick(dropout=0.3, random_state=3).fit(data["train"]).predict(data["test"])
    assert torch.equal(torch.rand(3), expected)
    two = quick(dropout=0.3, random_state=3).fit(data["train"]).predict(data["test"])
    np.testing.assert_array_equal(one, two)
    other = quick(dropout=0.3, random_state=4).fit(data["train"]).predict(data["test"])
    assert not np.allclose(one, other)


def test_a_learning_rate_is_chosen_by_the_validation_metric(data):
    alone = {
        rate: quick(learning_rate=rate, epochs=4).fit(data["train"], validation=data["validation"])
        for rate in (1e-6, 0.01)
    }
    ranker = quick(learning_rate=[1e-6, 0.01], epochs=4).fit(data["train"], validation=data["validation"])
    assert ranker.learning_rate_ == 0.01
    np.testing.assert_array_equal(ranker.predict(data["test"]), alone[0.01].predict(data["test"]))
    other_way = quick(learning_rate=[0.01, 1e-6], epochs=4).fit(data["train"], validation=data["validation"])
    assert other_way.learning_rate_ == 0.01
    with pytest.raises(OptionError, match="give validation data"):
        quick(learning_rate=[1e-6, 0.01]).fit(data["train"])


class OwnNetwork(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(40, 1)

    def forward(self, rows):
        return self.layer(rows)[:, 0]


class OwnListNetwork(OwnNetwork):
    def forward(self, rows, offsets):
        sizes = offsets.diff()
        means = torch.stack([part.mean(0) for part in rows.split(sizes.tolist())])
        return self.layer(rows - means.repeat_interleave(sizes, 0))[:, 0]


@pytest.mark.parametrize("kind", [OwnNetwork, OwnListNetwork])
def test_a_module_of_ones_own(data, kind, tmp_path):
    torch.manual_seed(0)
    module = kind()
    before = module.layer.weight.detach().clone()
    ranker = quick("listnet", module=module).fit(data["train"])
    assert torch.equal(module.layer.weight, before)  # a copy was trained
    scores = ranker.predict(data["test"])
    assert ndcg(scores, data["test"]) > random_ndcg(data["test"]) + 0.1
    ranker.save(tmp_path / "own.luce")
    with pytest.raises(DataError, match=f"custom module '{kind.__name__}'"):
        luce.load(tmp_path / "own.luce")
    again = luce.load(tmp_path / "own.luce", module=kind())
    np.testing.assert_allclose(again.predict(data["test"]), scores, rtol=1e-4, atol=1e-5)  # a GPU rounds differently
    with pytest.raises(DataError, match="weight must be"):
        luce.load(tmp_path / "own.luce", module=torch.nn.Linear(40, 1))


def test_what_is_no_module(data):
    with pytest.raises(OptionError, match=r"module must be an instance of torch\.nn\.Module\. Got <class"):
        quick("listnet", module=OwnNetwork).fit(data["train"])
    with pytest.raises(OptionError, match=r"An objective is a name such as 'listmle', .*Got OwnNetwork"):
        quick(OwnNetwork()).fit(data["train"])
    with pytest.raises(DataError, match=r"listnet a module must return scores of shape \(rows,\)\. Got \(\d+, 1\)"):
        quick("listnet", module=torch.nn.Linear(40, 1)).fit(data["train"])
    with pytest.raises(DataError, match=r"Can't call numpy\(\) on Tensor that requires grad"):
        luce.evaluate(torch.zeros(data["test"].n_rows, requires_grad=True), data["test"])


def test_sparse_features_and_lists_that_teach_nothing(data):
    train = data["train"]
    X = np.nan_to_num(np.asarray(train.features))
    X[np.abs(X) < 0.5] = 0
    settings = {"transforms": (), "epochs": 3, "optimizer": "sgd"}  # Adam would follow the rounding of a slope of 0
    dense = quick("listnet", **settings).fit(luce.Dataset(X, train.labels, train.offsets))
    thin = quick("listnet", **settings).fit(luce.Dataset(sparse.csr_array(X), train.labels, train.offsets))
    np.testing.assert_allclose(thin.predict(X), dense.predict(X), rtol=1e-4, atol=1e-5)
    mixed = luce.data.concatenate([train, luce.Dataset(X[:4], [1, 1, 2, 2], [0, 2, 4])])
    both = quick("ranknet", transforms=(), epochs=1, steps_per_epoch=1, batch_size=100)
    with_them, without = (both.fit(d.with_features(np.nan_to_num(d.features))).history_ for d in (mixed, train))
    assert with_them == without


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"optimizer": "adma"}, "Did you mean 'adam'"),
        ({"activation": "rleu"}, "Did you mean 'relu'"),
        ({"normalization": "btach"}, "Did you mean 'batch'"),
        ({"context": "atention"}, "Did you mean 'attention'"),
        ({"epochs": 0}, "epochs must be an integer ≥ 1. Got 0"),
        ({"batch_size": 2.5}, "batch_size must be an integer"),
        ({"steps_per_epoch": 0}, "steps_per_epoch must be an integer ≥ 1, or None. Got 0"),
        ({"hidden_layer_sizes": (8, 0)}, "hidden_layer_sizes must be widths"),
        ({"dropout": 1.0}, "dropout must be a number ≥ 0 and < 1"),
        ({"learning_rate": 0}, "learning_rate must be a number > 0"),
        ({"context": "attention", "hidden_layer_sizes": (15,)}, "multiple of attention_heads = 2"),
        ({"device": "cuda:17"}, "cannot use the device 'cuda:17'"),
        (
            {"learning_rate": 1e30, "optimizer": "sgd"},
            "not finite at step 2.*learning_rate below 1e",
        ),
    ],
)
def test_bad_settings_are_named(data, settings, words):
    with pytest.raises(LuceError, match=words):
        quick("squared-label", **settings).fit(data["train"])


def test_data_that_teaches_nothing_is_told():
    with pytest.raises(DataError, match="listmle has nothing to learn from"):
        quick().fit(luce.from_arrays([[1.0], [2.0]], [1, 1], [1, 1]))


def test_an_interrupt_keeps_the_best_so_far(data):
    ranker = quick(epochs=20)

    def stop(record):
        if record["iteration"] == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ranker.fit(data["train"], validation=data["validation"], callback=stop)
    whole = quick(epochs=3).fit(data["train"], validation=data["validation"])
    np.testing.assert_array_equal(ranker.predict(data["test"]), whole.predict(data["test"]))
    assert len(ranker.history_) == 3


class StepByHand(TorchLearner):
    def step(self, lists, epoch, step):
        raise NotImplementedError


def test_l2_does_not_shrink_the_tie_parameter():
    settings = {
        "optimizer": "sgd",
        "learning_rate": 0.1,
        "weight_decay": 1.0,
        "seed": 0,
        "validation_score": lambda learner: None,
    }
    learner = StepByHand(torch.nn.Linear(1, 1, bias=False), [2.0], **settings)
    weight = learner.network.weight.item()
    for parameter in (learner.network.weight, learner.nuisance):
        parameter.grad = torch.zeros_like(parameter)
    learner.optimizer.step()
    assert learner.nuisance.item() == 2
    assert learner.network.weight.item() == pytest.approx(0.9 * weight)


def test_list_weights_scale_the_step_of_the_tie_parameter(data):
    train = data["train"].take(np.arange(8))
    heavy = luce.Dataset(train.features, train.labels, train.offsets, list_weights=np.full(8, 2.0))
    settings = {"optimizer": "sgd", "epochs": 1, "steps_per_epoch": 1, "batch_size": 8}
    (one,), (two,) = (quick("pairties-davidson", **settings).fit(each).nuisance_.values() for each in (train, heavy))
    (start,) = OBJECTIVES["pairties-davidson"].nuisance.values()
    assert two - start == pytest.approx(2 * (one - start)) != 0
