"""How the linear ranker searches its weights: SEARCHES is the one table of its optimizers."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats, Integers
from luce.errors import DataError, LuceError, NumericalError
from luce.objectives import Draw, Objective
from luce.optimizers.coordinate_ascent import maximize
from luce.optimizers.gradient_descent import Arrays, Checkpointer, descend, like
from luce.optimizers.lbfgs import Function, minimize
from luce.optimizers.learning_curve import LearningCurve
from luce.rankers.linear_problem import LinearProblem, Parameters
from luce.rankers.ranker import Callback, TrainingData

logger = logging.getLogger(__name__)


@dataclass
class Task:
    """One fit of a linear ranker: what to learn from, with which settings, and who is told."""

    goal: Objective
    training: TrainingData
    curve: LearningCurve
    seed: int
    settings: dict[str, Any]
    rounds: int
    figure: Callable[[Parameters], float | None]
    callback: Callback | None

    def problem(self) -> LinearProblem:
        """The penalised loss of all lists."""
        draw, settings = Draw(self.seed), self.settings
        return LinearProblem(
            self.training.features, self.training.dataset, self.goal, draw, settings["reg_lambda"], settings["n_jobs"]
        )

    def watch(self, iteration: int, loss: float, parameters: Parameters) -> bool:
        """Take an iteration into the record; True when it is time to stop."""
        done = self.curve.add(iteration, loss, self.figure(parameters), parameters._asdict())
        self.tell(self.curve.history[-1])
        return done

    def tell(self, record: dict[str, float]) -> None:
        """Pass on how far it is."""
        logger.info("%s: %s", self.goal, record)
        if self.callback is not None:
            self.callback(record)


def by_lbfgs(task: Task, checkpointer: Checkpointer | None) -> None:
    """L-BFGS on the penalised loss of all lists, from weights of zero."""
    problem = task.problem()
    start = problem.start()
    function = problem.value_and_gradient
    if checkpointer is not None:
        function = _Recorded(function, checkpointer, len(start))
    minimize(
        function,
        start,
        max_iter=task.rounds,
        tol=task.settings["tol"],
        watch=lambda iteration, loss, point: task.watch(iteration, loss, problem.parameters(point)),
    )
    if isinstance(function, _Recorded):
        function.keep()


class _Recorded:
    """A function that keeps its values: a search that goes on walks the same way again without computing them."""

    def __init__(self, function: Function, checkpointer: Checkpointer, width: int):
        self.function, self.checkpointer, self.calls = function, checkpointer, 0
        self.gradients = _kept(checkpointer, "gradients", width)
        self.values = [float(value[0]) for value in _kept(checkpointer, "values", 1)][: len(self.gradients)]
        self.gradients = self.gradients[: len(self.values)]

    def __call__(self, point: Floats) -> tuple[float, Floats]:
        self.calls += 1
        if self.calls > len(self.values):
            value, gradient = self.function(point)
            self.values.append(value)
            self.gradients.append(gradient)
            if self.checkpointer.due(self.calls):
                self.keep()
        return self.values[self.calls - 1], self.gradients[self.calls - 1]

    def keep(self) -> None:
        self.checkpointer.save({}, {"values": np.array(self.values)[:, None], "gradients": np.array(self.gradients)})


def _kept(checkpointer: Checkpointer | None, name: str, width: int) -> list[Floats]:
    """The rows of an array in a checkpoint; none where there is no checkpoint."""
    kept = None if checkpointer is None else checkpointer.load()
    if kept is None:
        return []
    rows = kept[1].get(name, np.empty(0))
    whole = rows.dtype == np.float64 and rows.ndim == 2 and rows.shape[1] == width
    if not (whole and np.isfinite(rows).all()):
        raise DataError(f"The checkpoint does not hold what this training needs to go on: {name} of {width} numbers.")
    return list(rows)


def by_gradient_descent(task: Task, checkpointer: Checkpointer | None) -> None:
    """Steps against the gradient of the mean loss of a batch of lists, with ties shuffled and samples drawn anew."""
    settings = task.settings
    descend(
        _WeightsLearner(task),
        np.arange(task.training.dataset.n_lists),
        task.curve,
        epochs=task.rounds,
        batch_size=settings["batch_size"],
        seed=task.seed,
        checkpointer=checkpointer,
        callback=task.tell,
    )


class _WeightsLearner:
    """The parameters of a linear scorer as gradient descent sees them: one point."""

    def __init__(self, task: Task):
        self.task, self.problem, self.rate = task, task.problem(), task.settings["learning_rate"]
        self.point = self.problem.start()

    def step(self, lists: Integers, epoch: int, step: int) -> float:
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

    def _diverged(self, epoch: int, step: int) -> LuceError:
        return LuceError(
            f"The training diverges at iteration {epoch + 1}, step {step + 1}. Try a lower learning_rate than "
            f"{self.rate:g}, standardize the features, or raise reg_lambda."
        )

    def validation_score(self) -> float | None:
        return self.task.figure(self.problem.parameters(self.point))

    def parameters(self) -> Arrays:
        return self.problem.parameters(self.point)._asdict()

    def state(self) -> Arrays:
        return {"point": self.point}

    def restore(self, state: Arrays) -> None:
        self.point = like(self.state(), state)["point"]


def by_coordinate_ascent(task: Task, checkpointer: Checkpointer | None) -> None:
    """The metric itself maximised, one weight at a time, from equal weights and from random ones."""
    dataset, settings, problem = task.training.dataset, task.settings, task.problem()
    sign = -1 if task.curve.higher_is_better else 1
    task.curve.early_stopping_rounds = None  # a climb ends where nothing improves, and the next may lead elsewhere
    width = task.training.features.shape[1]
    rest = problem.start()[width:]

    walked = _kept(checkpointer, "walked", width)
    known = tuple(walked)

    def parameters(weights: Floats) -> Parameters:
        return problem.parameters(np.concatenate([weights, rest]))

    def watch(sweep: int, value: float, weights: Floats) -> bool:
        if sweep > len(walked):
            walked.append(weights)
            if checkpointer is not None and checkpointer.due(sweep):
                checkpointer.save({}, {"walked": np.array(walked)})
        return task.watch(sweep, sign * value, parameters(weights))

    best = maximize(
        task.training.features,
        dataset.labels,
        dataset.offsets,
        settings["metric"],
        np.full(width, 1 / max(width, 1)),
        restarts=settings["restarts"],
        max_sweeps=task.rounds,
        tol=settings["tol"],
        seed=task.seed,
        watch=watch,
        list_weights=dataset.list_weights,
        known=known,
        n_jobs=settings["n_jobs"],
    )
    if task.training.validation is None:
        task.curve.best_state = parameters(best)._asdict()


class Search(NamedTuple):
    """An optimizer of the linear ranker: what runs it, and the most rounds it takes if nothing else is said."""

    run: Callable[[Task, Checkpointer | None], None]
    rounds: int


SEARCHES = {
    "lbfgs": Search(by_lbfgs, 100),
    "gradient-descent": Search(by_gradient_descent, 1_000),
    "coordinate-ascent": Search(by_coordinate_ascent, 25),
}
