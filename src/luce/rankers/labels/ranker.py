"""The estimator around the label network: its settings, its fit, what it predicts, its file."""

import os
import zlib
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from luce.arrays import Floats, Integers
from luce.data import Dataset
from luce.data.extreme import TaggedData
from luce.data.transforms import fit_transforms, width_after
from luce.errors import DataError, OptionError
from luce.metrics import Metric, Results, evaluate_labels, label_metric, measure_labels, propensities
from luce.metrics.extreme import A, B
from luce.objectives import Objective
from luce.objectives.ranges import Choice, Range
from luce.optimizers.convergence import Curve
from luce.optimizers.gradient_descent import Arrays, Checkpointer, descend
from luce.rankers.checkpoint import Checkpoint
from luce.rankers.labels.inputs import feature_rows, finite_scores, tagged
from luce.rankers.neural.estimator import NetworkRanker, rates_of
from luce.rankers.ranker import Callback
from luce.rankers.settings import COMMON, NAME, NOT_NEGATIVE, SHARE, WIDTHS, or_none, whole

if TYPE_CHECKING:
    import torch

METRICS = "precision@1, precision@3, precision@5, psp@1, psp@3, psp@5"


class LabelRanker(NetworkRanker):
    """Ranks all labels for a row by a network with one score a label: which few of many labels are relevant?

    Parameters:
        objective: a name of OBJECTIVES, or `luce.objective(name, **options)`, on lists that are all labels of a row:
            pl-partition, pl-lb, attrank, ranknet, ranksvm, softmax, bce, squared-label, …
        hidden_layer_sizes: the widths of the hidden layers.
        activation: relu, …; "identity" with squared-label is LEML's model.
        dropout: share of the hidden values left out in training.
        negatives: None scores all labels in a step; a number scores the labels relevant in the batch and so many
            others, drawn at random.
        optimizer: "adam", "adagrad" or "sgd". weight_decay: its L2 penalty.
        learning_rate: one, or several to choose from by the validation metric, each trained in full.
        batch_size, epochs: the size of a step, and the most passes over the rows.
        metric, early_stopping_rounds: with `validation` data, the weights best by this metric of LABEL_METRICS are
        kept,
            and training stops when that many epochs have brought nothing better.
        transforms: names of TRANSFORMS that look at each row alone, fitted on the training data.
        device, random_state, n_jobs: as in NeuralRanker.

    Attributes:
        network_: the trained torch.nn.Module. label_counts_: (L,) in how many of the `training_rows_` rows that `fit`
            was given, validation included, each label was relevant: psp and psndcg take their propensities from it.
        learning_rate_, history_, best_iteration_, …

    >>> import luce
    >>> data = luce.TaggedData([[1.0, 0], [0, 1], [1, 1]], [[1, 0, 0], [0, 1, 0], [1, 1, 0]])
    >>> ranker = LabelRanker(hidden_layer_sizes=(8,), learning_rate=0.1, epochs=30, device="cpu").fit(data)
    >>> ranker.top_labels(data, 1)[0].ravel()[:2]
    array([0, 1])
    """

    kind = "labels"
    takes = "tagged rows"
    rules = COMMON | {
        "hidden_layer_sizes": WIDTHS,
        "activation": NAME,
        "dropout": SHARE,
        "negatives": or_none(whole(1)),
        "optimizer": NAME,
        "weight_decay": NOT_NEGATIVE,
        "batch_size": whole(1),
        "epochs": whole(1),
    }
    tried: ClassVar = {
        "hidden_layer_sizes": Choice(((64,), (128,), (256,), (512,))),
        "dropout": Range(0.0, 0.5),
        "weight_decay": Choice((0.0, 1e-5, 1e-4)),
        "learning_rate": Range(1e-4, 2e-2, log=True),
        "batch_size": Range(32, 512, log=True),
    }

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
        epochs: int = 100,
        metric: str = "precision@5",
        early_stopping_rounds: int = 5,
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
        self.epochs = epochs
        self.metric = metric
        self.early_stopping_rounds = early_stopping_rounds
        self.transforms = transforms
        self.device = device
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any = None,
        *,
        validation: Any = None,
        callback: Callback | None = None,
        checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn from tagged rows, or from features and a matrix of labels (rows by labels).

        `validation` is TaggedData or such a pair. `callback` and an interrupt (Ctrl-C) are as in NeuralRanker. Rows
        without relevant labels teach nothing.
        """
        self._check_settings()
        rates_of(self.learning_rate, validation is not None)
        data = tagged(X, y)
        teaching = np.flatnonzero(data.sizes)
        if not teaching.size or not data.n_features:
            raise DataError(f"There is nothing to learn from in {data!r}: it takes features, and rows with labels.")
        self.n_features_in_, self.max_grade_ = data.n_features, float(data.labels.data.max())
        rows = feature_rows(data)
        self.transforms_ = fit_transforms(self.transforms, rows)
        self.label_counts_, self.training_rows_ = data.label_counts, data.n_rows
        features, judge, held_out = self._transformed(rows), None, None
        if validation is not None:
            judge = validation if isinstance(validation, TaggedData) else tagged(*validation)
            self._check_labels(judge)
            held_out = self._transformed(self._rows(judge))
            self.label_counts_ = self.label_counts_ + judge.label_counts
            self.training_rows_ += judge.n_rows
        train = partial(self._train, features, data, teaching, held_out, judge)
        self._search(train, data, validated=judge is not None, callback=callback, checkpoint=checkpoint)
        return self

    def _train(
        self,
        features: Any,
        data: TaggedData,
        teaching: Integers,
        held_out: Any,
        judge: TaggedData | None,
        curve: Curve,
        rate: float,
        checkpointer: Checkpointer | None,
        tell: Callback,
    ) -> None:
        import torch

        from luce.rankers.labels.learner import LabelLearner
        from luce.rankers.labels.prediction import top_labels
        from luce.rankers.neural.training import settings

        def figure(learner: LabelLearner) -> float | None:
            if judge is None:
                return None
            return self._mean(top_labels(learner.network, held_out, self._metric().cutoff or 1)[0], judge)

        device = self._device()
        with settings(self.n_jobs, device):
            torch.manual_seed(self._seed())
            learner = LabelLearner(
                self._network().to(device),  # type: ignore[arg-type]
                self._objective(),
                features,
                data,
                negatives=self.negatives,
                n_jobs=self.n_jobs,
                optimizer=self.optimizer,
                learning_rate=rate,
                weight_decay=self.weight_decay,
                seed=self._seed(),
                figure=figure,
            )
            descend(
                learner,
                teaching,
                curve,
                epochs=self.epochs,
                batch_size=self.batch_size,
                seed=self._seed(),
                checkpointer=checkpointer,
                callback=tell,
            )

    def top_labels(self, X: Any, k: int = 5) -> tuple[Integers, Floats]:
        """The k best labels of each row, best first, and their scores: (N, k) both; never more than a block of scores.

        X is TaggedData or features, dense or sparse.
        """
        from luce.rankers.labels.prediction import top_labels
        from luce.rankers.neural.training import settings

        if not whole(1).accepts(k):
            raise OptionError(f"k, the number of labels of each row, must be an integer ≥ 1. Got {k!r}.")
        rows = self._rows(X)
        shape = rows.n_rows, min(int(k), len(self.label_counts_))
        labels, scores = np.empty(shape, np.int64), np.empty(shape, np.float32)
        with settings(self.n_jobs, self._device()):
            for block in self._blocks(rows):
                labels[block.rows], scores[block.rows] = top_labels(self.network_, block.features, int(k))
        return labels, finite_scores(scores)

    def predict(self, X: Any, qid: Any = None) -> Floats:
        """The score of every label for every row, (N, L); `top_labels` gives the best few in less memory."""
        from luce.rankers.labels.prediction import all_scores
        from luce.rankers.neural.training import settings

        rows = self._rows(X)
        scores = np.empty((rows.n_rows, len(self.label_counts_)), np.float32)
        with settings(self.n_jobs, self._device()):
            for block in self._blocks(rows):
                scores[block.rows] = all_scores(self.network_, block.features)
        return finite_scores(scores)

    def rank(self, X: Any, qid: Any = None, *, top: int | None = 10) -> pa.Table:
        """The best labels of each row: row (from 0), rank, label and score; `top` of them, None = all.

        >>> import luce
        >>> data = luce.TaggedData([[1.0], [-1.0]], [[0, 1], [1, 0]])
        >>> ranker = LabelRanker(hidden_layer_sizes=(4,), epochs=50, learning_rate=0.1).fit(data)
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
        """Metrics of LABEL_METRICS on tagged rows, with the propensities of the training labels.

        `a` and `b` are of the propensity model; more settings are those of `evaluate_labels`.
        """
        check_is_fitted(self)
        data = tagged(X, y)
        self._check_labels(data)
        wanted = [label_metric(name) for name in (metrics.split(",") if isinstance(metrics, str) else metrics)]
        ranking = self.top_labels(data, max(one.cutoff or 1 for one in wanted))[0]
        found = propensities(self.label_counts_, self.training_rows_, a=a, b=b)
        return evaluate_labels(ranking, data, [str(one) for one in wanted], propensities=found, **given)

    def score(self, X: Any, y: Any = None, qid: Any = None) -> float:
        """The mean of the ranker's `metric` over the rows."""
        check_is_fitted(self)
        data = tagged(X, y)
        self._check_labels(data)
        return self._mean(self.top_labels(data, self._metric().cutoff or 1)[0], data)

    def _mean(self, ranking: ArrayLike, data: TaggedData) -> float:
        found = propensities(self.label_counts_, self.training_rows_)
        return float(measure_labels(ranking, data, self.metric, propensities=found)[str(self._metric())].mean())

    def _metric(self) -> Metric:
        return label_metric(self.metric)

    def _rows(self, X: Any) -> Dataset:
        check_is_fitted(self, "transforms_")
        rows = feature_rows(X)
        self._check_features(rows)
        return rows

    def _check_labels(self, data: TaggedData) -> None:
        if data.n_labels != len(self.label_counts_):
            raise DataError(f"The training data had {len(self.label_counts_):,} labels, this has {data.n_labels:,}.")

    def _check_settings(self) -> None:
        super()._check_settings()
        from luce.objectives.label_loss import check_goal

        check_goal(self._objective())
        if not self.hidden_layer_sizes:
            raise OptionError("hidden_layer_sizes must have at least one layer between features and labels. Got none.")
        if any(kind is not None and kind.within_lists for kind in self._transform_kinds):
            raise OptionError("Rows of labels are no lists of items: transforms within lists do not go with them.")

    def _network(self) -> "torch.nn.Module":
        from luce.rankers.labels.network import LabelNetwork

        return LabelNetwork(
            width_after(self.transforms_, self.n_features_in_),
            len(self.label_counts_),
            hidden_layer_sizes=tuple(self.hidden_layer_sizes),
            activation=self.activation,
            dropout=self.dropout,
        )

    def _mark_of(self, dataset: TaggedData) -> dict[str, int]:  # type: ignore[override]
        labels = dataset.labels
        mark = zlib.crc32(labels.data, zlib.crc32(labels.indices, zlib.crc32(labels.indptr)))
        return {"labels": dataset.n_labels, "relevant labels": mark}

    def _known(self) -> Arrays:
        return {"label_counts": self.label_counts_, "training_rows": np.array([self.training_rows_])}

    def _arrays(self) -> dict[str, NDArray[Any]]:
        learned = {f"network.{k}": tensor.detach().cpu().numpy() for k, tensor in self.network_.state_dict().items()}
        return learned | self._known()

    def _take(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._check_settings()
        import torch

        from luce.rankers.neural.training import load_network

        counts, rows = arrays["label_counts"], arrays["training_rows"]
        if counts.ndim != 1 or rows.shape != (1,) or not all(each.dtype == np.int64 for each in (counts, rows)):
            raise DataError("The model file does not hold the number of training rows and those of each label.")
        if not 0 <= counts.min(initial=0) <= counts.max(initial=0) <= rows[0]:
            raise DataError("The model file tells of labels that more rows had than there were.")
        widest = max(width_after(self.transforms_, self.n_features_in_), *self.hidden_layer_sizes)
        if len(self.hidden_layer_sizes) > len(arrays) or widest > sum(array.size for array in arrays.values()):
            raise DataError("The model file tells of more layers, or wider ones, than it holds numbers for.")
        self.label_counts_, self.training_rows_ = counts, int(rows[0])
        # On the meta device a network has shapes and no memory: what a file claims cannot fill it.
        with torch.device("meta"):
            network = self._network()
        load_network(network, arrays)
        if not all(bool(tensor.isfinite().all()) for tensor in network.state_dict().values()):
            raise DataError(f"The model file does not hold what {self._objective()} learns: finite numbers.")
        self.network_ = network.to(self._device()).eval()

    label_counts_: Integers
    training_rows_: int
    network_: Any
