"""Which estimator learns the best policy, by epochs and by minutes, for relevance and for fairness of exposure?

python benchmarks/policy_learning.py --picture learning.svg
python benchmarks/policy_learning.py --data ../shared/data/mslr-sample --picture mslr.png

The experiments of the 2021 paper: a network with two hidden layers of 32 sigmoid units, plain gradient descent of rate
0.01, a list a step, DCG@5 with gains 2^y − 1 that rankings drawn from the policy have on average on held-out lists.
Figure 1: 10 and 100 samples, by epochs. Figure 2: the paper's 10 + 90 · epoch/40 samples, by minutes of processor time,
measuring left out. Figure 3: disparity, exposures from 1,000 rankings, by minutes. Its goal is −200 times disparity: at
the paper's rate and weight 1 nothing moves in so few steps. That weight was chosen by looking at the held-out lists of
Figure 3 for PL-Rank-2 (100 and 300 learn too, 300 and 1,000 overfit), so how low disparity gets there is flattered.
The placement policy gradient is PL-Rank-1 number by number and PL-Rank-3 is PL-Rank-2, at the same cost here, so each
pair is run once. LambdaLoss cannot aim at a function of exposures, and has no part in Figure 3.
"""

import argparse
import multiprocessing
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from luce.data import Dataset, read
from luce.data.features import apply_transforms, fit_transforms
from luce.data.synthetic import web_search
from luce.kernels.exposure import exposure
from luce.metrics import measure, paired_t_test
from luce.objectives import Objective, objective
from luce.rankers.neural.learner import NetworkLearner, scores_of
from luce.rankers.neural.network import Network
from luce.threads import thread_count
from measuring import show_machine

DISCOUNTS = 1 / np.log2(np.arange(2, 7))
SCHEDULE = (10, 100, 40)
METHODS = {
    "LambdaLoss": "stochastic-lambdaloss",
    "policy gradient": "policy-gradient",
    "placement / PL-Rank-1": "pl-rank-1",
    "PL-Rank-2 and 3": "pl-rank-2",
}
FAIR = {name: method for name, method in METHODS.items() if name != "LambdaLoss"}
BEST = "PL-Rank-2 and 3"
COLOURS = dict(zip(METHODS, ("#999999", "#d55e00", "#56b4e9", "#0072b2"), strict=True))


class Task(NamedTuple):
    """Lists to learn from and lists to measure on, features ready for the network."""

    train: Dataset
    features: np.ndarray
    test: Dataset
    held_out: np.ndarray


class Curve(NamedTuple):
    """What was measured after each epoch, the first before any, and the seconds of training until then."""

    seconds: np.ndarray
    values: np.ndarray


def made() -> tuple[Dataset, Dataset]:
    return tuple(web_search(n, 136, 120, seed=seed).dataset for n, seed in ((120, 1), (120, 2)))  # type: ignore


def ready(folder: Path | None) -> Task:
    """The data with their features standardised; kept for the runs of this process."""
    torch.set_num_threads(1)
    train, test = made() if folder is None else (read(folder / f"{part}.txt") for part in ("train", "test"))
    chain = fit_transforms(["fill", "standardise"], train)
    features = [apply_transforms(chain, data.features, data.offsets) for data in (train, test)]
    ready.task = Task(train, features[0], test, features[1])  # type: ignore[attr-defined]
    return ready.task  # type: ignore[attr-defined]


def expected_dcg(scores: np.ndarray, data: Dataset) -> float:
    seen = exposure(scores, data.offsets, DISCOUNTS, samples=200, n_jobs=1).value
    return float(seen @ (2**data.labels - 1)) / data.n_lists


def disparity(scores: np.ndarray, data: Dataset) -> float:
    return float(np.nanmean(measure(scores, data.labels, data.offsets, "disparity@5", n_jobs=1)["disparity@5"]))


