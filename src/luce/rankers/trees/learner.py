"""Boosting with trees: LightGBM grows them; scores, gradients and leaf values are computed here."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats, list_of_row
from luce.data import Dataset
from luce.distributed import numbered, summed
from luce.errors import LuceError, NumericalError
from luce.kernels.leaf_sums import Leaves
from luce.lists import Lists
from luce.objectives import Draw, Evaluation, Objective
from luce.optimizers.gradient_descent import Arrays
from luce.rankers.trees.grower import TRAINING, VALIDATION, TreeGrower
from luce.rankers.trees.leaves import exact_hessian, exact_leaf_sums, monotone_values, newton_steps
from luce.rankers.trees.rows import add_values
from luce.scoring.forest import Forest, Tree, constant_tree

NUDGE = 1e-4
"""A parameter learned beside the trees is moved by this much to see how its gradient changes."""


class BoostingParams(NamedTuple):
    """The parameters of a ranker that decide on gradients and leaf values; those of LightGBM are the grower's."""

    learning_rate: float
    exact_leaves: bool
    """Whether the hessian of a leaf is that of all its items together, or the sum of its rows'."""
    split_by_hessian: bool
    reg_lambda: float
    subsample: float
    resample_each_round: bool
    builtin_objective: bool
    """Whether LightGBM computes the gradients and the values of leaves."""
    monotone_constraints: Floats | None
    seed_names: tuple[str, ...]
    """Seeds of LightGBM to set anew in each round, so that a training can go on from any."""
    seed: int
    n_jobs: int


class Weights(NamedTuple):
    """Of each list, None if all are 1; of each row; and whether those are all 1."""

    lists: Floats | None
    rows: Floats
    all_one: bool


