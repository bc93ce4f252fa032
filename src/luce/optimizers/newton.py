"""Newton's method for smooth functions, with a direct solver or conjugate gradients and a backtracking line search.

Unlike SciPy's Newton-CG it preconditions by the diagonal, and changes to the direct solver where that is cheaper.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from luce.arrays import Floats

logger = logging.getLogger(__name__)

Function = Callable[[Floats], tuple[float, Floats]]
Watcher = Callable[[int, float, float], None]

DAMPING = 1e-10
"""Share of the mean diagonal added to the Hessian, which makes steps along flat directions, such as a shift, 0."""

LONG_SEARCH = 60
"""After more conjugate gradient steps than this the direct solver takes over, where the matrix fits."""

LARGEST_MATRIX = 4_000
"""The largest number of parameters for which the Hessian is formed."""


class Hessian(Protocol):
    """The Hessian at a point: its product with a direction, its diagonal, or the matrix."""

    def product(self, direction: Floats) -> Floats: ...

    def diagonal(self) -> Floats: ...

    def matrix(self) -> Floats: ...


@runtime_checkable
class BorderedHessian(Protocol):
    """The Hessian of parameters of which the last, all but `size`, are eliminated.

    inner: the Schur complement for the others; `reduced(gradient)` is the gradient that it is solved for, and
    `whole_step(step, gradient)` adds the step of the eliminated ones to theirs.
    """

    @property
    def size(self) -> int: ...

    @property
    def inner(self) -> Hessian: ...

    def reduced(self, gradient: Floats) -> Floats: ...

    def whole_step(self, step: Floats, gradient: Floats) -> Floats: ...


@dataclass(frozen=True)
class Convergence:
    """How a search ended: whether the largest entry of the gradient fell to the tolerance, and the work done.

    >>> print(Convergence(True, 3e-9, 1e-8, 5, 4))
    converged after 5 iterations and 4 products: largest gradient 3.0e-09 (tolerance 1.0e-08)
    """

    converged: bool
    gradient: float
    tol: float
    iterations: int
    products: int = 0

    def __str__(self) -> str:
        work = f"{self.iterations} iterations" + (f" and {self.products} products" if self.products else "")
        end = f"largest gradient {self.gradient:.1e} (tolerance {self.tol:.1e})"
        return f"{'converged' if self.converged else 'NOT converged'} after {work}: {end}"


def minimize(
    function: Function,
    hessian: Callable[[Floats], Hessian | BorderedHessian],
    start: Floats,
    *,
    tol: float,
    max_iter: int,
    direct: bool,
    watch: Watcher | None = None,
) -> tuple[Floats, Convergence]:
    """Minimize a function until no entry of the gradient is larger than `tol`; returns the point and how it ended.

    `function` returns value and gradient, infinite outside its domain; `hessian(point)` the Hessian there. `direct`
    begins with the direct solver. `watch(iteration, value, largest gradient)` is called after every iteration.

    >>> class Bowl:
    ...     product = staticmethod(lambda direction: 2 * direction)
    ...     diagonal = staticmethod(lambda: np.full(2, 2.0))
    ...     matrix = staticmethod(lambda: 2 * np.eye(2))
    >>> point, end = minimize(lambda x: (float((x - 3) @ (x - 3)), 2 * (x - 3)), lambda x: Bowl, np.zeros(2),
    ...     tol=1e-9, max_iter=9, direct=True)
    >>> point.round(9), end.iterations
    (array([3., 3.]), 1)
    """
    point = start.copy()
    value, gradient = function(point)
    norm = first_norm = _largest(gradient)
    iterations = products = 0
    while norm > tol and iterations < max_iter:
        here = hessian(point)
        step, count = _newton_step(here, gradient, None if direct else _forcing(norm, first_norm, tol))
        size = here.size if isinstance(here, BorderedHessian) else len(point)
        direct = direct or (count > LONG_SEARCH and size <= LARGEST_MATRIX)
        products += count
        improved = _line_search(function, point, value, gradient, step)
        if improved is None:
            break
        iterations += 1
        point, value, gradient = improved
        norm = _largest(gradient)
        logger.debug("iteration %d: value %.10g, largest gradient %.2e", iterations, value, norm)
        if watch is not None:
            watch(iterations, value, norm)
    return point, Convergence(norm <= tol, norm, tol, iterations, products)


def _largest(gradient: Floats) -> float:
    return float(np.abs(gradient).max(initial=0.0))


def _forcing(norm: float, first_norm: float, tol: float) -> float:
    """The relative residual to solve for: smaller near the optimum, but no smaller than the tolerance asks for."""
    return max(min(0.1, norm / max(first_norm, 1e-300)), 0.1 * tol / norm, 1e-8)


def _newton_step(here: Hessian | BorderedHessian, gradient: Floats, forcing: float | None) -> tuple[Floats, int]:
    """The Newton step and the number of Hessian products; without `forcing` by the direct solver."""
    if isinstance(here, BorderedHessian):
        step, count = _newton_step(here.inner, here.reduced(gradient), forcing)
        return here.whole_step(step, gradient), count
    if forcing is None:
        return _direct(here.matrix(), gradient), 0
    return _conjugate_gradients(here, gradient, forcing)


def _direct(matrix: Floats, gradient: Floats) -> Floats:
    """The Newton step −H⁻¹ g; where H is not positive definite, with the absolute values of its eigenvalues."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

    scale = float(np.mean(np.abs(np.diagonal(matrix)))) or 1.0
    damped = matrix + DAMPING * scale * np.eye(len(matrix))
    try:
        return -cho_solve(cho_factor(damped, check_finite=False), gradient, check_finite=False)
    except LinAlgError:
        values, vectors = eigh(matrix)
        return -vectors @ ((vectors.T @ gradient) / np.maximum(np.abs(values), 1e-8 * scale))


