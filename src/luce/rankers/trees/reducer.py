"""What a training asks of the other machines that train with it: alone, nothing."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from numpy.typing import NDArray

from luce.arrays import Floats
from luce.data.transforms import Transform
from luce.optimizers.gradient_descent import Checkpointer
from luce.rankers.checkpoint import Checkpoint
from luce.rankers.training_data import TrainingData
from luce.scoring.forest import Forest


class Reducer:
    """One machine that has all the lists: a sum over machines is its own. `shards` has the reducer of several."""

    rank, size = 0, 1

    def sum(self, values: Floats) -> Floats:
        """The sum over all machines."""
        return values

    def gather(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """What each machine has, in the order of ranks."""
        return [values]

    def exchange_metadata(
        self,
        own: dict[str, Any],
        settings: dict[str, Any],
        training: TrainingData,
        transforms: Sequence[Transform],
        init_forest: Forest | None,
    ) -> list[dict[str, Any]]:
        """What each machine has of its own, once it is sure that all train the same ranker."""
        return [own]

    def lightgbm_calls(self) -> AbstractContextManager[None]:
        """What to call LightGBM in, where a tree is grown."""
        return nullcontext()

    def shared_bins(self, features: Any, parameters: dict[str, Any], categorical: list[int]) -> Any:
        """A LightGBM dataset whose bins all machines take, or None; adds what they need to the parameters."""
        return None

    def checkpointer(self, own: Checkpoint | None) -> Checkpointer | None:
        """What keeps the checkpoint of all machines, given what keeps it on this one."""
        return own
