"""The label ranker: an estimator around a network that scores the labels of a row."""

import os
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from luce.data.extreme import TaggedData
from luce.data.transforms import fit_transforms
from luce.distributed import Group, current_group, failing_together, highest, overall_mean, summed
from luce.errors import DataError, OptionError
from luce.metrics import measure_labels, propensities
from luce.objectives import OBJECTIVES, Objective
from luce.optimizers.gradient_descent import Checkpointer
from luce.optimizers.learning_curve import LearningCurve
from luce.options import Choice, Range, boolean, integer, number, one_of, or_none
from luce.rankers.checkpoint import Checkpoint, SharedCheckpoint
from luce.rankers.estimator import Callback
from luce.rankers.inputs import as_held_out
from luce.rankers.labels.fitted import FittedLabels
from luce.rankers.labels.inputs import as_tagged, feature_rows
from luce.rankers.neural.estimator import TRAINING
from luce.rankers.resampling import VALIDATION_FRACTION, fit_resampled
from luce.rankers.settings import COMMON, NAME, learning_rates, widths
from luce.rankers.training_data import TrainingData


class LabelRanker(FittedLabels):
    """Rank all labels for a row by a network with one score per label: which few of many labels are relevant?

    It is not a `Ranker`: it learns from rows with labels (`TaggedData`), not from lists of items.

    Parameters
    ----------
    objective : str or Objective, default="pl-partition"
        A name of OBJECTIVES, or `luce.objective(name, **options)`, applied to lists of all labels of a row:
        pl-partition, pl-lb, attrank, ranknet, ranksvm, softmax, bce, squared-label, …
    hidden_layer_sizes : sequence of int, default=(256,)
        The widths of the hidden layers; () is a linear map of the features.
    activation : {"relu", "sigmoid", "tanh", "gelu", "silu", "identity"}, default="relu"
        The activation after each hidden layer.
    dropout : float, default=0.0
        The fraction of hidden values that are dropped in training.
    negatives : int, optional
        By default a step scores all labels and updates all of their weights; with a number, the labels relevant in the
        batch and about this many others, drawn at random. The weights of the rest, and what the optimizer remembers of
        them, stay as they are.
    negative_sampling : {"uniform", "frequency", "hard"}, default="uniform"
        How these others are drawn: each label alike, in proportion to the rows it is relevant to in training, or of 8
        times as many drawn alike those with the highest scores for the rows of the batch.
    split_labels : bool, default=False
        On several ranks, whether each trains the weights of a part of the labels only, with its gradient and what the
        optimizer remembers; see `fit`. Not with `negatives`.
    optimizer : {"adam", "adagrad", "sgd"}, default="adam"
        The optimizer of PyTorch.
    weight_decay : float, default=0.0
        Its L2 penalty.
    learning_rate : float or sequence of float, default=1e-3
        One, or several to choose from by the validation score, each trained in full.
    learning_rate_schedule : {"cosine", "linear"}, optional
        How the learning rate falls to 0 over the epochs of a training; by default it stays. Where epochs are chosen on
        held-out data, the training on all data has as many, and a schedule of its own over these.
    warmup_epochs : float, default=0.0
        The epochs over which the learning rate rises from 0 first.
    max_grad_norm : float, optional
        The largest norm of the gradient of the network in a step; longer ones are shortened to it.
    precision : {"float32", "tf32", "bfloat16"}, default="float32"
        In what the network computes in `fit`: "tf32" takes the faster products of recent GPUs, "bfloat16" PyTorch's
        automatic mixed precision. Parameters, scores and losses are float32.
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
        Training stops after this many epochs without improvement of the validation score.
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
        One record per epoch: "iteration", "loss", the mean over rows, and with validation data or a held-out part
        "validation".
    best_iteration_ : int
        The epoch whose weights were kept: the best by the validation score, else the last.
    best_score_ : float or None
        The validation score in `history_` at that epoch.
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
        "negative_sampling": one_of("uniform", "frequency", "hard"),
        "split_labels": boolean(),
        "optimizer": NAME,
        "weight_decay": number(0, search_space=Choice((0.0, 1e-5, 1e-4))),
        "learning_rate": learning_rates(search_space=Range(1e-4, 2e-2, log=True)),
        **TRAINING,
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
        negative_sampling: str = "uniform",
        split_labels: bool = False,
        optimizer: str = "adam",
        weight_decay: float = 0.0,
        learning_rate: float | Sequence[float] = 1e-3,
        learning_rate_schedule: str | None = None,
        warmup_epochs: float = 0.0,
        max_grad_norm: float | None = None,
        precision: str = "float32",
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
        self.negative_sampling = negative_sampling
        self.split_labels = split_labels
        self.optimizer = optimizer
        self.weight_decay = weight_decay
        self.learning_rate = learning_rate
        self.learning_rate_schedule = learning_rate_schedule
        self.warmup_epochs = warmup_epochs
        self.max_grad_norm = max_grad_norm
        self.precision = precision
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

        Notes
        -----
        Inside a group of torch.distributed, as torchrun starts one, each rank passes its own rows and, if any, its own
        part of the validation rows. All ranks end with the same network, and each holds all of it. The first rank alone
        warns, calls `callback` and saves the `checkpoint`; all resume from it. What fails on one rank ends the fit on
        all.

        With `split_labels` a rank trains the weights of its part of the labels, so that ten ranks have room for ten
        times the weights with their gradients and the memory of the optimizer. The weights alone are gathered at the
        end, and not where a fit is cut short: every rank must be able to hold them, and a checkpoint. The objective
        must have kernels for rows of labels, and the labels no grades.
        """
        self.check_params()
        with failing_together():
            data, held_out, held_out_features = as_tagged(X, y), None, None
            if validation is not None:
                held_out = as_held_out(validation, TaggedData, as_tagged, "X, y")
        self.agree_on_fit(data, validated=validation is not None)
        if not data.n_features or not summed(data.labels.nnz):
            raise DataError(f"There is nothing to learn from in {data!r}: features and rows with labels are needed.")
        self.n_features_in_, self.max_grade_ = data.n_features, highest(float(data.labels.data.max(initial=0.0)))
        rows = feature_rows(data)
        self.transforms_ = fit_transforms(self.transforms, rows)
        self.label_counts_, self.training_rows_ = data.label_counts, data.n_rows
        with failing_together():
            features = self.transform_features(rows)
            if held_out is not None:
                self._check_labels(held_out)
                held_out_features = self.transform_features(self._rows(held_out))
                self.label_counts_ = self.label_counts_ + held_out.label_counts
                self.training_rows_ += held_out.n_rows
        self.label_counts_ = summed(self.label_counts_).astype(np.int64)
        self.training_rows_ = int(summed(self.training_rows_))
        self.record_data(data, held_out)
        training = TrainingData(data, features, held_out, held_out_features)
        fit_resampled(self, training, callback, checkpoint)
        return self

    def train(self, training: TrainingData, *, callback: Callback | None, checkpoint: Checkpoint | None) -> None:
        """Train the network on these rows."""
        from luce.rankers.labels.learner import LabelLearner
        from luce.rankers.labels.recorded_learner import RecordedLabelLearner
        from luce.rankers.labels.split import SplitLearner

        def validation_score(learner: Any) -> float | None:
            if training.validation is None:
                return None
            name, found = str(self.get_metric()), propensities(self.label_counts_, self.training_rows_)
            ranking = learner.top_labels(training.validation_features, self.get_metric().cutoff or 1)
            return overall_mean(measure_labels(ranking, training.validation, name, propensities=found)[name])

        given: Any = self.get_objective(), training.features, training.dataset
        group = current_group() if self.split_labels else None

        def make_learner(network: Any, **settings: Any) -> Any:
            settings |= {"validation_score": validation_score}
            if group is not None:
                return SplitLearner(network, *given, group=group, **settings)
            settings |= {"negatives": self.negatives, "negative_sampling": self.negative_sampling}
            kind = RecordedLabelLearner if self.get_device().type == "cuda" else LabelLearner
            return kind(network, *given, n_jobs=self.n_jobs, **settings)

        if group is not None:
            self._check_split(training.dataset, group)
        rows = np.flatnonzero(self.informative_lists(training.dataset))
        self.train_network(make_learner, rows, training, callback=callback, checkpoint=checkpoint)

    def _descend(self, make_learner: Any, lists: Any, curve: LearningCurve, *settings: Any) -> None:
        from luce.rankers.labels.split import with_whole_layer

        super()._descend(make_learner, lists, curve, *settings)
        curve.best_state = with_whole_layer(curve.best_state)

    def _keep_better(self, best: LearningCurve | None, curve: LearningCurve, rate: float) -> LearningCurve | None:
        cut_short = curve.best_state is not None and "out.weight" in curve.best_state
        return best if cut_short else super()._keep_better(best, curve, rate)

    def _check_split(self, data: TaggedData, group: Group) -> None:
        if highest(float((data.labels.data != 1).any())):
            raise DataError("With split_labels the labels must have no grades: all are 0 or 1.")
        if data.n_labels < group.size:
            raise DataError(f"There are fewer labels, {data.n_labels}, than ranks to split them over, {group.size}.")

    def shared_checkpoint(self, checkpoint: Any, data: Any, number: int = 0) -> Checkpointer | None:
        found = super().shared_checkpoint(checkpoint, data, number)
        if self.split_labels and isinstance(found, SharedCheckpoint):
            from luce.rankers.labels.split import SplitCheckpoint

            return SplitCheckpoint(found.own, found.group)
        return found

    def informative_lists(self, data: TaggedData) -> NDArray[np.bool_]:
        """Whether each row has labels to learn from."""
        return data.sizes > 0

    def measurable_lists(self, data: TaggedData) -> NDArray[np.bool_]:
        """Whether each row counts in a validation score: it has labels."""
        return data.sizes > 0

    def check_params(self) -> None:
        super().check_params()
        from luce.objectives.label_loss import check_one_score_per_label

        check_one_score_per_label(self.get_objective())
        if self.split_labels and self.get_objective().label_rows is None:
            known = ", ".join(name for name, each in OBJECTIVES.items() if each.label_rows is not None)
            raise OptionError(f"split_labels needs one of the objectives {known}. Got {self.get_objective().name}.")
        if self.split_labels and not self.hidden_layer_sizes:
            raise OptionError("split_labels needs a hidden layer: hidden_layer_sizes must not be empty.")
        if self.split_labels and self.negatives is not None:
            raise OptionError("split_labels trains on all labels: negatives must be None.")
        if self.split_labels and self.precision == "bfloat16":
            raise OptionError("split_labels trains in float32: precision must be 'float32' or 'tf32'.")
        if self.split_labels and self.max_grad_norm is not None:
            raise OptionError("With split_labels no rank has the whole gradient: max_grad_norm must be None.")
        if any(kind is not None and kind.within_lists for kind in self.transform_types):
            raise OptionError("A label ranker has no lists of items: transforms within lists are not supported.")
