"""Rankers judged on lists they did not see: the scores of every list by the ranker that was fitted without it."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from luce.arrays import Floats
from luce.data import Dataset, concatenate
from luce.data.splits import Fold
from luce.rankers.ranker import Ranker


def out_of_fold(
    ranker: Ranker, folds: Sequence[Fold], progress: Callable[[int], Any] = lambda done: None
) -> tuple[Floats, list[Ranker]]:
    """Fit a copy of the ranker on each fold and score its test part: scores for `judged_lists(folds)`, and the copies.

    `progress` is told the number of folds that are done.
    """
    scores, fitted = [], []
    for done, fold in enumerate(folds, 1):
        fitted.append(clone(ranker).fit(fold.train, validation=fold.validation))
        scores.append(fitted[-1].predict(fold.test))
        progress(done)
    return np.concatenate(scores), fitted


def judged_lists(folds: Sequence[Fold]) -> Dataset:
    """The test parts of all folds as one dataset, without features: what the scores of `out_of_fold` are judged on."""
    return concatenate([fold.test.with_features(np.empty((fold.test.n_rows, 0), np.float32)) for fold in folds])
