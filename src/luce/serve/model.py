"""The model that a service scores with: loaded, warmed up, and identified by the digest of its file."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from luce.arrays import Floats, Integers
from luce.data import Dataset
from luce.errors import DataError, OptionError
from luce.models import load, load_scorer
from luce.scoring import Scorer

WARM_UP = (1, 2, 7, 8, 9, 64, 1_000)
"""Numbers of rows that are scored before a model is served: compiled code is then loaded."""


class ModelChanged(DataError):
    """The model file is no longer the one that was loaded."""


@dataclass(frozen=True)
class Model:
    """A scorer, the file it came from, and the digest of that file, which is its version."""

    path: Path
    version: str
    scorer: Scorer

    @classmethod
    def load(cls, path: Path) -> "Model":
        """The model of a file, after it has scored rows of zeros."""
        version = _digest(path)
        model = cls(path, version, load_scorer(path))
        if _digest(path) != version:
            raise ModelChanged(f"{path} was replaced while it was read: load it again.")
        for n_rows in WARM_UP:
            model.scorer.score(np.zeros((n_rows, model.scorer.n_features), np.float32), np.array([0, n_rows]))
        return model

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features; numbers from 1 where they have none."""
        return self.scorer.feature_names or tuple(map(str, range(1, self.scorer.n_features + 1)))

    def score(self, features: Floats, offsets: Integers | None) -> Floats:
        """The score of each row; a DataError for features that the model cannot score."""
        with np.errstate(over="ignore"):  # beyond float32 becomes infinite and is refused
            features = np.ascontiguousarray(features, dtype=np.float32)
        _check_rows(np.isinf(features).any(axis=1), "has a feature that is infinite, or too large for float32")
        if offsets is None and self.scorer.needs_lists:
            raise OptionError("The score of an item depends on its list here: add the input 'offsets' with the lists.")
        if not len(features):
            return np.zeros(0)
        scores = self.scorer.score(features, offsets)
        _check_rows(~np.isfinite(scores), "has no finite score: its features are missing or too large for this model")
        return scores

    @cached_property
    def ranker(self) -> Any:
        """The complete ranker, which explains scores."""
        try:
            ranker: Any = load(self.path)
            changed = _digest(self.path) != self.version
        except DataError:  # whose text names the file
            changed = True
        if changed:
            raise ModelChanged("The model file has changed since it was loaded: send SIGHUP to the server to load it.")
        ranker.n_jobs = 1
        return ranker

    def explain(self, features: Floats, offsets: Integers) -> Any:
        """What each feature adds to the score of each row."""
        if not hasattr(self.ranker, "explain"):
            raise OptionError("The scores of this model are no sums of contributions of features: leave out explain.")
        rows: dict[str, Any] = {"features": features, "labels": np.full(len(features), np.nan), "offsets": offsets}
        columns: dict[str, Any] = {"feature_names": self.scorer.feature_names, "categories": self.scorer.categories}
        return self.ranker.explain(Dataset(**rows, **columns))


def _digest(path: Path) -> str:
    if not path.is_file():
        raise DataError(f"There is no model file {path}.")
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _check_rows(wrong: Any, reason: str) -> None:
    if wrong.any():
        raise DataError(f"Row {int(np.argmax(wrong)) + 1} {reason}.")
