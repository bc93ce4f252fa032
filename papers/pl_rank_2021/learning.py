"""One training of the 2021 paper's network, one list per step, evaluated on held-out lists after every epoch.

Two hidden layers of 32 sigmoid units, plain gradient descent with learning rate 0.01. Figures 1 and 2 show the expected
DCG@5 of rankings drawn from the policy, with gains 2^y − 1; Figure 3 shows disparity, with exposures from 1,000
rankings. The objective of Figure 3 is disparity divided by 2/5 of its value under uniformly random rankings: with the
learning rate of the paper and weight 1 the network hardly changes in so few steps. That factor was chosen on held-out
lists in the shape of MSLR, so the disparity reached there is optimistic.
"""

import time
from collections.abc import Callable, Sequence
from functools import lru_cache
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
from papers.datasets import DatasetSpec

METHODS = {
    "LambdaLoss": "stochastic-lambdaloss",
    "policy gradient": "policy-gradient",
    "placement policy gradient": "pl-rank-1",
    "PL-Rank-1": "pl-rank-1",
    "PL-Rank-2": "pl-rank-2",
}
"""Objectives by the paper's names; two of these are one estimate, computed in two ways there and in one here."""
DISCOUNTS = 1 / np.log2(np.arange(2, 7))
INCREASING = "10 + 90 · epoch/40"
"""The number of samples in Figures 2 and 3 of the paper."""


class PreparedData(NamedTuple):
    """Training and test lists, with their features transformed for the network."""

    train: Dataset
    train_features: Floats
    test: Dataset
    test_features: Floats


class LearningCurve(NamedTuple):
    """The value of a metric before training and after each epoch, and the seconds of training until then."""

    seconds: list[float]
    values: list[float]


@lru_cache(maxsize=1)
def load(dataset: DatasetSpec) -> PreparedData:
    """The lists of a dataset, their features standardized on the training lists."""
    if dataset.shape is None:
        train, test = (dataset.read(part, sparse=False) for part in ("train", "test"))
    else:
        shape = dataset.shape
        train, test = (web_search(shape.train, shape.features, shape.documents, seed=seed).dataset for seed in (1, 2))
    chain = fit_transforms(["fill", "standardize"], train)
    features = [apply_transforms(chain, data.features, data.offsets) for data in (train, test)]
    return PreparedData(train, features[0], test, features[1])


def expected_dcg(scores: Floats, data: Dataset) -> float:
    """The expected DCG@5 of rankings drawn from the policy, averaged over lists."""
    exposures = exposure(scores, data.offsets, DISCOUNTS, samples=200, n_jobs=1).value
    return float(exposures @ (2**data.labels - 1)) / data.n_lists


def disparity(scores: Floats, data: Dataset) -> float:
    """The disparity of Eq. 29 with Eq. 30, averaged over lists."""
    return float(np.nanmean(measure(scores, data.labels, data.offsets, "disparity@5", n_jobs=1)["disparity@5"]))


def objective_for(method: str, samples: int | str, *, fair: Dataset | None = None) -> Objective:
    """The objective of a method, with a fixed number of samples or one that increases with the epochs as in the paper.

    With `fair` lists the objective is disparity, weighted by its initial value on them.
    """
    schedule = (10, 100, 40) if samples == INCREASING else samples
    if fair is not None:
        options = {"estimator": METHODS[method], "samples": schedule, "exposure_samples": 1_000}
        weight = 2.5 / disparity(np.zeros(fair.n_rows), fair)
        return objective("fair-policy", utility=f"-{weight:.2g}*disparity@5", **options)
    settings = {"truncation_level": None} if method == "LambdaLoss" else {"metric": "dcg@5"}
    return objective(METHODS[method], samples=schedule, **settings)


