"""What every ranker does: takes judged lists or arrays, predicts scores, ranks, saves itself."""

import os
import platform
from abc import abstractmethod
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from luce.arrays import Floats, Integers, list_of_row
from luce.data import Dataset, from_arrays, group_rows
from luce.data.features import Transform, apply_transforms, restore_transforms
from luce.errors import DataError
from luce.objectives import Objective
from luce.objectives import objective as objective_of
from luce.rankers.storage import save_model

Callback = Callable[[dict[str, float]], None]


class Ranker(BaseEstimator):
    """Base of the rankers; a kind adds how it is fitted, how it scores rows and which arrays it stores."""

    kind: ClassVar[str]

    @abstractmethod
    def fit(self, X: Any, y: Any = None, qid: Any = None, *, validation: Dataset | None = None) -> Self:
        """Learn from a dataset, or from features, labels and the query of each row."""

    @abstractmethod
    def _scores(self, features: Any) -> Floats:
        """The score of each row of transformed features."""

    @abstractmethod
    def _arrays(self) -> dict[str, NDArray[Any]]:
        """The fitted arrays, by the attribute that holds them."""

    @property
    def features(self) -> tuple[int, tuple[str, ...] | None]:
        """The number of features that the ranker was trained on, and their names if they had any."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        return self.n_features_in_, None if names is None else tuple(names)

    def predict(self, X: Any, qid: Any = None) -> Floats:
        """The score of each row, in the order of the rows; higher is better. Safe to call from several threads.

        X is a dataset or features as `fit` takes them; `qid` is needed only when features are normalised within lists.
        """
        check_is_fitted(self)
        if isinstance(X, Dataset):
            self._check_features(X)
            return self._scores(apply_transforms(self.transforms_, X.features, X.offsets))
        if qid is None and any(transform.within_lists for transform in self.transforms_):
            raise DataError("This ranker normalises features within lists: give qid, or a Dataset.")
        queries = _one_list(X) if qid is None else qid
        scores = self.predict(from_arrays(X, None, queries))
        position = group_rows(queries).position
        return scores if position is None else scores[position]

    def rank(self, X: Any, qid: Any = None, *, top: int | None = None) -> pa.Table:
        """The items of each list, best first: query, rank, document (where there are ids), score, and the row it was.

        Items of equal score keep the order they came in. `top` keeps that many of each list.

        >>> import luce
        >>> data = luce.from_arrays([[1.0], [3.0], [2.0]], [0, 2, 1], ["q", "q", "q"])
        >>> luce.LinearRanker().fit(data).rank(data, top=2).select(["query", "rank", "row"]).to_pylist()
        [{'query': 'q', 'rank': 1, 'row': 1}, {'query': 'q', 'rank': 2, 'row': 2}]
        """
        dataset = X if isinstance(X, Dataset) else from_arrays(X, None, _one_list(X) if qid is None else qid)
        return ranking_table(self.predict(dataset), dataset, top)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Store the ranker in one `.luce` file; `luce.load(path)` brings it back."""
        check_is_fitted(self)
        count, names = self.features
        manifest = {
            "kind": self.kind,
            "parameters": {**self._plain_parameters(), "transforms": [t.name for t in self.transforms_]},
            "objective": {"name": self._objective().name, "options": dict(self._objective().options)},
            "features": {"count": count, "names": names},
            "max_grade": self.max_grade_,
            "history": self.history_,
            "best_iteration": self.best_iteration_,
            "transforms": [transform.state()[0] for transform in self.transforms_],
            "versions": {name: version(name) for name in ("luce", "numpy")} | {"python": platform.python_version()},
        }
        arrays = {name: np.asarray(array) for name, array in self._arrays().items()}
        for i, transform in enumerate(self.transforms_):
            arrays |= {f"transform.{i}.{name}": array for name, array in transform.state()[1].items()}
        save_model(path, manifest, arrays)

    @classmethod
    def _restored(cls, manifest: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        try:
            goal = objective_of(manifest["objective"]["name"], **manifest["objective"]["options"])
            ranker = cls(**{**manifest["parameters"], "objective": goal})
            ranker.n_features_in_ = int(manifest["features"]["count"])
            if manifest["features"]["names"] is not None:
                ranker.feature_names_in_ = np.array(manifest["features"]["names"], dtype=object)
            ranker.max_grade_ = float(manifest["max_grade"])
            ranker.history_ = list(manifest["history"])
            ranker.best_iteration_ = int(manifest["best_iteration"])
            ranker.transforms_ = restore_transforms(manifest["transforms"], arrays)
            ranker._take(arrays)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise DataError(f"The model file does not hold a whole {cls.__name__}: {error!r}") from error
        return ranker

    @abstractmethod
    def _take(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Check and keep what `_arrays` stored."""

    def _plain_parameters(self) -> dict[str, Any]:
        """The parameters that JSON can hold; the objective is stored apart."""
        plain = {k: v for k, v in self.get_params(deep=False).items() if isinstance(v, str | int | float | None)}
        return {name: value for name, value in plain.items() if name != "objective"}

    def _objective(self) -> Objective:
        return objective_of(self.objective)

    def _seed(self) -> int:
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31))

    def _training_data(self, X: Any, y: Any, qid: Any) -> Dataset:
        """The dataset to learn from; remembers its features and its highest grade."""
        if not isinstance(X, Dataset):
            if y is None or qid is None:
                raise DataError("fit needs a Dataset, or features with labels y and the query qid of each row.")
            X = from_arrays(X, y, qid)
        observed = X.labels[~np.isnan(X.labels)]
        if not observed.size:
            raise DataError(f"There is nothing to learn from in {X!r}: no item has a label.")
        self.n_features_in_ = X.n_features
        self.max_grade_ = float(observed.max())
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if X.feature_names is not None:
            self.feature_names_in_ = np.array(X.feature_names, dtype=object)
        return X

    def _check_features(self, dataset: Dataset) -> None:
        count, known = self.features
        if dataset.n_features != count:
            raise DataError(
                f"This ranker was trained on {count} features. Got {dataset.n_features}. "
                "For text files that end before the last feature, read with n_features=."
            )
        if known is not None and dataset.feature_names is not None and known != dataset.feature_names:
            at = next(i for i, (a, b) in enumerate(zip(known, dataset.feature_names, strict=True)) if a != b)
            raise DataError(
                f"The features are not those of the training: feature {at + 1} was {known[at]!r}, "
                f"now it is {dataset.feature_names[at]!r}."
            )

    transforms_: Sequence[Transform]
    history_: list[dict[str, float]]
    best_iteration_: int
    max_grade_: float
    n_features_in_: int
    feature_names_in_: NDArray[Any]


def _one_list(X: Any) -> Integers:
    """Query ids that put all rows into one list."""
    return np.zeros(X.shape[0] if hasattr(X, "shape") else len(X), dtype=np.int64)


def ranking_table(scores: Floats, dataset: Dataset, top: int | None = None) -> pa.Table:
    """The table that `Ranker.rank` gives, for any scores."""
    order = np.lexsort((-scores, list_of_row(dataset.offsets)))
    lists = list_of_row(dataset.offsets)
    ranks: Integers = np.arange(dataset.n_rows) - dataset.offsets[:-1][lists] + 1
    if top is not None:
        order, lists, ranks = order[ranks <= top], lists[ranks <= top], ranks[ranks <= top]
    columns = {"query": dataset.query_ids.take(pa.array(lists)), "rank": pa.array(ranks)}
    if dataset.document_ids is not None:
        columns["document"] = dataset.document_ids.take(pa.array(order))
    return pa.table(columns | {"score": pa.array(scores[order]), "row": pa.array(order)})