class TreeLearner:
    """The scores of all rows, and the trees that gave them."""

    def __init__(
        self,
        grower: TreeGrower,
        objective: Objective,
        dataset: Dataset,
        has_signal: NDArray[np.bool_],
        params: BoostingParams,
        validation_score: Callable[[Floats], float] | None,
        init_forest: Forest | None,
        init_scores: list[Floats] | None = None,
    ):
        """has_signal: of each list, whether it has a gradient.
        init_scores: of the training and validation rows, what the trees are added to."""
        self.grower, self.objective, self.dataset, self.params = grower, objective, dataset, params
        self._validation_score = validation_score
        self.init_rounds = 0 if init_forest is None else init_forest.rounds
        self.trees: list[Tree] = [] if init_forest is None else list(init_forest.trees)
        self.has_signal, self.n_rows = has_signal, int(summed(dataset.n_rows))
        first, _ = numbered(dataset.n_lists)
        self.list_numbers = np.arange(first, first + dataset.n_lists)
        self.observed = self.has_signal[list_of_row(dataset.offsets)] & ~np.isnan(dataset.labels)
        self.init_scores = init_scores
        self.scores = self._predicted_scores()
        has_start = bool(self.trees or init_scores)
        if has_start:
            self.grower = grower.starting_at(self.scores[TRAINING][0])
        self.nuisance = np.array([list(objective.nuisance.values())], dtype=np.float64)
        self.init_score = np.zeros(grower.outputs)
        self.needs_hessian = params.split_by_hessian or not params.exact_leaves  # of each row
        self.all_weights = self._row_weights(dataset.list_weights)
        self.lists = objective.check(
            Lists(
                self._shaped(self.scores[TRAINING]),
                dataset.labels,
                dataset.offsets,
                dataset.item_weights,
                self.nuisance[-1],
                hessian=objective.hessian and self.needs_hessian and not params.builtin_objective,
                n_jobs=params.n_jobs,
                item_groups=dataset.item_group_numbers(),
            )
        )
        self.evaluation = self._evaluate(0)
        absolute = objective.one_output_per_grade or not objective.shift_invariant
        if absolute and objective.hessian and not has_start and not params.builtin_objective:
            self._set_init_score()

    def forest(self, rounds: int) -> Forest:
        """The trees of the first rounds, after those it all began with; one of one leaf where there are none."""
        trees = self.trees[: (self.init_rounds + rounds) * self.grower.outputs]
        if not trees:
            trees = [constant_tree(value, self.n_rows) for value in self.init_score]
        return self._forest(trees)

    def grow(self, round_number: int) -> bool:
        weights = self._weights(round_number)
        gradient, hessian = self._gradient_and_hessian(weights)
        split_hessian = _like(weights.rows, gradient)
        if hessian is not None and self.params.split_by_hessian:
            split_hessian = hessian
        seeds = {name: _seed(self.params.seed, round_number, i) for i, name in enumerate(self.params.seed_names)}
        try:
            trees = self.grower.grow(gradient, split_hessian, seeds)
        except FloatingPointError as error:  # LightGBM's gradients are float32
            raise self._diverged(round_number) from error
        if trees is None:
            return False
        leaves = [self.grower.leaves(trees, data) for data in range(len(self.scores))]
        for output, tree in enumerate(trees):
            own = leaves[TRAINING][output]
            if self.grower.network is not None:  # LightGBM only estimates them, from second derivatives
                counts = summed(np.bincount(own, minlength=len(tree.leaf_value)))
                tree = tree.with_leaf_counts(counts.astype(np.int64))
            if not self.params.builtin_objective:
                rows = [_of_output(values, output) for values in (gradient, hessian) if values is not None]
                steps = self._leaf_steps(tree, own, rows, weights.lists, round_number)
                values = self.params.learning_rate * steps + self.init_score[output]
                tree = tree.with_leaf_values(values, self.params.learning_rate)
            self._add_tree(tree, output, [each[output] for each in leaves])
        self._learn_nuisance(weights.lists)
        self.evaluation = self._evaluate(round_number + 1)
        return True

    def loss(self) -> float:
        weights = self.dataset.list_weights
        weights = self.has_signal if weights is None else self.has_signal * weights
        total, count = summed([weights @ self.evaluation.loss, self.has_signal.sum()])
        return float(total / max(count, 1))

    def validation_score(self) -> float | None:
        return None if self._validation_score is None else self._validation_score(self._shaped(self.scores[VALIDATION]))

    def state(self) -> Arrays:
        text = self._forest(self.trees).text() if self.trees else ""
        start = np.zeros(0) if self.init_scores is None else self.init_scores[TRAINING]
        return {"model": np.frombuffer(text.encode(), dtype=np.uint8), "nuisance": self.nuisance, "init_scores": start}

    def restore(self, state: Arrays, rounds: int) -> None:
        model, nuisance = state["model"], state["nuisance"]
        if not np.array_equal(state["init_scores"], self.state()["init_scores"]):
            raise ValueError("init_model gives other scores")
        if rounds == 0:
            return
        if model.dtype != np.uint8 or model.ndim != 1:
            raise ValueError("model must be text")
        forest = Forest.parse(model.tobytes().decode(), len(self.grower.feature_infos), self.grower.outputs)
        if forest.rounds != self.init_rounds + rounds or list(forest.trees[: len(self.trees)]) != self.trees:
            raise ValueError(f"model must contain the trees of {rounds} rounds")
        if nuisance.shape != (rounds + 1, len(self.objective.nuisance)) or not np.isfinite(nuisance).all():
            raise ValueError("nuisance must be finite numbers for each round")
        self.trees, self.nuisance = list(forest.trees), nuisance.astype(np.float64)
        self.init_score = np.zeros_like(self.init_score)
        self.scores = self._predicted_scores()
        self.grower = self.grower.starting_at(self.scores[TRAINING][0])
        self.evaluation = self._evaluate(rounds)

    def _forest(self, trees: list[Tree]) -> Forest:
        return Forest(tuple(trees), self.grower.outputs, self.grower.feature_infos)

    def _predicted_scores(self) -> list[Floats]:
        """The scores (outputs, N) of training and validation rows; exactly the sums that growing the trees made."""
        if self.init_scores is not None:
            return [
                self._add_trees(rows, start) for rows, start in zip(self.grower.features, self.init_scores, strict=True)
            ]
        if not self.trees:
            return [np.zeros((self.grower.outputs, rows.shape[0])) for rows in self.grower.features]
        forest = self._forest(self.trees)
        found = [forest.scores(rows, self.params.n_jobs) for rows in self.grower.features]
        return [np.ascontiguousarray(scores.reshape(-1, self.grower.outputs).T) for scores in found]

    def _add_trees(self, rows: Any, start: Floats) -> Floats:
        """The initial scores plus the trees, one after the other, in the order in which they were grown."""
        scores = np.array(start, dtype=np.float64)
        for tree in self.trees:
            scores += self._forest([tree]).scores(rows, self.params.n_jobs)
        return scores[None, :]

    def _shaped(self, scores: Floats) -> Floats:
        return np.ascontiguousarray(scores.T) if self.objective.one_output_per_grade else scores[0]

    def _evaluate(self, round_number: int, nuisance: Floats | None = None) -> Evaluation:
        # The initial score is in no tree yet: the first one takes it into its leaves.
        scores = self.scores[TRAINING]
        try:
            return self.objective.evaluate(
                self.lists._replace(
                    scores=self._shaped(scores + self.init_score[:, None] if self.init_score.any() else scores),
                    nuisance=self.nuisance[-1] if nuisance is None else nuisance,
                    draw=self._draw(round_number),
                )
            )
        except NumericalError as error:
            if not scores.any():
                raise
            raise self._diverged(round_number) from error

    def _diverged(self, round_number: int) -> LuceError:
        return LuceError(
            f"Training diverges: the scores are not finite at round {round_number}. Try a "
            f"learning_rate below {self.params.learning_rate:g}, or a higher reg_lambda."
        )

    def _draw(self, round_number: int) -> Draw:
        return Draw(self.params.seed, round_number if self.params.resample_each_round else 0, self.list_numbers)

    def _weights(self, round_number: int) -> Weights:
        """All lists, or those drawn for this round."""
        if self.params.subsample == 1:
            return self.all_weights
        candidates = np.flatnonzero(self.has_signal)
        first, total = numbered(len(candidates))
        rng = np.random.default_rng((self.params.seed, round_number))
        drawn = rng.permutation(total)[: max(1, round(self.params.subsample * total))] - first
        sampled = np.zeros(self.dataset.n_lists)
        sampled[candidates[drawn[(drawn >= 0) & (drawn < len(candidates))]]] = 1.0
        return self._row_weights(sampled if self.dataset.list_weights is None else sampled * self.dataset.list_weights)

    def _row_weights(self, lists: Floats | None) -> Weights:
        rows = self.observed.astype(np.float64)
        if lists is not None:
            rows *= np.repeat(lists, self.dataset.sizes)
        return Weights(lists, rows, bool((rows == 1.0).all()))

    def _gradient_and_hessian(self, weights: Weights) -> tuple[Floats, Floats | None]:
        """Gradient, and the diagonal of the hessian if it is needed, weighted.

        Where an objective has none the size of the gradient stands for it: no step is longer than one then.
        """
        gradient, hessian = self.evaluation.gradient, None
        if self.needs_hessian:
            hessian = np.abs(gradient if self.evaluation.hessian is None else self.evaluation.hessian)
        if weights.all_one:
            return gradient, hessian
        rows = _like(weights.rows, gradient)
        return gradient * rows, None if hessian is None else hessian * rows

    def _leaf_steps(
        self, tree: Tree, leaves: Leaves, rows: list[Floats], list_weights: Floats | None, round_number: int
    ) -> Floats:
        """Newton's step of each leaf; rows: the gradient of each row, and its hessian where it is needed."""
        params, n_leaves = self.params, len(tree.leaf_value)
        sums = np.array([np.bincount(leaves, values, n_leaves).astype(np.float64) for values in rows])
        gradient, *hessians = summed(sums)
        if params.exact_leaves:
            arguments = self.dataset, leaves, n_leaves, list_weights, self._draw(round_number), params.n_jobs
            own = exact_leaf_sums(self.objective, self.scores[TRAINING][0], *arguments)
            hessian = exact_hessian(summed(own))
        else:
            hessian = hessians[0]
        steps = newton_steps(gradient, hessian, params.reg_lambda)
        constraints = params.monotone_constraints
        return steps if constraints is None else monotone_values(tree, steps, hessian, constraints)

    def _add_tree(self, tree: Tree, output: int, leaves: list[Leaves]) -> None:
        """Training and validation rows get what their leaves say."""
        self.trees.append(tree)
        for scores, own in zip(self.scores, leaves, strict=True):
            add_values(scores[output], own, tree.leaf_value, self.params.n_jobs)
        self.init_score[output] = 0.0

    def _set_init_score(self) -> None:
        """Begin at Newton's step of all rows together, where the objective knows more than differences of scores."""
        rows = [np.atleast_2d(np.asarray(values).T) for values in self._gradient_and_hessian(self.all_weights)]
        gradient, hessian = summed([values.sum(axis=1) for values in rows])
        self.init_score = newton_steps(gradient, hessian, 0.0)
        self.evaluation = self._evaluate(0)

    def _learn_nuisance(self, list_weights: Floats | None) -> None:
        """One Newton step, at most 1 long, of each parameter that is learned beside the trees."""
        last = self.nuisance[-1].copy()
        weights = self.has_signal if list_weights is None else list_weights
        for place in range(len(last)):
            nudged = last.copy()
            nudged[place] += NUDGE
            gradients: list[Any] = [self._evaluate(0, point).nuisance_gradient for point in (last, nudged)]
            here, there = summed([weights @ gradient[:, place] for gradient in gradients])
            hessian = (there - here) / NUDGE
            last[place] -= np.clip(here / hessian if hessian > 0 else np.sign(here), -1.0, 1.0)
        self.nuisance = np.vstack([self.nuisance, last])


def _of_output(values: Floats, output: int) -> Floats:
    return values[:, output] if values.ndim == 2 else values


def _like(rows: Floats, values: Floats) -> Floats:
    """One number a row, in the shape of one or several a row."""
    return np.broadcast_to(rows.reshape(-1, *[1] * (values.ndim - 1)), values.shape)


def _seed(seed: int, round_number: int, place: int) -> int:
    """A seed of 31 bits, as LightGBM takes them."""
    state: Any = np.random.SeedSequence((seed, round_number, place)).generate_state(1)
    return int(state[0] >> 1)
