"""Finished cells in files: found again for the same settings, data, seed and versions, and for nothing else."""

import hashlib
import importlib
import json
import os
import pickle
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from luce.data.memory_mapped import read_mapped, write_mapped
from luce.data.ragged import Dataset
from luce.data.splits import Fold
from luce.errors import DataError
from luce.experiments.cells import Cell, packages_of
from luce.files import lock
from luce.rankers.importance import Importance
from luce.rankers.storage import open_model, save_model
from luce.threads import thread_count


class StoredFold(NamedTuple):
    """The fingerprints of a fold's lists, and their files, which another process maps into memory."""

    marks: tuple[str, str | None, str]
    folder: Path

    @classmethod
    def of(cls, fold: Fold, folder: Path) -> "StoredFold":
        """Store a fold; a part that is there already, of another fold or from an earlier run, stays."""
        validation = None if fold.validation is None else fingerprint(fold.validation)
        stored = cls((fingerprint(fold.train), validation, fingerprint(fold.test)), folder)
        for mark, part in zip(stored.marks, fold, strict=True):
            if part is not None and not _file(folder, mark).exists():
                write_mapped(_nameless(part), _file(folder, mark))
        return stored

    def load(self) -> Fold:
        """The fold, none of whose numbers is read before it is used."""
        train, validation, test = self.marks
        held_out = None if validation is None else read_mapped(_file(self.folder, validation))
        return Fold(read_mapped(_file(self.folder, train)), held_out, read_mapped(_file(self.folder, test)))


@contextmanager
def stored_in(folder: Path) -> Iterator[None]:
    """While folds are stored in a folder, which other comparisons may use too: the last to end removes all of them."""
    held = os.open(folder, os.O_RDONLY) if os.name == "posix" else None
    if held is not None:
        lock(held, shared=True, wait=True)
    try:
        yield
    finally:
        if held is None or lock(held) is not False:
            for file in folder.glob(_file(folder, "*").name):
                with suppress(OSError):  # some systems remove no file that is mapped into memory
                    file.unlink()
        if held is not None:
            os.close(held)


def _file(folder: Path, mark: str | None) -> Path:
    return folder / f"data-{mark}.luce-data"


def _nameless(dataset: Dataset) -> Dataset:
    """The dataset without the names of its lists and items, which no ranker learns from."""
    kept = ("features", "labels", "offsets", "item_weights", "list_weights", "feature_names", "groups")
    numbers = pa.array(np.arange(dataset.n_lists))
    return Dataset.unchecked(query_ids=numbers, **{name: getattr(dataset, name) for name in kept})


def fingerprint(dataset: Dataset) -> str:
    """A short text that differs where anything does that a ranker learns from.

    >>> a, b = (Dataset([[0.5], [x]], [1, 0], [0, 2]) for x in (0.1, 0.2))
    >>> fingerprint(a) == fingerprint(a.take([0])), fingerprint(a) == fingerprint(b)
    (True, False)
    """
    features = dataset.features
    arrays = [features.data, features.indices, features.indptr] if dataset.is_sparse else [features]
    arrays += [dataset.labels, dataset.offsets, dataset.item_weights, dataset.list_weights, dataset.group_numbers()]
    found = hashlib.sha256(json.dumps([dataset.feature_names, dataset.features.shape]).encode())
    for array in arrays:
        found.update(b"none" if array is None else f"{array.dtype}{array.shape}".encode())
        if array is not None:
            found.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return found.hexdigest()[:24]


def key_of(estimator: Any, fold: StoredFold, seed: int) -> dict[str, Any]:
    """All that decides the outcome of a cell, and what it takes; ready for JSON."""
    settings = estimator.get_params(deep=False) | {"random_state": seed}
    threads = thread_count(settings.pop("n_jobs", None))
    packages = ("luce", "numpy", "scipy", "numba", *packages_of(estimator))
    key = {
        "kind": f"{type(estimator).__module__}.{type(estimator).__qualname__}",
        "settings": {name: _told(value) for name, value in settings.items()},
        "threads": threads,
        "data": fold.marks,
        "versions": {package: version_of(package) for package in packages},
    }
    plain: dict[str, Any] = json.loads(json.dumps(key))
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


def _told(value: Any) -> Any:
    """A setting as JSON can hold it; what is not plain by its words, or by what pickle makes of it."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_told(item) for item in value]
    if isinstance(value, Mapping):
        return {str(name): _told(item) for name, item in value.items()}
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if type(value).__module__.startswith("luce."):  # objectives and transforms tell all of themselves
        return repr(value)
    try:
        return f"{type(value).__qualname__} {hashlib.sha256(pickle.dumps(value)).hexdigest()}"
    except (pickle.PicklingError, AttributeError, TypeError):
        return repr(value)


def cell_path(folder: Path, key: Mapping[str, Any]) -> Path:
    """The file of the cell of a key."""
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()
    return folder / f"{digest[:24]}.cell"


def save_cell(path: str | os.PathLike[str], key: Mapping[str, Any], cell: Cell) -> None:
    """Write a finished cell, whole or not at all."""
    arrays: dict[str, NDArray[Any]] = {"scores": cell.scores}
    times = [cell.fit_seconds, cell.predict_seconds, cell.peak_bytes]
    manifest: dict[str, Any] = {"kind": "cell", "key": dict(key), "costs": times, "history": list(cell.history)}
    if cell.importance is not None:
        manifest["importance"] = {"measure": cell.importance.measure, "names": list(cell.importance.names)}
        arrays["importance"] = cell.importance.values
    save_model(path, manifest, arrays)


def load_cell(path: str | os.PathLike[str], key: Mapping[str, Any], n_rows: int) -> Cell:
    """The cell of a file; a DataError where it is damaged, of another key or of another number of rows."""
    manifest, arrays = open_model(path, ("cell",))
    try:
        if manifest["key"] != key:
            raise ValueError("it is the cell of something else")
        fit_seconds, predict_seconds, peak_bytes = map(float, manifest["costs"])
        history = [{str(name): float(value) for name, value in step.items()} for step in manifest["history"]]
        scores, told = arrays["scores"], manifest.get("importance")
        if scores.shape != (n_rows,) or scores.dtype != np.float64 or not np.isfinite(scores).all():
            raise ValueError("it does not hold a score for each row")
        worths = None if told is None else Importance(told["measure"], tuple(told["names"]), arrays["importance"])
        if worths is not None and (worths.values.shape != (len(worths.names),) or worths.values.dtype != np.float64):
            raise ValueError("its importance has another number of values than names, or values of another type")
        if worths is not None and not all(isinstance(text, str) for text in (worths.measure, *worths.names)):
            raise ValueError("its importance has names that are not text")
        return Cell(scores, fit_seconds, predict_seconds, peak_bytes, history, worths)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise DataError(f"{path} does not hold a whole cell: {error!r}") from error
