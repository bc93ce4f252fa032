"""The curve of a training and L-BFGS."""

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der

from luce.optimizers.gradient_descent import Learner, descend
from luce.optimizers.lbfgs import minimize
from luce.optimizers.learning_curve import LearningCurve


def test_finds_the_valley():
    seen = []
    point = minimize(
        lambda x: (rosen(x), rosen_der(x)),
        np.zeros(5),
        max_iter=500,
        tol=1e-15,
        watch=lambda iteration, value, x: seen.append((iteration, value)) or False,
    )
    np.testing.assert_allclose(point, np.ones(5), atol=1e-4)
    assert [step[0] for step in seen] == list(range(1, len(seen) + 1))


def test_the_watcher_ends_it():
    seen = []
    minimize(
        lambda x: (rosen(x), rosen_der(x)),
        np.zeros(5),
        max_iter=500,
        tol=0,
        watch=lambda iteration, value, x: seen.append(iteration) or iteration == 3,
    )
    assert seen == [1, 2, 3]


@pytest.mark.parametrize(("higher", "best"), [(True, 2), (False, 1)])
def test_best_by_validation(higher, best):
    curve = LearningCurve(higher_is_better=higher, early_stopping_rounds=2)
    stops = [curve.add(i, 0.0, value, f"state {i}") for i, value in enumerate([0.5, 0.4, 0.6, 0.5, 0.55])]
    assert curve.best_iteration == best
    assert curve.best_state == f"state {best}"
    assert stops.index(True) == best + 2


def test_without_validation_the_last_is_best():
    curve = LearningCurve(early_stopping_rounds=1)
    assert not any(curve.add(i, 5.0 - i, None, i) for i in range(5))
    assert curve.best_state == 4
    assert "validation" not in curve.history[-1]


class Averaging(Learner):
    """A learner whose loss is the mean of the list numbers."""

    def step(self, lists, epoch, step):
        return float(lists.mean())

    def validation_score(self):
        return None

    def parameters(self):
        return {}


def test_the_loss_of_an_epoch_is_the_mean_over_lists_also_with_a_short_last_batch():
    curve = LearningCurve()
    descend(Averaging(), np.array([0, 1, 2, 3, 10]), curve, epochs=3, batch_size=2, seed=0)
    assert [record["loss"] for record in curve.history] == pytest.approx([3.2] * 3)


class Recording(Averaging):
    """It keeps what it was given."""

    def __init__(self):
        self.seen = []

    def step(self, lists, epoch, step):
        self.seen.append((lists.tolist(), epoch, step))
        return super().step(lists, epoch, step)


@pytest.mark.parametrize("steps_per_epoch", [1, 2, 4, 7])
def test_the_batches_do_not_depend_on_the_length_of_an_epoch(steps_per_epoch):
    lists = np.array([0, 1, 2, 3, 10])
    passes, ours, curve = Recording(), Recording(), LearningCurve()
    descend(passes, lists, LearningCurve(), epochs=10, batch_size=2, seed=0)
    descend(ours, lists, curve, epochs=4, batch_size=2, seed=0, steps_per_epoch=steps_per_epoch)
    assert ours.seen == passes.seen[: 4 * steps_per_epoch]
    for number, record in enumerate(curve.history):
        epoch = ours.seen[number * steps_per_epoch : (number + 1) * steps_per_epoch]
        assert record["loss"] == pytest.approx(np.mean(np.concatenate([given[0] for given in epoch])))
    for number in range(3):
        assert [given[1] for given in passes.seen[3 * number : 3 * number + 3]] == [number, number + 0.4, number + 0.8]
        one_pass = [given[0] for given in passes.seen if int(given[1]) == number]
        assert sorted(np.concatenate(one_pass)) == lists.tolist()
