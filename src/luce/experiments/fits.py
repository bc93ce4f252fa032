"""One fit of a comparison: a ranker on one fold with one seed, its scores of the test lists, and its cost."""

import importlib
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from luce.arrays import Floats
from luce.compilation import working_time
from luce.data.splits import Fold
from luce.errors import DataError
from luce.experiments.cost import Cost, forget_peak, peak_bytes, present_bytes
from luce.rankers.importance import Importance, learned_importance


class FitResult(NamedTuple):
    """The scores of the rows of the fold's test lists (N,), what they cost, a record for each iteration, and the
    importance of the features where the ranker has one."""

    scores: Floats
    cost: Cost
    history: Sequence[Mapping[str, float]] = ()
    importance: Importance | None = None


def run_fit(estimator: Any, fold: Fold, seed: int, *, isolated: bool) -> FitResult:
    """Fit a copy of the estimator and score the test lists; `isolated`: the process does nothing else, so that its
    memory is that of the estimator.

    >>> import luce
    >>> data = luce.from_arrays([[1.0, 0], [3, 1], [2, 0]] * 2, [0, 2, 1] * 2, [1, 1, 1, 2, 2, 2])
    >>> run_fit(luce.LinearRanker(), Fold(data, None, data), seed=0, isolated=False).scores.argmax()
    np.int64(1)
    """
    ranker = clone(estimator).set_params(random_state=seed)
    before = _loaded_bytes(fold) if isolated else math.nan
    for package in packages_of(estimator):  # the time to import it is not that of the fit
        importlib.import_module(package)
    start = working_time()
    ranker.fit(fold.train, validation=fold.validation)
    fitted = working_time()
    scores = np.asarray(ranker.predict(fold.test), dtype=np.float64)
    end = working_time()
    if not np.isfinite(scores).all():
        raise DataError("Some of its scores are not finite.")
    memory = max(peak_bytes() - before, 0.0) if isolated else math.nan
    cost = Cost(fitted - start, end - fitted, memory)
    return FitResult(scores, cost, getattr(ranker, "history_", ()), learned_importance(ranker))


def packages_of(estimator: Any) -> tuple[str, ...]:
    """The packages that an estimator is built on, beside those of Luce."""
    return tuple(getattr(estimator, "packages", ()))


def _loaded_bytes(fold: Fold) -> float:
    """The memory of this process with every page of the mapped data read, from where its peak is counted."""
    for data in filter(None, fold):
        for array in (data.features.data, data.features.indices) if data.is_sparse else (data.features,):
            array.reshape(-1)[::512].sum()
    forget_peak()
    return present_bytes()
