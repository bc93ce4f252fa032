"""One score per item, learned from partitioned rankings: the model of the 2020 simulation."""

import time
from dataclasses import dataclass, field

import numpy as np

from luce.arrays import Floats, Integers, list_of_row, rows_of_lists
from luce.experiments.cost import forget_peak, peak_bytes, present_bytes
from luce.objectives import Objective, objective
from luce.optimizers.gradient_descent import Arrays, Learner, descend
from luce.optimizers.learning_curve import LearningCurve
from papers.partition_2020.rankings import PartitionedRankings, partitioned_rankings

ORACLE = "pl-topk"
"""It knows the order inside the top partitions."""

LEARNING_RATE, BATCH_SIZE, VALIDATION_SHARE = 0.1, 20, 0.2
"""Of AdaGrad; rankings per step; and the share of rankings held out for early stopping."""

MAX_STEPS, PATIENCE = 3_000, 200
"""The maximum number of steps, and the number of steps without improvement after which the training stops."""

TIMED_STEPS = 1_000


@dataclass
class FreeScores(Learner):
    """One score per item, trained by AdaGrad; the loss of the held-out rankings is the validation score."""

    objective: Objective
    rankings: PartitionedRankings
    held_out: Integers
    scores: Floats = field(init=False)
    squares: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.scores, self.squares = np.zeros(len(self.rankings.worths)), np.zeros(len(self.rankings.worths))

    def step(self, lists: Integers, epoch: float = 0.0, step: int = 0) -> float:
        loss, gradient = self._loss(lists)
        self.squares += gradient**2
        self.scores -= LEARNING_RATE * gradient / (np.sqrt(self.squares) + 1e-10)
        return loss

    def validation_score(self) -> float | None:
        batches = np.array_split(self.held_out, -(-len(self.held_out) // BATCH_SIZE))
        return sum(self._loss(batch)[0] * len(batch) for batch in batches) / len(self.held_out)

    def _loss(self, lists: Integers) -> tuple[float, Floats]:
        """The mean loss of some rankings, and its gradient with respect to the scores of the items."""
        n = len(self.scores)
        entries = rows_of_lists(self.rankings.offsets, lists)
        row = np.repeat(np.arange(len(lists)), np.diff(self.rankings.offsets)[lists])
        labels = np.zeros((len(lists), n))
        # The labels of the oracle decrease from item to item.
        positions = self.rankings.offsets[list_of_row(self.rankings.offsets)[entries] + 1] - entries
        labels[row, self.rankings.items[entries]] = (
            positions if self.objective.name == ORACLE else self.rankings.labels[entries]
        )
        evaluation = self.objective.value_and_gradient(
            np.tile(self.scores, len(lists)), labels.ravel(), np.arange(len(lists) + 1) * n, n_jobs=1
        )
        return float(evaluation.loss.mean()), evaluation.gradient.reshape(len(lists), n).mean(axis=0)

    def parameters(self) -> Arrays:
        return {"scores": self.scores.copy()}

    def state(self) -> Arrays:
        return self.parameters() | {"squares": self.squares.copy()}

    def restore(self, state: Arrays) -> None:
        self.scores, self.squares = state["scores"].copy(), state["squares"].copy()


def error(method: str, items: int, rankings: int, seed: int) -> dict[str, float]:
    """The mean squared error of the worths estimated with an objective, and the seconds of the training.

    >>> error("pl-partition", items=5, rankings=40, seed=0)["error"] < 0.01
    True
    """
    samples = partitioned_rankings(items, rankings, seed=seed)
    start = time.perf_counter()
    shuffled = np.random.default_rng(seed).permutation(rankings)
    held_out, lists = np.split(shuffled, [max(1, round(VALIDATION_SHARE * rankings))])
    learner = FreeScores(objective(method), samples, held_out)
    batches = -(-len(lists) // BATCH_SIZE)
    curve = LearningCurve(higher_is_better=False, early_stopping_rounds=max(2, PATIENCE // batches))
    descend(learner, lists, curve, epochs=max(1, MAX_STEPS // batches), batch_size=BATCH_SIZE, seed=seed)
    worths = np.exp(curve.best_state["scores"] - curve.best_state["scores"].max())
    squared_error = float(np.mean((worths / worths.sum() - samples.worths) ** 2))
    return {"error": squared_error, "seconds": time.perf_counter() - start}


def cost(method: str, items: int, limit: float) -> dict[str, float]:
    """A thousand times the median CPU seconds of a step, at most 1,000 in `limit` seconds, and what they allocate."""
    rankings = partitioned_rankings(items, 2 * BATCH_SIZE, seed=0)
    learner = FreeScores(objective(method), rankings, np.arange(BATCH_SIZE))
    small = FreeScores(objective(method), partitioned_rankings(10, 2 * BATCH_SIZE, seed=0), np.arange(BATCH_SIZE))
    small.step(np.arange(BATCH_SIZE))  # compiles
    forget_peak()
    before = present_bytes()
    learner.step(np.arange(BATCH_SIZE, 2 * BATCH_SIZE))
    times = [time.process_time()]
    while len(times) <= TIMED_STEPS and (len(times) < 2 or times[-1] - times[0] < limit):
        learner.step(np.arange(BATCH_SIZE, 2 * BATCH_SIZE))
        times.append(time.process_time())
    seconds = float(np.median(np.diff(times))) * TIMED_STEPS
    megabytes = (peak_bytes() - before) / 2**20
    return {"seconds": seconds, "megabytes": megabytes, "steps": len(times) - 1}
