"""Figure 1 of the 2014 paper: linear rankers learned from full orders by stochastic gradient descent, a list a step."""

from functools import lru_cache
from pathlib import Path
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
from papers.datasets import find

METHODS = {"p-ListMLE": "p-listmle", "ListMLE": "listmle", "ListNet": "listnet", "RankCosine": "rankcosine"}
OURS = "p-ListMLE"
DEPTHS = tuple(range(1, 11))
NDCG = tuple(f"ndcg@{depth}" for depth in DEPTHS)
FOLDS = 5
RATES = STOPS = tuple(10.0**-power for power in range(1, 6))
"""Learning rates, and stopping criteria, to choose from (section 6)."""


class Source(NamedTuple):
    """Where full orders come from: a public dataset below a folder, or made lists of its shape."""

    name: str
    folder: str | None
    lists: int
    mean_length: int
    seed: int

    def settings(self) -> dict[str, Any]:
        """What tells its lists from others."""
        if self.folder is not None:
            return {"data": self.name}
        return {"data": f"made {self.name}", **{k: v for k, v in self._asdict().items() if k not in ("name", "folder")}}


def in_order(dataset: Dataset, quality: Floats) -> Dataset:
    """The same lists with the labels n − y of the paper: y is the place of a document by falling quality."""
    lists = list_of_row(dataset.offsets)
    labels = np.empty(dataset.n_rows)
    labels[np.lexsort((-quality, lists))] = dataset.offsets[lists + 1] - np.arange(dataset.n_rows) - 1
    return Dataset(dataset.features, labels, dataset.offsets, dataset.query_ids)


@lru_cache(maxsize=1)
def folds_of(source: Source) -> list[Fold]:
    """The five folds, their documents in full order and their features standardised on the training lists."""
    if source.folder is None:
        made = web_search(source.lists, 46, source.mean_length, seed=source.seed)
        judged = made.truth + 0.5 * default_rng([source.seed, 4]).standard_normal(len(made.truth))
        found = list(rotations(parts(in_order(made.dataset, judged), FOLDS, source.seed)))
    else:
        found = [_public(source, number) for number in range(1, FOLDS + 1)]
    return [_standardised(fold) for fold in found]


def _public(source: Source, number: int) -> Fold:
    there = find(Path(source.folder or "."), source.name, number)
    if there is None:
        raise FileNotFoundError(f"{source.name} was there when this run began, below {source.folder}, and is no more.")
    read = (there.read(part) for part in ("train", "validation", "test"))
    return Fold(*(in_order(lists, lists.labels) for lists in read))


def _standardised(fold: Fold) -> Fold:
    chain = fit_transforms(["fill", "standardize"], fold.train)
    return Fold(*(part.with_features(apply_transforms(chain, part.features, part.offsets)) for part in fold if part))


def gains_of(dataset: Dataset) -> Floats:
    """2^label − 1 over what the best document of the list has: NDCG is the same, and 2^1000 is not needed."""
    top = dataset.labels[np.lexsort((dataset.labels, list_of_row(dataset.offsets)))[dataset.offsets[1:] - 1]]
    return np.exp2(dataset.labels - top[list_of_row(dataset.offsets)]) - np.exp2(-top[list_of_row(dataset.offsets)])


def ndcg(weights: Floats, lists: Dataset, gain: str = "2^l − 1") -> dict[str, Floats]:
    """NDCG@1 … NDCG@10 of each list, with the gain 2^label − 1 that the paper prints, or with the label as gain."""
    gains = gains_of(lists) if gain == "2^l − 1" else lists.labels
    return measure(lists.features @ weights, gains, lists.offsets, NDCG, gain="linear", n_jobs=1)


class Trained(NamedTuple):
    """A training as one stopping criterion ended it, with NDCG@10 of the validation lists then."""

    rate: float
    stop: float
    epochs: int
    validation: float
    weights: list[float]


def learn(*, method: str, fold: int, epochs: int, train_seed: int, source: Source, **told: Any) -> list[Any]:
    """The best by validation of one fold, over all learning rates and stopping criteria."""
    with one_blas_thread():
        each = [
            one for rate in RATES for one in train(METHODS[method], rate, folds_of(source)[fold], epochs, train_seed)
        ]
    best: Trained = max(each, key=lambda one: one.validation)
    return [*best]


def train(name: str, rate: float, fold: Fold, epochs: int, seed: int) -> list[Trained]:
    """One training for all stopping criteria.

    A criterion is met when an epoch changes the mean loss by less than that part of it. A training whose scores leave
    the numbers ends with the epoch before.
    """
    assert fold.validation is not None
    weights, last, goal = np.zeros(fold.train.n_features), np.inf, objective(name)
    met: list[tuple[int, Floats]] = []
    for epoch in range(epochs):
        new, loss = descend(weights, fold.train, goal, rate, seed, epoch)
        if not np.isfinite(loss):
            break
        change, weights, last = abs(last - loss) / max(abs(loss), 1e-300), new, loss
        while len(met) < len(STOPS) and change < STOPS[len(met)]:
            met.append((epoch + 1, weights))
        if len(met) == len(STOPS):
            break
    met += [(epoch + 1, weights)] * (len(STOPS) - len(met))
    figures = [float(np.nanmean(ndcg(found, fold.validation)["ndcg@10"])) for _, found in met]
    return [
        Trained(rate, stop, when, figure, found.tolist())
        for stop, (when, found), figure in zip(STOPS, met, figures, strict=True)
    ]


def descend(
    weights: Floats, lists: Dataset, goal: Objective, rate: float, seed: int, epoch: int
) -> tuple[Floats, float]:
    """The weights after a step for each list, in random order, and the mean loss on the way; NaN where it diverged."""
    weights, total = weights.copy(), 0.0
    for q in default_rng((seed, epoch)).permutation(lists.n_lists):
        rows = lists.rows(q)
        features = lists.features[rows]
        with np.errstate(over="ignore", invalid="ignore"):
            scores = features @ weights
        if not np.isfinite(scores).all():
            return weights, np.nan
        draw = Draw(seed, epoch, np.array([q]))
        found = goal.value_and_gradient(scores, lists.labels[rows], draw=draw, n_jobs=1)
        with np.errstate(over="ignore", invalid="ignore"):
            weights -= rate * (found.gradient @ features)
        total += float(found.loss[0])
    return weights, total / lists.n_lists if np.isfinite(weights).all() else np.nan
