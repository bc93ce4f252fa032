"""Does a network train long enough on few lists: the new default against the old one, on 30, 300 and 3,000 lists?

Synthetic web search, four lists in five for training and one for validation; NDCG@10 on 500 other lists. "old" is the
former default: listmle, batches of 64 lists, a validation after each pass, at most 100 passes, and a stop after 10
without improvement. "new" is `NeuralRanker()`. The curves are trainings of so many steps, without validation. ± is the
standard error over seeds, each with lists and initial weights of its own.

    python benchmarks/training_length.py --jobs 2 --plot training_length.png    # five seeds
    python benchmarks/training_length.py --quick                                # 30 lists, two seeds, 100 steps
"""

import argparse
import math
import time
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np

from luce.data import Dataset, split
from luce.data.synthetic import web_search
from luce.rankers import NeuralRanker
from measuring import show_machine

SIZES, STEPS, SEEDS = (30, 300, 3_000), (10, 30, 100, 300, 1_000, 3_000), 5
TEST_LISTS, TEST_SEED = 500, 1_000
SYSTEMS = ("old", "new")


class Training(NamedTuple):
    """The NDCG@10 of the test lists, and what the training took."""

    ndcg: float
    steps: int
    seconds: float


def ranker_of(system: str, n_lists: int, seed: int) -> NeuralRanker:
    common = {"device": "cpu", "random_state": seed, "n_jobs": 1}
    if system == "new":
        return NeuralRanker(**common)
    one_pass = math.ceil(n_lists / 64)
    former = {"transforms": ("fill", "standardize"), "batch_size": 64, "epochs": 100, "early_stopping_rounds": 10}
    return NeuralRanker("listmle", steps_per_epoch=one_pass, **former, **common)


def train(system: str, lists: Dataset, test: Dataset, seed: int) -> Training:
    """One training with validation and early stopping."""
    part, validation = split(lists, (0.8, 0.2), seed)
    ranker = ranker_of(system, part.n_lists, seed)
    start = time.process_time()
    ranker.fit(part, validation=validation)
    seconds = time.process_time() - start
    return Training(ranker.score(test), len(ranker.history_) * ranker.get_steps_per_epoch(part.n_lists), seconds)


def curve(system: str, lists: Dataset, test: Dataset, seed: int, steps: tuple[int, ...]) -> list[float]:
    """The NDCG@10 after so many steps on the training lists, each a training of its own."""
    part, _ = split(lists, (0.8, 0.2), seed)
    ranker = ranker_of(system, part.n_lists, seed).set_params(epochs=1, validation_fraction=None)
    return [ranker.set_params(steps_per_epoch=count).fit(part).score(test) for count in steps]


def mean_and_error(values: np.ndarray) -> str:
    return f"{values.mean():.4f} ± {values.std(ddof=1) / math.sqrt(len(values)):.4f}"


def show_trainings(size: int, trainings: dict[str, list[Training]]) -> None:
    found = {system: np.array([one.ndcg for one in each]) for system, each in trainings.items()}
    for system, each in trainings.items():
        steps, seconds = (np.mean([one[place] for one in each]) for place in (1, 2))
        print(f"{size:>6,}  {system:18} {mean_and_error(found[system])} {steps:8,.0f} {seconds:8.1f}")
    print(f"{size:>6,}  {'new − old':18} {mean_and_error(found['new'] - found['old'])}")


def show_curves(curves: dict[tuple[int, str], np.ndarray], steps: tuple[int, ...]) -> None:
    print("\nNDCG@10 after so many steps\n steps", *(f"{size:>9,} {system:8}" for size, system in curves))
    for place, count in enumerate(steps):
        print(f"{count:6,}", *(f"{mean_and_error(values[:, place]):>18}" for values in curves.values()))


def plot(curves: dict[tuple[int, str], np.ndarray], steps: tuple[int, ...], path: Path) -> None:
    from matplotlib.figure import Figure

    sizes = list(dict.fromkeys(size for size, _ in curves))
    figure = Figure(figsize=(4 * len(sizes), 3.5), layout="constrained")
    panels = figure.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
    for axes, size in zip(panels, sizes, strict=True):
        for system, style in zip(SYSTEMS, ("o--", "s-"), strict=True):
            values = curves[size, system]
            error = values.std(axis=0, ddof=1) / math.sqrt(len(values))
            axes.errorbar(steps, values.mean(axis=0), error, fmt=style, markersize=4, label=system)
        axes.set(xscale="log", xlabel="steps", title=f"{size:,} lists")
    panels[0].set_ylabel("NDCG@10")
    panels[0].legend(frameon=False)
    figure.savefig(path, dpi=150)


def measure(task: tuple[int, int, tuple[int, ...]]) -> tuple[dict[str, Training], dict[str, list[float]]]:
    """The trainings and the curves of both systems, for one number of lists and one seed."""
    size, seed, steps = task
    test, lists = web_search(TEST_LISTS, seed=TEST_SEED).dataset, web_search(size, seed=seed).dataset
    for name in SYSTEMS:
        curve(name, test, test, seed=0, steps=(1,))  # compiles
    trainings = {name: train(name, lists, test, seed) for name in SYSTEMS}
    return trainings, {name: curve(name, lists, test, seed, steps) for name in SYSTEMS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--jobs", type=int, default=1, help="Processes.")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="Draw the curves in a PNG file.")
    arguments = parser.parse_args()
    sizes, seeds = (SIZES[:1], 2) if arguments.quick else (SIZES, SEEDS)
    steps = STEPS[:3] if arguments.quick else STEPS
    show_machine("luce", "torch", "numpy", "numba")
    print(f"new: {NeuralRanker()!r}\n\n lists  training           NDCG@10            steps    CPU s")
    tasks = [(size, seed, steps) for size in reversed(sizes) for seed in range(seeds)]  # the longest first
    with get_context("spawn").Pool(arguments.jobs) as pool:
        found = dict(zip(tasks, pool.map(measure, tasks, chunksize=1), strict=True))
    curves = {}
    for size in sizes:
        own = [found[size, seed, steps] for seed in range(seeds)]
        show_trainings(size, {name: [trainings[name] for trainings, _ in own] for name in SYSTEMS})
        curves |= {(size, name): np.array([each[name] for _, each in own]) for name in SYSTEMS}
    show_curves(curves, steps)
    if arguments.plot is not None:
        plot(curves, steps, arguments.plot)


if __name__ == "__main__":
    main()
