"""One training of the 2021 paper's network, one list per step, evaluated when it reaches given epochs or seconds.

Two hidden layers of 32 sigmoid units and plain gradient descent. Figures 1 and 2 show the expected DCG@5 of rankings
drawn from the policy, with gains 2^y − 1; Figure 3 shows disparity, with exposures from 1,000 rankings.
"""

import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats, Integers
from luce.data import Dataset, split
from luce.data.synthetic import web_search
from luce.data.transforms import apply_transforms, fit_transforms
from luce.kernels.expected_gain import expected_gain
from luce.kernels.expected_gain.reference import placement_policy_gradient
from luce.kernels.exposure import exposure
from luce.kernels.sampled_rankings import sample_rankings
from luce.lists import Evaluation, Lists
from luce.metrics import measure
from luce.objectives import Draw, Objective, objective, record
from papers.datasets import DATASETS, DatasetSpec
from papers.pl_rank_2021.formulations import as_published

PL_RANK_2, PL_RANK_1, POLICY_GRADIENT, LAMBDALOSS = "PL-Rank-2", "PL-Rank-1", "policy gradient", "LambdaLoss"
METHODS = (LAMBDALOSS, POLICY_GRADIENT, "placement policy gradient", PL_RANK_1, PL_RANK_2)
"""The paper's; the placement policy gradient is the estimate of PL-Rank-1, and is not trained again."""

TURNED, WHOLE, NORMALIZED = "LambdaLoss, turned sign", "LambdaLoss, DCG", "LambdaLoss, NDCG"
"""LambdaLoss as in the authors' code of 2021, with σ(s_i − s_j) for σ(s_j − s_i); and of other metrics than DCG@5."""

ESTIMATORS = {POLICY_GRADIENT: "policy-gradient", PL_RANK_1: "pl-rank-1", PL_RANK_2: "pl-rank-2"}
METRICS = {LAMBDALOSS: "dcg@5", WHOLE: "dcg", NORMALIZED: "ndcg"}
DISCOUNTS = 1 / np.log2(np.arange(2, 7))
INCREASING = "10 + 90 · epoch/40"
"""The number of samples in Figures 2 and 3 of the paper, which grows at every step."""


class PreparedData(NamedTuple):
    """Training, validation and test lists, with their features transformed for the network."""

    train: Dataset
    train_features: Floats
    held_out: dict[str, tuple[Dataset, Floats]]


class LearningCurve(NamedTuple):
    """Epochs and CPU seconds of training at each evaluation, the first before it, and the values on held-out lists."""

    epochs: list[float]
    seconds: list[float]
    validation: list[float]
    test: list[float]


@lru_cache(maxsize=2)
def load(dataset: DatasetSpec, size: int, seed: int) -> PreparedData:
    """So many training lists (0: all), their features standardized on them; the seed draws lists, or is a fold."""
    if (shape := dataset.shape) is None:
        fold = seed % DATASETS[dataset.name].folds + 1
        train, test = (dataset.read(part, fold, sparse=False) for part in ("train", "test"))
        if "validation" in DATASETS[dataset.name].layouts[0].files or DATASETS[dataset.name].validation:
            validation = dataset.read("validation", fold, sparse=False)
        else:
            train, validation = split(train, (0.9, 0.1))
    else:
        drawn = (shape.train, 1_000 + seed), (shape.validation, 1), (shape.test, 2)
        train, validation, test = (
            web_search(lists, shape.features, shape.documents, seed=each).dataset for lists, each in drawn
        )
    if 0 < size < train.n_lists:
        train = train.take(np.sort(np.random.default_rng(seed).permutation(train.n_lists)[:size]))
    chain = fit_transforms(["fill", "standardize"], train)
    features = [apply_transforms(chain, data.features, data.offsets) for data in (train, validation, test)]
    return PreparedData(train, features[0], {"validation": (validation, features[1]), "test": (test, features[2])})


def expected_dcg(scores: Floats, data: Dataset) -> float:
    """The expected DCG@5 of rankings drawn from the policy, averaged over lists."""
    exposures = exposure(scores, data.offsets, DISCOUNTS, samples=200, n_jobs=1).value
    return float(exposures @ (2**data.labels - 1)) / data.n_lists


def disparity(scores: Floats, data: Dataset) -> float:
    """The disparity of Eq. 29 with Eq. 30, averaged over lists."""
    return float(np.nanmean(measure(scores, data.labels, data.offsets, "disparity@5", n_jobs=1)["disparity@5"]))


def lambdaloss_of(metric: str) -> Objective:
    """LambdaLoss (variant 2) over all pairs."""
    return objective("lambdaloss", metric=metric, truncation_level=None)


@record(
    "turned-lambdaloss",
    family="pairwise",
    formula="LambdaLoss of DCG@5 with σ(s_i − s_j) in the gradient of a pair",
    paper="the code published with Oosterhuis 2021",
    cost="n²",
    gradient_only=True,
)
def turned_lambdaloss(lists: Lists) -> Evaluation:
    """Pairs are pushed the more the better they are ordered.

    Use it to reproduce the published curves. Turning the scores turns the sigmoid, and leaves the distances of ranks.
    """
    right = lambdaloss_of(METRICS[LAMBDALOSS])
    return right.compute(lists._replace(scores=-lists.scores), **right.options)


