"""What the estimators around a PyTorch network share: training, the choice of the learning rate, device and file."""

import math
import os
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from luce.arrays import Integers
from luce.data.transforms import width_after
from luce.distributed import current_group, gathered, numbered
from luce.errors import DataError, MachineError, OptionError, load_package, unknown_name
from luce.optimizers.gradient_descent import Arrays, Checkpointer, as_arrays, descend
from luce.optimizers.learning_curve import LearningCurve
from luce.options import Choice, number, or_none
from luce.rankers.checkpoint import Checkpoint
from luce.rankers.estimator import Callback, Estimator
from luce.rankers.settings import NAME
from luce.rankers.training_data import TrainingData

if TYPE_CHECKING:
    import torch

    from luce.rankers.neural.training import TorchLearner

TRAINING = {
    "learning_rate_schedule": or_none(NAME, search_space=Choice((None, "cosine"))),
    "warmup_epochs": number(0),
    "max_grad_norm": or_none(number(above=0)),
    "precision": NAME,
}
"""Parameters of every training of a network beside the learning rate."""

MIN_STEPS_PER_EPOCH = 20
"""Fewer steps between two validations would let a training on few lists stop before it has begun."""


class NetworkEstimator(Estimator):
    """Base of the estimators that train a network, with one or several learning rates; a subclass builds it."""

    packages = ("torch",)
    iteration_name = "epoch"
    max_iter_param = "epochs"
    resumable_params = ("device", "epochs", "n_jobs", "early_stopping_rounds")
    machine_specific_params = ("device",)

    def describe(self, exclude: Sequence[str] = ()) -> dict[str, Any]:
        if self.learning_rate_schedule is not None:  # the learning rate of a step depends on the number of epochs
            exclude = [name for name in exclude if name != "epochs"]
        return super().describe(exclude)

    @abstractmethod
    def build_network(self) -> "torch.nn.Module":
        """The network before training."""

    def build_fitted_network(self, arrays: Arrays) -> "torch.nn.Module":
        """The network that holds these arrays of a file."""
        return self.build_network()

    def train_network(
        self,
        make_learner: "Callable[..., TorchLearner]",
        lists: Integers,
        training: TrainingData,
        *,
        callback: Callback | None,
        checkpoint: Checkpoint | None,
    ) -> None:
        """Train on these lists with each learning rate and keep the best network, also on an interrupt.

        In a process group the lists of all ranks are numbered in the order of ranks.
        `make_learner(network, seed=…, learning_rate=…, …)` makes what takes the steps.
        """
        best: LearningCurve | None = None
        lists = gathered(lists + numbered(training.dataset.n_lists)[0])
        seed, validated = self.get_seed(), training.validation is not None
        for place, rate in enumerate(learning_rate_grid(self.learning_rate, validated)):
            curve = self.new_curve(validated=validated)
            checkpointer = self.shared_checkpoint(checkpoint, training.dataset, place)

            def counted(record: dict[str, float], place: int = place) -> None:
                if callback is not None:
                    callback({**record, "iteration": record["iteration"] + place * self.epochs})

            try:
                self._descend(make_learner, lists, curve, rate, seed, checkpointer, self.logged(counted))
            except (KeyboardInterrupt, MachineError):
                self._keep_better(best, curve, rate)
                raise
            best = self._keep_better(best, curve, rate)

    def _keep_better(self, best: LearningCurve | None, curve: LearningCurve, rate: float) -> LearningCurve | None:
        """The better of two trainings; if that is the new one, the network is its best."""
        if curve.best_state is None or (best is not None and not best.improves(curve.best_value)):
            return best
        self.load_state_dict(self.extra_state() | as_arrays(curve.best_state) | {"learning_rate": np.array([rate])})
        self.history_, self.best_iteration_ = curve.history, curve.best_iteration
        return curve

    def _descend(
        self,
        make_learner: "Callable[..., TorchLearner]",
        lists: Integers,
        curve: LearningCurve,
        rate: float,
        seed: int,
        checkpointer: Checkpointer | None,
        report: Callback,
    ) -> None:
        import torch

        from luce.rankers.neural.training import Schedule, torch_settings

        device, steps = self.get_device(), self.get_steps_per_epoch(len(lists))
        warmup = round(self.warmup_epochs * steps)
        with torch_settings(self.n_jobs, device, self.precision):
            torch.manual_seed(seed)
            learner = make_learner(
                self.build_network().to(device),
                optimizer=self.optimizer,
                learning_rate=rate,
                weight_decay=self.weight_decay,
                precision=self.precision,
                max_grad_norm=self.max_grad_norm,
                schedule=Schedule(self.learning_rate_schedule, warmup, self.epochs * steps),
                seed=seed,
            )
            descend(
                learner,
                lists,
                curve,
                epochs=self.epochs,
                batch_size=self.get_batch_size(len(lists)),
                steps_per_epoch=steps,
                seed=seed,
                checkpointer=checkpointer,
                callback=report,
            )

    def get_batch_size(self, n_lists: int) -> int:
        """Lists per step: `batch_size`, or where it is None a hundredth of the lists, from 8 to 64."""
        return self.batch_size or min(max(n_lists // 100, 8), 64)

    def get_steps_per_epoch(self, n_lists: int) -> int:
        """Steps between two validations: `steps_per_epoch`, or where it is None one pass, but at least 20 steps."""
        return self.steps_per_epoch or max(math.ceil(n_lists / self.get_batch_size(n_lists)), MIN_STEPS_PER_EPOCH)

    @property
    def iteration_limit(self) -> int:
        return self.epochs * len(learning_rate_grid(self.learning_rate, True)) * self.n_bags

    def found_params(self) -> dict[str, Any]:
        return super().found_params() | {"learning_rate": self.learning_rate_}

    @property
    def n_processes(self) -> int:
        return super().n_processes if self.get_device().type == "cpu" else 1  # one process has the device

    def extra_state(self) -> Arrays:
        """What `state_dict` holds beside what is trained."""
        return {}

    def network_state(self) -> Arrays:
        """The arrays of the trained network, and the learning rate it was trained with."""
        arrays = {f"network.{name}": tensor.cpu().numpy() for name, tensor in self.network_.state_dict().items()}
        return arrays | {"learning_rate": np.array([self.learning_rate_])}

    def restore_network(self, arrays: Arrays) -> None:
        """Build the network and fill it with stored arrays; an error where they do not fit or are not finite."""
        import torch

        from luce.rankers.neural.training import load_network

        # On the meta device a network has shapes and no memory: what a file claims cannot fill it.
        with torch.device("meta"):
            network = self.build_fitted_network(arrays)
        load_network(network, arrays)
        floats = [tensor for tensor in network.state_dict().values() if tensor.is_floating_point()]
        if not all(bool(tensor.isfinite().all()) for tensor in floats):
            raise self.wrong_arrays()
        rate = np.asarray(arrays["learning_rate"], dtype=np.float64)
        if rate.shape != (1,) or not 0 < rate[0] < np.inf:
            raise self.wrong_arrays()
        self.learning_rate_ = float(rate[0])
        self.network_ = network.to(self.get_device()).eval()

    def check_size(self, arrays: Arrays, n_layers: int, outputs: int) -> None:
        """A DataError where a file claims more layers, or wider ones, than it has numbers for."""
        widest = max(width_after(self.transforms_, self.n_features_in_), *self.hidden_layer_sizes, outputs)
        if n_layers > len(arrays) or widest > sum(array.size for array in arrays.values()):
            raise DataError("The model file has fewer weights than its layers need.")

    def check_params(self) -> None:
        super().check_params()
        learning_rate_grid(self.learning_rate, True)
        load_package("torch", "neural")
        from luce.rankers.neural.network import ACTIVATIONS
        from luce.rankers.neural.training import OPTIMIZERS, PRECISIONS, SCHEDULES

        tables: dict[str, Any] = {"optimizer": OPTIMIZERS, "activation": ACTIVATIONS, "precision": PRECISIONS}
        if self.learning_rate_schedule is not None:
            tables["learning_rate_schedule"] = SCHEDULES
        for name, table in tables.items():
            if getattr(self, name) not in table:
                raise unknown_name(name, getattr(self, name), table)

    def get_device(self) -> "torch.device":
        """The device that `device` names; where it is None a GPU if there is one, and each local rank has its own."""
        import torch

        if self.device is None:
            if not torch.cuda.is_available():
                return torch.device("cpu")
            rank = None if current_group() is None else os.environ.get("LOCAL_RANK")
            return torch.device("cuda" if rank is None else f"cuda:{int(rank) % torch.cuda.device_count()}")
        try:
            device = torch.device(self.device)
            torch.empty(0, device=device)
        except (RuntimeError, AssertionError) as error:
            raise OptionError(f"PyTorch cannot use the device {self.device!r}: {error}") from error
        return device

    network_: Any
    hidden_layer_sizes: Sequence[int]
    learning_rate: float | Sequence[float]
    learning_rate_: float
    batch_size: int | None
    steps_per_epoch: int | None
    epochs: int
    device: str | None
    learning_rate_schedule: str | None
    warmup_epochs: float
    max_grad_norm: float | None
    precision: str


def learning_rate_grid(given: float | Sequence[float], validated: bool) -> list[float]:
    """The learning rates to try; several need validation data to choose by."""
    rates: list[Any] = list(given) if isinstance(given, list | tuple | np.ndarray) else [given]
    if len(rates) > 1 and not validated:
        raise OptionError(
            f"To choose between {len(rates)} learning rates, give validation data, or a validation_fraction."
        )
    return [float(rate) for rate in rates]
