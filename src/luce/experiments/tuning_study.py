"""The study of a tuning: its trials in a file of JSON lines, which outlives a crash and is taken up again."""

import json
import logging
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from luce.data.extreme import TaggedData
from luce.data.ragged import Dataset
from luce.errors import DataError, LuceError, load_package
from luce.experiments.kept import fingerprint
from luce.experiments.tuning_space import distributions, settings_of
from luce.experiments.tuning_trials import Trial
from luce.files import alone
from luce.options import Choice, Range, is_integer, is_number

NAME = "luce"
STARTUP = 10
"""Trials at random before Optuna's sampler learns from them."""


@contextmanager
def quiet_optuna() -> Iterator[Any]:
    """Optuna without its log and its notes on what is experimental in it; as it was before, afterwards."""
    optuna = load_package("optuna", "tune")
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield optuna
    finally:
        optuna.logging.set_verbosity(before)


def mark_of(data: Dataset | TaggedData) -> str:
    """A text that differs where anything does that a ranker learns from."""
    if isinstance(data, Dataset):
        return f"{data!r} {fingerprint(data)}"
    tags = {"labels": data.labels.data, "offsets": data.labels.indptr, "item_weights": data.labels.indices}
    return f"{data!r} {fingerprint(Dataset.unchecked(features=data.features, **tags))}"


class Study:
    """The trials of one tuning, described by what must be the same when it goes on."""

    def __init__(self, study: Any, space: Mapping[str, Range | Choice], seed: int):
        self.study, self.space, self.seed = study, space, seed

    def check(self) -> None:
        """A ValueError or TypeError unless the trials of a file are what this tuning would have written."""
        for trial in self.trials():
            numbers = [*trial.figures, *trial.iterations, *([trial.value] if trial.state == "complete" else [])]
            if not all(map(is_number, numbers)) or (trial.state == "complete" and not trial.iterations):
                raise ValueError(f"the figures of trial {trial.number} are not all numbers")
            if not isinstance(trial.error, str):
                raise ValueError(f"the error of trial {trial.number} is not text")
            if not all(name in trial.settings and trial.settings[name] in self.space[name] for name in self.space):
                raise ValueError(f"the settings of trial {trial.number} are not in the ranges")
        for steps in self.reports():
            if not all(is_integer(step) and isinstance(value, float) for step, value in steps.items()):
                raise ValueError("what a trial had reached is not a number")

    def trials(self) -> list[Trial]:
        """The trials that ended, in their order; what an interrupt or a crash cut off is not among them."""
        ended = [trial for trial in self.study.get_trials(deepcopy=False) if _has_ended(trial)]
        return [self._told(number, trial) for number, trial in enumerate(ended, 1)]

    def _told(self, number: int, trial: Any) -> Trial:
        state = {"COMPLETE": "complete", "PRUNED": "pruned"}.get(trial.state.name, "failed")
        notes = trial.user_attrs
        return Trial(
            number,
            state,
            float(trial.value) if state == "complete" else np.nan,
            self.settings_of(trial),
            tuple(notes.get("figures", ())),
            tuple(notes.get("iterations", ())),
            float(notes.get("seconds", np.nan)),
            notes.get("error", ""),
        )

    def ask(self, number: int, own: Mapping[str, Any]) -> Any:
        """Optuna's trial of this number, from 1; the first takes the ranker's own values, `own`."""
        from optuna.samplers import TPESampler

        # Seeded anew for each trial, so that a study that goes on draws what it would have drawn.
        seed = int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0])
        self.study.sampler = TPESampler(
            seed=seed, multivariate=True, constant_liar=False, n_startup_trials=min(STARTUP, 1 + 2 * len(self.space))
        )
        if number == 1 and own and not any(trial.state.name == "WAITING" for trial in self.study.trials):
            self.study.enqueue_trial(dict(own))
        return self.study.ask(distributions(self.space))

    def settings_of(self, trial: Any) -> dict[str, Any]:
        """The settings that a trial of Optuna stands for."""
        return settings_of(self.space, trial.params)

    def reports(self) -> list[dict[int, float]]:
        """What each trial had reached by each step; pruned ones too, else only ever better ones would be left."""
        kept = self._in_state("COMPLETE") + self._in_state("PRUNED")
        return [trial.intermediate_values for trial in kept]

    def _in_state(self, name: str) -> list[Any]:
        return [trial for trial in self.study.get_trials(deepcopy=False) if trial.state.name == name]

    def end(self, trial: Any, state: str, value: float | None = None, **notes: Any) -> None:
        """Keep how a trial ended."""
        from optuna.trial import TrialState

        for name, note in notes.items():
            trial.set_user_attr(name, note)
        self.study.tell(trial.number, value, state=TrialState[state])

    def importance(self) -> dict[str, float]:
        """The share of the differences between complete trials that each setting explains (fANOVA), largest first."""
        from optuna.importance import FanovaImportanceEvaluator, get_param_importances

        values = [trial.value for trial in self._in_state("COMPLETE")]
        if len(values) < 5 or min(values) == max(values):
            return {}
        found = get_param_importances(self.study, evaluator=FanovaImportanceEvaluator(seed=0))
        return {name: float(share) for name, share in found.items()}


