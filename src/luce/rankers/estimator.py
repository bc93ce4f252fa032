"""What every estimator here shares: checked parameters, feature transforms, checkpoints and a model file."""

import logging
import math
import os
import platform
import tempfile
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from luce.data import Dataset
from luce.data.allocation import zeros_in
from luce.data.categories import Categories
from luce.data.memory_mapped import is_mapped
from luce.data.transforms import (
    TRANSFORMS,
    Block,
    Fill,
    Transform,
    apply_transforms,
    blocks,
    chain_of,
    encoded,
    make_transform,
    restore_transforms,
    unfitted,
)
from luce.distributed import current_group, is_first_rank
from luce.errors import DataError, LuceError, OptionError, suggest_keywords
from luce.metrics import Metric
from luce.objectives import Objective
from luce.objectives import objective as objective_of
from luce.optimizers.learning_curve import LearningCurve
from luce.options import Option
from luce.rankers import RANKERS
from luce.rankers.fit_on_ranks import FitOnRanks
from luce.rankers.inputs import check_features, refuse_missing
from luce.rankers.manifest import read_fit_facts
from luce.rankers.settings import COMMON, check_settings
from luce.storage import save_model
from luce.threads import thread_count

logger = logging.getLogger(__name__)
Callback = Callable[[dict[str, float]], None]
"""Called with the record of each iteration, as it will stand in `history_`."""


