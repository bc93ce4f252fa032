"""The estimator around the network: its settings, its fit, its file."""

import os
from collections.abc import Sequence
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats, Integers
from luce.data.transforms import width_after
from luce.errors import DataError, OptionError, unknown_name
from luce.objectives import Objective
from luce.objectives.ranges import Choice, Range
from luce.optimizers.convergence import Curve
from luce.optimizers.gradient_descent import Checkpointer, descend
from luce.rankers.checkpoint import Checkpoint
from luce.rankers.neural.estimator import NetworkRanker, rates_of
from luce.rankers.ranker import Callback, TrainingData
from luce.rankers.settings import COMMON, NAME, NOT_NEGATIVE, SHARE, WIDTHS, or_none, whole

if TYPE_CHECKING:
    import torch


class NeuralRanker(NetworkRanker):
    """Scores are the output of a neural network on the features of an item, or of all items of its list.

    Parameters:
        objective: a name of OBJECTIVES, or `luce.objective(name, **options)`; a step goes down the mean of a batch.
        hidden_layer_sizes: the widths of the hidden layers. activation: relu, sigmoid, tanh, gelu, silu or identity.
        dropout: share of the hidden values left out in training. normalization: None, "batch" or "layer".
        context: None scores each item alone; "attention" lets the items of a list attend to each other, in
            `attention_blocks` transformer layers of `attention_heads` heads on top of the hidden layers.
        module: a torch.nn.Module of your own instead of all that: rows (N, F) in, scores (N,) out, or (N, grades);
            a second argument named `offsets` gets the bounds of the lists. Training starts from a copy of it.
        optimizer: "adam", "adagrad" or "sgd". weight_decay: its L2 penalty.
        learning_rate: one, or several to choose from by the validation metric, each trained in full.
        batch_size, epochs: the size of a step, and the most passes over the lists.
        metric, early_stopping_rounds: with `validation` data, the weights best by this metric are kept, and training
            stops when that many epochs have brought nothing better.
        transforms: names of TRANSFORMS, fitted on the training data and stored with the ranker.
        device: "cpu", "cuda", …; None takes a GPU where there is one.
        random_state: seeds the first weights, the order of the lists, dropout and the draws of the objective.
        n_jobs: threads; None leaves PyTorch's own number and takes all cores for the objective.

    Attributes:
        network_: the trained torch.nn.Module. nuisance_: parameters of the objective learned beside it, by name.
        learning_rate_: the one that was chosen.
        history_: one record an epoch; its loss is the mean over lists. best_iteration_, max_grade_, transforms_, …

    >>> import luce
    >>> data = luce.from_arrays([[1.0, 0], [3, 1], [2, 0]], [0, 2, 1], ["q", "q", "q"])
    >>> NeuralRanker("listnet", hidden_layer_sizes=(8,), learning_rate=0.01, epochs=30).fit(data).predict(data).argmax()
    np.int64(1)
    """

    kind = "neural"
    rules = COMMON | {
        "hidden_layer_sizes": WIDTHS,
        "activation": NAME,
        "dropout": SHARE,
        "normalization": or_none(NAME),
        "context": or_none(NAME),
        "attention_blocks": whole(1),
        "attention_heads": whole(1),
        "optimizer": NAME,
        "weight_decay": NOT_NEGATIVE,
        "batch_size": whole(1),
        "epochs": whole(1),
    }
    tried: ClassVar = {
        "hidden_layer_sizes": Choice(((32,), (64,), (64, 32), (128, 64), (256, 128, 64))),
        "dropout": Range(0.0, 0.5),
        "normalization": Choice((None, "batch", "layer")),
        "weight_decay": Choice((0.0, 1e-5, 1e-4, 1e-3)),
        "learning_rate": Range(1e-4, 3e-2, log=True),
        "batch_size": Range(8, 128, log=True),
    }

    def __init__(
        self,
        objective: str | Objective = "listmle",
        *,
        hidden_layer_sizes: Sequence[int] = (64, 32),
        activation: str = "relu",
        dropout: float = 0.0,
        normalization: str | None = None,
        context: str | None = None,
        attention_blocks: int = 2,
        attention_heads: int = 2,
        module: "torch.nn.Module | None" = None,
        optimizer: str = "adam",
        weight_decay: float = 0.0,
        learning_rate: float | Sequence[float] = 1e-3,
        batch_size: int = 64,
        epochs: int = 100,
        metric: str = "ndcg@10",
        early_stopping_rounds: int = 10,
        transforms: Sequence[Any] = ("fill", "standardize"),
        device: str | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ):
        self.objective = objective
        self.hidden_layer_sizes = hidden_layer_sizes
        self.activation = activation
        self.dropout = dropout
        self.normalization = normalization
        self.context = context
        self.attention_blocks = attention_blocks
        self.attention_heads = attention_heads
        self.module = module
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

    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        *,
        validation: Any = None,
        callback: Callback | None = None,
        checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn from a dataset, or from features, labels and the query of each row.

        `validation` is a dataset or such a triple. `callback` gets the record of each epoch as it will stand in
        `history_`, and between them records with a fraction of an epoch. An interrupt (Ctrl-C) leaves the ranker
        fitted with the best weights so far.
        """
        self._check_settings()
        rates_of(self.learning_rate, validation is not None)
        training = self._training_data(X, y, qid, validation)
        teaching = np.flatnonzero(self._objective().informative(training.dataset.labels, training.dataset.offsets))
        if not teaching.size:
            raise DataError(
                f"No list of {training.dataset!r} teaches {self._objective()} anything: "
                "one sample alone has no order, nor have equal labels."
            )
        validated = validation is not None
        train = partial(self._train, training, teaching)
        self._search(train, training.dataset, validated=validated, callback=callback, checkpoint=checkpoint)
        return self

    def _train(
        self,
        training: TrainingData,
        teaching: Integers,
        curve: Curve,
        rate: float,
        checkpointer: Checkpointer | None,
        tell: Callback,
    ) -> None:
        import torch

        from luce.rankers.neural.learner import NetworkLearner, scores_of
        from luce.rankers.neural.training import settings

        def figure(learner: NetworkLearner) -> float | None:
            if training.validation is None:
                return None
            scores = self._combined(scores_of(learner.network, training.held_out, training.validation.offsets))
            if not np.isfinite(scores).all():
                raise DataError(f"The scores of the validation data are not finite: {training.validation!r}.")
            return self._figure(scores, training.validation)

        device = self._device()
        with settings(self.n_jobs, device):
            torch.manual_seed(self._seed())
            learner = NetworkLearner(
                self._network().to(device),
                self._objective(),
                training.features,
                training.dataset,
                optimizer=self.optimizer,
                learning_rate=rate,
                weight_decay=self.weight_decay,
                seed=self._seed(),
                n_jobs=self.n_jobs,
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

    @property
    def _needs_lists(self) -> str:
        if self.context is not None and self.module is None:
            return "lets the items of a list attend to each other"
        from luce.rankers.neural.learner import wants_lists

        if self.module is not None and wants_lists(self.network_):
            return "has a module that looks at whole lists"
        return super()._needs_lists

    @property
    def _takes_missing(self) -> bool:
        return self.module is not None or super()._takes_missing

    def _scores(self, features: Any, offsets: Integers) -> Floats:
        from luce.rankers.neural.learner import scores_of
        from luce.rankers.neural.training import settings

        with settings(self.n_jobs, self._device()):
            return self._combined(scores_of(self.network_, features, offsets))

    def _combined(self, scores: Floats) -> Floats:
        combine = self._objective().ranking_score
        return scores if combine is None else combine(scores)

    def _network(self) -> "torch.nn.Module":
        from luce.rankers.neural.network import Network

        if self.module is not None:
            return deepcopy(self.module)
        blocks = 0 if self.context is None else self.attention_blocks
        return Network(
            width_after(self.transforms_, self.n_features_in_),
            int(self.max_grade_) + 1 if self._objective().one_output_per_grade else None,
            hidden_layer_sizes=tuple(self.hidden_layer_sizes),
            activation=self.activation,
            dropout=self.dropout,
            normalization=self.normalization,
            attention_blocks=blocks,
            attention_heads=self.attention_heads,
        )

    def _own_module(self) -> str | None:
        return None if self.module is None else type(self.module).__qualname__

    def _check_settings(self) -> None:
        super()._check_settings()
        from luce.rankers.neural.network import NORMALISATIONS

        if self.normalization is not None and self.normalization not in NORMALISATIONS:
            raise unknown_name("normalization", self.normalization, NORMALISATIONS)
        if self.context not in (None, "attention"):
            raise unknown_name("context", self.context, ["attention"])
        if self.context is not None and (
            not self.hidden_layer_sizes or self.hidden_layer_sizes[-1] % self.attention_heads
        ):
            raise OptionError(
                f"The last hidden width must be a multiple of attention_heads = {self.attention_heads}. "
                f"Got hidden_layer_sizes={self.hidden_layer_sizes!r}."
            )

    @property
    def nuisance_(self) -> dict[str, float]:
        return dict(zip(self._objective().nuisance, self._nuisance.tolist(), strict=True))

    def _arrays(self) -> dict[str, NDArray[Any]]:
        learned = {f"network.{k}": tensor.detach().cpu().numpy() for k, tensor in self.network_.state_dict().items()}
        return learned | {"nuisance": self._nuisance}

    def _take(self, arrays: dict[str, NDArray[Any]]) -> None:
        self._check_settings()
        import torch

        from luce.rankers.neural.training import load_network

        self._refuse_more_than(arrays)
        # On the meta device a network has shapes and no memory: what a file claims cannot fill it.
        with torch.device("meta"):
            network = self._network()
        load_network(network, arrays)
        extra = np.asarray(arrays["nuisance"], dtype=np.float64)
        learned = [t for t in network.state_dict().values() if t.is_floating_point()]
        if extra.shape != (len(self._objective().nuisance),) or not all(bool(t.isfinite().all()) for t in learned):
            raise DataError(
                f"The model file does not hold what {self._objective()} learns: finite numbers of its shape."
            )
        self.network_, self._nuisance = network.to(self._device()).eval(), extra

    def _refuse_more_than(self, arrays: dict[str, NDArray[Any]]) -> None:
        """A file may claim any number of layers of any width: each must have its numbers."""
        if self.module is not None:
            return
        n_layers = len(self.hidden_layer_sizes) + (0 if self.context is None else self.attention_blocks)
        outputs = int(self.max_grade_) + 1 if self._objective().one_output_per_grade else 1
        widest = max(width_after(self.transforms_, self.n_features_in_), *self.hidden_layer_sizes, outputs)
        if n_layers > len(arrays) or widest > sum(array.size for array in arrays.values()):
            raise DataError("The model file tells of more layers, or wider ones, than it holds numbers for.")
