"""Label rankers fitted on several ranks: each with its own rows of a batch, and the same network on all of them."""

import pytest

from luce.rankers import LabelRanker

from ..ranks import on_ranks
from .ranks import assert_close, bits, fitted
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
        ({"negatives": 2, "negative_sampling": "hard", "optimizer": "sgd"}, 3),
        ({"objective": "bce", "optimizer": "sgd", "metric": "psndcg@3"}, 3),
        ({"negatives": 6, "optimizer": "sgd", "transforms": ("standardize",)}, 2),
    ],
    ids=str,
)
def test_a_step_is_that_of_one_process(data, settings, size):
    """The labels that a batch is scored on are those relevant on any rank, and the others that all draw."""
    ranker = LabelRanker(epochs=1, steps_per_epoch=1, batch_size=31, learning_rate=0.01, **SMALL, **settings)
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
