"""The Optuna study of a tuning: in memory or in an SQLite file, which outlives a crash and is resumed."""

import json
import logging
import os
import sqlite3
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from luce.errors import DataError, LuceError, load_package
from luce.files import exclusive_lock

NAME = "luce"
STARTUP_TRIALS = 10
"""Random trials before Optuna's sampler learns from them; fewer where few parameters are searched."""
FOREIGN = "an Optuna study that Luce did not write"


@contextmanager
def open_study(
    path: str | os.PathLike[str] | None, description: Mapping[str, Any], *, higher_is_better: bool, pruning: bool
) -> Iterator[Any]:
    """The Optuna study in a file, new or resumed, or in memory without a path; a DataError where the file is no study
    of this very description."""
    optuna = load_package("optuna", "tune")
    # Only the worst quarter is pruned, and only beside five others: more would prune what is no worse.
    pruner = optuna.pruners.PercentilePruner(75.0, n_startup_trials=5, n_min_trials=5)
    with _quiet(optuna), _storage(path) as storage:
        with errors_of(path):
            if storage is not None and {each.study_name for each in storage.get_all_studies()} - {NAME}:
                raise DataError(f"{path} is {FOREIGN}. Choose another file.")
            study = optuna.create_study(
                storage=storage,
                study_name=NAME,
                load_if_exists=True,
                direction="maximize" if higher_is_better else "minimize",
                pruner=pruner if pruning else optuna.pruners.NopPruner(),
            )
            _check_same(study, json.loads(json.dumps(description)), path)
        yield study


@contextmanager
def errors_of(path: Any) -> Iterator[None]:
    """A DataError for whatever Optuna or SQLite raises where a file does not hold a complete study."""
    try:
        yield
    except LuceError:
        raise
    except Exception as error:
        raise DataError(f"{path} is not a complete study: {error!r}. Choose another file.") from error


def sampler(seed: int, number: int, n_params: int) -> Any:
    """The TPE sampler of a trial, seeded by its number, so that a resumed study draws what it would have drawn."""
    from optuna.samplers import TPESampler

    own = int(np.random.SeedSequence([seed, number]).generate_state(1)[0])
    return TPESampler(seed=own, multivariate=True, n_startup_trials=min(STARTUP_TRIALS, 1 + 2 * n_params))


def importances(study: Any) -> dict[str, float]:
    """The share of the differences between complete trials that each parameter explains (fANOVA), largest first."""
    from optuna.importance import FanovaImportanceEvaluator, get_param_importances

    values = [trial.value for trial in study.get_trials(deepcopy=False) if trial.state.name == "COMPLETE"]
    if len(values) < 5 or min(values) == max(values):
        return {}
    found = get_param_importances(study, evaluator=FanovaImportanceEvaluator(seed=0))
    return {name: float(share) for name, share in found.items()}


@contextmanager
def _quiet(optuna: Any) -> Iterator[None]:
    """Optuna without its log and its notes on what is experimental in it; as it was before, afterwards."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(before)


@contextmanager
def _storage(path: str | os.PathLike[str] | None) -> Iterator[Any]:
    """Optuna's storage in an SQLite file, used by one process at a time; None without a path."""
    if path is None:
        yield None
        return
    from optuna.storages import RDBStorage

    file = Path(path)
    if file.is_dir() or not file.parent.is_dir():
        raise DataError(f"{file} cannot be used for a study: it must be a file in an existing folder.")
    with exclusive_lock(file):
        with errors_of(file):
            _check_foreign(file)
            # A file name in a URL would have to be escaped; a connection takes any.
            storage = RDBStorage("sqlite://", engine_kwargs={"creator": lambda: sqlite3.connect(file)})
        try:
            yield storage
        finally:
            storage.remove_session()
            storage.engine.dispose()


def _check_foreign(file: Path) -> None:
    """A ValueError for a database of something else, before Optuna creates its tables there."""
    if file.exists():
        connection = sqlite3.connect(file)
        try:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            damage = [text for (text,) in connection.execute("PRAGMA quick_check") if text != "ok"]
        finally:
            connection.close()
        if damage or (tables and "studies" not in tables):
            raise ValueError(damage[0] if damage else "it is another kind of database")


def _check_same(study: Any, description: dict[str, Any], path: Any) -> None:
    """A DataError unless the study is new or of this very tuning."""
    known = study.user_attrs.get("tuning")
    if known is None and not study.trials:
        study.set_user_attr("tuning", description)
        return
    if not isinstance(known, dict):
        raise DataError(f"{path} is {FOREIGN}. Choose another file.")
    for name in description | known:
        if known.get(name) != description.get(name):
            raise DataError(
                f"{path} is another study: its {name} was {known.get(name)!r}, now it is {description.get(name)!r}. "
                "Choose another file, or remove this one to start again."
            )
