"""The importance of features: by the metric that is lost when their values are shuffled, or by the trees."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.random import default_rng
from scipy import sparse

from luce.arrays import Floats, Integers, list_of_row, read_only
from luce.data import Dataset
from luce.errors import DataError, OptionError
from luce.metrics import measure
from luce.metrics import metric as metric_of
from luce.options import is_integer
from luce.rankers.linear import LinearRanker
from luce.rankers.ranker import Ranker, highest_grade


class Importance(NamedTuple):
    """The importance of each feature, by one measure.

    Attributes
    ----------
    measure : str
        "gain", "split", or the metric that is lost.
    names : tuple of str
        The names of the features; numbers from 1 where they have none.
    values : ndarray of shape (n_features,)
        The higher the more important.
    errors : ndarray of shape (n_features,) or None
        The standard error of each value over lists; None where nothing was sampled.
    """

    measure: str
    names: tuple[str, ...]
    values: Floats
    errors: Floats | None = None

    @property
    def order(self) -> Integers:
        """The numbers of the features, the most important first; equal ones as they come."""
        return np.argsort(-self.values, kind="stable")

    def table(self) -> pa.Table:
        """A table of feature, value and, where there is one, error: the most important first.

        Examples
        --------
        >>> Importance("gain", ("price", "age"), np.array([1.0, 3.0])).table().to_pylist()
        [{'feature': 'age', 'value': 3.0}, {'feature': 'price', 'value': 1.0}]
        """
        order = self.order
        columns = {"feature": pa.array([self.names[i] for i in order]), "value": pa.array(self.values[order])}
        return pa.table(columns if self.errors is None else columns | {"error": pa.array(self.errors[order])})


def learned_importance(ranker: Any) -> Importance | None:
    """Of the features to a fitted ranker, without data: the gain of trees, the size of weights; None of a network."""
    if hasattr(ranker, "importance"):
        found: Importance = ranker.importance()
        return found
    if isinstance(ranker, LinearRanker) and ranker.coef_.ndim == 1:
        return Importance("size of the weight", ranker.transformed_feature_names, np.abs(ranker.coef_))
    return None


def permutation_importance(
    ranker: Ranker,
    dataset: Dataset,
    metric: str = "ndcg@10",
    *,
    repeats: int = 5,
    within_lists: bool = False,
    seed: int = 0,
    callback: Callable[[float], None] | None = None,
) -> Importance:
    """The loss of a metric when the values of one feature are shuffled and all others are unchanged.

    A feature that others can replace loses little. The value is the mean loss over lists, weighted as in
    `luce.evaluate`, and over the shuffles; lists for which it is undefined do not count.

    Parameters
    ----------
    ranker : Ranker
        A fitted ranker of lists of any kind.
    dataset : Dataset
        Judged lists, preferably not those the ranker was trained on.
    metric : str, default="ndcg@10"
        A metric of METRICS; where lower is better, its increase counts as loss.
    repeats : int, default=5
        How often each feature is shuffled.
    within_lists : bool, default=False
        Shuffle inside each list instead of over all rows; a feature that is the same for all items of a list then
        loses nothing.
    seed : int, default=0
        Seeds the shuffles.
    callback : callable, optional
        Called with the fraction of the work that is done.

    Returns
    -------
    Importance
        Values and standard errors in the order of the features.

    Examples
    --------
    >>> import luce
    >>> data = luce.from_arrays([[1.0, 0], [3, 1], [2, 0]] * 9, [0, 2, 1] * 9, np.repeat(np.arange(9), 3))
    >>> found = permutation_importance(luce.LinearRanker().fit(data), data, "kendall-tau")
    >>> found.measure, found.table()["feature"].to_pylist()
    ('kendall-tau', ['1', '2'])
    """
    if not isinstance(ranker, Ranker):
        raise OptionError(f"permutation_importance supports rankers of lists; {type(ranker).__name__} ranks labels.")
    for name, value, least in (("repeats", repeats, 1), ("seed", seed, 0)):
        if not (is_integer(value) and value >= least):
            raise OptionError(f"{name} must be an integer ≥ {least}. Got {value!r}.")
    count, names = ranker.features
    dataset, _ = ranker.check_input(dataset)
    values = _metric_of_lists(ranker, dataset, metric)
    before = values(dataset)
    weights = np.where(np.isnan(before), 0.0, 1.0 if dataset.list_weights is None else dataset.list_weights)
    if not weights.any():
        raise DataError(f"{metric} is undefined for every list of {dataset!r}.")
    orders = [_shuffled_rows(dataset.offsets, within_lists, [seed, repeat]) for repeat in range(repeats)]
    sign = 1.0 if metric_of(metric).higher_is_better else -1.0
    found = np.empty((count, 2))
    for column in range(count):
        lost = [before - values(shown) for shown in _with_shuffled(dataset, column, orders)]
        found[column] = mean_and_error(sign * np.mean(lost, axis=0), weights)
        if callback is not None:
            callback((column + 1) / count)
    return Importance(str(metric_of(metric)), names or tuple(map(str, range(1, count + 1))), *found.T)


def _metric_of_lists(ranker: Ranker, dataset: Dataset, metric: str) -> Callable[[Dataset], Floats]:
    """The metric of each list when the ranker sees these features, grades on one scale throughout."""
    name = str(metric_of(metric))
    top = max(ranker.max_grade_, highest_grade(dataset))
    settings: dict[str, Any] = {"max_grade": top, "item_groups": dataset.item_group_numbers(), "n_jobs": ranker.n_jobs}
    return lambda shown: measure(ranker.predict(shown), shown.labels, shown.offsets, name, **settings)[name]


def _shuffled_rows(offsets: Integers, within_lists: bool, seed: list[int]) -> Integers:
    """Another row for each row, of all or of its own list."""
    random = default_rng(seed)
    if not within_lists:
        return random.permutation(int(offsets[-1]))
    return np.lexsort((random.random(int(offsets[-1])), list_of_row(offsets)))


def _with_shuffled(dataset: Dataset, column: int, orders: Sequence[Integers]) -> Iterator[Dataset]:
    """The dataset with the values of one feature in each of some orders."""
    parts = {name: getattr(dataset, name) for name in ("labels", "offsets", "query_ids", "feature_names", "categories")}
    if dataset.is_sparse:
        features = sparse.csc_array(dataset.features)
        here = slice(*features.indptr[column : column + 2])
        rows = features.indices[here].copy()
        for order in orders:
            features.indices[here] = np.argsort(order)[rows]
            yield Dataset.unchecked(features=sparse.csr_array(features), **parts)
        return
    features = np.array(dataset.features)
    for order in orders:
        features[:, column] = dataset.features[order, column]
        yield Dataset.unchecked(features=read_only(features), **parts)


def mean_and_error(values: Floats, weights: Floats) -> tuple[float, float]:
    """The mean over the lists that have a weight, and its standard error."""
    values, weights = values[weights > 0], weights[weights > 0]
    mean = float(values @ weights / weights.sum())
    spread = float(np.sqrt(np.sum((weights * (values - mean)) ** 2)) / weights.sum())
    return mean, spread if len(weights) > 1 else np.nan
