"""What every ranker does: takes judged lists or arrays, predicts scores, ranks, saves itself."""

import json
import os
import platform
import zlib
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from luce.arrays import Floats, Integers, list_blocks, list_of_row
from luce.data import Dataset, from_arrays, group_rows
from luce.data.transforms import (
    TRANSFORMS,
    Block,
    Fill,
    Transform,
    apply_transforms,
    blocks,
    fit_transforms,
    make_transform,
    restore_transforms,
    unfitted,
)
from luce.errors import DataError, LuceError
from luce.metrics import Metric, measure
from luce.metrics import metric as metric_of
from luce.objectives import Objective
from luce.objectives import objective as objective_of
from luce.objectives.ranges import Tried
from luce.rankers.checkpoint import Checkpoint
from luce.rankers.inputs import as_dataset, check_features, finite, one_list, refuse_missing
from luce.rankers.manifest import facts_of
from luce.rankers.settings import COMMON, Rule, check_settings
from luce.rankers.storage import save_model

Callback = Callable[[dict[str, float]], None]


class TrainingData(NamedTuple):
    """What a fit learns from: the lists with their transformed features, and those that judge it, if any."""

    dataset: Dataset
    features: Any
    validation: Dataset | None
    held_out: Any


class Ranker(BaseEstimator):
    """Base of the rankers; a kind adds how it is fitted, how it scores rows and which arrays it stores."""

    kind: ClassVar[str]
    packages: ClassVar[tuple[str, ...]] = ()
    """What its kind is built on, for the versions in the model file."""
    takes: ClassVar[str] = "lists"
    """What it learns from: judged lists of items, or rows that are tagged with labels."""
    round_name: ClassVar[str] = "iteration"
    resumable_params: ClassVar[tuple[str, ...]] = ("n_jobs", "early_stopping_rounds")
    """Parameters that a training may go on with other values of."""
    machine_specific_params: ClassVar[tuple[str, ...]] = ()
    """Parameters that a model file leaves out: they may mean nothing on another machine."""
    rules: ClassVar[Mapping[str, Rule]] = COMMON
    """What its parameters may be."""
    tried: ClassVar[Mapping[str, Tried]] = {}
    """What tuning tries of its parameters."""
    limit: ClassVar[str]
    """The parameter that says how many iterations a fit takes at most."""
    # A Pipeline offers sample_weight=None to its last step, which must have heard of it.
    __metadata_request__score: ClassVar[dict[str, Any]] = {"sample_weight": None}

    @abstractmethod
    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        *,
        validation: Any = None,
        callback: Callback | None = None,
        checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    ) -> Self:
        """Learn from a dataset, or from features, labels and the query of each row."""

    @property
    @abstractmethod
    def rounds(self) -> int:
        """The most iterations that a fit takes."""

    def idle_settings(self) -> tuple[str, ...]:
        """Settings that, with the others as they are, change nothing; "objective" stands for all its options."""
        return ()

    @abstractmethod
    def _scores(self, features: Any, offsets: Integers) -> Floats:
        """The score of each row of a block of transformed features; of complete lists where `_needs_lists`."""

    @property
    def _needs_lists(self) -> str:
        """Why scores depend on the other items of a list; empty where they do not."""
        return "normalises features within lists" if any(t.within_lists for t in self.transforms_) else ""

    @abstractmethod
    def _arrays(self) -> dict[str, NDArray[Any]]:
        """The fitted arrays, by the attribute that holds them."""

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "history_")  # the last that a fit sets

    @property
    def features(self) -> tuple[int, tuple[str, ...] | None]:
        """The number of features that the ranker was trained on, and their names if they had any."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        return self.n_features_in_, None if names is None else tuple(names)

    def predict(self, X: Any, qid: Any = None) -> Floats:
        """The score of each row, in the order of the rows; higher is better. Safe to call from several threads.

        X is a dataset or features as `fit` takes them; `qid` is needed only when the score of an item depends on the
        rest of its list: features normalised within lists, attention over the list.
        """
        dataset, position = self._given(X, qid)
        scores = np.empty(dataset.n_rows)
        for block in self._blocks(dataset):
            scores[block.rows] = self._scores(block.features, block.offsets)
        finite(scores)
        return scores if position is None else scores[position]

    def _given(self, X: Any, qid: Any) -> tuple[Dataset, Integers | None]:
        """What is to be scored as a dataset, and the place there of each given row; None where it is the same."""
        check_is_fitted(self)
        if isinstance(X, Dataset):
            self._check_features(X)
            return X, None
        if qid is None and self._needs_lists:
            raise DataError(f"This ranker {self._needs_lists}: give qid, or a Dataset.")
        queries = one_list(X) if qid is None else qid
        dataset = from_arrays(X, None, queries)
        self._check_features(dataset)
        return dataset, group_rows(queries).position

    def rank(self, X: Any, qid: Any = None, *, top: int | None = None) -> pa.Table:
        """The items of each list, best first: query, rank, document (where there are ids), score, and the row it was.

        Items of equal score keep the order they came in. `top` keeps that many of each list.

        >>> import luce
        >>> data = luce.from_arrays([[1.0], [3.0], [2.0]], [0, 2, 1], ["q", "q", "q"])
        >>> luce.LinearRanker().fit(data).rank(data, top=2).select(["query", "rank", "row"]).to_pylist()
        [{'query': 'q', 'rank': 1, 'row': 1}, {'query': 'q', 'rank': 2, 'row': 2}]
        """
        dataset = X if isinstance(X, Dataset) else from_arrays(X, None, one_list(X) if qid is None else qid)
        return ranking_table(self.predict(dataset), dataset, top)

    def score(self, X: Any, y: Any = None, qid: Any = None) -> float:
        """The mean of the ranker's `metric` over the lists, negated where lower is better: what grid search maximises.

        scikit-learn hands `qid` on once `sklearn.set_config(enable_metadata_routing=True)` is set and the ranker asks
        for it: `ranker.set_fit_request(qid=True).set_score_request(qid=True)`.
        """
        check_is_fitted(self)
        dataset = as_dataset(X, y, qid, "score")
        figure = self._figure(self.predict(dataset), dataset)
        return figure if self._metric().higher_is_better else -figure

    def save(self, path: str | os.PathLike[str]) -> None:
        """Store the ranker in one `.luce` file; `luce.load(path)` brings it back."""
        check_is_fitted(self)
        count, names = self.features
        manifest = {
            "kind": self.kind,
            "module": self._own_module(),
            "parameters": {k: v for k, v in self._plain_parameters().items() if k not in self.machine_specific_params},
            "objective": {"name": self._objective().name, "options": dict(self._objective().options)},
            "features": {"count": count, "names": names},
            "max_grade": self.max_grade_,
            "history": self.history_,
            "best_iteration": self.best_iteration_,
            "validation": self._validation(),
            "transforms": [transform.state()[0] for transform in self.transforms_],
            "versions": {name: version(name) for name in ("luce", "numpy", *self.packages)}
            | {"python": platform.python_version()},
        }
        arrays = {name: np.asarray(array) for name, array in self._arrays().items()}
        for i, transform in enumerate(self.transforms_):
            arrays |= {f"transform.{i}.{name}": array for name, array in transform.state()[1].items()}
        save_model(path, manifest, arrays)

    @classmethod
    def _restored(cls, manifest: dict[str, Any], arrays: dict[str, NDArray[Any]], **given: Any) -> Self:
        try:
            goal = objective_of(manifest["objective"]["name"], **manifest["objective"]["options"])
            stored = {k: v for k, v in manifest["parameters"].items() if k not in cls.machine_specific_params}
            chain = restore_transforms(manifest["transforms"], arrays)
            ranker = cls(**{**stored, "objective": goal, "transforms": unfitted(chain), **given})
            ranker._check_settings()
            facts = facts_of(manifest)
            ranker.n_features_in_, ranker.max_grade_, ranker.transforms_ = facts.n_features, facts.max_grade, chain
            ranker.history_, ranker.best_iteration_ = facts.history, facts.best_iteration
            if facts.feature_names is not None:
                ranker.feature_names_in_ = np.array(facts.feature_names, dtype=object)
            ranker._take(arrays)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            words = error if isinstance(error, LuceError) else repr(error)
            raise DataError(f"The model file does not hold a whole {cls.__name__}: {words}") from error
        return ranker

    @abstractmethod
    def _take(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Check and keep what `_arrays` stored."""

    def _plain_parameters(self) -> dict[str, Any]:
        """The parameters that JSON can hold; the objective and the transforms are stored apart."""
        given = {name: _plain(value) for name, value in self.get_params(deep=False).items()}
        return {k: v for k, v in given.items() if k not in ("objective", "transforms") and _is_plain(v)}

    def _own_module(self) -> str | None:
        """What the user must bring to load it again, by name."""
        return None

    def _objective(self) -> Objective:
        return objective_of(self.objective)

    def _metric(self) -> Metric:
        return metric_of(self.metric)

    def _validation(self) -> dict[str, float]:
        """The validation figure of what was kept, by its metric."""
        best = next((step for step in self.history_ if step["iteration"] == self.best_iteration_), {})
        return {self.metric: best["validation"]} if "validation" in best else {}

    def _seed(self) -> int:
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31))

    def _training_data(self, X: Any, y: Any, qid: Any, validation: Any) -> TrainingData:
        """What to learn from; remembers its features, its highest grade and its transforms."""
        dataset = as_dataset(X, y, qid, "fit")
        observed = dataset.labels[~np.isnan(dataset.labels)]
        if not observed.size:
            raise DataError(f"There is nothing to learn from in {dataset!r}: no item has a label.")
        if not dataset.n_features:
            raise DataError(
                f"There is nothing to learn from in {dataset!r}: 0 feature(s) (shape={dataset.features.shape}) while a "
                "minimum of 1 is required."
            )
        self.n_features_in_ = dataset.n_features
        self.max_grade_ = float(observed.max())
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if dataset.feature_names is not None:
            self.feature_names_in_ = np.array(dataset.feature_names, dtype=object)
        self.transforms_ = fit_transforms(self.transforms, dataset)
        features = self._transformed(dataset)
        if validation is None:
            return TrainingData(dataset, features, None, None)
        judge = validation if isinstance(validation, Dataset) else from_arrays(*validation)
        self._check_features(judge)
        return TrainingData(dataset, features, judge, self._transformed(judge))

    def _transformed(self, dataset: Dataset) -> Any:
        """The features that the scorer sees, without missing values unless it knows what to do with them."""
        features = apply_transforms(self.transforms_, dataset.features, dataset.offsets)
        if not self._takes_missing:
            refuse_missing(features)
        return features

    def _blocks(self, dataset: Dataset) -> Iterator[Block]:
        """What `_transformed` gives, block after block: the memory it takes does not grow with the rows."""
        complete = bool(self._needs_lists)
        for block in blocks(dataset.features, dataset.offsets, self.transforms_, complete_lists=complete):
            if not self._takes_missing:
                refuse_missing(block.features)
            yield block

    @property
    def _takes_missing(self) -> bool:
        return any(kind is Fill for kind in self._transform_kinds)

    @property
    def _transform_kinds(self) -> list[type[Transform] | None]:
        return [TRANSFORMS.get(each) if isinstance(each, str) else type(each) for each in self.transforms]

    def _check_settings(self) -> None:
        """Every setting, before any work."""
        check_settings(self, self.rules)
        self._metric()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = self._takes_missing
        tags.input_tags.sparse = not any(kind is not None and kind.within_lists for kind in self._transform_kinds)
        return tags

    def _figure(
        self, scores: Floats, dataset: Dataset, top: float = 0.0, total: Callable[[Floats], Floats] = np.asarray
    ) -> float:
        """The mean of the metric over the lists that have something to measure, here and wherever `total` adds up;
        `top` is the highest grade anywhere."""
        top = max(top, self.max_grade_, highest_grade(dataset))
        settings: dict[str, Any] = {"max_grade": top, "groups": dataset.group_numbers(), "n_jobs": self.n_jobs}
        found = measure(scores, dataset.labels, dataset.offsets, self.metric, **settings)
        values = found[str(self._metric())]
        measured = values[~np.isnan(values)]
        value, count = total(np.array([measured.sum(), len(measured)]))
        if not count:
            raise DataError(f"No list has anything for {self.metric} to measure: {dataset!r}.")
        return float(value / count)

    def _checkpointer(
        self,
        checkpoint: Checkpoint | str | os.PathLike[str] | None,
        dataset: Dataset,
        number: int = 0,
        elsewhere: Sequence[Mapping[str, Any]] = (),
    ) -> Checkpoint | None:
        """The checkpoint of one training: it goes on only with the same data, here and elsewhere, and settings."""
        if checkpoint is None:
            return None
        whole = checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint)
        data: dict[str, Any] = {"rows": dataset.n_rows, "lists": dataset.n_lists, "features": dataset.n_features}
        data |= self._mark_of(dataset) | ({"elsewhere": elsewhere} if elsewhere else {})
        return whole.of(json.loads(json.dumps({**self._described(self.resumable_params), "data": data})), number)

    def _described(self, free: Sequence[str]) -> dict[str, Any]:
        """All settings but those that are free to change."""
        settings = {k: v for k, v in self._plain_parameters().items() if k not in free}
        chain = [repr(make_transform(each) if isinstance(each, str) else each) for each in self.transforms]
        return {"kind": self.kind, "objective": str(self._objective()), **settings, "transforms": chain}

    def _mark_of(self, dataset: Dataset) -> dict[str, int]:
        """What tells data of the same size apart."""
        return {"labels and lists": zlib.crc32(dataset.offsets, zlib.crc32(dataset.labels))}

    def _check_features(self, dataset: Dataset) -> None:
        names = getattr(self, "feature_names_in_", None)
        check_features(dataset, self.n_features_in_, names, type(self).__name__)

    transforms_: Sequence[Transform]
    history_: list[dict[str, float]]
    best_iteration_: int
    max_grade_: float
    n_features_in_: int
    feature_names_in_: NDArray[Any]


