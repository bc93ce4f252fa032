"""What a fitted label ranker does: score the labels of rows, measure their ranking, go into a file."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from luce.arrays import Floats, Integers
from luce.data import Dataset
from luce.data.extreme import TaggedData
from luce.data.transforms import width_after
from luce.distributed import current_group
from luce.errors import DataError, OptionError
from luce.metrics import Metric, Results, evaluate_labels, label_metric, propensities
from luce.metrics.extreme import A, B
from luce.optimizers.gradient_descent import Arrays
from luce.options import integer
from luce.rankers.inputs import finite
from luce.rankers.labels.inputs import as_tagged, feature_rows
from luce.rankers.neural.estimator import NetworkEstimator

METRICS = "precision@1, precision@3, precision@5, psp@1, psp@3, psp@5"


class FittedLabels(NetworkEstimator):
    """The half of `LabelRanker` that needs nothing but its network."""

    label_counts_: Integers
    training_rows_: int
    activation: str
    dropout: float
    split_labels: bool

    def top_labels(self, X: Any, k: int = 5) -> tuple[Integers, Floats]:
        """The best labels of each row; memory for the scores of all labels is needed only for a block of rows.

        Parameters
        ----------
        X : TaggedData, array-like or sparse matrix of shape (n_rows, n_features)
            The rows, or their features.
        k : int, default=5
            The number of labels per row.

        Returns
        -------
        labels : ndarray of shape (n_rows, k)
            The numbers of the labels, best first.
        scores : ndarray of shape (n_rows, k)
            Their scores.
        """
        from luce.rankers.labels.prediction import top_labels
        from luce.rankers.neural.training import torch_settings

        if not integer(1).accepts(k):
            raise OptionError(f"k, the number of labels of each row, must be an integer ≥ 1. Got {k!r}.")
        rows = self._rows(X)
        shape = rows.n_rows, min(int(k), len(self.label_counts_))
        labels, scores = np.empty(shape, np.int64), np.empty(shape, np.float32)
        with torch_settings(self.n_jobs, self.get_device()):
            for block in self.transform_blocks(rows):
                labels[block.rows], scores[block.rows] = top_labels(self.network_, block.features, int(k))
        return labels, finite(scores)

    def predict(self, X: Any) -> Floats:
        """The score of every label for every row; `top_labels` gives the best few in less memory.

        Parameters
        ----------
        X : TaggedData, array-like or sparse matrix of shape (n_rows, n_features)
            The rows, or their features.

        Returns
        -------
        ndarray of shape (n_rows, n_labels)
            The scores; higher is better.
        """
        from luce.rankers.labels.prediction import all_scores
        from luce.rankers.neural.training import torch_settings

        rows = self._rows(X)
        scores = np.empty((rows.n_rows, len(self.label_counts_)), np.float32)
        with torch_settings(self.n_jobs, self.get_device()):
            for block in self.transform_blocks(rows):
                scores[block.rows] = all_scores(self.network_, block.features)
        return finite(scores)

    def rank(self, X: Any, *, top: int | None = 10) -> pa.Table:
        """The best labels of each row as a table.

        Parameters
        ----------
        X : TaggedData, array-like or sparse matrix of shape (n_rows, n_features)
            The rows, or their features.
        top : int or None, default=10
            The number of labels per row; None for all.

        Returns
        -------
        pyarrow.Table
            The columns row (from 0), rank (from 1), label and score.

        Examples
        --------
        >>> import luce
        >>> data = luce.TaggedData([[1.0], [-1.0]], [[0, 1], [1, 0]])
        >>> ranker = luce.LabelRanker(hidden_layer_sizes=(4,), epochs=1, learning_rate=0.1).fit(data)
        >>> ranker.rank(data, top=1)["label"].to_pylist()
        [1, 0]
        """
        check_is_fitted(self)
        labels, scores = self.top_labels(X, len(self.label_counts_) if top is None else top)
        n, k = labels.shape
        columns = {"row": np.repeat(np.arange(n), k), "rank": np.tile(np.arange(1, k + 1), n)}
        return pa.table(columns | {"label": labels.ravel(), "score": scores.ravel()})

    def evaluate(
        self, X: Any, y: Any = None, metrics: str | Iterable[str] = METRICS, *, a: float = A, b: float = B, **given: Any
    ) -> Results:
        """Evaluate the ranking of the labels, with the propensities of the training labels.

        Parameters
        ----------
        X : TaggedData, array-like or sparse matrix of shape (n_rows, n_features)
            The rows, or their features.
        y : array-like or sparse matrix of shape (n_rows, n_labels), optional
            The grade of each label for each row. Not beside TaggedData.
        metrics : str or iterable of str
            Metrics of LABEL_METRICS, separated by commas; by default precision and psp at 1, 3 and 5.
        a, b : float, default=0.55 and 1.5
            The exponent and the shift of the propensity model.
        **given
            Further arguments of `luce.metrics.evaluate_labels`.

        Returns
        -------
        Results
            Means and intervals, and the values of each row.
        """
        check_is_fitted(self)
        data = as_tagged(X, y)
        self._check_labels(data)
        wanted = [label_metric(name) for name in (metrics.split(",") if isinstance(metrics, str) else metrics)]
        ranking = self.top_labels(data, max(one.cutoff or 1 for one in wanted))[0]
        found = propensities(self.label_counts_, self.training_rows_, a=a, b=b)
        return evaluate_labels(ranking, data, [str(one) for one in wanted], propensities=found, **given)

    def score(self, X: Any, y: Any = None) -> float:
        """The mean of `metric` over the rows; X and y as in `evaluate`."""
        name = str(self.get_metric())
        return self.evaluate(X, y, name, n_bootstrap=0).means[name]

    def get_metric(self) -> Metric:
        return label_metric(self.metric)

    def _rows(self, X: Any) -> Dataset:
        check_is_fitted(self, "transforms_")
        rows = feature_rows(X)
        self.check_features(rows)
        return rows

    def _check_labels(self, data: TaggedData) -> None:
        if data.n_labels != len(self.label_counts_):
            raise DataError(
                f"The training data had {len(self.label_counts_):,} labels, and these data have {data.n_labels:,}."
            )

    def build_network(self) -> Any:
        from luce.rankers.labels.split import own_slice

        group = current_group() if self.split_labels else None
        return self._network(slice(None) if group is None else own_slice(group, len(self.label_counts_)))

    def build_fitted_network(self, arrays: Arrays) -> Any:
        return self._network(slice(None))

    def _network(self, part: slice) -> Any:
        from luce.rankers.labels.network import LabelNetwork

        return LabelNetwork(
            width_after(self.transforms_, self.n_features_in_),
            len(self.label_counts_),
            hidden_layer_sizes=tuple(self.hidden_layer_sizes),
            activation=self.activation,
            dropout=self.dropout,
            part=part,
        )

    def extra_state(self) -> Arrays:
        return {"label_counts": self.label_counts_, "training_rows": np.array([self.training_rows_])}

    def state_dict(self) -> dict[str, NDArray[Any]]:
        return self.network_state() | self.extra_state()

    def load_state_dict(self, arrays: dict[str, NDArray[Any]]) -> None:
        counts, rows = arrays["label_counts"], arrays["training_rows"]
        if counts.ndim != 1 or rows.shape != (1,) or not all(each.dtype == np.int64 for each in (counts, rows)):
            raise DataError("The model file does not contain the number of training rows and those of each label.")
        if not 0 <= counts.min(initial=0) <= counts.max(initial=0) <= rows[0]:
            raise DataError("The model file has labels with more rows than there are training rows.")
        self.label_counts_, self.training_rows_ = counts, int(rows[0])
        self.check_size(arrays, len(self.hidden_layer_sizes), len(counts))
        self.restore_network(arrays)
