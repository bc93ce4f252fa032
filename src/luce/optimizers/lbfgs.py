"""SciPy's L-BFGS with a callback after each iteration and a check that every value is finite."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from luce.arrays import Floats
from luce.errors import LuceError, NumericalError
from luce.threads import one_blas_thread

Function = Callable[[Floats], tuple[float, Floats]]
Watcher = Callable[[int, float, Floats], bool]


def minimize(
    function: Function,
    start: Floats,
    *,
    max_iter: int,
    tol: float,
    watch: Watcher,
    bounds: Sequence[tuple[float | None, float | None]] | None = None,
) -> Floats:
    """Minimize `function`, which returns value and gradient, until it falls by less than `tol` relative to its value.

    `watch(iteration, value, point)` is called after each iteration and stops the search by returning True; `bounds` are
    the lowest and the highest value of each coordinate, where it has one.

    >>> minimize(lambda x: (float((x - 3) @ (x - 3)), 2 * (x - 3)), np.zeros(2),
    ...     max_iter=50, tol=1e-12, watch=lambda *step: False).round(6)
    array([3., 3.])
    """
    from scipy.optimize import minimize

    iteration = 0

    def checked(point: Floats) -> tuple[float, Floats]:
        try:
            value, gradient = function(point)
        except NumericalError:
            if iteration == 0:
                raise
            value, gradient = np.inf, point
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            raise LuceError(
                f"The loss is {value} after {iteration} iterations: the search has diverged. "
                "Standardize the features, or raise reg_lambda."
            )
        return value, gradient

    def callback(intermediate_result: Any) -> None:  # SciPy requires this name of the argument
        nonlocal iteration
        iteration += 1
        if watch(iteration, float(intermediate_result.fun), intermediate_result.x.copy()):
            raise StopIteration

    settings = {"maxiter": max_iter, "ftol": tol, "gtol": 0.0, "maxfun": 20 * max_iter}
    with one_blas_thread():
        return minimize(
            checked, start, jac=True, method="L-BFGS-B", bounds=bounds, callback=callback, options=settings
        ).x
