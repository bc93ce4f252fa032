"""Figure 1 of the 2014 paper: linear rankers trained by stochastic gradient descent, a list per step."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.random import default_rng

from luce.arrays import Floats, list_of_row
from luce.data import Dataset
from luce.data.splits import Fold
from luce.data.synthetic import web_search
from luce.data.transforms import apply_transforms, fit_transforms
from luce.lists import Lists
from luce.metrics import measure
from luce.objectives import Draw, Objective, objective
from luce.threads import one_blas_thread
from papers.datasets import DatasetSpec

OURS, LISTMLE = "p-ListMLE", "ListMLE"


def quartering(n: int) -> Floats:
    """The weights 4^(n−j) − 1, relative to the first.

    >>> quartering(3)
    array([1. , 0.2, 0. ])
    """
    weights = 4.0 ** -np.arange(n) - 4.0 ** (1 - n)
    return weights / weights[0]


METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    OURS: ("p-listmle", {}),
    LISTMLE: ("listmle", {}),
    "ListNet": ("listnet", {}),
    "RankCosine": ("rankcosine", {}),
    "p-ListMLE, α = 4^(n−j) − 1": ("p-listmle", {"alpha": quartering}),
    "p-ListMLE, α = 1 / j": ("p-listmle", {"alpha": 1.0}),
    "p-ListMLE, α = 1 / log2(1 + j)": ("p-listmle", {"alpha": "dcg"}),
    "sequential (first place alone)": ("listmle", {"depth": 1}),
    "ListNet, top 2": ("listnet", {"depth": 2}),
}
"""The objective and its options: the systems of Figure 1, other weights of positions, section 4.1, top-k ListNet."""

FAMILY = tuple(name for name in METHODS if "ListMLE" in name or name.startswith("sequential"))
LEARNED = "p-ListMLE, α by validation"
"""Of each training the best of FAMILY on the validation lists: 1, 1 / log2(1 + j), 1 / j, 2^(n−j) − 1, … as weights."""

DEPTHS = tuple(range(1, 11))
NDCG = tuple(f"ndcg@{depth}" for depth in DEPTHS)
GAINS = ("2^l − 1", "l")
RATES = TOLERANCES = tuple(10.0**-power for power in range(1, 6))
"""The grid of learning rates and of stopping criteria (section 6)."""

HELD_OUT = 200
"""Validation lists of synthetic data, and as many test lists."""


def in_order(dataset: Dataset, quality: Floats) -> Dataset:
    """The same lists with the labels n − y of the paper, where y is the rank of a document by decreasing quality."""
    lists = list_of_row(dataset.offsets)
    labels = np.empty(dataset.n_rows)
    labels[np.lexsort((-quality, lists))] = dataset.offsets[lists + 1] - np.arange(dataset.n_rows) - 1
    return Dataset(dataset.features, labels, dataset.offsets, dataset.query_ids)


@lru_cache(maxsize=1)
def load_fold(dataset: DatasetSpec, size: int | None, number: int) -> Fold:
    """Training lists (all if `size` is None), validation and test lists; features standardized on the training lists.

    Synthetic lists and those of the paper are in full order; the grades of other data stay as they are.
    """
    if (shape := dataset.shape) is not None:
        assert size is not None
        n_lists, seed = size + 2 * HELD_OUT, dataset.seed + number
        synthetic = web_search(n_lists, shape.features, shape.documents, seed=seed)
        noise = 0.5 * default_rng([seed, 4]).standard_normal(len(synthetic.truth))
        ordered, bounds = in_order(synthetic.dataset, synthetic.truth + noise), (size, size + HELD_OUT)
        fold = Fold(*(ordered.take(part) for part in np.split(np.arange(n_lists), bounds)))
    else:
        read = [dataset.read(part, number + 1) for part in ("train", "validation", "test")]
        fold = Fold(*(in_order(each, each.labels) for each in read)) if dataset.name.endswith("-list") else Fold(*read)
        if size is not None:
            some = default_rng(number).permutation(fold.train.n_lists)[:size]
            fold = fold._replace(train=fold.train.take(np.sort(some)))
    chain = fit_transforms(["fill", "standardize"], fold.train)
    return Fold(*(part.with_features(apply_transforms(chain, part.features, part.offsets)) for part in fold if part))


def gains_of(dataset: Dataset) -> Floats:
    """2^label − 1 divided by 2 to the largest label of the list: NDCG is the same, without overflow for long lists."""
    top = dataset.labels[np.lexsort((dataset.labels, list_of_row(dataset.offsets)))[dataset.offsets[1:] - 1]]
    return np.exp2(dataset.labels - top[list_of_row(dataset.offsets)]) - np.exp2(-top[list_of_row(dataset.offsets)])


def ndcg(weights: Floats, lists: Dataset, gain: str = GAINS[0]) -> dict[str, Floats]:
    """NDCG@1 … NDCG@10 of each list, with the gain 2^label − 1 of the paper, or with the label as gain."""
    gains = gains_of(lists) if gain == GAINS[0] else lists.labels
    return measure(lists.features @ weights, gains, lists.offsets, NDCG, gain="linear", n_jobs=1)


class TrainingRun(NamedTuple):
    """A training ended by one stopping criterion, with the NDCG@10 of the validation lists."""

    rate: float
    tolerance: float
    epochs: int
    validation: float
    weights: Floats


class Learned(NamedTuple):
    """The training that was selected, and its test lists: NDCG@10 of each by gain, and mean NDCG@1 … NDCG@10."""

    n_lists: int
    rate: float
    epochs: int
    validation: float
    test: dict[str, list[float | None]]
    curve: list[float]


def learn(
    *, method: str, dataset: DatasetSpec, size: int | None, fold: int, lengths: Sequence[int], train_seed: int
) -> list[list[Any]]:
    """For each maximal number of epochs, the training with the best validation score over all rates and criteria."""
    name, options = METHODS[method]
    with one_blas_thread():
        lists, chosen = load_fold(dataset, size, fold), objective(name, **options)
        runs = [train(chosen, rate, lists, lengths, train_seed) for rate in RATES]
        best = [
            max((run for each in runs for run in each[length]), key=lambda run: run.validation) for length in lengths
        ]
        return [[*_tested(each, lists)] for each in best]


def _tested(run: TrainingRun, fold: Fold) -> Learned:
    values = {gain: ndcg(run.weights, fold.test, gain) for gain in GAINS}
    by_list = {gain: [None if np.isnan(x) else x for x in each["ndcg@10"].tolist()] for gain, each in values.items()}
    curve = [float(np.nanmean(values[GAINS[0]][metric])) for metric in NDCG]
    return Learned(fold.train.n_lists, run.rate, run.epochs, run.validation, by_list, curve)


def train(
    chosen: Objective, rate: float, fold: Fold, lengths: Sequence[int], seed: int
) -> dict[int, list[TrainingRun]]:
    """Train once for all stopping criteria and all maximal numbers of epochs.

    A criterion is met when the relative change of the mean loss in an epoch is below its tolerance. A training that
    diverges ends with the weights of the epoch before.
    """
    assert fold.validation is not None
    weights, last, epochs = np.zeros(fold.train.n_features), np.inf, 0
    steps = [_checked(chosen, fold.train, q) for q in range(fold.train.n_lists)]
    met: list[tuple[int, Floats]] = []
    ends: dict[int, tuple[int, Floats]] = {}
    while epochs < max(lengths) and len(met) < len(TOLERANCES):
        new, loss = descend(weights, fold.train.features, steps, chosen, rate, seed, epochs)
        if not np.isfinite(loss):
            break
        change, weights, last, epochs = abs(last - loss) / max(abs(loss), 1e-300), new, loss, epochs + 1
        while len(met) < len(TOLERANCES) and change < TOLERANCES[len(met)]:
            met.append((epochs, weights))
        ends[epochs] = epochs, weights
    met += [(max(lengths) + 1, weights)] * (len(TOLERANCES) - len(met))
    found = {}
    for length in lengths:
        end = ends.get(length, (epochs, weights))
        stops = [stop if stop[0] <= length else end for stop in met]
        found[length] = [
            TrainingRun(rate, tolerance, epoch, _validation_score(stopped, fold.validation), stopped)
            for tolerance, (epoch, stopped) in zip(TOLERANCES, stops, strict=True)
        ]
    return found


def _validation_score(weights: Floats, lists: Dataset) -> float:
    return float(np.nanmean(ndcg(weights, lists)["ndcg@10"]))


def _checked(chosen: Objective, dataset: Dataset, q: int) -> tuple[slice, Lists]:
    """The rows of a list, and the list as the objective evaluates it at any scores."""
    rows = dataset.rows(q)
    scores, labels = np.zeros(rows.stop - rows.start), dataset.labels[rows]
    return rows, chosen.check(Lists(scores, labels, np.array([0, len(labels)]), n_jobs=1))


def descend(
    weights: Floats,
    features: Floats,
    steps: Sequence[tuple[slice, Lists]],
    chosen: Objective,
    rate: float,
    seed: int,
    epoch: int,
) -> tuple[Floats, float]:
    """The weights after one step for each list in random order, and the mean loss; NaN if the training diverged."""
    weights, total = weights.copy(), 0.0
    for q in default_rng((seed, epoch)).permutation(len(steps)):
        rows, lists = steps[q]
        with np.errstate(over="ignore", invalid="ignore"):
            scores = features[rows] @ weights
        if not np.isfinite(scores).all():
            return weights, np.nan
        evaluation = chosen.evaluate(lists._replace(scores=scores, draw=Draw(seed, epoch, np.array([q]))))
        with np.errstate(over="ignore", invalid="ignore"):
            weights -= rate * (evaluation.gradient @ features[rows])
        total += float(evaluation.loss[0])
    return weights, total / len(steps) if np.isfinite(weights).all() else np.nan
