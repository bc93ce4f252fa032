"""What a fit on the ranks of a group agrees on before the work: settings, kinds of data, their facts, a checkpoint."""

import json
import os
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, ClassVar

from luce.data import Dataset
from luce.data.fingerprint import fingerprint
from luce.data.summary import joined, summarize
from luce.distributed import current_group, failing_together
from luce.optimizers.gradient_descent import Checkpointer
from luce.rankers.checkpoint import Checkpoint, shared


class FitOnRanks:
    """Base of `Estimator`: what its fits have in common on all ranks of a group, and what one process does alone."""

    packages: ClassVar[tuple[str, ...]]
    resumable_params: ClassVar[tuple[str, ...]]
    machine_specific_params: ClassVar[tuple[str, ...]]
    provenance_: dict[str, Any] | None

    @abstractmethod
    def describe(self, exclude: Sequence[str] = ()) -> dict[str, Any]:
        """Kind and settings, ready for JSON."""

    def agree_on_fit(self, data: Any, *, validated: bool) -> None:
        """A MachineError on all ranks of a group unless their settings, versions and kinds of data are the same."""
        group = current_group()
        if group is None:
            return
        versions = {f"the version of {name}": version(name) for name in ("luce", "numpy", *self.packages)}
        settings = {
            **self.describe(("n_jobs", *self.machine_specific_params)),
            **versions,
            **_form(data),
            "the presence of validation data": validated,
        }
        group.agree(settings)

    def record_data(self, training: Any, validation: Any) -> None:
        """Note what the data given to `fit` are, on all ranks: `provenance_`."""
        facts: dict[str, Any] = {
            "training": summarize(training),
            "validation": None if validation is None else summarize(validation),
        }
        group = current_group()
        parts = [facts] if group is None else group.gather_json(facts)
        self.provenance_ = {
            name: None if facts[name] is None else joined([part[name] for part in parts]) for name in facts
        }

    def open_checkpoint(
        self,
        checkpoint: Checkpoint | str | os.PathLike[str] | None,
        data: Any,
        number: int = 0,
        elsewhere: Sequence[Mapping[str, Any]] = (),
    ) -> Checkpoint | None:
        """The checkpoint of one training, which is resumed only with the same parameters and data, here and elsewhere;
        `number` counts the trainings of one fit."""
        if checkpoint is None:
            return None
        given = checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint)
        facts = _identity(data) | ({"elsewhere": elsewhere} if elsewhere else {})
        training = {**self.describe(self.resumable_params), "data": facts}
        return given.for_training(json.loads(json.dumps(training)), number)

    def shared_checkpoint(
        self, checkpoint: Checkpoint | str | os.PathLike[str] | None, data: Any, number: int = 0
    ) -> Checkpointer | None:
        """The same for a training on all ranks of a group, of which only the first needs to be given a checkpoint."""
        group = current_group()
        if group is None:
            return self.open_checkpoint(checkpoint, data, number)
        if not group.gather_json(checkpoint is not None)[0]:
            return None
        elsewhere = group.gather_json(_identity(data))[1:]
        with failing_together():
            own = None if group.rank else self.open_checkpoint(checkpoint, data, number, elsewhere)
        return shared(own, group)


def _form(data: Any) -> dict[str, Any]:
    """What the data on all ranks of a group have in common."""
    form = {
        "the number of features": data.n_features,
        "the kind of features": "sparse" if data.is_sparse else "dense",
    }
    if not isinstance(data, Dataset):
        return form | {"the number of labels": data.n_labels}
    return form | {
        "the names of features": data.feature_names,
        "the categories of features": data.categories,
        "the presence of list weights": data.list_weights is not None,
        "the presence of item weights": data.item_weights is not None,
        "the presence of item groups": data.item_groups is not None,
    }


def _identity(data: Any) -> dict[str, Any]:
    """By what a checkpoint knows the data again."""
    sizes = {"rows": data.n_rows, "lists": data.n_lists, "features": data.n_features}
    return sizes | {"fingerprint": fingerprint(data)}
