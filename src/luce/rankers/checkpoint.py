"""Checkpoints: the state of a training in a file, from which it can be resumed."""

import os
import re
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from luce.distributed import Group, failing_together
from luce.errors import DataError, OptionError
from luce.optimizers.gradient_descent import Arrays, Checkpointer
from luce.storage import open_model, save_model


class Checkpoint:
    """Where and how often `fit` saves the state of a training, and whether it resumes from a saved one.

    A resumed training ends with the same model as an uninterrupted one. A crash while saving leaves the last checkpoint
    intact, and the checkpoint of another training is never overwritten: resume it with `resume=True`, or remove it.

    Parameters
    ----------
    path : str or path-like
        The file.
    minutes : float or None, default=10.0
        Minutes between two checkpoints; None to save by `steps` only.
    steps : int, optional
        Steps between two checkpoints: batches, or evaluations of the loss; by default `minutes` only.
    resume : bool, default=False
        Continue from the file if there is one.

    Examples
    --------
    >>> import tempfile, luce
    >>> data = luce.from_arrays([[1.0, 0], [3, 1], [2, 0]], [0, 2, 1], ["q", "q", "q"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "night.checkpoint"
    ...     first = luce.LinearRanker().fit(data, checkpoint=luce.Checkpoint(path, steps=1))
    ...     again = luce.LinearRanker().fit(data, checkpoint=luce.Checkpoint(path, resume=True))
    >>> bool((first.coef_ == again.coef_).all())
    True
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        minutes: float | None = 10.0,
        steps: int | None = None,
        resume: bool = False,
    ):
        if minutes is not None and not minutes > 0:
            raise OptionError(f"The minutes between checkpoints must be a number > 0, or None. Got {minutes!r}.")
        if steps is not None and not (isinstance(steps, int) and steps >= 1):
            raise OptionError(f"The steps between checkpoints must be an integer ≥ 1, or None. Got {steps!r}.")
        self.path, self.minutes, self.steps, self.resume = Path(path), minutes, steps, resume
        self._training: dict[str, Any] = {}
        self._last = time.monotonic()

    def for_training(self, training: dict[str, Any], number: int = 0) -> "Checkpoint":
        """This checkpoint for one training, described by what must be the same when it is resumed.

        The first training of a fit has number 0; further ones have files of their own.
        """
        one = self._at(self.path) if number == 0 else self.numbered(number)
        one._training = training
        if one.path.exists() and not self.resume:
            raise DataError(
                f"{one.path} is the checkpoint of an earlier training. Resume it (resume=True, or --resume), "
                "or remove it."
            )
        return one

    def numbered(self, number: int) -> "Checkpoint":
        """The same for one of several trainings, with a file of its own beside that of this one."""
        return self._at(self.path.with_name(f"{self.path.name}.{number}"))

    def _at(self, path: Path) -> "Checkpoint":
        return Checkpoint(path, minutes=self.minutes, steps=self.steps, resume=self.resume)

    def load(self) -> tuple[dict[str, Any], Arrays] | None:
        """The progress and the arrays that were saved last; None if nothing was."""
        if not self.path.exists():
            return None
        manifest, arrays = open_model(self.path, ("checkpoint",))
        try:
            saved, progress = dict(manifest["training"]), dict(manifest["progress"])
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{self.path} is not a complete checkpoint: {error!r}") from error
        for name, value in self._training.items():
            if saved.get(name) != value:
                raise DataError(
                    f"{self.path} is the checkpoint of another training: its {name} was {saved.get(name)!r}, "
                    f"now it is {value!r}."
                )
        return progress, arrays

    def due(self, step: int) -> bool:
        """Whether to save after this many steps."""
        if self.steps is not None and step % self.steps == 0:
            return True
        return self.minutes is not None and time.monotonic() - self._last >= 60 * self.minutes

    def save(self, progress: dict[str, Any], arrays: Arrays) -> None:
        """Replace what was saved before."""
        save_model(self.path, {"kind": "checkpoint", "training": self._training, "progress": progress}, arrays)
        self._last = time.monotonic()

    def remove(self) -> None:
        """Delete the file and those of further trainings of the fit."""
        for path in self.files():
            path.unlink(missing_ok=True)

    def files(self) -> list[Path]:
        """The files of all trainings of the fit that are there: this one, and those numbered beside it."""
        own = re.compile(rf"{re.escape(self.path.name)}(\.\d+)*")
        return sorted(path for path in self.path.parent.glob("*") if own.fullmatch(path.name))


def shared(own: Checkpoint | None, group: Group | None) -> Checkpointer | None:
    """What keeps the checkpoint of a training: `own`, and in a group that of rank 0, which alone needs to have one."""
    return own if group is None else SharedCheckpoint(own, group)


class SharedCheckpoint:
    """Rank 0 saves the checkpoint, and all ranks resume from what it has."""

    def __init__(self, own: Checkpoint | None, group: Group):
        self.own, self.group = own if group.rank == 0 else None, group

    def load(self) -> tuple[dict[str, Any], Arrays] | None:
        """What rank 0 saved last; None if nothing was."""
        with failing_together():
            saved = None if self.own is None else self.own.load()
        own = np.zeros(0, np.uint8) if saved is None or self.own is None else np.fromfile(self.own.path, np.uint8)
        content = self.group.broadcast(own)
        if saved is not None or not content.size:
            return saved
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "checkpoint"
            content.tofile(path)
            return Checkpoint(path).load()

    def due(self, step: int) -> bool:
        """Whether to save now: never on other ranks than the first."""
        return self.own is not None and self.own.due(step)

    def save(self, progress: dict[str, Any], arrays: Arrays) -> None:
        """Replace what was saved before, on rank 0."""
        if self.own is not None:
            self.own.save(progress, arrays)
