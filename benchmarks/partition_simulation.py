"""Free scores of items recovered from rankings cut into partitions, as in section 4.1 of the 2020 paper.

python benchmarks/partition_simulation.py --quick
python benchmarks/partition_simulation.py --items 10 100 1000 10000 --rankings 100 1000 10000 --seeds 5 --figure mse.svg
python benchmarks/partition_simulation.py --costs --items 1000 10000 100000 1000000 --figure costs.svg

Worths are softmax(q), q uniform on (0, log N); rankings are cut into four partitions, at most 500 items above the last.
Each objective trains N scores by AdaGrad of rate 0.1 on batches of 20 rankings; a fifth of the rankings is held out,
and their loss says when to stop. The error is the mean squared difference between softmax(scores) and the worths.
pl-topk is the oracle: it is told the order inside the top partitions. With --costs, seconds and memory of 1,000 steps.
"""

import argparse
import multiprocessing
import resource
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from luce.arrays import Integers, list_of_row, rows_of_lists
from luce.data.synthetic import PartitionedRankings, partitioned_rankings
from luce.objectives import Objective, objective
from luce.optimisers.convergence import Curve
from luce.optimisers.gradient_descent import Arrays, descend
from measuring import show_machine

OBJECTIVES = ("pl-partition", "pl-lb", "attrank", "ranknet", "ranksvm", "pl-topk")
ORACLE = "pl-topk"
RATE, BATCH, HELD_OUT = 0.1, 20, 0.2
STEPS, PATIENCE = 3_000, 200
"""The most steps of a training, and for how many of them nothing may have become better."""