def objective_for(method: str, samples: int | str, *, fair: Dataset | None = None) -> Objective:
    """The objective of a method, with a fixed number of samples or one that increases at every step as in the paper.

    With `fair` lists the objective is disparity, divided by its value on them under uniformly random rankings.
    """
    schedule = (10, 100, 40) if samples == INCREASING else samples
    if fair is not None:
        estimator = ESTIMATORS.get(method, "lambdaloss")
        options = {"estimator": estimator, "samples": schedule, "exposure_samples": 1_000}
        return objective("fair-policy", utility={"disparity@5": -1 / disparity(np.zeros(fair.n_rows), fair)}, **options)
    if method in ESTIMATORS:
        return objective(ESTIMATORS[method], metric="dcg@5", samples=schedule)
    loss = turned_lambdaloss if method == TURNED else lambdaloss_of(METRICS[method])
    return objective("stochastic", loss=loss, samples=schedule)


class Trainer:
    """A network and its objective, trained one list at a time."""

    def __init__(self, objective: Objective, data: PreparedData, seed: int, rate: float = 0.01):
        import torch

        from luce.rankers.neural.learner import NetworkLearner
        from luce.rankers.neural.network import Network

        torch.manual_seed(seed)
        self.data, self.steps, self.seconds = data, 0, 0.0
        self.network = Network(data.train_features.shape[1], None, hidden_layer_sizes=(32, 32), activation="sigmoid")
        settings: dict[str, Any] = {
            "optimizer": "sgd",
            "learning_rate": rate,
            "weight_decay": 0.0,
            "seed": seed,
            "n_jobs": 1,
            "validation_score": lambda _: None,
        }
        self.learner = NetworkLearner(self.network, objective, data.train_features, data.train, **settings)
        self.lists = np.flatnonzero(objective.has_signal(data.train.labels, data.train.offsets))
        rows = data.train.rows(self.lists[0])
        objective.value_and_gradient(np.zeros(rows.stop - rows.start), data.train.labels[rows], n_jobs=1)  # compiles

    @property
    def epochs(self) -> float:
        return self.steps / len(self.lists)

    def step(self, q: int) -> None:
        """One step on a list, whose CPU time counts."""
        start = time.process_time()
        self.learner.step(np.array([q]), self.epochs, self.steps)
        self.seconds += time.process_time() - start
        self.steps += 1

    def order(self, seed: int) -> Integers:
        """The lists in the order of the epoch that begins."""
        shuffled: Integers = np.random.default_rng((seed, round(self.epochs))).permutation(self.lists)
        return shuffled

    def evaluate(self, part: str, metric: Callable[[Floats, Dataset], float]) -> float:
        """The metric of held-out lists."""
        import torch

        from luce.rankers.neural.learner import row_blocks, scores_of

        data, features = self.data.held_out[part]
        rows = row_blocks(features, data.offsets, torch.device("cpu"))
        return metric(scores_of(self.network, rows, features.shape[1]), data)


def learn(
    *,
    method: str,
    samples: int | str,
    fair: bool,
    rate: float,
    seed: int,
    size: int,
    unit: str,
    checkpoints: Sequence[float],
    dataset: DatasetSpec,
) -> Sequence[Any]:
    """Train until the last checkpoint, a number of epochs or of CPU seconds, and evaluate at each."""
    import torch

    from luce.rankers.neural.training import torch_settings

    data = load(dataset, size, seed)
    metric = disparity if fair else expected_dcg
    curve = LearningCurve([], [], [], [])
    with torch_settings(1, torch.device("cpu")):
        trainer = Trainer(objective_for(method, samples, fair=data.train if fair else None), data, seed, rate)

        def record_point() -> None:
            values = trainer.epochs, trainer.seconds, *(trainer.evaluate(part, metric) for part in data.held_out)
            for column, value in zip(curve, values, strict=True):
                column.append(value)

        record_point()
        waiting = list(checkpoints)
        while waiting:
            for q in trainer.order(seed):
                trainer.step(q)
                if (trainer.epochs if unit == "epochs" else trainer.seconds) >= waiting[0] - 1e-9:
                    record_point()
                    waiting.pop(0)
                    if not waiting:
                        break
    return curve


def step_seconds(*, method: str, samples: int, published: bool, repeat: int, steps: int, dataset: DatasetSpec) -> float:
    """The mean CPU time of a step in seconds, by our kernels or as published, after a few steps (Table 1)."""
    import torch

    from luce.rankers.neural.training import torch_settings

    ours = "PL-Rank-1" if method == "placement policy gradient" else method
    chosen = as_published(method, samples, DISCOUNTS) if published else objective_for(ours, samples)
    with torch_settings(1, torch.device("cpu")):
        trainer = Trainer(chosen, load(dataset, 0, 0), repeat)
        for number, q in enumerate(trainer.order(repeat)[: 3 + steps]):
            if number == 3:
                trainer.seconds = 0.0
            trainer.step(q)
        return trainer.seconds / max(trainer.steps - 3, 1)


def gradient_difference(dataset: DatasetSpec) -> float:
    """The largest difference between PL-Rank-1 and the placement policy gradient of Eq. 14 for the same rankings.

    It is relative to the largest entry of the gradient.
    """
    data, random = load(dataset, 0, 0).train, np.random.default_rng(0)
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
