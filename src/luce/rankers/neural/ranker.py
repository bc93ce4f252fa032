"""The neural ranker: an estimator around a network."""

import os
from collections.abc import Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats, Integers
from luce.data.transforms import width_after
from luce.distributed import failing_together, summed
from luce.errors import DataError, OptionError, unknown_name
from luce.objectives import Objective
from luce.options import Choice, Range, integer, number, or_none
from luce.rankers.checkpoint import Checkpoint
from luce.rankers.estimator import Callback
from luce.rankers.neural.estimator import TRAINING, NetworkEstimator
from luce.rankers.ranker import Ranker
from luce.rankers.resampling import BAGGING, VALIDATION_FRACTION, fit_resampled
from luce.rankers.settings import COMMON, NAME, learning_rates, widths
from luce.rankers.training_data import TrainingData

if TYPE_CHECKING:
    import torch


class NeuralRanker(NetworkEstimator, Ranker):
    """Rank by the output of a neural network on the features of an item, or of all items of its list.

    Parameters
    ----------
    objective : str or Objective, default="c-kl"
        A name of OBJECTIVES, or `luce.objective(name, **options)`; a step minimizes its mean over a batch of lists.
        The default weights an item by the gain 2^y − 1 of its label, as NDCG does; for labels that are ranks or counts
        use "pl-partition", which depends only on their order.
    hidden_layer_sizes : sequence of int, default=(64, 32)
        The widths of the hidden layers.
    activation : {"relu", "sigmoid", "tanh", "gelu", "silu", "identity"}, default="relu"
        The activation after each hidden layer.
    dropout : float, default=0.0
        The fraction of hidden values that are dropped in training.
    normalization : {"batch", "layer"}, optional
        Normalization of the hidden layers; none by default. "batch" is refused on several ranks, each of which has
        some rows of a batch only.
    context : {"attention"}, optional
        By default each item is scored on its own; "attention" lets the items of a list attend to each other, in
        transformer layers on top of the hidden layers.
    attention_blocks : int, default=2
        The number of these transformer layers.
    attention_heads : int, default=2
        The heads of each; the last hidden width must be a multiple of it.
    module : torch.nn.Module, optional
        A network of your own instead of all that: rows (N, F) in, scores (N,) or (N, grades) out. If `forward` has an
        argument named `offsets`, it gets the bounds of the lists. Sparse features are made dense for it, batch by
        batch. Training starts from a copy of it.
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
    batch_size : int, optional
        Lists per step; by default a hundredth of the training lists, but at least 8 and at most 64.
    accumulation_steps : int, default=1
        The parts that a batch is computed in, one after the other; more need less memory. Batch normalization and
        dropout look at each part alone.
    steps_per_epoch : int, optional
        Steps between two validations; by default one pass over the lists, but at least 20 steps. With a number the
        batches run on from one shuffled pass to the next.
    epochs : int, default=100
        The maximum number of epochs, each of `steps_per_epoch` steps.
    metric : str, default="ndcg@10"
        The metric of METRICS by which the best epoch is chosen if there is validation data.
    early_stopping_rounds : int, default=20
        Training stops after this many epochs without improvement of the validation score.
    validation_fraction : float or None, default=0.2
        Without validation data, this share of the lists is held out to choose the number of epochs, and the network is
        then trained on all lists for as many; with several bags, each has the lists outside of it for that. None, or
        fewer than ten lists that `metric` can measure: `epochs` epochs.
    n_bags : int, default=1
        If above 1, this many networks are trained, each on a random part of the lists and features, and their scores
        averaged.
    max_samples : float, default=0.8
        The share of the lists that each of several bags is trained on.
    max_features : float, default=1.0
        The share of the transformed features that each of several bags sees.
    transforms : sequence of str or Transform, default=("symlog1p", "fill", "standardize")
        Feature transforms, by name of TRANSFORMS; fitted on the training data and stored with the ranker.
    device : str, optional
        "cpu", "cuda", …; by default a GPU if there is one.
    random_state : int, RandomState instance or None, default=0
        Seeds the initial weights, the order of the lists, dropout and the draws of the objective.
    n_jobs : int, optional
        Threads; None leaves PyTorch's own number and takes all cores for the objective.

    Attributes
    ----------
    network_ : torch.nn.Module
        The trained network.
    nuisance_ : dict
        Parameters of the objective that were learned beside the network, by name.
    learning_rate_ : float
        The learning rate that was chosen; with several bags, the mean of theirs.
    history_ : list of dict
        One record per epoch: "iteration", "loss", the mean over lists, and with validation data or a held-out part
        "validation". With several bags one record per bag: the number of bags so far, the loss of the last, and the
        validation score of their mean.
    best_iteration_ : int
        The epoch whose weights were kept: the best by the validation score, else the last. With several bags their
        number.
    best_score_ : float or None
        The validation score in `history_` at `best_iteration_`.
    max_grade_, transforms_, n_features_in_, feature_names_in_
        See `Estimator`.

    Examples
    --------
    >>> import luce
    >>> data = luce.from_arrays([[1.0, 0], [3, 1], [2, 0]], [0, 2, 1], ["q", "q", "q"])
    >>> NeuralRanker("listnet", hidden_layer_sizes=(8,), learning_rate=0.01, epochs=1).fit(data).predict(data).argmax()
    np.int64(1)
    """

    kind = "neural"
    param_specs = COMMON | {
        "hidden_layer_sizes": widths(search_space=Choice(((32,), (64,), (64, 32), (128, 64), (256, 128, 64)))),
        "activation": NAME,
        "dropout": number(0, below=1, search_space=Range(0.0, 0.5)),
        "normalization": or_none(NAME, search_space=Choice((None, "batch", "layer"))),
        "context": or_none(NAME),
        "attention_blocks": integer(1),
        "attention_heads": integer(1),
        "optimizer": NAME,
        "weight_decay": number(0, search_space=Choice((0.0, 1e-5, 1e-4, 1e-3))),
        "learning_rate": learning_rates(search_space=Range(1e-4, 3e-2, log=True)),
        **TRAINING,
        "accumulation_steps": integer(1),
        "batch_size": or_none(integer(1), search_space=Choice((None, 8, 16, 32, 64, 128))),
        "steps_per_epoch": or_none(integer(1)),
        "epochs": integer(1),
        "validation_fraction": VALIDATION_FRACTION,
        **BAGGING,
    }

    def __init__(
        self,
        objective: str | Objective = "c-kl",
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
        learning_rate_schedule: str | None = None,
        warmup_epochs: float = 0.0,
        max_grad_norm: float | None = None,
        precision: str = "float32",
        batch_size: int | None = None,
        accumulation_steps: int = 1,
        steps_per_epoch: int | None = None,
        epochs: int = 100,
        metric: str = "ndcg@10",
        early_stopping_rounds: int = 20,
        validation_fraction: float | None = 0.2,
        n_bags: int = 1,
        max_samples: float = 0.8,
        max_features: float = 1.0,
        transforms: Sequence[Any] = ("symlog1p", "fill", "standardize"),
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
        self.learning_rate_schedule = learning_rate_schedule
        self.warmup_epochs = warmup_epochs
        self.max_grad_norm = max_grad_norm
        self.precision = precision
        self.batch_size = batch_size
        self.accumulation_steps = accumulation_steps
        self.steps_per_epoch = steps_per_epoch
        self.epochs = epochs
        self.metric = metric
        self.early_stopping_rounds = early_stopping_rounds
        self.validation_fraction = validation_fraction
        self.n_bags = n_bags
        self.max_samples = max_samples
        self.max_features = max_features
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
        group: Any = None,
        validation: Any = None,
        callback: Callback | None = None,
        checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    ) -> Self:
        self.check_params()
        training = self.prepare_training_data(X, y, qid, group, validation)
        if not summed(np.count_nonzero(self.informative_lists(training.dataset))):
            raise DataError(self.get_objective().no_signal_message(training.dataset))
        judged = fit_resampled(self, training, callback, checkpoint)
        self.finish_fit(training.dataset, judged)
        return self

    def train(self, training: TrainingData, *, callback: Callback | None, checkpoint: Checkpoint | None) -> None:
        """Train the network on these lists."""
        from luce.rankers.neural.learner import NetworkLearner, row_blocks, scores_of
        from luce.rankers.neural.resident import fits
        from luce.rankers.neural.resident_learner import ResidentLearner

        held_out, device = training.validation_features, self.get_device()
        stays = training.validation is not None and device.type == "cuda" and fits(device, held_out)
        there = list(row_blocks(held_out, training.validation.offsets, device)) if stays else None

        def validation_score(learner: NetworkLearner) -> float | None:
            if training.validation is None:
                return None
            with failing_together():
                rows = row_blocks(held_out, training.validation.offsets, device) if there is None else there
                outputs = scores_of(learner.network, rows, held_out.shape[1])
                scores = self.combine_outputs(outputs)
                if not np.isfinite(scores).all():
                    raise DataError(f"The scores of the validation data are not finite: {training.validation!r}.")
            return self.validation_score(scores, training.validation)

        def make_learner(network: "torch.nn.Module", **settings: Any) -> NetworkLearner:
            settings |= {"n_jobs": self.n_jobs, "validation_score": validation_score}
            settings |= {"accumulation_steps": self.accumulation_steps}
            kind = ResidentLearner if device.type == "cuda" else NetworkLearner
            return kind(network, self.get_objective(), training.features, training.dataset, **settings)

        lists = np.flatnonzero(self.informative_lists(training.dataset))
        self.train_network(make_learner, lists, training, callback=callback, checkpoint=checkpoint)

    def ignore_features(self, mask: NDArray[np.bool_]) -> None:
        """Let the transformed features of a mask have no effect."""
        import torch

        from luce.rankers.neural.network import NetworkAverage

        used = torch.from_numpy(~mask)[None].to(self.get_device())
        self.network_ = NetworkAverage([self.network_], torch.ones(1, device=used.device), used)

    def combine(self, parts: Sequence[Self], weights: Floats) -> None:
        """Become the weighted sum of fitted rankers that ignore some features."""
        import torch

        from luce.rankers.neural.network import NetworkAverage

        shares = torch.as_tensor(weights, dtype=torch.float32, device=self.get_device())
        masks = torch.cat([part.network_.masks for part in parts])
        networks = [network for part in parts for network in part.network_.networks]
        self.network_ = NetworkAverage(networks, shares, masks).eval()
        self._nuisance = weights @ np.array([part._nuisance for part in parts])
        self.learning_rate_ = float(weights @ [part.learning_rate_ for part in parts])

    def build_fitted_network(self, arrays: dict[str, NDArray[Any]]) -> "torch.nn.Module":
        import torch

        from luce.rankers.neural.network import NetworkAverage

        if self.n_bags == 1:
            return self.build_network()
        count, width = len(arrays["network.weights"]), width_after(self.transforms_, self.n_features_in_)
        if not 1 <= count <= min(self.n_bags, len(arrays)):  # a network has arrays of its own
            raise self.wrong_arrays()
        networks = [self.build_network() for _ in range(count)]
        return NetworkAverage(networks, torch.empty(count), torch.empty(count, width, dtype=torch.bool))

    @property
    def list_context(self) -> str:
        if self.context is not None and self.module is None:
            return "lets the items of a list attend to each other"
        from luce.rankers.neural.network import takes_offsets

        if self.module is not None and takes_offsets(self.module):
            return "has a module that scores complete lists"
        return super().list_context

    @property
    def allow_nan(self) -> bool:
        return self.module is not None or super().allow_nan

    def compute_scores(self, features: Any, offsets: Integers) -> Floats:
        return self.combine_outputs(self.compute_outputs(features, offsets))

    def compute_outputs(self, features: Any, offsets: Integers) -> Floats:
        """The outputs of a block of transformed features, (N,) or (N, grades)."""
        from luce.rankers.neural.learner import row_blocks, scores_of
        from luce.rankers.neural.training import torch_settings

        device = self.get_device()
        with torch_settings(self.n_jobs, device):
            return scores_of(self.network_, row_blocks(features, offsets, device), features.shape[1])

    def build_network(self) -> "torch.nn.Module":
        from luce.rankers.neural.network import Network

        if self.module is not None:
            return deepcopy(self.module)
        blocks = 0 if self.context is None else self.attention_blocks
        return Network(
            width_after(self.transforms_, self.n_features_in_),
            self._outputs,
            hidden_layer_sizes=tuple(self.hidden_layer_sizes),
            activation=self.activation,
            dropout=self.dropout,
            normalization=self.normalization,
            attention_blocks=blocks,
            attention_heads=self.attention_heads,
        )

    @property
    def _outputs(self) -> int | None:
        return int(self.max_grade_) + 1 if self.get_objective().one_output_per_grade else None

    @property
    def module_name(self) -> str | None:
        return None if self.module is None else type(self.module).__qualname__

    def check_params(self) -> None:
        super().check_params()
        from torch.nn import Module

        from luce.rankers.neural.network import NORMALIZATIONS

        if self.module is not None and not isinstance(self.module, Module):
            raise OptionError(f"module must be an instance of torch.nn.Module. Got {self.module!r}.")

        if self.normalization is not None and self.normalization not in NORMALIZATIONS:
            raise unknown_name("normalization", self.normalization, NORMALIZATIONS)
        if self.context not in (None, "attention"):
            raise unknown_name("context", self.context, ["attention"])
        if self.context is not None and (
            not self.hidden_layer_sizes or self.hidden_layer_sizes[-1] % self.attention_heads
        ):
            raise OptionError(
                f"The last hidden width must be a multiple of attention_heads = {self.attention_heads}. "
                f"Got hidden_layer_sizes={self.hidden_layer_sizes!r}."
            )

    def state_dict(self) -> dict[str, NDArray[Any]]:
        return self.network_state() | {"nuisance": self._nuisance}

    def load_state_dict(self, arrays: dict[str, NDArray[Any]]) -> None:
        if self.module is None:
            n_layers = len(self.hidden_layer_sizes) + (0 if self.context is None else self.attention_blocks)
            self.check_size(arrays, n_layers, self._outputs or 1)
        self.restore_network(arrays)
        self.restore_nuisance(arrays)
