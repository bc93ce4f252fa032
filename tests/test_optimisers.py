"""The curve of a training and L-BFGS."""

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der

from luce.optimisers.convergence import Curve
from luce.optimisers.lbfgs import minimise


def test_finds_the_valley():
    seen = []
    point = minimise(
        lambda x: (rosen(x), rosen_der(x)),
        np.zeros(5),
        max_iterations=500,
        tolerance=1e-15,
        watch=lambda iteration, value, x: seen.append((iteration, value)) or False,
    )
    np.testing.assert_allclose(point, np.ones(5), atol=1e-4)
    assert [step[0] for step in seen] == list(range(1, len(seen) + 1))


def test_the_watcher_ends_it():
    seen = []
    minimise(
        lambda x: (rosen(x), rosen_der(x)),
        np.zeros(5),
        max_iterations=500,
        tolerance=0,
        watch=lambda iteration, value, x: seen.append(iteration) or iteration == 3,
    )
    assert seen == [1, 2, 3]


@pytest.mark.parametrize(("higher", "best"), [(True, 2), (False, 1)])
def test_best_by_validation(higher, best):
    curve = Curve(higher_is_better=higher, patience=2)
    stops = [curve.add(i, 0.0, value, f"state {i}") for i, value in enumerate([0.5, 0.4, 0.6, 0.5, 0.55])]
    assert curve.best_iteration == best
    assert curve.best_state == f"state {best}"
    assert stops.index(True) == best + 2


def test_without_validation_the_last_is_best():
    curve = Curve(patience=1)
    assert not any(curve.add(i, 5.0 - i, None, i) for i in range(5))
    assert curve.best_state == 4
    assert "validation" not in curve.history[-1]
