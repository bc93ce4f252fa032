"""One score an item, learned from rankings that were cut into partitions: the learner of the 2020 simulation."""

import time
from dataclasses import dataclass, field

import numpy as np

from luce.arrays import Floats, Integers, list_of_row, rows_of_lists
from luce.experiments.cost import forget_peak, peak_bytes, present_bytes
from luce.objectives import Objective, objective
from luce.optimizers.gradient_descent import Arrays, descend
from luce.optimizers.learning_curve import LearningCurve
from papers.partition_2020.rankings import PartitionedRankings, partitioned_rankings

ORACLE = "pl-topk"
"""It is told the order inside the top partitions."""

RATE, BATCH, HELD_OUT = 0.1, 20, 0.2
"""AdaGrad's rate, the rankings of a step, and the share of them whose loss says when to stop."""

STEPS, PATIENCE = 3_000, 200
"""The most steps of a training, and for how many of them nothing may have become better."""

TIMED_STEPS = 1_000


@dataclass
class FreeScores:
    """One score an item, trained by AdaGrad on some of the rankings; the loss of the others is its figure."""

    goal: Objective
    made: PartitionedRankings
    held_out: Integers
    scores: Floats = field(init=False)
    squares: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.scores, self.squares = np.zeros(len(self.made.worths)), np.zeros(len(self.made.worths))

    def step(self, lists: Integers, epoch: int = 0, step: int = 0) -> float:
        loss, slope = self._loss(lists)
        self.squares += slope**2
        self.scores -= RATE * slope / (np.sqrt(self.squares) + 1e-10)
        return loss

    def validation_score(self) -> float | None:
        parts = np.array_split(self.held_out, -(-len(self.held_out) // BATCH))
        return sum(self._loss(part)[0] * len(part) for part in parts) / len(self.held_out)

    def _loss(self, lists: Integers) -> tuple[float, Floats]:
        """The mean loss of some rankings, and its slope in the scores of the items."""
        n = len(self.scores)
        entries = rows_of_lists(self.made.offsets, lists)
        row = np.repeat(np.arange(len(lists)), np.diff(self.made.offsets)[lists])
        labels = np.zeros((len(lists), n))
        # The oracle's labels fall from item to item.
        told = self.made.offsets[list_of_row(self.made.offsets)[entries] + 1] - entries
        labels[row, self.made.items[entries]] = told if self.goal.name == ORACLE else self.made.labels[entries]
        found = self.goal.value_and_gradient(
            np.tile(self.scores, len(lists)), labels.ravel(), np.arange(len(lists) + 1) * n, n_jobs=1
        )
        return float(found.loss.mean()), found.gradient.reshape(len(lists), n).mean(axis=0)

    def parameters(self) -> Arrays:
        return {"scores": self.scores.copy()}

    def state(self) -> Arrays:
        return self.parameters() | {"squares": self.squares.copy()}

    def restore(self, state: Arrays) -> None:
        self.scores, self.squares = state["scores"].copy(), state["squares"].copy()


def error(method: str, items: int, rankings: int, seed: int) -> dict[str, float]:
    """The mean squared error of the worths that an objective finds, and the seconds it took.

    >>> error("pl-partition", items=5, rankings=40, seed=0)["error"] < 0.01
    True
    """
    made = partitioned_rankings(items, rankings, seed=seed)
    start = time.perf_counter()
    shuffled = np.random.default_rng(seed).permutation(rankings)
    held_out, lists = np.split(shuffled, [max(1, round(HELD_OUT * rankings))])
    learner = FreeScores(objective(method), made, held_out)
    batches = -(-len(lists) // BATCH)
    curve = LearningCurve(higher_is_better=False, early_stopping_rounds=max(2, PATIENCE // batches))
    descend(learner, lists, curve, epochs=max(1, STEPS // batches), batch_size=BATCH, seed=seed)
    worths = np.exp(curve.best_state["scores"] - curve.best_state["scores"].max())
    found = float(np.mean((worths / worths.sum() - made.worths) ** 2))
    return {"error": found, "seconds": time.perf_counter() - start}


def cost(method: str, items: int, limit: float) -> dict[str, float]:
    """Seconds of 1,000 steps on one thread, from those that `limit` seconds allow, and the megabytes they added."""
    made = partitioned_rankings(items, 2 * BATCH, seed=0)
    learner = FreeScores(objective(method), made, np.arange(BATCH))
    few = FreeScores(objective(method), partitioned_rankings(10, 2 * BATCH, seed=0), np.arange(BATCH))
    few.step(np.arange(BATCH))  # compiles
    forget_peak()
    before = present_bytes()
    learner.step(np.arange(BATCH, 2 * BATCH))
    start, steps = time.perf_counter(), 0
    while steps < TIMED_STEPS and (steps < 1 or time.perf_counter() - start < limit):
        learner.step(np.arange(BATCH, 2 * BATCH))
        steps += 1
    seconds = (time.perf_counter() - start) / steps * TIMED_STEPS
    megabytes = (peak_bytes() - before) / 2**20
    return {"seconds": seconds, "megabytes": megabytes, "steps": steps}
