"""Figure 1 of the 2014 paper: linear rankers trained on full orders by stochastic gradient descent, a list per step."""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.random import default_rng

from luce.arrays import Floats, list_of_row
from luce.data import Dataset, parts, rotations
from luce.data.splits import Fold
from luce.data.synthetic import web_search
from luce.data.transforms import apply_transforms, fit_transforms
from luce.metrics import measure
from luce.objectives import Draw, Objective, objective
from luce.threads import one_blas_thread
from papers.datasets import DatasetSpec

METHODS = {"p-ListMLE": "p-listmle", "ListMLE": "listmle", "ListNet": "listnet", "RankCosine": "rankcosine"}
OURS = "p-ListMLE"
DEPTHS = tuple(range(1, 11))
NDCG = tuple(f"ndcg@{depth}" for depth in DEPTHS)
FOLDS = 5
RATES = TOLERANCES = tuple(10.0**-power for power in range(1, 6))
"""The grid of learning rates and of stopping criteria (section 6)."""


def in_order(dataset: Dataset, quality: Floats) -> Dataset:
    """The same lists with the labels n − y of the paper, where y is the rank of a document by decreasing quality."""
    lists = list_of_row(dataset.offsets)
    labels = np.empty(dataset.n_rows)
    labels[np.lexsort((-quality, lists))] = dataset.offsets[lists + 1] - np.arange(dataset.n_rows) - 1
    return Dataset(dataset.features, labels, dataset.offsets, dataset.query_ids)


@lru_cache(maxsize=1)
def load_folds(dataset: DatasetSpec) -> list[Fold]:
    """The five folds in full order, their features standardized on the training lists."""
    if (shape := dataset.shape) is None:
        folds = [_read_fold(dataset, number) for number in range(1, FOLDS + 1)]
    else:
        synthetic = web_search(shape.train, shape.features, shape.documents, seed=dataset.seed)
        noise = 0.5 * default_rng([dataset.seed, 4]).standard_normal(len(synthetic.truth))
        ordered = in_order(synthetic.dataset, synthetic.truth + noise)
        folds = list(rotations(parts(ordered, FOLDS, dataset.seed)))
    return [_standardized(fold) for fold in folds]


def _read_fold(dataset: DatasetSpec, number: int) -> Fold:
    lists = (dataset.read(part, number) for part in ("train", "validation", "test"))
    return Fold(*(in_order(each, each.labels) for each in lists))


def _standardized(fold: Fold) -> Fold:
    chain = fit_transforms(["fill", "standardize"], fold.train)
    return Fold(*(part.with_features(apply_transforms(chain, part.features, part.offsets)) for part in fold if part))


def gains_of(dataset: Dataset) -> Floats:
    """2^label − 1 divided by the largest gain of the list: NDCG is the same, without overflow for long lists."""
    top = dataset.labels[np.lexsort((dataset.labels, list_of_row(dataset.offsets)))[dataset.offsets[1:] - 1]]
    return np.exp2(dataset.labels - top[list_of_row(dataset.offsets)]) - np.exp2(-top[list_of_row(dataset.offsets)])


def ndcg(weights: Floats, lists: Dataset, gain: str = "2^l − 1") -> dict[str, Floats]:
    """NDCG@1 … NDCG@10 of each list, with the gain 2^label − 1 of the paper, or with the label as gain."""
    gains = gains_of(lists) if gain == "2^l − 1" else lists.labels
    return measure(lists.features @ weights, gains, lists.offsets, NDCG, gain="linear", n_jobs=1)


class TrainingRun(NamedTuple):
    """A training ended by one stopping criterion, with the NDCG@10 of the validation lists."""

    rate: float
    tolerance: float
    epochs: int
    validation: float
    weights: list[float]


def learn(*, method: str, fold: int, epochs: int, train_seed: int, dataset: DatasetSpec) -> list[Any]:
    """The training of one fold with the best validation score, over all learning rates and stopping criteria."""
    with one_blas_thread():
        lists = load_folds(dataset)[fold]
        runs = [run for rate in RATES for run in train(METHODS[method], rate, lists, epochs, train_seed)]
    return [*max(runs, key=lambda run: run.validation)]


def train(name: str, rate: float, fold: Fold, epochs: int, seed: int) -> list[TrainingRun]:
    """Train once for all stopping criteria.

    A criterion is met when the relative change of the mean loss in an epoch is below its tolerance. A training that
    diverges ends with the weights of the epoch before.
    """
    assert fold.validation is not None
    weights, last, loss_function = np.zeros(fold.train.n_features), np.inf, objective(name)
    met: list[tuple[int, Floats]] = []
    for epoch in range(epochs):
        new, loss = descend(weights, fold.train, loss_function, rate, seed, epoch)
        if not np.isfinite(loss):
            break
        change, weights, last = abs(last - loss) / max(abs(loss), 1e-300), new, loss
        while len(met) < len(TOLERANCES) and change < TOLERANCES[len(met)]:
            met.append((epoch + 1, weights))
        if len(met) == len(TOLERANCES):
            break
    met += [(epoch + 1, weights)] * (len(TOLERANCES) - len(met))
    scores = [float(np.nanmean(ndcg(stopped, fold.validation)["ndcg@10"])) for _, stopped in met]
    return [
        TrainingRun(rate, tolerance, epoch, score, stopped.tolist())
        for tolerance, (epoch, stopped), score in zip(TOLERANCES, met, scores, strict=True)
    ]


def descend(
    weights: Floats, lists: Dataset, objective: Objective, rate: float, seed: int, epoch: int
) -> tuple[Floats, float]:
    """The weights after one step for each list in random order, and the mean loss; NaN if the training diverged."""
    weights, total = weights.copy(), 0.0
    for q in default_rng((seed, epoch)).permutation(lists.n_lists):
        rows = lists.rows(q)
        features = lists.features[rows]
        with np.errstate(over="ignore", invalid="ignore"):
            scores = features @ weights
        if not np.isfinite(scores).all():
            return weights, np.nan
        draw = Draw(seed, epoch, np.array([q]))
        evaluation = objective.value_and_gradient(scores, lists.labels[rows], draw=draw, n_jobs=1)
        with np.errstate(over="ignore", invalid="ignore"):
            weights -= rate * (evaluation.gradient @ features)
        total += float(evaluation.loss[0])
    return weights, total / lists.n_lists if np.isfinite(weights).all() else np.nan