def highest_grade(dataset: Dataset) -> float:
    """The highest label, at least 0."""
    return float(np.fmax.reduce(dataset.labels, initial=0.0))


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's, also inside a sequence."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value.tolist() if isinstance(value, np.ndarray) else value


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(_is_plain(item) for item in value)
    if isinstance(value, dict):
        return all(isinstance(name, str) and _is_plain(item) for name, item in value.items())
    return isinstance(value, str | int | float | None)


def ranking_table(scores: Floats, dataset: Dataset, top: int | None = None) -> pa.Table:
    """The table that `Ranker.rank` gives, for any scores."""
    return pa.concat_tables([_ranked(scores, dataset, lists, top) for lists in list_blocks(dataset.offsets)])


def _ranked(scores: Floats, dataset: Dataset, block: slice, top: int | None) -> pa.Table:
    offsets = dataset.offsets[block.start : block.stop + 1]
    lists = list_of_row(offsets)
    order = offsets[0] + np.lexsort((-scores[offsets[0] : offsets[-1]], lists))
    ranks: Integers = np.arange(offsets[0], offsets[-1]) - offsets[lists] + 1
    if top is not None:
        order, lists, ranks = order[ranks <= top], lists[ranks <= top], ranks[ranks <= top]
    columns = {"query": dataset.query_ids.take(pa.array(block.start + lists)), "rank": pa.array(ranks)}
    if dataset.document_ids is not None:
        columns["document"] = dataset.document_ids.take(pa.array(order))
    return pa.table(columns | {"score": pa.array(scores[order]), "row": pa.array(order)})