class Trainer:
    """A network and its objective, trained one epoch at a time."""

    def __init__(self, objective: Objective, data: PreparedData, seed: int):
        import torch

        from luce.rankers.neural.learner import NetworkLearner
        from luce.rankers.neural.network import Network

        torch.manual_seed(seed)
        self.data = data
        self.network = Network(data.train_features.shape[1], None, hidden_layer_sizes=(32, 32), activation="sigmoid")
        settings: dict[str, Any] = {
            "optimizer": "sgd",
            "learning_rate": 0.01,
            "weight_decay": 0.0,
            "seed": seed,
            "n_jobs": 1,
            "validation_score": lambda _: None,
        }
        self.learner = NetworkLearner(self.network, objective, data.train_features, data.train, **settings)
        self.lists = np.flatnonzero(objective.has_signal(data.train.labels, data.train.offsets))
        rows = data.train.rows(self.lists[0])
        objective.value_and_gradient(np.zeros(rows.stop - rows.start), data.train.labels[rows], n_jobs=1)  # compiles

    def epoch(self, number: int, lists: Integers) -> float:
        """Take one step for each of these lists, and return the seconds of CPU time."""
        start = time.process_time()
        for step, q in enumerate(lists):
            self.learner.step(np.array([q]), number, number * len(self.lists) + step)
        return time.process_time() - start

    def evaluate(self, metric: Callable[[Floats, Dataset], float]) -> float:
        """The metric of the test lists."""
        from luce.rankers.neural.learner import scores_of

        return metric(scores_of(self.network, self.data.test_features, self.data.test.offsets), self.data.test)


def learn(
    *,
    method: str,
    samples: int | str,
    fair: bool,
    seed: int,
    epochs: int,
    seconds: float,
    dataset: DatasetSpec,
) -> Sequence[Any]:
    """Train for at most `epochs` epochs and about `seconds` seconds (0: no limit), at least one epoch."""
    import torch

    from luce.rankers.neural.training import torch_settings

    data = load(dataset)
    with torch_settings(1, torch.device("cpu")):
        trainer = Trainer(objective_for(method, samples, fair=data.train if fair else None), data, seed)
        metric = disparity if fair else expected_dcg
        curve = LearningCurve([0.0], [trainer.evaluate(metric)])
        while len(curve.values) <= epochs and (not seconds or curve.seconds[-1] < seconds):
            epoch = len(curve.values) - 1
            order = np.random.default_rng((seed, epoch)).permutation(trainer.lists)
            curve.seconds.append(curve.seconds[-1] + trainer.epoch(epoch, order))
            curve.values.append(trainer.evaluate(metric))
    return curve


def step_seconds(*, method: str, samples: int, repeat: int, steps: int, dataset: DatasetSpec) -> float:
    """The mean CPU time of a step in seconds, after a few steps of warm-up (Table 1)."""
    import torch

    from luce.rankers.neural.training import torch_settings

    with torch_settings(1, torch.device("cpu")):
        trainer = Trainer(objective_for(method, samples), load(dataset), repeat)
        order = np.random.default_rng(repeat).permutation(trainer.lists)
        trainer.epoch(0, order[:3])
        timed = order[3 : 3 + steps]
        return trainer.epoch(1, timed) / len(timed)


def gradient_difference(dataset: DatasetSpec) -> float:
    """The largest difference between PL-Rank-1 and the placement policy gradient of Eq. 14 for the same rankings.

    It is relative to the largest entry of the gradient.
    """
    data, random = load(dataset).train, np.random.default_rng(0)
    ours, published = [], []
    for q in np.flatnonzero([np.ptp(data.labels[data.rows(q)]) > 0 for q in range(data.n_lists)])[:5]:
        gains = 2 ** data.labels[data.rows(q)] - 1
        scores, offsets = random.normal(size=len(gains)), np.array([0, len(gains)])
        rankings = sample_rankings(scores, offsets, samples=10, depth=len(DISCOUNTS), draw=Draw(q))
        estimate = expected_gain(scores, gains, offsets, DISCOUNTS, rankings=rankings, estimator="pl-rank-1")
        ours.append(estimate.gradient)
        published.append(placement_policy_gradient(scores, gains, DISCOUNTS[: rankings.shape[2]], rankings[0]))
    expected = np.concatenate(published)
    return float(np.abs(np.concatenate(ours) - expected).max() / np.abs(expected).max())
