"""The label ranker: an estimator around a network that scores the labels of a row."""

import os
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from luce.arrays import Floats, Integers
from luce.data import Dataset
from luce.data.extreme import TaggedData
from luce.data.transforms import fit_transforms, width_after
from luce.errors import DataError, OptionError
from luce.metrics import Metric, Results, evaluate_labels, label_metric, measure_labels, propensities
from luce.metrics.extreme import A, B
from luce.objectives import Objective
from luce.optimizers.gradient_descent import Arrays
from luce.options import Choice, Range, integer, number, or_none
from luce.rankers.checkpoint import Checkpoint
from luce.rankers.estimator import Callback
from luce.rankers.inputs import as_held_out, finite
from luce.rankers.labels.inputs import as_tagged, feature_rows
from luce.rankers.neural.estimator import NetworkEstimator
from luce.rankers.resampling import VALIDATION_FRACTION, TrainingData, fit_resampled
from luce.rankers.settings import COMMON, NAME, learning_rates, widths

METRICS = "precision@1, precision@3, precision@5, psp@1, psp@3, psp@5"


class LabelRanker(NetworkEstimator):
    """Rank all labels for a row by a network with one score per label: which few of many labels are relevant?

    It is no `Ranker`: it learns from rows with labels (`TaggedData`), not from lists of items.

    Parameters
    ----------
    objective : str or Objective, default="pl-partition"
        A name of OBJECTIVES, or `luce.objective(name, **options)`, applied to lists of all labels of a row:
        pl-partition, pl-lb, attrank, ranknet, ranksvm, softmax, bce, squared-label, …
    hidden_layer_sizes : sequence of int, default=(256,)
        The widths of the hidden layers; () is a linear map of the features.
    activation : {"relu", "sigmoid", "tanh", "gelu", "silu", "identity"}, default="relu"
        The activation after each hidden layer; "identity" with squared-label is the model of LEML.
    dropout : float, default=0.0
        The fraction of hidden values that are dropped in training.
    negatives : int, optional
        By default a step scores all labels; with a number, the labels relevant in the batch and so many others, drawn
        at random.
    optimizer : {"adam", "adagrad", "sgd"}, default="adam"
        The optimizer of PyTorch.
    weight_decay : float, default=0.0
        Its L2 penalty.
    learning_rate : float or sequence of float, default=1e-3
        One, or several to choose from by the validation score, each trained in full.
    batch_size : int, default=128
        Rows per step.
    steps_per_epoch : int, optional
        Steps between two validations; by default one pass over the rows, but at least 20 steps. With a number the
        batches run on from one shuffled pass to the next.
    epochs : int, default=100
        The maximum number of epochs, each of `steps_per_epoch` steps.
    metric : str, default="precision@5"
        The metric of LABEL_METRICS by which the best epoch is chosen if there is validation data.
    early_stopping_rounds : int, default=10
        Training stops after so many epochs without improvement of the validation score.
    validation_fraction : float or None, default=0.1
        Without validation data, this share of the rows is held out to choose the number of epochs, and the network is
        then trained on all rows for as many. None, or fewer than ten rows with labels: `epochs` epochs.
    transforms : sequence of str or Transform, default=()
        Feature transforms that look at each row alone, by name of TRANSFORMS; fitted on the training data.
    device : str, optional
        "cpu", "cuda", …; by default a GPU if there is one.
    random_state : int, RandomState instance or None, default=0
        Seeds the initial weights, the order of the rows, dropout, negatives and the draws of the objective.
    n_jobs : int, optional
        Threads; None leaves PyTorch's own number and takes all cores for the objective.

    Attributes
    ----------
    network_ : torch.nn.Module
        The trained network.
    label_counts_ : ndarray of shape (n_labels,)
        In how many of the rows given to `fit`, validation included, each label was relevant; psp and psndcg take their
        propensities from it.
    training_rows_ : int
        The number of these rows.
    learning_rate_ : float
        The learning rate that was chosen.
    history_ : list of dict
        One record per epoch: "iteration", "loss", the mean over rows, and with validation data "validation".
    best_iteration_ : int
        The epoch whose weights were kept: the best on the validation data, else the last.
    best_score_ : float or None
        `metric` on the validation data at that epoch.
    max_grade_, transforms_, n_features_in_
        See `Estimator`.

    Examples
    --------
    >>> import luce
    >>> data = luce.TaggedData([[1.0, 0], [0, 1], [1, 1]], [[1, 0, 0], [0, 1, 0], [1, 1, 0]])
    >>> ranker = LabelRanker(hidden_layer_sizes=(8,), learning_rate=0.1, epochs=1, device="cpu").fit(data)
    >>> ranker.top_labels(data, 1)[0].ravel()[:2]
    array([0, 1])
    """

    kind = "labels"
    param_specs = COMMON | {
        "hidden_layer_sizes": widths(search_space=Choice(((64,), (128,), (256,), (512,)))),
        "activation": NAME,
        "dropout": number(0, below=1, search_space=Range(0.0, 0.5)),
        "negatives": or_none(integer(1)),
        "optimizer": NAME,
        "weight_decay": number(0, search_space=Choice((0.0, 1e-5, 1e-4))),
        "learning_rate": learning_rates(search_space=Range(1e-4, 2e-2, log=True)),
        "batch_size": integer(1, search_space=Range(32, 512, log=True)),
        "steps_per_epoch": or_none(integer(1)),
        "epochs": integer(1),
        "validation_fraction": VALIDATION_FRACTION,
    }
    known_before_training = ("label_counts_", "training_rows_")

    def __init__(
        self,
        objective: str | Objective = "pl-partition",
        *,
        hidden_layer_sizes: Sequence[int] = (256,),
        activation: str = "relu",
        dropout: float = 0.0,
        negatives: int | None = None,
        optimizer: str = "adam",
        weight_decay: float = 0.0,
        learning_rate: float | Sequence[float] = 1e-3,
        batch_size: int = 128,
        steps_per_epoch: int | None = None,
        epochs: int = 100,
        metric: str = "precision@5",
        early_stopping_rounds: int = 10,
        validation_fraction: float | None = 0.1,
        transforms: Sequence[Any] = (),
        device: str | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ):
        self.objective = objective
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.dropout = dropout
        self.negatives = negatives
        self.optimizer = optimizer
        self.weight_decay = weight_decay
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.steps_per_epoch = steps_per_epoch
        self.epochs = epochs
        self.metric = metric
        self.early_stopping_rounds = early_stopping_rounds
        self.validation_fraction = validation_fraction
        self.transforms = transforms
        self.device = device
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        validation: Any = None,
        callback: Callback | None = None,
        checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn from rows with labels; rows without relevant labels contribute nothing.

        Parameters
        ----------
        X : TaggedData, array-like or sparse matrix of shape (n_rows, n_features)
            The rows, or their features.
        y : array-like or sparse matrix of shape (n_rows, n_labels), optional
            The grade of each label for each row, 0 where it is not relevant. Not beside TaggedData.
        validation : TaggedData or tuple (X, y), optional
            Rows to choose the best epoch and learning rate by and to stop early.
        callback : callable, optional
            Called with the record of each epoch, and during an epoch with records of a fractional iteration.
        checkpoint : Checkpoint or path, optional
            Where the state of the training is saved, to resume it after a crash.

        Returns
        -------
        self
            The fitted ranker. An interrupt (Ctrl-C) leaves it fitted with the best epoch so far.
        """
        self.check_params()
        data = as_tagged(X, y)
        if not data.sizes.any() or not data.n_features:
            raise DataError(f"There is nothing to learn from in {data!r}: it takes features, and rows with labels.")
        self.n_features_in_, self.max_grade_ = data.n_features, float(data.labels.data.max())
        rows = feature_rows(data)
        self.transforms_ = fit_transforms(self.transforms, rows)
        self.label_counts_, self.training_rows_ = data.label_counts, data.n_rows
        features, held_out, held_out_features = self.transform_features(rows), None, None
        if validation is not None:
            held_out = as_held_out(validation, TaggedData, as_tagged, "X, y")
            self._check_labels(held_out)
            held_out_features = self.transform_features(self._rows(held_out))
            self.label_counts_ = self.label_counts_ + held_out.label_counts
            self.training_rows_ += held_out.n_rows
        training = TrainingData(data, features, held_out, held_out_features)
        fit_resampled(self, training, callback, checkpoint)
        return self

    def train(
        self,
        training: TrainingData,
        *,
        callback: Callback | None,
        checkpoint: Checkpoint | None,
        like: "LabelRanker | None" = None,
    ) -> None:
        """Train the network on these rows, for as many epochs as the validation rows want or as `like` has."""
        from luce.rankers.labels.learner import LabelLearner
        from luce.rankers.labels.prediction import top_labels

        def validation_score(learner: LabelLearner) -> float | None:
            if training.validation is None:
                return None
            name, found = str(self.get_metric()), propensities(self.label_counts_, self.training_rows_)
            ranking = top_labels(learner.network, training.validation_features, self.get_metric().cutoff or 1)[0]
            return float(measure_labels(ranking, training.validation, name, propensities=found)[name].mean())

        def make_learner(network: Any, **settings: Any) -> LabelLearner:
            settings |= {"negatives": self.negatives, "n_jobs": self.n_jobs, "validation_score": validation_score}
            return LabelLearner(network, self.get_objective(), training.features, training.dataset, **settings)

        rows = np.flatnonzero(training.dataset.sizes)
        self.train_network(make_learner, rows, training, callback=callback, checkpoint=checkpoint, like=like)

    def informative_lists(self, data: TaggedData) -> NDArray[np.bool_]:
        return data.sizes > 0

    def top_labels(self, X: Any, k: int = 5) -> tuple[Integers, Floats]:
        """The best labels of each row; memory for the scores of all labels is needed only for a block of rows.

        Parameters
        ----------
        X : TaggedData, array-like or sparse matrix of shape (n_rows, n_features)
            The rows, or their features.
        k : int, default=5
            How many labels of each row.

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
            How many labels of each row; None is all.

        Returns
        -------
        pyarrow.Table
            The columns row (from 0), rank (from 1), label and score.

        Examples
        --------
        >>> import luce
        >>> data = luce.TaggedData([[1.0], [-1.0]], [[0, 1], [1, 0]])
        >>> ranker = LabelRanker(hidden_layer_sizes=(4,), epochs=1, learning_rate=0.1).fit(data)
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
        """Measure the ranking of the labels, with the propensities of the training labels.

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
            raise DataError(f"The training data had {len(self.label_counts_):,} labels, this has {data.n_labels:,}.")

    def check_params(self) -> None:
        super().check_params()
        from luce.objectives.label_loss import check_one_score_per_label

        check_one_score_per_label(self.get_objective())
        if any(kind is not None and kind.within_lists for kind in self.transform_types):
            raise OptionError("Rows of labels are no lists of items: transforms within lists do not go with them.")

    def build_network(self) -> Any:
        from luce.rankers.labels.network import LabelNetwork

        return LabelNetwork(
            width_after(self.transforms_, self.n_features_in_),
            len(self.label_counts_),
            hidden_layer_sizes=tuple(self.hidden_layer_sizes),
            activation=self.activation,
            dropout=self.dropout,
        )

    def extra_state(self) -> Arrays:
        return {"label_counts": self.label_counts_, "training_rows": np.array([self.training_rows_])}

    def state_dict(self) -> dict[str, NDArray[Any]]:
        return self.network_state() | self.extra_state()

    def load_state_dict(self, arrays: dict[str, NDArray[Any]]) -> None:
        counts, rows = arrays["label_counts"], arrays["training_rows"]
        if counts.ndim != 1 or rows.shape != (1,) or not all(each.dtype == np.int64 for each in (counts, rows)):
            raise DataError("The model file does not hold the number of training rows and those of each label.")
        if not 0 <= counts.min(initial=0) <= counts.max(initial=0) <= rows[0]:
            raise DataError("The model file tells of labels that more rows had than there were.")
        self.label_counts_, self.training_rows_ = counts, int(rows[0])
        self.check_size(arrays, len(self.hidden_layer_sizes), len(counts))
        self.restore_network(arrays)

    label_counts_: Integers
    training_rows_: int
