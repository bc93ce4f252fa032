"""A cell of a comparison: one fit of one method on one fold with one seed, and what it took."""

import importlib
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from luce.arrays import Floats
from luce.data.ragged import Dataset
from luce.data.splits import Fold
from luce.errors import DataError
from luce.experiments.memory import forget_peak, peak_bytes, present_bytes
from luce.rankers.importance import Importance
from luce.rankers.linear import LinearRanker


class Cell(NamedTuple):
    """What one fit came to.

    Attributes:
        scores: (N,), of the rows of the fold's test lists.
        fit_seconds, predict_seconds: by the clock on the wall.
        peak_bytes: the most memory that fit and prediction had, above the data alone; NaN where it is not known.
        history: a record for each iteration, with its validation figure.
        importance: what the features are worth to the ranker, where it tells.
    """

    scores: Floats
    fit_seconds: float
    predict_seconds: float
    peak_bytes: float
    history: Sequence[Mapping[str, float]] = ()
    importance: Importance | None = None


def run_cell(estimator: Any, fold: Fold, seed: int, *, alone: bool) -> Cell:
    """Fit a copy of the estimator, predict the test lists, and take the time; `alone`: the process does nothing else,
    so that its memory is that of the estimator.

    >>> import luce
    >>> data = luce.from_arrays([[1.0, 0], [3, 1], [2, 0]] * 2, [0, 2, 1] * 2, [1, 1, 1, 2, 2, 2])
    >>> run_cell(luce.LinearRanker(), Fold(data, None, data), seed=0, alone=False).scores.argmax()
    np.int64(1)
    """
    ranker = clone(estimator).set_params(random_state=seed)
    before = _settled(fold) if alone else np.nan
    for package in packages_of(estimator):  # the time to load it is not that of the fit
        importlib.import_module(package)
    start = time.perf_counter()
    ranker.fit(fold.train, validation=fold.validation)
    fitted = time.perf_counter()
    scores = np.asarray(ranker.predict(fold.test), dtype=np.float64)
    end = time.perf_counter()
    if not np.isfinite(scores).all():
        raise DataError("Some of its scores are not finite numbers.")
    memory = max(peak_bytes() - before, 0.0) if alone else np.nan
    history = getattr(ranker, "history_", ())
    return Cell(scores, fitted - start, end - fitted, memory, history, importance_of(ranker))


def packages_of(estimator: Any) -> tuple[str, ...]:
    """What an estimator is built on, beside what Luce is."""
    return tuple(getattr(estimator, "packages", ()))


def importance_of(ranker: Any) -> Importance | None:
    """What the features are worth to a fitted ranker: the gain of trees, the size of weights; None of a network."""
    if hasattr(ranker, "importance"):
        found: Importance = ranker.importance()
        return found
    if isinstance(ranker, LinearRanker) and ranker.coef_.ndim == 1:
        return Importance("size of the weight", ranker.transformed_feature_names, np.abs(ranker.coef_))
    return None


def _settled(fold: Fold) -> float:
    """The memory of this process with the data and nothing else, from which its peak begins anew."""
    for part in filter(None, fold):
        _touch(part)
    forget_peak()
    return present_bytes()


def _touch(dataset: Dataset) -> None:
    """Read a number of every page of a dataset in a file, so that it is in memory before the fit."""
    features = dataset.features
    for array in (features.data, features.indices) if dataset.is_sparse else (features,):
        array.reshape(-1)[::512].sum()