def relevance(method: str, samples: Any) -> Objective:
    settings = {} if method == "stochastic-lambdaloss" else {"metric": "dcg@5"}
    return objective(method, samples=samples, **settings)


def fairness(method: str, samples: Any) -> Objective:
    options = {"estimator": method, "samples": samples, "exposure_samples": 1_000}
    return objective("fair-policy", goal="-200*disparity@5", **options)


DISPARITY = "Figure 3, disparity"
FIGURES: dict[str, tuple[Callable, Any, Callable]] = {
    "Figure 1, 10 samples": (relevance, 10, expected_dcg),
    "Figure 1, 100 samples": (relevance, 100, expected_dcg),
    "Figure 2, 10 + 90 · epoch/40 samples": (relevance, SCHEDULE, expected_dcg),
    DISPARITY: (fairness, SCHEDULE, disparity),
}
FIGURES_BY_EPOCH = list(FIGURES)[:2]


def learn(figure: str, method: str, seed: int, epochs: int, seconds: float) -> Curve:
    """Train until the epochs or the seconds are over, measuring counted in; at least one epoch."""
    goal_of, samples, measured = FIGURES[figure]
    goal, task = goal_of(method, samples), ready.task
    torch.manual_seed(seed)
    network = Network(task.features.shape[1], None, hidden=(32, 32), activation="sigmoid")
    settings: dict[str, Any] = {"optimiser": "sgd", "learning_rate": 0.01, "l2": 0.0, "seed": seed, "n_jobs": 1}
    learner = NetworkLearner(network, goal, task.features, task.train, figure=lambda _: None, **settings)
    lists = np.flatnonzero(goal.informative(task.train.labels, task.train.offsets))

    def now() -> float:
        return measured(scores_of(network, task.held_out, task.test.offsets), task.test)

    rows = task.train.rows(lists[0])
    goal.value_and_gradient(np.zeros(rows.stop - rows.start), task.train.labels[rows])  # compiles
    begun, spent, times, values = time.process_time(), 0.0, [0.0], [now()]
    while len(values) <= epochs and (time.process_time() - begun < seconds or len(values) == 1):
        epoch = len(values) - 1
        order = np.random.default_rng((seed, epoch)).permutation(lists)
        start = time.process_time()
        for step, q in enumerate(order):
            learner.step(np.array([q]), epoch, epoch * len(order) + step)
        spent += time.process_time() - start
        times.append(spent)
        values.append(now())
    return Curve(np.array(times), np.array(values))


def runs(pool: ProcessPoolExecutor, figure: str, options: argparse.Namespace, share: float) -> dict[str, list[Curve]]:
    """Curves of each method, one a seed."""
    found = {}
    for name, method in (FAIR if figure == DISPARITY else METHODS).items():
        epochs = options.epochs if figure in FIGURES_BY_EPOCH else 10**9
        waiting = [pool.submit(learn, figure, method, seed, epochs, share) for seed in range(options.seeds)]
        found[name] = [each.result() for each in waiting]
        last = [curve.values[-1] for curve in found[name]]
        lengths = np.array([len(curve.values) - 1 for curve in found[name]])
        rate = np.mean([curve.seconds[-1] for curve in found[name]] / lengths)
        spread = np.std(last, ddof=1) if len(last) > 1 else np.nan
        print(
            f"  {name:24}{np.mean(last):10.5f} ± {spread:.5f}{lengths.mean():8.0f} epochs of {rate:.2f} s", flush=True
        )
    return found


def by_epoch(curves: list[Curve], others: Sequence[Curve] = ()) -> tuple[np.ndarray, np.ndarray]:
    """Epochs, as far as all curves go, and the values (seeds, epochs)."""
    length = min(len(curve.values) for curve in [*curves, *others])
    return np.arange(length), np.array([curve.values[:length] for curve in curves])


