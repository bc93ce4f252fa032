"""Trees as boosting sees them: scores, gradients and leaf values are ours, LightGBM grows the trees."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats, list_of_row
from luce.data import Dataset
from luce.errors import LuceError, NumericalError
from luce.kernels.leaf_sums import Leaves
from luce.objectives import Draw, Evaluation, Objective
from luce.optimizers.gradient_descent import Arrays
from luce.rankers.trees.engine import Engine, booster_of, predicted
from luce.rankers.trees.forest import Forest, Tree, constant_tree
from luce.rankers.trees.leaves import exact_curvature, monotone, newton_steps
from luce.rankers.trees.rows import add_values

NUDGE = 1e-4
"""A parameter learned beside the trees is moved by this much to see how its slope changes."""


class Plan(NamedTuple):
    """How to grow."""

    learning_rate: float
    exact: bool
    diagonal_splits: bool
    reg_lambda: float
    subsample: float
    resample_each_round: bool
    native: bool
    monotone: Floats | None
    seeded: tuple[str, ...]
    """Seeds of LightGBM to set anew in each round, so that a training can go on from any."""
    seed: int
    n_jobs: int


class Weights(NamedTuple):
    """Of each list, None if all are 1; of each row; and whether those are all 1."""

    lists: Floats | None
    rows: Floats
    equal: bool


class TreeLearner:
    """The scores of all rows, and the trees that gave them."""

    def __init__(
        self,
        engine: Engine,
        goal: Objective,
        dataset: Dataset,
        held_out: Dataset | None,
        plan: Plan,
        figure: Callable[[Floats], float],
        base: Forest | None,
    ):
        self.engine, self.goal, self.dataset, self.held_out, self.plan = engine, goal, dataset, held_out, plan
        self._figure, self.base_rounds = figure, 0 if base is None else base.rounds
        self.trees: list[Tree] = [] if base is None else list(base.trees)
        self.machines = engine.network.machines
        self.teaching = goal.has_signal(dataset.labels, dataset.offsets)
        self._number_lists()
        self.present = self.teaching[list_of_row(dataset.offsets)] & ~np.isnan(dataset.labels)
        self.groups = dataset.group_numbers()
        self.scores = [self._scores_of(part) for part in range(len(engine.rows))]
        if self.trees:
            self.engine = engine.starting_at(self.scores[0][0])
        self.nuisance = np.array([list(goal.nuisance.values())], dtype=np.float64)
        self.start = np.zeros(engine.outputs)
        self.bends = plan.diagonal_splits or not plan.exact  # is a second derivative of each row needed?
        self.whole = self._weighed(dataset.list_weights)
        self.evaluation = self._evaluate(0)
        absolute = goal.one_output_per_grade or not goal.shift_invariant
        if absolute and goal.curvature and not self.trees and not plan.native:
            self._begin()

    def forest(self, rounds: int) -> Forest:
        """The trees of the first rounds, after those it all began with; one of one leaf where there are none."""
        trees = self.trees[: (self.base_rounds + rounds) * self.engine.outputs]
        if not trees:
            trees = [constant_tree(value, self.n_rows) for value in self.start]
        return Forest(tuple(trees), self.engine.outputs, self.engine.infos)

    def grow(self, round_number: int) -> bool:
        weights = self._weights(round_number)
        slope, second = self._slopes(weights)
        splitting = second if second is not None and self.plan.diagonal_splits else _like(weights.rows, slope)
        seeds = {name: _seed(self.plan.seed, round_number, place) for place, name in enumerate(self.plan.seeded)}
        try:
            trees = self.engine.grow(slope, splitting, seeds)
        except FloatingPointError as error:  # LightGBM's gradients are float32
            raise self._diverged(round_number) from error
        if trees is None:
            return False
        leaves = self.engine.leaves(trees)
        held = self.engine.leaves(trees, 1) if self.held_out is not None else []
        for output, tree in enumerate(trees):
            if self.machines.size > 1:  # LightGBM knows them only about: it counts by second derivatives
                counts = self.machines.total(np.bincount(leaves[output], minlength=len(tree.values)).astype(np.float64))
                tree = tree.with_counts(counts.astype(np.int64))
            if not self.plan.native:
                own = [_of(values, output) for values in (slope, second) if values is not None]
                steps = self._steps(tree, leaves[output], own, weights.lists, round_number)
                tree = tree.with_values(self._values(steps, output), self.plan.learning_rate)
            self._take(tree, output, [leaves[output], *held[output : output + 1]])
        self._learn_nuisance(weights.lists)
        self.evaluation = self._evaluate(round_number + 1)
        return True

    def loss(self) -> float:
        weights = self.teaching if self.dataset.list_weights is None else self.teaching * self.dataset.list_weights
        total, count = self._total(weights @ self.evaluation.loss, self.teaching.sum())
        return float(total / max(count, 1))

    def validation_score(self) -> float | None:
        return None if self.held_out is None else self._figure(self._shaped(self.scores[1]))

    def state(self) -> Arrays:
        text = Forest(tuple(self.trees), self.engine.outputs, self.engine.infos).text() if self.trees else ""
        return {"model": np.frombuffer(text.encode(), dtype=np.uint8), "nuisance": self.nuisance}

    def restore(self, state: Arrays, rounds: int) -> None:
        model, nuisance = state["model"], state["nuisance"]
        if rounds == 0:
            return
        if model.dtype != np.uint8 or model.ndim != 1:
            raise ValueError("model must be text")
        forest = Forest.parse(model.tobytes().decode(), len(self.engine.infos), self.engine.outputs)
        if forest.rounds != self.base_rounds + rounds or forest.trees[: len(self.trees)] != tuple(self.trees):
            raise ValueError(f"model must hold the trees of {rounds} rounds")
        if nuisance.shape != (rounds + 1, len(self.goal.nuisance)) or not np.isfinite(nuisance).all():
            raise ValueError("nuisance must be finite numbers for each round")
        self.trees, self.nuisance, self.start = list(forest.trees), nuisance.astype(np.float64), self.start * 0
        self.scores = [self._scores_of(part) for part in range(len(self.engine.rows))]
        self.engine = self.engine.starting_at(self.scores[0][0])
        self.evaluation = self._evaluate(rounds)

    def _scores_of(self, part: int) -> Floats:
        """The scores (outputs, N) that the trees give; exactly the sums that growing them made."""
        if not self.trees:
            return np.zeros((self.engine.outputs, self.engine.rows[part].shape[0]))
        forest = Forest(tuple(self.trees), self.engine.outputs, self.engine.infos)
        found = predicted(booster_of(forest), self.engine.rows[part], self.plan.n_jobs)
        return np.ascontiguousarray(found.reshape(-1, self.engine.outputs).T)

    def _shaped(self, scores: Floats) -> Floats:
        return np.ascontiguousarray(scores.T) if self.goal.one_output_per_grade else scores[0]

    def _evaluate(self, round_number: int, nuisance: Floats | None = None) -> Evaluation:
        # The start is in no tree yet: the first one takes it into its leaves.
        scores = self._shaped(self.scores[0] + self.start[:, None] if self.start.any() else self.scores[0])
        try:
            return self.goal.value_and_gradient(
                scores,
                self.dataset.labels,
                self.dataset.offsets,
                item_weights=self.dataset.item_weights,
                nuisance=self.nuisance[-1] if nuisance is None else nuisance,
                draw=self._draw(round_number),
                curvature=self.goal.curvature and self.bends and not self.plan.native,
                n_jobs=self.plan.n_jobs,
                groups=self.groups,
            )
        except NumericalError as error:
            if not self.scores[0].any():
                raise
            raise self._diverged(round_number) from error

    def _diverged(self, round_number: int) -> LuceError:
        return LuceError(
            f"The scores grow beyond numbers at round {round_number}: the training diverges. Try a lower "
            f"learning_rate than {self.plan.learning_rate:g}, or a higher reg_lambda."
        )

    def _number_lists(self) -> None:
        """The lists of all machines have numbers in the order of ranks, so that shards draw as they would in one."""
        parts = [np.frombuffer(part, dtype=bool) for part in self.machines.gather(self.teaching.tobytes())]
        self.all_teaching, first = np.concatenate(parts), sum(map(len, parts[: self.machines.rank]))
        self.own_lists = slice(first, first + self.dataset.n_lists)
        self.n_rows = int(self._total(self.dataset.n_rows)[0])

    def _total(self, *values: Any) -> Floats:
        """Sums over all machines."""
        return self.machines.total(np.array(values, dtype=np.float64))

    def _draw(self, round_number: int) -> Draw:
        numbers = np.arange(self.own_lists.start, self.own_lists.stop)
        return Draw(self.plan.seed, round_number if self.plan.resample_each_round else 0, numbers)

    def _weights(self, round_number: int) -> Weights:
        """All lists, or those drawn for this round."""
        if self.plan.subsample == 1:
            return self.whole
        chosen = np.flatnonzero(self.all_teaching)
        rng = np.random.default_rng((self.plan.seed, round_number))
        count = max(1, round(self.plan.subsample * len(chosen)))
        everywhere = np.zeros(len(self.all_teaching))
        everywhere[rng.permutation(chosen)[:count]] = 1.0
        drawn = everywhere[self.own_lists]
        return self._weighed(drawn if self.dataset.list_weights is None else drawn * self.dataset.list_weights)

    def _weighed(self, lists: Floats | None) -> Weights:
        rows = self.present.astype(np.float64)
        if lists is not None:
            rows *= np.repeat(lists, self.dataset.sizes)
        return Weights(lists, rows, bool((rows == 1.0).all()))

    def _slopes(self, weights: Weights) -> tuple[Floats, Floats | None]:
        """Gradient, and second derivative if it is needed, weighted.

        Where an objective has none the size of the gradient stands for it: no step is longer than one then.
        """
        slope, second = self.evaluation.gradient, None
        if self.bends:
            second = np.abs(slope if self.evaluation.curvature is None else self.evaluation.curvature)
        if weights.equal:
            return slope, second
        rows = _like(weights.rows, slope)
        return slope * rows, None if second is None else second * rows

    def _steps(self, tree: Tree, leaves: Leaves, own: list[Floats], lists: Floats | None, round_number: int) -> Floats:
        """Newton's step of each leaf; own: the gradient of each row, and the second derivative where it is needed."""
        plan, n_leaves = self.plan, len(tree.values)
        sums = np.array([np.bincount(leaves, values, n_leaves).astype(np.float64) for values in own])
        slopes, *rest = self.machines.total(sums)
        if plan.exact:
            draw, scores = self._draw(round_number), self.scores[0][0]
            bends = exact_curvature(
                self.goal, scores, self.dataset, leaves, n_leaves, lists, draw, plan.n_jobs, self.machines
            )
        else:
            bends = rest[0]
        steps = newton_steps(slopes, bends, plan.reg_lambda)
        return steps if plan.monotone is None else monotone(tree, steps, bends, plan.monotone)

    def _values(self, steps: Floats, output: int) -> Floats:
        return self.plan.learning_rate * steps + self.start[output]

    def _take(self, tree: Tree, output: int, leaves: list[Leaves]) -> None:
        """The tree is ours from here on: its rows get what their leaves say."""
        self.trees.append(tree)
        for scores, leaf in zip(self.scores, leaves, strict=True):
            add_values(scores[output], leaf, tree.values, self.plan.n_jobs)
        self.start[output] = 0.0

    def _begin(self) -> None:
        """Begin at Newton's step of all rows together, where the objective knows more than differences of scores."""
        slope, second = (np.atleast_2d(_rows_last(values)) for values in self._slopes(self.whole))
        slopes, bends = self.machines.total(np.array([slope.sum(axis=1), second.sum(axis=1)]))
        self.start = newton_steps(slopes, bends, 0.0)
        self.evaluation = self._evaluate(0)

    def _learn_nuisance(self, lists: Floats | None) -> None:
        """One Newton step, at most 1 long, of each parameter that is learned beside the trees."""
        last = self.nuisance[-1].copy()
        weights = self.teaching if lists is None else lists
        for place in range(len(last)):
            nudged = last.copy()
            nudged[place] += NUDGE
            gradients: list[Any] = [self._evaluate(0, point).nuisance_gradient for point in (last, nudged)]
            here, there = self._total(*(weights @ gradient[:, place] for gradient in gradients))
            bend = (there - here) / NUDGE
            last[place] -= np.clip(here / bend if bend > 0 else np.sign(here), -1.0, 1.0)
        self.nuisance = np.vstack([self.nuisance, last])


def _of(values: Floats, output: int) -> Floats:
    return values[:, output] if values.ndim == 2 else values


def _rows_last(values: Floats | None) -> Floats:
    return np.asarray(values).T


def _like(rows: Floats, values: Floats) -> Floats:
    """One number a row, in the shape of one or several a row."""
    return np.broadcast_to(rows.reshape(-1, *[1] * (values.ndim - 1)), values.shape)


def _seed(seed: int, round_number: int, place: int) -> int:
    """A seed of 31 bits, as LightGBM takes them."""
    state: Any = np.random.SeedSequence((seed, round_number, place)).generate_state(1)
    return int(state[0] >> 1)
