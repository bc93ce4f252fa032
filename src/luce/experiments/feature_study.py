"""Rankers compared on random subsets of the features: which of them need many, and how many are enough."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.random import default_rng

from luce.arrays import Floats, Integers
from luce.data import Dataset, parts, rotations
from luce.data.splits import Fold
from luce.errors import DataError, OptionError, load_package
from luce.experiments.comparison import METRICS, ComparisonProgress, Lists, compare_rankers
from luce.metrics import Results
from luce.options import is_integer


@dataclass(frozen=True, repr=False)
class FeatureStudy:
    """The result of `luce.feature_study`.

    Attributes
    ----------
    columns : dict of (int, int) to ndarray of int
        For each number of features and seed, the features that were drawn, by index from 0.
    results : dict of (int, int) to dict of str to Results
        For each number of features and seed, the results of each ranker over the test lists.
    failures : dict of (int, int) to dict of str to str
        The reason why a ranker has no results.
    """

    columns: dict[tuple[int, int], Integers]
    results: dict[tuple[int, int], dict[str, Results]]
    failures: dict[tuple[int, int], dict[str, str]]

    @property
    def counts(self) -> list[int]:
        """The numbers of features, ascending."""
        return sorted({count for count, _ in self.results})

    def table(self) -> pa.Table:
        """One row for each number of features, seed, ranker and metric, with the mean over the test lists."""
        rows = [
            {"features": count, "seed": seed, "method": name, "metric": metric, "value": value}
            for (count, seed), found in self.results.items()
            for name, each in found.items()
            for metric, value in each.means.items()
        ]
        return pa.Table.from_pylist(rows)

    def means(self, metric: str | None = None) -> dict[str, Floats]:
        """The metric of each ranker by number of features, averaged over the seeds; by default the first metric."""
        names = list(dict.fromkeys(name for found in self.results.values() for name in found))
        return {name: np.array([self._mean(name, count, metric) for count in self.counts]) for name in names}

    def _mean(self, name: str, count: int, metric: str | None) -> float:
        found = [each[name].means for (own, _), each in self.results.items() if own == count and name in each]
        values = [means[next(iter(means)) if metric is None else metric] for means in found]
        return float(np.mean(values)) if values else np.nan

    def plot(self, ax: Any = None, *, metric: str | None = None) -> Any:
        """Plot the metric of each ranker by number of features; needs Matplotlib (`luce[report]`).

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.
        metric : str, optional
            One of the metrics of the study; by default the first.

        Returns
        -------
        matplotlib.axes.Axes
        """
        if ax is None:
            load_package("matplotlib", "report")
            from matplotlib.figure import Figure

            ax = Figure(layout="constrained").subplots()
        for name, values in self.means(metric).items():
            ax.plot(self.counts, values, marker="o", label=name)
        ax.set(xscale="log", xlabel="features", ylabel=metric or self._metric)
        ax.legend()
        return ax

    @property
    def _metric(self) -> str:
        return next(metric for found in self.results.values() for each in found.values() for metric in each.means)

    def __str__(self) -> str:
        means = self.means()
        rows = [[self._metric, *means]]
        rows += [[f"{count:,}", *(f"{each[i]:.4f}" for each in means.values())] for i, count in enumerate(self.counts)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join("  ".join(map(str.rjust, row, widths)) for row in rows)

    def __repr__(self) -> str:
        return f"FeatureStudy({', '.join(self.means())}; {', '.join(map(str, self.counts))} features)"


def feature_study(
    rankers: Mapping[str, Any],
    data: Lists,
    counts: Sequence[int],
    metrics: str | Iterable[str] = METRICS,
    *,
    folds: int = 5,
    seeds: int = 1,
    seed: int = 0,
    cache_dir: str | os.PathLike[str] | None = None,
    isolate: bool = False,
    callback: Callable[[ComparisonProgress], None] | None = None,
    n_jobs: int | None = None,
) -> FeatureStudy:
    """Compare rankers on random subsets of the features, of several sizes.

    The features that vary in the training lists are drawn at random: with one seed, a smaller subset is a part of a
    larger one. All rankers get the same subsets, folds and lists.

    Parameters
    ----------
    rankers : dict of str to Ranker or PeerRanker
        By name, not fitted; they are not changed.
    data : Dataset or iterable of (train, validation or None, test)
        As for `luce.compare_rankers`.
    counts : sequence of int
        The numbers of features; those above the number of features that vary stand for all of these.
    metrics : str or iterable of str
        As for `luce.evaluate`.
    folds : int
        The number of folds into which a dataset is split.
    seeds : int
        The number of random subsets of each size, drawn with `seed`, `seed` + 1, …; rankers are fitted with it too.
    seed : int
        The first seed, and that of the split into folds.
    cache_dir, isolate, callback, n_jobs
        As for `luce.compare_rankers`; the progress is that of one subset.

    Returns
    -------
    FeatureStudy
        The results by number of features, as a table, text and a plot.

    Examples
    --------
    >>> import luce
    >>> from luce.data.synthetic import web_search
    >>> data = web_search(60, n_features=20, mean_length=10, seed=1).dataset
    >>> rankers = {"listmle": luce.LinearRanker("listmle", n_jobs=1), "c-kl": luce.LinearRanker("c-kl", n_jobs=1)}
    >>> found = feature_study(rankers, data, [2, 20], "ndcg@10", folds=2)
    >>> print(found)
    ndcg@10  listmle    c-kl
          2   0.6...  0.6...
         20   0.7...  0.7...
    >>> found.table().column_names
    ['features', 'seed', 'method', 'metric', 'value']
    """
    wrong = [count for count in counts if not (is_integer(count) and count >= 1)]
    if wrong or not len(counts):
        raise OptionError(f"counts must be integers ≥ 1, at least one. Got {list(counts)!r}.")
    given = [Fold(*each) for each in (rotations(parts(data, folds, seed)) if isinstance(data, Dataset) else data)]
    varying = np.flatnonzero(np.any([_varies(fold.train) for fold in given], axis=0))
    if not varying.size:
        raise DataError("No feature varies in the training lists.")
    settings: dict[str, Any] = {"cache_dir": cache_dir, "isolate": isolate, "callback": callback, "n_jobs": n_jobs}
    study = FeatureStudy({}, {}, {})
    for each in range(seed, seed + seeds):
        order = default_rng([each, 6]).permutation(varying)
        for count in dict.fromkeys(min(count, varying.size) for count in counts):
            columns = np.sort(order[:count])
            some = [_of_columns(fold, columns) for fold in given]
            found = compare_rankers(rankers, some, metrics, seed=each, **settings)
            place = int(count), each
            study.columns[place], study.results[place], study.failures[place] = columns, found.results, found.failures
    return study


def _varies(data: Dataset) -> Any:
    """Whether each feature has two values."""
    if data.is_sparse:
        low, high = (np.asarray(each.toarray()).ravel() for each in (data.features.min(0), data.features.max(0)))
        return low != high
    low, high = (each(data.features, axis=0) for each in (np.fmin.reduce, np.fmax.reduce))
    return low < high  # not where all are missing


def _of_columns(fold: Fold, columns: Integers) -> Fold:
    validation = None if fold.validation is None else _selected(fold.validation, columns)
    return Fold(_selected(fold.train, columns), validation, _selected(fold.test, columns))


def _selected(data: Dataset, columns: Integers) -> Dataset:
    """The same lists with some of their features."""
    features = data.features[:, columns]
    names = None if data.feature_names is None else [data.feature_names[column] for column in columns]
    categories = None if data.categories is None else tuple(data.categories[column] for column in columns)
    return data.with_features(features if data.is_sparse else np.ascontiguousarray(features), names, categories)
