"""How the weights of the linear ranker are found; OPTIMIZERS is the one table of its optimizers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats, Integers
from luce.errors import DataError, LuceError, NumericalError
from luce.objectives import Draw, Objective
from luce.optimizers.gradient_descent import Arrays, Checkpointer, Learner, descend, like
from luce.optimizers.lbfgs import Function, minimize
from luce.optimizers.learning_curve import LearningCurve
from luce.rankers.estimator import Callback
from luce.rankers.linear_problem import LinearProblem
from luce.rankers.training_data import TrainingData
from luce.scoring.models import Parameters


@dataclass
class LinearFit:
    """One fit of a linear ranker: its data, parameters, training curve and callback."""

    objective: Objective
    training: TrainingData
    curve: LearningCurve
    seed: int
    params: dict[str, Any]
    max_grade: float
    max_iter: int
    validation_score: Callable[[Parameters], float | None]
    callback: Callback

    def problem(self) -> LinearProblem:
        """The penalized loss of all lists."""
        reg_lambda, n_jobs = self.params["reg_lambda"], self.params["n_jobs"]
        given = self.training.features, self.training.dataset, self.objective, Draw(self.seed)
        return LinearProblem(*given, reg_lambda, n_jobs, max_grade=self.max_grade)

    def record(self, iteration: int, loss: float, parameters: Parameters) -> bool:
        """Add an iteration to the curve; True when it is time to stop."""
        done = self.curve.add(iteration, loss, self.validation_score(parameters), parameters._asdict())
        self.callback(self.curve.history[-1])
        return done


def run_lbfgs(fit: LinearFit, checkpointer: Checkpointer | None) -> None:
    """L-BFGS on the penalized loss of all lists, from weights of zero."""
    problem = fit.problem()
    start = problem.start()
    function = problem.value_and_gradient
    if checkpointer is not None:
        function = _Recorded(function, checkpointer, len(start))
    minimize(
        function,
        start,
        max_iter=fit.max_iter,
        tol=fit.params["tol"],
        watch=lambda iteration, loss, point: fit.record(iteration, loss, problem.parameters(point)),
    )
    if isinstance(function, _Recorded):
        function.save()


class _Recorded:
    """A function that records its values: a resumed search takes the same path without computing them again."""

    def __init__(self, function: Function, checkpointer: Checkpointer, width: int):
        self.function, self.checkpointer, self.calls = function, checkpointer, 0
        self.gradients = _saved_rows(checkpointer, "gradients", width)
        self.values = [float(value[0]) for value in _saved_rows(checkpointer, "values", 1)][: len(self.gradients)]
        self.gradients = self.gradients[: len(self.values)]

    def __call__(self, point: Floats) -> tuple[float, Floats]:
        self.calls += 1
        if self.calls > len(self.values):
            value, gradient = self.function(point)
            self.values.append(value)
            self.gradients.append(gradient)
            if self.checkpointer.due(self.calls):
                self.save()
        return self.values[self.calls - 1], self.gradients[self.calls - 1]

    def save(self) -> None:
        self.checkpointer.save({}, {"values": np.array(self.values)[:, None], "gradients": np.array(self.gradients)})


def _saved_rows(checkpointer: Checkpointer | None, name: str, width: int) -> list[Floats]:
    """The rows of an array in a checkpoint; none where there is no checkpoint."""
    saved = None if checkpointer is None else checkpointer.load()
    if saved is None:
        return []
    rows = saved[1].get(name, np.empty(0))
    fits = rows.dtype == np.float64 and rows.ndim == 2 and rows.shape[1] == width
    if not (fits and np.isfinite(rows).all()):
        raise DataError(f"The checkpoint lacks what is needed to resume: {name} of {width} numbers.")
    return list(rows)


def run_gradient_descent(fit: LinearFit, checkpointer: Checkpointer | None) -> None:
    """Steps against the gradient of the mean loss of a batch of lists, with ties shuffled and samples drawn anew."""
    learner = _WeightsLearner(fit)
    descend(
        learner,
        np.arange(learner.problem.n_lists),
        fit.curve,
        epochs=fit.max_iter,
        batch_size=fit.params["batch_size"],
        seed=fit.seed,
        checkpointer=checkpointer,
        callback=fit.callback,
    )


class _WeightsLearner(Learner):
    """The parameters of a linear scorer as gradient descent sees them: one vector."""

    def __init__(self, fit: LinearFit):
        self.fit, self.problem, self.rate = fit, fit.problem(), fit.params["learning_rate"]
        self.point = self.problem.start()

    def step(self, lists: Integers, epoch: float, step: int) -> float:
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                value, gradient = self.problem.of_lists(np.sort(lists), epoch).value_and_gradient(self.point)
        except NumericalError as error:
            if step == 0:
                raise
            raise self._diverged(epoch, step) from error
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            raise self._diverged(epoch, step)
        self.point = self.point - self.rate / len(lists) * gradient
        return value / len(lists)

    def _diverged(self, epoch: float, step: int) -> LuceError:
        return LuceError(
            f"Training diverges at iteration {int(epoch) + 1}, step {step + 1}. Try a learning_rate below "
            f"{self.rate:g}, standardize the features, or raise reg_lambda."
        )

    def validation_score(self) -> float | None:
        return self.fit.validation_score(self.problem.parameters(self.point))

    def parameters(self) -> Arrays:
        return self.problem.parameters(self.point)._asdict()

    def state(self) -> Arrays:
        return {"point": self.point}

    def restore(self, state: Arrays) -> None:
        self.point = like(self.state(), state)["point"]


def run_coordinate_ascent(fit: LinearFit, checkpointer: Checkpointer | None) -> None:
    """The metric itself maximized, one weight at a time, from equal weights and from random ones."""
    from luce.optimizers.coordinate_ascent import maximize  # with kernels that loading a model needs not wait for

    dataset, problem, curve = fit.training.dataset, fit.problem(), fit.curve
    sign = -1 if curve.higher_is_better else 1
    curve.early_stopping_rounds = None  # a climb ends where nothing improves, and the next may lead elsewhere
    width = fit.training.features.shape[1]
    rest = problem.start()[width:]
    sweeps = _saved_rows(checkpointer, "sweeps", width)
    known = tuple(sweeps)
    best: tuple[float, int, Any] = (np.inf, 0, None)

    def watch(sweep: int, value: float, weights: Floats) -> bool:
        nonlocal best
        if sweep > len(sweeps):
            sweeps.append(weights)
            if checkpointer is not None and checkpointer.due(sweep):
                checkpointer.save({}, {"sweeps": np.array(sweeps)})
        done = fit.record(sweep, sign * value, problem.parameters(np.concatenate([weights, rest])))
        if fit.training.validation is None:  # a later climb may end lower than an earlier one
            best = min(best, (sign * value, sweep, curve.best_state), key=lambda one: one[0])
            _, curve.best_iteration, curve.best_state = best
        return done

    maximize(
        fit.training.features,
        dataset.labels,
        dataset.offsets,
        fit.params["metric"],
        np.full(width, 1 / max(width, 1)),
        restarts=fit.params["restarts"],
        max_sweeps=fit.max_iter,
        tol=fit.params["tol"],
        seed=fit.seed,
        watch=watch,
        list_weights=dataset.list_weights,
        known=known,
        n_jobs=fit.params["n_jobs"],
    )
    if checkpointer is not None and len(sweeps) > len(known):
        checkpointer.save({}, {"sweeps": np.array(sweeps)})


class LinearOptimizer(NamedTuple):
    """An optimizer of the linear ranker: the function that runs it, and the default of `max_iter`."""

    run: Callable[[LinearFit, Checkpointer | None], None]
    max_iter: int


OPTIMIZERS = {
    "lbfgs": LinearOptimizer(run_lbfgs, 100),
    "gradient-descent": LinearOptimizer(run_gradient_descent, 1_000),
    "coordinate-ascent": LinearOptimizer(run_coordinate_ascent, 25),
}
