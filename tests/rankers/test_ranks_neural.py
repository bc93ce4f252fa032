"""Neural rankers fitted on several ranks: each with its own lists of a batch, and the same network on all of them."""

import numpy as np
import pytest

import luce
from luce.rankers import NeuralRanker

from ..ranks import on_ranks
from .made import ndcg, parts
from .ranks import assert_close, bits, fitted, refused

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.multiprocess
SMALL = {"hidden_layer_sizes": (8,), "device": "cpu", "n_jobs": 1}


@pytest.fixture(scope="module")
def data():
    return parts(n_lists=40, n_features=10)


def weighted(lists):
    weights = np.arange(lists.n_lists) % 3 + 0.5
    return luce.Dataset(lists.features, lists.labels, lists.offsets, list_weights=weights)


@pytest.mark.parametrize(
    ("settings", "size"),
    [
        ({}, 2),
        ({"objective": "pairties-davidson", "optimizer": "sgd", "normalization": "layer"}, 2),
        ({"objective": "pl-rank-2", "context": "attention", "optimizer": "sgd"}, 3),
        ({"objective": "mcrank", "optimizer": "adagrad"}, 2),
    ],
    ids=str,
)
def test_a_step_is_that_of_one_process(data, settings, size):
    """Samples are drawn by the numbers of the lists over all ranks."""
    ranker = NeuralRanker(epochs=1, steps_per_epoch=1, batch_size=15, learning_rate=0.01, **SMALL, **settings)
    given = weighted(data["train"]), data["validation"]
    found = on_ranks(fitted, [ranker] * size, *([each] * size for each in given), size=size)
    assert [bits(one) == bits(found[0]) for one in found] == [True] * size
    assert_close(found[0], fitted(ranker, *given), 1e-6, 1e-7)


@pytest.mark.parametrize(
    "more",
    [{}, {"validation_fraction": 0.3, "learning_rate": [1e-3, 1e-2]}, {"n_bags": 2, "max_samples": 0.1}],
    ids=str,
)
def test_a_training_ends_as_in_one_process(data, more):
    """Where batches are small, some have no list of a rank; and lists are held out over all ranks."""
    ranker = NeuralRanker(**{"epochs": 6, "batch_size": 2, "learning_rate": 0.003} | SMALL | more)
    validation = None if more else data["validation"]
    found = on_ranks(fitted, [ranker] * 2, [data["train"]] * 2, [validation] * 2)
    expected = fitted(ranker, data["train"], validation)
    assert bits(found[0]) == bits(found[1])
    assert found[0].best_score_ == pytest.approx(expected.best_score_, abs=1e-3)
    assert found[0].learning_rate_ == expected.learning_rate_
    scores = [ndcg(one.predict(data["test"]), data["test"]) for one in (found[1], expected)]
    assert scores[0] == pytest.approx(scores[1], abs=1e-3)


def test_networks_that_begin_differently_become_that_of_the_first_rank(data):
    modules = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        modules.append(
            torch.nn.Sequential(torch.nn.Linear(10, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1), torch.nn.Flatten(0))
        )
    rankers = [NeuralRanker(module=module, optimizer="sgd", epochs=1, **SMALL) for module in modules]
    found = on_ranks(fitted, rankers, [data["train"]] * 2)
    assert bits(found[0]) == bits(found[1])
    assert_close(found[0], fitted(rankers[0], data["train"]), 1e-5, 1e-6)


def test_batch_normalization_is_refused(data):
    module = torch.nn.Sequential(torch.nn.Linear(10, 1), torch.nn.BatchNorm1d(1), torch.nn.Flatten(0))
    for settings, name in (({"normalization": "batch"}, "rows.1"), ({"module": module}, "1")):
        for error, text in on_ranks(refused, [NeuralRanker(**SMALL, **settings)] * 2, [data["train"]] * 2):
            assert error == "OptionError"
            assert f"BatchNorm1d ({name})" in text


def test_scores_that_diverge_on_one_rank_end_the_fit_on_all(data):
    train = data["train"]
    features = np.nan_to_num(np.array(train.features))
    features[-1] = 1e38
    ranker = NeuralRanker(transforms=(), optimizer="sgd", learning_rate=1e30, **SMALL)
    for error, text in on_ranks(refused, [ranker] * 2, [train.with_features(features)] * 2):
        assert error == "LuceError"
        assert "diverges" in text


def diverging(ranker, train):
    """What a fit says whose loss is NaN in the third step, on the second rank alone."""
    from luce.rankers.neural.learner import NetworkLearner

    whole = NetworkLearner.propagate

    def propagate(self, lists, epoch, step, of):
        return whole(self, lists, epoch, step, of) * (np.nan if step == 2 and self.first_list else 1.0)

    NetworkLearner.propagate = propagate
    try:
        return refused(ranker, train)
    finally:
        NetworkLearner.propagate = whole


def test_the_step_is_named_whose_loss_is_not_finite_on_another_rank(data):
    ranker = NeuralRanker(batch_size=8, validation_fraction=None, **SMALL)
    for error, text in on_ranks(diverging, [ranker] * 2, [data["train"]] * 2):
        assert error == "LuceError"
        assert "not finite at step 3." in text
