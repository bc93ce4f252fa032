"""L-BFGS for a smooth function of many numbers: SciPy's, with a word after each iteration and every value checked."""

from collections.abc import Callable
from typing import Any

import numpy as np

from luce.arrays import Floats
from luce.errors import LuceError, NumericalError
from luce.threads import one_blas_thread

Function = Callable[[Floats], tuple[float, Floats]]
Watcher = Callable[[int, float, Floats], bool]


def minimise(function: Function, start: Floats, *, max_iter: int, tol: float, watch: Watcher) -> Floats:
    """The point where `function` (value, gradient) stops falling by more than `tol`, relative to its value.

    `watch(iteration, value, point)` is called after each iteration and ends the search by returning True.

    >>> minimise(lambda x: (float((x - 3) @ (x - 3)), 2 * (x - 3)), np.zeros(2),
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
                f"The loss is {value} after {iteration} iterations: the search has left the numbers. "
                "Standardize the features, or raise reg_lambda."
            )
        return value, gradient

    def after(intermediate_result: Any) -> None:  # SciPy wants this name
        nonlocal iteration
        iteration += 1
        if watch(iteration, float(intermediate_result.fun), intermediate_result.x.copy()):
            raise StopIteration

    settings = {"maxiter": max_iter, "ftol": tol, "gtol": 0.0, "maxfun": 20 * max_iter}
    with one_blas_thread():
        return minimize(checked, start, jac=True, method="L-BFGS-B", callback=after, options=settings).x
