"""Label rankers fitted on several ranks: each with its own rows of a batch, and the same network on all of them."""

import pytest

from luce.rankers import LabelRanker

from ..ranks import on_ranks
from .ranks import assert_close, bits, fitted, refused
from .tagged import parts, tagged

pytest.importorskip("torch")
pytestmark = pytest.mark.multiprocess
SMALL = {"hidden_layer_sizes": (16,), "device": "cpu", "n_jobs": 1}


@pytest.fixture(scope="module")
def data():
    return parts()


@pytest.mark.parametrize(
    ("settings", "size"),
    [
        ({"metric": "psp@3"}, 2),
        ({"negatives": 2, "negative_sampling": "hard", "optimizer": "sgd", "batch_size": 3}, 3),
        ({"objective": "bce", "optimizer": "sgd", "metric": "psndcg@3"}, 3),
        ({"negatives": 6, "optimizer": "sgd", "transforms": ("standardize",)}, 2),
        ({"negatives": 2, "negative_sampling": "frequency", "optimizer": "sgd", "batch_size": 3}, 3),
    ],
    ids=str,
)
def test_a_step_is_that_of_one_process(data, settings, size):
    """The labels that a batch is scored on are those relevant on any rank, and the others that all draw."""
    base = {"epochs": 1, "steps_per_epoch": 1, "batch_size": 31, "learning_rate": 0.01}
    ranker = LabelRanker(**base | SMALL | settings)
    given = data["train"], data["validation"]
    found = on_ranks(fitted, [ranker] * size, *([each] * size for each in given), size=size)
    assert [bits(one) == bits(found[0]) for one in found] == [True] * size
    expected = fitted(ranker, *given)
    assert_close(found[0], expected, 1e-6, 1e-7)
    assert found[0].training_rows_ == expected.training_rows_ == 300


@pytest.mark.parametrize("graded", [False, True])
def test_a_training_ends_as_in_one_process(data, graded):
    """Rows are held out over all ranks; where batches are small, some have no row of a rank."""
    ranker = LabelRanker("pl-lb", batch_size=2, steps_per_epoch=40, epochs=5, learning_rate=0.01, **SMALL)
    train = tagged(graded=True) if graded else data["train"]
    found = on_ranks(fitted, [ranker] * 2, [train] * 2)
    expected = fitted(ranker, train)
    assert bits(found[0]) == bits(found[1])
    assert found[0].best_score_ == pytest.approx(expected.best_score_, abs=1e-3)
    assert found[1].score(data["test"]) == pytest.approx(expected.score(data["test"]), abs=1e-3)


SPLIT = {"split_labels": True, "optimizer": "sgd", **SMALL}


@pytest.mark.parametrize(
    ("settings", "size"),
    [
        ({}, 2),
        ({"objective": "softmax", "metric": "psp@3"}, 3),
        ({"objective": "c-kl", "batch_size": 2}, 3),
        ({"objective": "bce", "hidden_layer_sizes": (8, 4), "dropout": 0.0}, 2),
        ({"objective": "pl-lb", "optimizer": "adagrad", "learning_rate": 0.01}, 2),
    ],
    ids=str,
)
def test_a_step_with_split_labels_is_that_of_one_process(data, settings, size):
    given = data["train"], data["validation"]
    base = {"epochs": 1, "steps_per_epoch": 1, "batch_size": 31, "learning_rate": 0.1}
    ranker = LabelRanker(**base | SPLIT | settings)
    found = on_ranks(fitted, [ranker] * size, *([each] * size for each in given), size=size)
    assert [bits(one) == bits(found[0]) for one in found] == [True] * size
    assert_close(found[0], fitted(ranker, *given), 1e-5, 1e-6)


def test_a_training_with_split_labels_ends_as_in_one_process(data):
    ranker = LabelRanker(**SPLIT | {"optimizer": "adam"}, steps_per_epoch=20, epochs=6, learning_rate=0.01)
    given = data["train"], data["validation"]
    found, expected = on_ranks(fitted, *([each] * 2 for each in (ranker, *given))), fitted(ranker, *given)
    assert bits(found[0]) == bits(found[1])
    assert found[0].best_iteration_ == expected.best_iteration_
    assert found[1].score(data["test"]) == pytest.approx(expected.score(data["test"]), abs=1e-3)


def shapes(ranker, train):
    """What a rank holds of the last layer in a training, and the shape of the largest array of its optimizer."""
    from luce.rankers.labels.split import SplitLearner

    held, update = [], SplitLearner.update

    def noted(self, work):
        found = update(self, work)
        state = self.optimizer.state[self.out.weight]
        held.append([tuple(one.shape) for one in (self.out.weight, self.out.weight.grad, state["exp_avg"])])
        return found

    SplitLearner.update = noted
    try:
        return fitted(ranker, train), held
    finally:
        SplitLearner.update = update


def test_a_rank_trains_its_labels_alone(data):
    settings = {"optimizer": "adam", "steps_per_epoch": 2, "epochs": 1, "validation_fraction": None}
    ranker = LabelRanker(**SPLIT | settings)
    for rank, (found, held) in enumerate(on_ranks(shapes, [ranker] * 3, [data["train"]] * 3, size=3)):
        assert held == [[((13, 13, 14)[rank], 16)] * 3] * 2
        assert found.network_.out.weight.shape == (40, 16)


@pytest.mark.parametrize(
    ("settings", "graded", "words"),
    [
        ({"objective": "ranknet"}, False, "split_labels needs one of the objectives pl-partition"),
        ({"negatives": 5}, False, "negatives must be None"),
        ({"max_grad_norm": 1.0}, False, "max_grad_norm must be None"),
        ({"precision": "bfloat16"}, False, "precision must be 'float32' or 'tf32'"),
        ({"hidden_layer_sizes": ()}, False, "needs a hidden layer"),
        ({}, True, "the labels must have no grades"),
    ],
)
def test_what_cannot_be_split(settings, graded, words):
    ranker = LabelRanker(**SPLIT | settings)
    for _, why in on_ranks(refused, [ranker] * 2, [tagged(graded=graded)] * 2):
        assert words in why