def _conjugate_gradients(here: Hessian, gradient: Floats, forcing: float) -> tuple[Floats, int]:
    """The Newton step up to a residual of `forcing` times the gradient, and the number of Hessian products."""
    diagonal = here.diagonal()
    scale = np.maximum(diagonal, 1e-6 * float(np.abs(diagonal).max(initial=0.0)) or 1.0)
    step, residual = np.zeros(len(gradient)), -gradient
    search = scaled = residual / scale
    squared = first = float(residual @ scaled)
    for count in range(1, 20 * LONG_SEARCH):
        product = here.product(search)
        curvature = float(search @ product)
        if curvature <= 1e-14 * float(search @ (scale * search)):  # not convex here: the step so far is a descent
            return (step if count > 1 else search), count
        move = squared / curvature
        step = step + move * search
        residual = residual - move * product
        scaled = residual / scale
        before, squared = squared, float(residual @ scaled)
        if squared <= forcing**2 * first:
            return step, count
        search = scaled + (squared / before) * search
    return step, count


def _line_search(
    function: Function, point: Floats, value: float, gradient: Floats, step: Floats
) -> tuple[Floats, float, Floats] | None:
    """The first of step, step / 2, step / 4 … that lowers the value enough; None if none does.

    Near the optimum the change of the value is below its rounding error; there the derivative along the step must fall.
    """
    derivative = float(gradient @ step)
    if not derivative < 0.0:
        step, derivative = -gradient, -float(gradient @ gradient)
    rounding = 1e-13 * (1.0 + abs(value))
    length = 1.0
    for _ in range(60):
        there = point + length * step
        new_value, new_gradient = function(there)
        enough = new_value <= value + 1e-4 * length * derivative  # False for NaN and infinity
        level = abs(length * derivative) < rounding and abs(new_value - value) <= 10 * rounding
        if enough or (level and abs(float(new_gradient @ step)) < 0.9 * abs(derivative)):
            return there, new_value, new_gradient
        length *= 0.5
    return None