@dataclass
class FreeScores:
    """One score an item, trained by AdaGrad on some of the rankings; the loss of the others is its figure."""

    goal: Objective
    made: PartitionedRankings
    held_out: Integers
    n_jobs: int | None = 1
    scores: np.ndarray = field(init=False)
    squares: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.scores, self.squares = np.zeros(len(self.made.worths)), np.zeros(len(self.made.worths))

    def step(self, lists: Integers, epoch: int = 0, step: int = 0) -> float:
        loss, slope = self._loss(lists)
        self.squares += slope**2
        self.scores -= RATE * slope / (np.sqrt(self.squares) + 1e-10)
        return loss

    def figure(self) -> float | None:
        parts = np.array_split(self.held_out, -(-len(self.held_out) // BATCH))
        return sum(self._loss(part)[0] * len(part) for part in parts) / len(self.held_out)

    def _loss(self, lists: Integers) -> tuple[float, np.ndarray]:
        """The mean loss of some rankings, and its slope in the scores of the items."""
        n = len(self.scores)
        entries = rows_of_lists(self.made.offsets, lists)
        sizes = np.diff(self.made.offsets)[lists]
        row = np.repeat(np.arange(len(lists)), sizes)
        labels = np.zeros((len(lists), n))
        # The oracle's labels fall from item to item.
        told = self.made.offsets[list_of_row(self.made.offsets)[entries] + 1] - entries
        labels[row, self.made.items[entries]] = told if self.goal.name == ORACLE else self.made.labels[entries]
        found = self.goal.value_and_gradient(
            np.tile(self.scores, len(lists)), labels.ravel(), np.arange(len(lists) + 1) * n, n_jobs=self.n_jobs
        )
        return float(found.loss.mean()), found.gradient.reshape(len(lists), n).mean(axis=0)

    def parameters(self) -> Arrays:
        return {"scores": self.scores.copy()}

    def state(self) -> Arrays:
        return self.parameters() | {"squares": self.squares.copy()}

    def restore(self, state: Arrays) -> None:
        self.scores, self.squares = state["scores"].copy(), state["squares"].copy()


def error(name: str, made: PartitionedRankings, seed: int, n_jobs: int | None = 1) -> float:
    """The mean squared error of the worths that an objective finds."""
    n = len(made.offsets) - 1
    shuffled = np.random.default_rng(seed).permutation(n)
    held_out, lists = np.split(shuffled, [max(1, round(HELD_OUT * n))])
    learner = FreeScores(objective(name), made, held_out, n_jobs)
    batches = -(-len(lists) // BATCH)
    curve = Curve(higher_is_better=False, patience=max(2, PATIENCE // batches))
    descend(learner, lists, curve, epochs=max(1, STEPS // batches), lists_per_batch=BATCH, seed=seed)
    worths = np.exp(curve.best_state["scores"] - curve.best_state["scores"].max())
    return float(np.mean((worths / worths.sum() - made.worths) ** 2))


def simulate(items: list[int], rankings: list[int], seeds: int, names: list[str], n_jobs: int) -> dict:
    """The errors, (seeds,) by (objective, N, n); every point is printed when it is there."""
    errors = {}
    for n_items in items:
        for n_rankings in rankings:
            made = [partitioned_rankings(n_items, n_rankings, seed=seed) for seed in range(seeds)]
            for name in names:
                start = time.perf_counter()
                found = np.array([error(name, one, seed, n_jobs) for seed, one in enumerate(made)])
                errors[name, n_items, n_rankings] = found
                deviation = found.std(ddof=1) / np.sqrt(seeds) if seeds > 1 else 0.0
                print(
                    f"N = {n_items:>6,}  n = {n_rankings:>6,}  {name:13}{found.mean():.3e} ± {deviation:.1e}"
                    f"   {(time.perf_counter() - start) / seeds:.1f} s a seed",
                    flush=True,
                )
    return errors


def verdicts(errors: dict) -> None:
    """Where pl-partition is not the best but for the oracle."""
    if not any(name == "pl-partition" for name, *_ in errors):
        return
    lost = []
    for (name, n_items, n_rankings), found in errors.items():
        ours = errors.get(("pl-partition", n_items, n_rankings))
        if ours is not None and name not in (ORACLE, "pl-partition") and found.mean() <= ours.mean():
            lost.append(f"N = {n_items:,}, n = {n_rankings:,}: {name} {found.mean():.3e}, ours {ours.mean():.3e}")
    print("pl-partition has the least error at every point." if not lost else "Not the least error at:")
    print("\n".join(lost))


def costs(items: list[int], names: list[str], n_jobs: int, limit: float) -> dict:
    """Seconds of 1,000 steps and megabytes, by (objective, N), each in a process of its own."""
    found = {}
    for n_items in items:
        for name in names:
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                seconds, memory, steps = pool.apply(cost, (name, n_items, n_jobs, limit))
            found[name, n_items] = seconds, memory
            print(f"N = {n_items:>9,}  {name:13}{seconds:>10.2f} s{memory:>8.0f} MB   ({steps} steps)", flush=True)
    return found


def cost(name: str, n_items: int, n_jobs: int, limit: float) -> tuple[float, float, int]:
    """Seconds of 1,000 steps, by those that `limit` seconds allow; megabytes that they added; how many steps ran."""
    made = partitioned_rankings(n_items, 40, seed=0)
    learner = FreeScores(objective(name), made, np.arange(20), n_jobs)
    small = partitioned_rankings(10, 40, seed=0)
    FreeScores(objective(name), small, np.arange(20), n_jobs).step(np.arange(20))  # compiles
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    learner.step(np.arange(20, 40))
    start, steps = time.perf_counter(), 0
    while steps < 1_000 and (steps < 1 or time.perf_counter() - start < limit):
        learner.step(np.arange(20, 40))
        steps += 1
    seconds = (time.perf_counter() - start) / steps * 1_000
    return seconds, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024, steps


def draw(path: Path, errors: dict, items: list[int], rankings: list[int], names: list[str]) -> None:
    """Errors against the number of rankings, one panel for each number of items, both axes logarithmic."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(items), figsize=(4 * len(items), 3.5), squeeze=False)
    for axis, n_items in zip(axes[0], items, strict=True):
        for name in names:
            found = [errors[name, n_items, n] for n in rankings]
            spread = [each.std() / np.sqrt(len(each)) for each in found]
            style = "--" if name == ORACLE else "-"
            axis.errorbar(rankings, [each.mean() for each in found], spread, label=name, linestyle=style, marker="o")
        axis.set(xscale="log", yscale="log", xlabel="rankings", title=f"{n_items:,} items")
    axes[0][0].set_ylabel("mean squared error")
    axes[0][-1].legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path)


def draw_costs(path: Path, found: dict, items: list[int], names: list[str]) -> None:
    """Seconds of 1,000 steps and megabytes against the number of items."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 4))
    for axis, what, title in zip(axes, range(2), ("seconds of 1,000 steps", "megabytes"), strict=True):
        for name in names:
            axis.plot(items, [found[name, n][what] for n in items], marker="o", label=name)
        axis.set(xscale="log", yscale="log", xlabel="items", ylabel=f"{title}, batches of 20")
    axes[0].legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, nargs="+", default=[10, 100, 1_000, 10_000])
    parser.add_argument("--rankings", type=int, nargs="+", default=[100, 1_000, 10_000])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--objectives", nargs="+", default=list(OBJECTIVES))
    parser.add_argument("--quick", action="store_true", help="10 and 100 items, 100 and 1,000 rankings, two seeds")
    parser.add_argument("--costs", action="store_true", help="seconds and memory instead of errors")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds to time an objective for")
    parser.add_argument("--figure", type=Path, help="file to draw to")
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    if given.quick:
        given.items, given.rankings, given.seeds = [10, 100], [100, 1_000], 2
    show_machine("numpy", "numba")
    if given.costs:
        found = costs(given.items, given.objectives, given.threads, given.limit)
        if given.figure:
            draw_costs(given.figure, found, given.items, given.objectives)
        return
    errors = simulate(given.items, given.rankings, given.seeds, given.objectives, given.threads)
    verdicts(errors)
    if given.figure:
        draw(given.figure, errors, given.items, given.rankings, given.objectives)


if __name__ == "__main__":
    main()