class Estimator(FitOnRanks, BaseEstimator):
    """Base of `Ranker`, which ranks the items of lists, and of `LabelRanker`, which ranks the labels of a row.

    The constructor of a subclass takes at least `objective`, `metric`, `early_stopping_rounds`, `transforms`,
    `random_state` and `n_jobs`. A subclass implements `fit` and `get_metric`, one of RANKERS also `state_dict` and
    `load_state_dict`; it may extend `check_params`, `iteration_limit` and `unused_params`.

    Attributes
    ----------
    history_ : list of dict
        One record per iteration: "iteration", "loss" and, with validation data, "validation".
    best_iteration_ : int
        The iteration whose parameters were kept.
    max_grade_ : float
        The highest label of the training data.
    transforms_ : sequence of Transform
        The fitted transforms.
    n_features_in_ : int
        The number of features before the transforms.
    feature_names_in_ : ndarray of str
        Their names; only where the training data had names.
    categories_ : tuple or None
        For each feature that is a category its values, for a number None; None where all are numbers.
    provenance_ : dict or None
        "training" and "validation": what is known of the data given to `fit`, such as the number of rows of each label
        and a fingerprint, see `luce.data.summary`; "validation" is None without such data. Kept in model files; None
        in those of versions that did not.
    """

    kind: ClassVar[str] = ""
    """Its name in RANKERS and in model files."""
    packages: ClassVar[tuple[str, ...]] = ()
    """The packages it is built on, whose versions a model file records."""
    iteration_name: ClassVar[str] = "iteration"
    """What an iteration is called in messages."""
    resumable_params: ClassVar[tuple[str, ...]] = ("n_jobs", "early_stopping_rounds")
    """Parameters that may have other values when a training is resumed."""
    known_before_training: ClassVar[tuple[str, ...]] = ()
    """Fitted attributes beside those of the features that the training needs."""
    machine_specific_params: ClassVar[tuple[str, ...]] = ()
    """Parameters that a model file leaves out: they may mean nothing on another machine."""
    param_specs: ClassVar[Mapping[str, Option]] = COMMON
    """What its parameters may be, and what tuning tries of them."""
    max_iter_param: ClassVar[str]
    """The parameter that says how many iterations a fit takes at most."""
    n_bags: int = 1
    """Without a parameter of that name, one: no bags."""
    one_hot: ClassVar[bool] = True
    """Whether categories become columns of 0 and 1; else they stay numbered."""
    categories_: Categories | None = None
    provenance_: dict[str, Any] | None = None
    validation_fraction: float | None = None
    """Without a parameter of that name, none: no lists are held out."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        for name in {"__init__", "fit"} & vars(cls).keys():
            setattr(cls, name, suggest_keywords(vars(cls)[name]))

    @property
    def iteration_limit(self) -> int:
        """The most iterations that a fit takes."""
        limit: int = getattr(self, self.max_iter_param)
        return limit

    @abstractmethod
    def state_dict(self) -> dict[str, NDArray[Any]]:
        """The fitted arrays by name, as a model file stores them."""

    @abstractmethod
    def load_state_dict(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Check and take over what `state_dict` gave; a DataError or ValueError says what does not fit."""

    @abstractmethod
    def get_metric(self) -> Metric:
        """The record of `metric`."""

    def get_objective(self) -> Objective:
        """The objective with its options, also where `objective` is just a name."""
        return objective_of(self.objective)

    def get_seed(self) -> int:
        """The seed that `random_state` stands for, drawn on the first rank of a group."""
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        drawn, group = np.array([check_random_state(self.random_state).randint(2**31)]), current_group()
        return int((drawn if group is None else group.broadcast(drawn))[0])

    def check_params(self) -> None:
        """Check every parameter before any work; an OptionError names the first that is wrong."""
        check_settings(self, self.param_specs)
        self.get_metric()

    def unused_params(self) -> tuple[str, ...]:
        """Parameters without effect at the values of the others; "objective" stands for all its options."""
        return ()

    @property
    def features(self) -> tuple[int, tuple[str, ...] | None]:
        """The number of features of the training data, and their names if they had any."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        return self.n_features_in_, None if names is None else tuple(names)

    @property
    def best_score_(self) -> float | None:
        """The validation score at `best_iteration_`; None without validation data."""
        best = next((step for step in self.history_ if step["iteration"] == self.best_iteration_), {})
        return best.get("validation")

    baseline_score_: float | None = None
    """The validation score of equal scores for all items, which `best_score_` should exceed; None without validation
    data, for labels, and after `load`."""

    def describe(self, exclude: Sequence[str] = ()) -> dict[str, Any]:
        """Kind, objective, transforms and parameters, ready for JSON; without the parameters in `exclude`."""
        params = {name: value for name, value in self._json_params().items() if name not in exclude}
        chain = [repr(make_transform(each) if isinstance(each, str) else each) for each in self.transforms]
        return {"kind": self.kind, "objective": str(self.get_objective()), **params, "transforms": chain}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Store the fitted estimator in one file; `luce.load(path)` restores it.

        Parameters
        ----------
        path : str or path-like
            The file to write, by convention `*.luce`. A file that is there is replaced once the new one is complete.

        Raises
        ------
        OptionError
            If an option cannot be stored, such as a function, or the class is not one of RANKERS.
        """
        save_model(path, *self.to_manifest())

    def to_manifest(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What a model file holds: the facts in its manifest, and the arrays by name."""
        check_is_fitted(self)
        if self.kind not in RANKERS:
            raise OptionError(
                f"luce.load could not restore a {type(self).__name__}, which is none of RANKERS: {', '.join(RANKERS)}. "
                "Pickle it instead."
            )
        count, names = self.features
        objective = self.get_objective()
        params = {name: v for name, v in self._json_params().items() if name not in self.machine_specific_params}
        manifest = {
            "kind": self.kind,
            "module": self.module_name,
            "parameters": params,
            "objective": {"name": objective.name, "options": dict(objective.options)},
            "features": {"count": count, "names": names, "categories": self.categories_},
            "max_grade": self.max_grade_,
            "data": self.provenance_,
            "history": self.history_,
            "best_iteration": self.best_iteration_,
            "metric": self.metric,
            "best_score": self.best_score_,
            "transforms": [transform.state()[0] for transform in chain_of(self.transforms_)],
            "versions": {name: version(name) for name in ("luce", "numpy", *self.packages)}
            | {"python": platform.python_version()},
        }
        arrays = {name: np.asarray(array) for name, array in self.state_dict().items()}
        for i, transform in enumerate(chain_of(self.transforms_)):
            arrays |= {f"transform.{i}.{name}": array for name, array in transform.state()[1].items()}
        return manifest, arrays

    @classmethod
    def from_manifest(cls, manifest: dict[str, Any], arrays: dict[str, NDArray[Any]], **params: Any) -> Self:
        """The fitted estimator that a model file holds; `params` are what the file cannot hold."""
        try:
            objective = objective_of(manifest["objective"]["name"], **manifest["objective"]["options"])
            stored = {k: v for k, v in manifest["parameters"].items() if k not in cls.machine_specific_params}
            chain = restore_transforms(manifest["transforms"], arrays)
            if "transforms" in cls.param_specs:
                stored["transforms"] = unfitted(chain)
            estimator = cls(**{**stored, "objective": objective, **params})
            estimator.check_params()
            facts = read_fit_facts(manifest)
            estimator.n_features_in_, names, estimator.categories_ = facts.features
            estimator.max_grade_ = facts.max_grade
            estimator.transforms_ = encoded(chain, estimator.categories_, one_hot=cls.one_hot)
            estimator.provenance_ = facts.provenance
            estimator.history_, estimator.best_iteration_ = facts.history, facts.best_iteration
            if names is not None:
                estimator.feature_names_in_ = np.array(names, dtype=object)
            estimator.load_state_dict(arrays)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            words = error if isinstance(error, LuceError) else repr(error)
            raise DataError(f"The model file does not contain a complete {cls.__name__}: {words}") from error
        return estimator

    def wrong_arrays(self) -> DataError:
        """The error for arrays of a file that no fit could have given."""
        return DataError(
            f"The model file does not contain the parameters of {self.get_objective()}: finite numbers of the right "
            "shape."
        )

    @property
    def module_name(self) -> str | None:
        """The name of what a user must bring to load the model again; None where the file holds everything."""
        return None

    def unfitted_copy(self, **params: Any) -> Self:
        """An estimator with these parameters changed that knows the features and transforms, ready for training."""
        features = ("n_features_in_", "feature_names_in_", "categories_")
        known = (*features, "max_grade_", "transforms_", *self.known_before_training)
        copy = type(self)(**{**self.get_params(deep=False), **params})
        copy.__dict__.update({name: value for name, value in vars(self).items() if name in known})
        return copy

    def take_over(self, trained: Self) -> None:
        """Take over all that another estimator learned."""
        params = self.get_params(deep=False)
        self.__dict__.update({name: value for name, value in vars(trained).items() if name not in params})

    def found_params(self) -> dict[str, Any]:
        """The parameters that were chosen by the validation data, for a training without any."""
        return {self.max_iter_param: max(1, self.best_iteration_)}

    @property
    def n_processes(self) -> int:
        """In how many processes bags may be fitted."""
        return thread_count(self.n_jobs)

    @property
    def best_loss(self) -> float:
        """The training loss at `best_iteration_`; NaN where there was no iteration."""
        return next((step["loss"] for step in self.history_ if step["iteration"] == self.best_iteration_), math.nan)

    def new_curve(self, *, validated: bool) -> LearningCurve:
        """An empty training curve, which stops early only if there is validation data."""
        return LearningCurve(self.get_metric().higher_is_better, self.early_stopping_rounds if validated else None)

    def logged(self, callback: Callback | None) -> Callback:
        """A callback that logs each record and passes it on."""

        def report(record: dict[str, float]) -> None:
            logger.info("%s: %s", self.get_objective(), record)
            if callback is not None:
                callback(record)

        return report if is_first_rank() else lambda record: None

    def check_features(self, dataset: Dataset) -> None:
        """A DataError unless there are as many features as in the training data, or names to find those by."""
        if dataset.feature_names is None or not hasattr(self, "feature_names_in_"):
            check_features(dataset, self.n_features_in_, type(self).__name__)

    def transform_features(self, dataset: Dataset) -> Any:
        """The features after the transforms, in temporary files where those of the dataset are mapped from a file.

        A DataError for missing values unless `allow_nan`.
        """
        allocate = zeros_in(tempfile.gettempdir() if is_mapped(dataset.features) else None)
        features = apply_transforms(self.transforms_, dataset.features, dataset.offsets, allocate)
        if not self.allow_nan:
            refuse_missing(features)
        return features

    def transform_blocks(self, dataset: Dataset, *, complete_lists: bool = False) -> Iterator[Block]:
        """The same block by block, so that memory does not grow with the number of rows."""
        for block in blocks(dataset.features, dataset.offsets, self.transforms_, complete_lists=complete_lists):
            if not self.allow_nan:
                refuse_missing(block.features)
            yield block

    @property
    def allow_nan(self) -> bool:
        """Whether features may be missing."""
        return any(kind is Fill for kind in self.transform_types)

    @property
    def transform_types(self) -> list[type[Transform] | None]:
        """The class of each of `transforms`; None for an unknown name."""
        return [TRANSFORMS.get(each) if isinstance(each, str) else type(each) for each in self.transforms]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "history_")  # the last that a fit sets

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = self.allow_nan
        tags.input_tags.sparse = not any(kind is not None and kind.within_lists for kind in self.transform_types)
        return tags

    def _json_params(self) -> dict[str, Any]:
        """The parameters that JSON can hold; the objective and the transforms are stored on their own."""
        given = {name: _to_python(value) for name, value in self.get_params(deep=False).items()}
        return {k: v for k, v in given.items() if k not in ("objective", "transforms") and _fits_json(v)}

    transforms_: Sequence[Transform]
    history_: list[dict[str, float]]
    best_iteration_: int
    max_grade_: float
    n_features_in_: int
    feature_names_in_: NDArray[Any]


def _to_python(value: Any) -> Any:
    """NumPy's numbers as Python's, also inside a sequence."""
    if isinstance(value, list | tuple):
        return [_to_python(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value.tolist() if isinstance(value, np.ndarray) else value


def _fits_json(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(_fits_json(item) for item in value)
    if isinstance(value, dict):
        return all(isinstance(name, str) and _fits_json(item) for name, item in value.items())
    return isinstance(value, str | int | float | None)
