"""What rankers made of a PyTorch network share: a search over learning rates, what is kept of it, and the device."""

import logging
import os
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from luce.errors import OptionError, load_package, unknown_name
from luce.optimizers.gradient_descent import Arrays, Checkpointer
from luce.optimizers.learning_curve import LearningCurve
from luce.rankers.checkpoint import Checkpoint
from luce.rankers.ranker import Callback, Ranker

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)

Training = Callable[[LearningCurve, float, Checkpointer | None, Callback], None]
"""Trains with one learning rate, from the first weights or from what the checkpointer has; fills the curve."""


class NetworkRanker(Ranker):
    """Base of the rankers that train a network with several learning rates and keep the best by validation."""

    packages = ("torch",)
    round_name = "epoch"
    max_iter_param = "epochs"
    resumable_params = ("device", "epochs", "n_jobs", "early_stopping_rounds")
    machine_specific_params = ("device",)

    def _search(
        self,
        train: Training,
        dataset: Any,
        *,
        validated: bool,
        callback: Callback | None,
        checkpoint: Checkpoint | str | os.PathLike[str] | None,
    ) -> None:
        """Train with each learning rate and keep the best; an interrupt keeps the best so far."""
        best: LearningCurve | None = None
        for number, rate in enumerate(rates_of(self.learning_rate, validated)):
            curve = LearningCurve(self._metric().higher_is_better, self.early_stopping_rounds if validated else None)
            checkpointer = self._checkpointer(checkpoint, dataset, number)

            def tell(record: dict[str, float], number: int = number) -> None:
                logger.info("%s: %s", self._objective(), record)
                if callback is not None:
                    callback({**record, "iteration": record["iteration"] + number * self.epochs})

            try:
                train(curve, rate, checkpointer, tell)
            except KeyboardInterrupt:
                if curve.best_state is not None and (best is None or best.improves(curve.best_value)):
                    best = self._keep(curve, rate)
                raise
            if best is None or best.improves(curve.best_value):
                best = self._keep(curve, rate)

    @property
    def rounds(self) -> int:
        return self.epochs * len(rates_of(self.learning_rate, True))

    def _keep(self, curve: LearningCurve, rate: float) -> LearningCurve:
        self._take(self._known() | curve.best_state)
        self.history_, self.best_iteration_, self.learning_rate_ = curve.history, curve.best_iteration, rate
        return curve

    def _known(self) -> Arrays:
        """What `_take` wants beside what is trained."""
        return {}

    def _check_settings(self) -> None:
        super()._check_settings()
        rates_of(self.learning_rate, True)
        load_package("torch", "neural")
        from luce.rankers.neural.network import ACTIVATIONS
        from luce.rankers.neural.training import OPTIMISERS

        for name, table in (("optimizer", OPTIMISERS), ("activation", ACTIVATIONS)):
            if getattr(self, name) not in table:
                raise unknown_name(name, getattr(self, name), table)

    def _device(self) -> "torch.device":
        import torch

        if self.device is None:
            return torch.device("cuda" if torch.cuda.is_available() else "cpu")
        try:
            device = torch.device(self.device)
            torch.empty(0, device=device)
        except (RuntimeError, AssertionError) as error:
            raise OptionError(f"PyTorch cannot use the device {self.device!r}: {error}") from error
        return device

    @abstractmethod
    def _network(self) -> "torch.nn.Module":
        """The network before training."""

    learning_rate: float | Sequence[float]
    learning_rate_: float
    epochs: int
    early_stopping_rounds: int
    device: str | None


def rates_of(given: float | Sequence[float], validation: bool) -> list[float]:
    """The learning rates to try."""
    rates: list[Any] = list(given) if isinstance(given, list | tuple | np.ndarray) else [given]
    if len(rates) > 1 and not validation:
        raise OptionError(f"To choose between {len(rates)} learning rates, give validation data.")
    return [float(rate) for rate in rates]
