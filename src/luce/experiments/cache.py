"""The results of fits in files, found again for the same parameters, data, seed and versions, and for nothing else."""

import hashlib
import importlib
import json
import os
import pickle
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from luce.data.fingerprint import fingerprint
from luce.data.memory_mapped import read_mapped, write_mapped
from luce.data.ragged import Dataset
from luce.data.splits import Fold
from luce.errors import DataError, LuceWarning
from luce.experiments.cost import Cost
from luce.experiments.fits import FitResult, packages_of
from luce.files import lock
from luce.rankers.importance import Importance
from luce.rankers.ranker import Ranker
from luce.storage import open_model, save_model
from luce.threads import thread_count


class StoredFold(NamedTuple):
    """The fingerprints of a fold's data, and the folder of its files, which another process maps into memory."""

    fingerprints: tuple[str, str | None, str]
    folder: Path

    @classmethod
    def write(cls, fold: Fold, folder: Path) -> "StoredFold":
        """Store a fold; a file of the same data, of another fold or comparison, is used again."""
        train, validation, test = (None if data is None else fingerprint(data) for data in fold)
        stored = cls((str(train), validation, str(test)), folder)
        for path, data in zip(stored._paths(), fold, strict=True):
            if path is not None and not path.exists():
                write_mapped(_without_ids(data), path)
        return stored

    def read(self) -> Fold:
        """The fold; none of its numbers is read before it is used."""
        return Fold(*(None if path is None else read_mapped(path) for path in self._paths()))  # type: ignore[arg-type]

    def _paths(self) -> list[Path | None]:
        return [None if each is None else self.folder / f"data-{each}.luce-data" for each in self.fingerprints]


@contextmanager
def shared_folder(folder: Path) -> Iterator[None]:
    """While folds are stored in a folder, which other comparisons may use too: the last to end removes them all."""
    held = os.open(folder, os.O_RDONLY) if os.name == "posix" else None
    if held is not None:
        lock(held, shared=True, wait=True)
    try:
        yield
    finally:
        if held is None or lock(held) is not False:
            for file in folder.glob("data-*.luce-data"):
                with suppress(OSError):  # Windows removes no file that is mapped into memory
                    file.unlink()
        if held is not None:
            os.close(held)


def _without_ids(data: Any) -> Dataset:
    """The dataset without the ids of its lists and items, which no ranker learns from."""
    used = {each.name for each in fields(Dataset)} - {"query_ids", "document_ids"}
    numbers = pa.array(np.arange(data.n_lists))
    return Dataset.unchecked(query_ids=numbers, **{name: getattr(data, name) for name in used})


class ResultCache(NamedTuple):
    """The results of fits in a folder, one file for each."""

    folder: Path

    def path(self, key: Mapping[str, Any]) -> Path:
        """The file of a key."""
        digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
        return self.folder / f"{digest[:24]}.fit"

    def save(self, key: Mapping[str, Any], result: FitResult) -> None:
        """Write a result, completely or not at all."""
        manifest = {"kind": "fit", "key": key, "cost": list(result.cost), "history": list(result.history)}
        arrays: dict[str, Any] = {"scores": result.scores}
        if result.importance is not None:
            manifest["importance"] = {"measure": result.importance.measure, "names": list(result.importance.names)}
            arrays["importance"] = result.importance.values
        save_model(self.path(key), manifest, arrays)

    def load(self, key: Mapping[str, Any], n_rows: int) -> FitResult:
        """The result of a key; a DataError where its file is damaged, of another key or another number of rows."""
        path = self.path(key)
        manifest, arrays = open_model(path, ("fit",))
        try:
            if manifest["key"] != key:
                raise ValueError("it is the result of another fit")
            scores, about = arrays["scores"], manifest.get("importance")
            if scores.shape != (n_rows,) or scores.dtype != np.float64 or not np.isfinite(scores).all():
                raise ValueError("it does not have a score for each row")
            history = [{str(name): float(value) for name, value in step.items()} for step in manifest["history"]]
            importance = None
            if about is not None:
                importance = Importance(about["measure"], tuple(about["names"]), arrays["importance"])
                _check_importance(importance)
            fit_seconds, predict_seconds, peak_bytes = map(float, manifest["cost"])
            return FitResult(scores, Cost(fit_seconds, predict_seconds, peak_bytes), history, importance)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise DataError(f"{path} is not a complete result: {error!r}") from error

    def find(self, name: str, key: Mapping[str, Any], n_rows: int) -> FitResult | None:
        """The result of a key, None where there is none; a damaged one is None with a warning that has the name."""
        try:
            return self.load(key, n_rows) if self.path(key).exists() else None
        except DataError as error:
            warnings.warn(f"A cached result of {name} is computed again: {error}", LuceWarning, stacklevel=2)
            return None


def _check_importance(importance: Importance) -> None:
    if importance.values.shape != (len(importance.names),):
        raise ValueError("its importance has another number of values than names")
    if not all(isinstance(text, str) for text in (importance.measure, *importance.names)):
        raise ValueError("its importance has names that are not text")


def cache_key(estimator: Any, fold: StoredFold, seed: int) -> dict[str, Any]:
    """All that decides the result of a fit and its cost, as JSON has it."""
    params = estimator.get_params(deep=False) | {"random_state": seed}
    threads = thread_count(params.pop("n_jobs", None))
    packages = ("luce", "numpy", "scipy", "numba", *packages_of(estimator))
    key = {
        "kind": f"{type(estimator).__module__}.{type(estimator).__qualname__}",
        "params": params,
        "threads": threads,
        "data": fold.fingerprints,
        "versions": {package: version_of(package) for package in packages},
    }
    plain: dict[str, Any] = json.loads(json.dumps(key, default=_as_json))
    return plain


def version_of(package: str) -> str:
    """The version of an importable package.

    >>> version_of("numpy") == np.__version__
    True
    """
    try:
        return version(package)
    except PackageNotFoundError:  # it came under another name, as xgboost-cpu brings xgboost
        return str(importlib.import_module(package).__version__)


def _as_json(value: Any) -> Any:
    """What JSON cannot hold by its repr, where that has all of it, or by its pickle."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Ranker):  # a member of an ensemble, whose repr may be shortened
        return {"kind": type(value).__qualname__, **value.get_params(deep=False)}
    if type(value).__module__.startswith("luce."):  # the repr of objectives and transforms is complete
        return repr(value)
    try:
        return f"{type(value).__qualname__} {hashlib.sha256(pickle.dumps(value)).hexdigest()}"
    except (pickle.PicklingError, AttributeError, TypeError):
        return repr(value)