def _has_ended(trial: Any) -> bool:
    return trial.state.name in ("COMPLETE", "PRUNED") or (trial.state.name == "FAIL" and "error" in trial.user_attrs)


@contextmanager
def open_study(
    path: str | os.PathLike[str] | None,
    description: Mapping[str, Any],
    space: Mapping[str, Range | Choice],
    *,
    higher_is_better: bool,
    seed: int,
) -> Iterator[Study]:
    """The study in a file, new or taken up, or in memory alone where no file is named."""
    from optuna.pruners import NopPruner
    from optuna.study import create_study, load_study

    with _storage(path) as storage:
        with _clear_errors(path):
            direction: Any = "maximize" if higher_is_better else "minimize"
            known = [] if storage is None else [each.study_name for each in storage.get_all_studies()]
            names: dict[str, Any] = {"storage": storage, "study_name": NAME, "pruner": NopPruner()}
            study = load_study(**names) if NAME in known else create_study(**names, direction=direction)
            _check_same(study, json.loads(json.dumps(description)), path)
            opened = Study(study, space, seed)
            opened.check()
        yield opened


@contextmanager
def _clear_errors(path: Any) -> Iterator[None]:
    """A DataError for whatever Optuna raises where a file is not one of its journals: it checks little of it."""
    try:
        yield
    except LuceError:
        raise
    except Exception as error:
        raise DataError(f"{path} does not hold a whole study: {error!r}. Name another file.") from error


def _check_same(study: Any, description: dict[str, Any], path: Any) -> None:
    """An error unless the study is new or of this very tuning."""
    known = study.user_attrs.get("tuning")
    if known is None and not study.trials:
        study.set_user_attr("tuning", description)
        return
    if not isinstance(known, dict):
        raise DataError(f"{path} holds a study of Optuna that is none of ours. Name another file.")
    for name in description | known:
        if known.get(name) != description.get(name):
            raise DataError(
                f"{path} holds another study: its {name} was {known.get(name)!r}, now it is {description.get(name)!r}. "
                "Name another file, or remove this one to start anew."
            )


@contextmanager
def _storage(path: str | os.PathLike[str] | None) -> Iterator[Any]:
    """Optuna's storage of JSON lines; nothing in it is ever unpickled."""
    if path is None:
        yield None
        return
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

    file = Path(path)
    if file.is_dir() or not file.parent.is_dir():
        raise DataError(f"{file} cannot hold a study: it must be a file in a folder that exists.")
    with alone(file):
        if os.name == "posix":  # where the lock above tells that no one is at work
            Path(f"{file}.lock").unlink(missing_ok=True)  # Optuna's, left by a run that was killed
        file.touch()
        with _clear_errors(file):
            _mend(file)
            storage = JournalStorage(JournalFileBackend(str(file), JournalFileOpenLock(str(file))))
        yield storage


def _mend(file: Path) -> None:
    """Remove a last line that a crash left without its end: what comes after it could not be read.

    A ValueError where there is anything but lines of a journal: such a file is left as it is.
    """
    with open(file, "r+b") as journal:
        whole, newline, cut = journal.read().rpartition(b"\n")
        lines = [json.loads(line) for line in whole.split(b"\n")] if newline else []
        if not all(isinstance(line, dict) and "op_code" in line for line in lines) or (
            cut and not cut.startswith(b"{")
        ):
            raise ValueError("it is no journal of Optuna")
        if cut:
            journal.truncate(len(whole + newline))