def by_minute(curves: list[Curve], others: Sequence[Curve] = ()) -> tuple[np.ndarray, np.ndarray]:
    """The same in minutes of training."""
    times = np.linspace(0, min(curve.seconds[-1] for curve in [*curves, *others]), 60)
    return times / 60, np.array([np.interp(times, curve.seconds, curve.values) for curve in curves])


def compare(found: dict[str, list[Curve]], axis: Callable, sign: int, words: str) -> None:
    """How the best method of the paper does beside each other, as far as both go; paired by seed."""
    for name, curves in found.items():
        if name != BEST:
            ours, theirs = axis(found[BEST], curves)[1], axis(curves, found[BEST])[1]
            end, way = sign * (ours[:, -1] - theirs[:, -1]), sign * (ours - theirs).mean(axis=1)
            tests = [paired_t_test(each, np.zeros(len(each))).p_value for each in (end, way)]
            figures = (
                f"{end.mean():+.4f} at the end (p {tests[0]:.3f}), {way.mean():+.4f} on the way (p {tests[1]:.3f})"
            )
            print(f"  {words}: {BEST} over {name}: {figures}")


def draw(path: Path, panels: list[tuple[str, dict[str, list[Curve]]]], title: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 7.5), layout="constrained")
    figure.suptitle(title)
    for axes, (name, found) in zip(figure.subplots(2, 2).flat, panels, strict=True):
        along, axis = ("epochs", by_epoch) if name in FIGURES_BY_EPOCH else ("minutes", by_minute)
        for method, curves in found.items():
            x, values = axis(curves)
            error = values.std(axis=0) / np.sqrt(len(values))
            axes.plot(x, values.mean(axis=0), color=COLOURS[method], label=method)
            axes.fill_between(x, *(values.mean(axis=0) + s * error for s in (-1, 1)), color=COLOURS[method], alpha=0.2)
        axes.set(title=name, xlabel=along, ylabel="disparity@5" if name == DISPARITY else "expected DCG@5")
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=120)
    print(f"picture: {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, help="folder with train.txt and test.txt; made data of MSLR's shape if none"
    )
    parser.add_argument("--seeds", type=int, default=5, help="trainings of each method (default 5)")
    parser.add_argument("--epochs", type=int, default=60, help="at most, in Figure 1 (default 60)")
    parser.add_argument("--minutes", type=float, default=6.0, help="to take in all, about (default 6)")
    parser.add_argument("--picture", type=Path, help="file to draw the curves to, .svg or .png")
    options = parser.parse_args()
    show_machine("luce", "numpy", "numba", "torch")
    task, cores = ready(options.data), thread_count(-1)
    share = 60 * options.minutes * cores / (options.seeds * (3 * len(METHODS) + len(FAIR)))
    name = "made data" if options.data is None else options.data.name
    print(f"{name}: {task.train!r}, {task.test!r}; {options.seeds} seeds, up to {share:.1f} s a run, {cores} at a time")
    found = {}
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(cores, mp_context=spawn, initializer=ready, initargs=(options.data,)) as pool:
        for figure in FIGURES:
            print(f"{figure}: mean over seeds ± their deviation at the end")
            found[figure] = runs(pool, figure, options, share)
    ten, hundred, minutes, unfair = found.values()
    compare(ten, by_epoch, 1, "RQ1, 10 samples, equal epochs")
    compare(hundred, by_epoch, 1, "RQ1, 100 samples, equal epochs")
    compare(minutes, by_minute, 1, "RQ2, equal minutes")
    compare(unfair, by_minute, -1, "RQ3, disparity, equal minutes")
    start, end = (np.mean([curve.values[at] for curve in unfair[BEST]]) for at in (0, -1))
    print(f"  RQ3: disparity from {start:.5f} to {end:.5f} by {BEST}")
    if options.picture is not None:
        draw(options.picture, list(found.items()), f"{name}, mean of {options.seeds} seeds with standard errors")


if __name__ == "__main__":
    main()
