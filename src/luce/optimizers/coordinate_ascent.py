"""Coordinate ascent: maximize a metric over one weight at a time by an exact line search, from several starts.

Along one weight every score is a line, so the mean of a metric is a step function of it; `kernels.line_search` finds
all its steps. This is the CA of the 2019 paper with the line search made exact.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from luce.arrays import Floats, Integers, as_floats, check_rows, offsets_of_sizes, rows_of_lists, selected_offsets
from luce.errors import DataError
from luce.kernels.line_search import best_time, changes
from luce.kernels.linear_products import scores_of
from luce.metrics import Metric, measure
from luce.metrics import metric as metric_of
from luce.metrics.places import places_of

Watcher = Callable[[int, float, Floats], bool]


def maximize(
    features: Any,
    labels: Floats,
    offsets: Integers,
    metric: str,
    start: Floats,
    *,
    restarts: int,
    max_sweeps: int,
    tol: float,
    seed: int,
    watch: Watcher,
    list_weights: Floats | None = None,
    known: Sequence[Floats] = (),
    n_jobs: int | None = None,
) -> Floats:
    """The weights (F,) with the best mean of the metric over the lists that have something to measure.

    A sweep moves each weight once, in random order, to where the metric is best with the others fixed; a move is made
    only if the metric, measured again, improves. A climb ends after a sweep that improves the value by less than `tol`,
    relative to it, or after `max_sweeps`. The first climb begins at `start`, `restarts` more at random weights.
    `watch(sweep, value, weights)` is called after each sweep, counted over all climbs, and stops by returning True.
    `known` are the weights after the first sweeps of the same search, to resume it.

    >>> features = np.array([[1, 0], [3, 1], [2, 5]], dtype=np.float32)
    >>> weights = maximize(features, np.array([0.0, 2, 1]), np.array([0, 3]), "ndcg@10", np.array([0.0, 1]),
    ...     restarts=0, max_sweeps=5, tol=0.0, seed=0, watch=lambda *step: False)
    >>> (features @ weights).argsort()
    array([0, 2, 1])
    """
    problem = _Problem(features, labels, offsets, metric_of(metric), list_weights, n_jobs)
    best = problem.point(check_rows("start", start, features.shape[1]).copy())
    sweep, walked = 0, iter(known)
    for climb in range(restarts + 1):
        rng = np.random.default_rng([seed, climb])
        first = best if climb == 0 else problem.point(rng.normal(size=len(start)))
        for point in _climb(problem, first, rng, walked, max_sweeps, tol):
            sweep += 1
            best = max(best, point, key=lambda one: one.value)
            if watch(sweep, problem.sign * point.value, point.weights.copy()):
                return best.weights
    return best.weights


class _Point(NamedTuple):
    """Weights, the scores they give, and the mean of the metric, negated where lower is better."""

    weights: Floats
    scores: Floats
    value: float


def _climb(
    problem: "_Problem", point: _Point, rng: np.random.Generator, walked: Iterator[Floats], max_sweeps: int, tol: float
) -> Iterator[_Point]:
    """The point after each sweep."""
    for _ in range(max_sweeps):
        before, order, there = point.value, rng.permutation(len(point.weights)), next(walked, None)
        if there is not None:
            point = problem.point(there)
        else:
            for feature in order:
                point = problem.improve(point, int(feature))
        yield point
        if point.value - before <= tol * abs(point.value):
            return


class _Problem:
    """The metric of some lists. `rows`, `list_offsets` and `places` are of the lists whose order makes a difference."""

    def __init__(
        self,
        features: Any,
        labels: Floats,
        offsets: Integers,
        metric: Metric,
        list_weights: Floats | None,
        n_jobs: int | None,
    ):
        self.features, self.labels, self.offsets = features, as_floats("labels", labels), offsets
        self.columns = features.tocsc() if sparse.issparse(features) else features
        self.metric, self.n_jobs = metric, n_jobs
        self.sign = 1 if metric.higher_is_better else -1
        counted = ~np.isnan(self._values(np.zeros(len(labels))))
        self.shares = np.where(counted, 1.0 if list_weights is None else list_weights, 0.0)
        if not self.shares.any():
            raise DataError(f"{metric} is undefined for every list of the training data.")
        self.shares /= self.shares.sum()
        self._choose_lists()

    def _choose_lists(self) -> None:
        observed = ~np.isnan(self.labels)
        rows, offsets = np.flatnonzero(observed), selected_offsets(observed, self.offsets)
        places = places_of(self.metric, self.labels[rows], offsets, n_jobs=self.n_jobs)
        scales = self.sign * self.shares * places.scales
        lists = np.flatnonzero(scales)
        chosen = rows_of_lists(offsets, lists)
        self.rows, self.list_offsets = rows[chosen], offsets_of_sizes(np.diff(offsets)[lists])
        self.places = places._replace(worths=places.worths[chosen], scales=scales[lists])

    def _values(self, scores: Floats) -> Floats:
        name = str(self.metric)
        return measure(scores, self.labels, self.offsets, name, n_jobs=self.n_jobs)[name]

    def point(self, weights: Floats) -> _Point:
        """The weights with their scores and value, computed from scratch so that no rounding accumulates."""
        scores = scores_of(self.features, weights, n_jobs=self.n_jobs)
        if not np.isfinite(scores).all():
            raise DataError(
                "Coordinate ascent needs finite features without missing values. Fill them: transforms=('fill',)."
            )
        counted = self.shares > 0
        return _Point(weights, scores, self.sign * float(self._values(scores)[counted] @ self.shares[counted]))

    def improve(self, point: _Point, feature: int) -> _Point:
        """The point after the best move along one weight; the same point where none is better."""
        slopes = self._column(feature)[self.rows].astype(np.float64)
        steepest = np.abs(slopes).max(initial=0.0)
        if steepest == 0.0:
            return point
        scores, now = point.scores[self.rows], float(point.weights[feature])
        steps = changes(scores - now * slopes, slopes, self.list_offsets, self.places, n_jobs=self.n_jobs)
        best = best_time(steps, now, np.abs(scores).max() / steepest + abs(now))
        if best is None:
            return point
        weights = point.weights.copy()
        weights[feature] = best
        return max(point, self.point(weights), key=lambda one: one.value)

    def _column(self, feature: int) -> NDArray[Any]:
        if sparse.issparse(self.columns):
            return self.columns[:, [feature]].toarray()[:, 0]
        return self.columns[:, feature]
