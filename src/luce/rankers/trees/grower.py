"""Grows trees with LightGBM, one a round and output, from gradients and hessians that are given.

LightGBM's own scores are read only to find the leaf of each row: by how much a score changed. They go on with the
values that LightGBM gave to leaves, not with ours.
"""

import ctypes
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats, Integers
from luce.data import Dataset
from luce.errors import DataError
from luce.kernels.elementary import span
from luce.kernels.leaf_sums import Leaves
from luce.rankers.trees.lightgbm_package import lightgbm, lightgbm_features
from luce.rankers.trees.rows import find_leaves
from luce.scoring.forest import Tree, text_sections
from luce.threads import check_threads

if TYPE_CHECKING:
    from luce.rankers.trees.collectives import Collectives

ROUNDING = 16 * np.finfo(np.float64).eps
"""A change of score is known to this part of the largest score."""
TRAINING, VALIDATION = 0, 1
"""LightGBM's numbers of its datasets."""


class BuiltinObjective(NamedTuple):
    """The data that an objective of LightGBM's own computes its gradients from."""

    labels: Floats
    sizes: Integers
    weights: Floats | None
    init_score: Floats | None = None

    @classmethod
    def of(cls, dataset: Dataset) -> "BuiltinObjective":
        """From judged lists; an error for labels that LightGBM does not take."""
        labels, lists, items = dataset.labels, dataset.list_weights, dataset.item_weights
        if np.isnan(labels).any():
            raise DataError("LightGBM's own objectives need a label for every item: leave out items without one.")
        if (labels != np.floor(labels)).any() or labels.min() < 0:
            raise DataError("LightGBM's own objectives need labels that are integers ≥ 0.")
        weights = None if lists is None else np.repeat(lists, dataset.sizes)
        if items is not None:
            weights = items if weights is None else weights * items
        return cls(labels, dataset.sizes[dataset.sizes > 0], weights)

    def add_to(self, data: Any) -> None:
        """Set it on a dataset of LightGBM."""
        data.set_label(self.labels)
        data.set_group(self.sizes)
        data.set_weight(self.weights)
        data.set_init_score(self.init_score)


class TreeGrower:
    """Grows trees on the rows of some features; the leaves of further, validation rows are found too.

    With a network these are the rows of this rank, and trees are grown on those of all ranks: `bins` is then a dataset
    of LightGBM whose bins of features they have in common.
    """

    def __init__(
        self,
        features: Any,
        parameters: Mapping[str, Any],
        *,
        categorical: Sequence[int] = (),
        validation_features: Any = None,
        builtin_objective: BuiltinObjective | None = None,
        network: "Collectives | None" = None,
        bins: Any = None,
    ):
        package = lightgbm()
        self.basic = package.basic
        self.n_jobs = parameters["num_threads"]
        check_threads("LightGBM", self.n_jobs)
        self.parameters = {"verbosity": -1, "metric": "None", "deterministic": True, **parameters}
        self.features = [lightgbm_features(each) for each in (features, validation_features) if each is not None]
        self.categorical, self.builtin_objective = list(categorical), builtin_objective
        self.outputs, self.network = int(parameters.get("num_class", 1)), network
        if network is not None and bins is None:
            bins = network.bins(self.features[TRAINING], self.parameters, self.categorical)
        self.bins = bins
        shared = {"params": self.parameters, "categorical_feature": self.categorical}
        data = package.Dataset(self.features[TRAINING], reference=bins, **shared)
        if builtin_objective is not None:
            builtin_objective.add_to(data)
        with self._calls():
            self.booster = package.Booster(self.parameters, data)
        for rows in self.features[VALIDATION:]:
            label = np.zeros(rows.shape[0]) if builtin_objective is not None else None
            self.booster.add_valid(package.Dataset(rows, label, reference=data, params=self.parameters), "validation")
        self.feature_infos = text_sections(self.booster.model_to_string())[0]
        self.private = _has_private_calls(self.booster)
        self.round, self.scores_before = 0, [self._scores(i) for i in range(len(self.features))] if self.private else []

    def starting_at(self, scores: Floats) -> "TreeGrower":
        """The same grower, an objective of LightGBM's own going on from these scores; others are not computed there."""
        if self.builtin_objective is None:
            return self
        return TreeGrower(
            self.features[TRAINING],
            self.parameters,
            categorical=self.categorical,
            validation_features=self.features[VALIDATION] if len(self.features) > 1 else None,
            builtin_objective=self.builtin_objective._replace(init_score=scores),
            network=self.network,
            bins=self.bins,
        )

    def grow(self, gradient: Floats, hessian: Floats, seeds: Mapping[str, int]) -> list[Tree] | None:
        """One tree for each output, from gradient and hessian (N,) or (N, outputs); None if none can split."""
        if all(info == "none" for info in self.feature_infos):
            return None
        if seeds:
            self.booster.reset_parameter(dict(seeds))
        with self._calls():
            if self.builtin_objective is not None:
                finished = self.booster.update()
            elif self.private:
                finished = self._update(gradient, hessian)
            else:
                finished = self.booster.update(fobj=lambda *_: (gradient, hessian))
        if finished:
            return None
        self.round += 1
        text = self.booster.model_to_string(start_iteration=self.round - 1, num_iteration=1)
        return list(map(Tree.parse, text_sections(text)[1]))

    def leaves(self, trees: list[Tree], data: int = TRAINING) -> list[Leaves]:
        """The leaf of each training or validation row in each tree that was just grown."""
        if not self.private:
            return self._predicted_leaves(data)
        after, before = self._scores(data), self.scores_before[data]
        self.scores_before[data] = after
        if not after.size:
            return [np.zeros(0, dtype=np.int32) for _ in trees]
        largest = max(map(abs, (*span(after.ravel()), *span(before.ravel()))))
        found = []
        for output, tree in enumerate(trees):
            leaves = find_leaves(before[output], after[output], tree.leaf_value, ROUNDING * largest, self.n_jobs)
            if leaves is None:
                return self._predicted_leaves(data)
            found.append(leaves)
        return found

    def _predicted_leaves(self, data: int) -> list[Leaves]:
        """The same by LightGBM's prediction from the features: slower than a tree, but always sure."""
        found = self.booster.predict(
            self.features[data],
            start_iteration=self.round - 1,
            num_iteration=1,
            pred_leaf=True,
            num_threads=self.n_jobs,
        )
        return list(np.ascontiguousarray(found.reshape(-1, self.outputs).T, dtype=np.int32))

    def _calls(self) -> AbstractContextManager[None]:
        """What to call LightGBM in, where all ranks work together."""
        return nullcontext() if self.network is None else self.network.calls()

    def _update(self, gradient: Floats, hessian: Floats) -> bool:
        """`Booster.update` without its copies."""
        finished = ctypes.c_int(0)
        with np.errstate(over="raise"):
            rows = [np.ascontiguousarray(array.T, dtype=np.float32) for array in (gradient, hessian)]
        pointers = [_pointer(array, ctypes.c_float) for array in rows]
        update = self.basic._LIB.LGBM_BoosterUpdateOneIterCustom
        self.basic._safe_call(update(self.booster._handle, *pointers, ctypes.byref(finished)))
        return bool(finished.value)

    def _scores(self, data: int) -> Floats:
        """LightGBM's own scores of the rows, (outputs, N)."""
        length, scores = ctypes.c_int64(0), np.empty((self.outputs, self.features[data].shape[0]))
        arguments = ctypes.c_int(data), ctypes.byref(length), _pointer(scores, ctypes.c_double)
        self.basic._safe_call(self.basic._LIB.LGBM_BoosterGetPredict(self.booster._handle, *arguments))
        return scores


def _has_private_calls(booster: Any) -> bool:
    library = getattr(lightgbm().basic, "_LIB", None)
    calls = ("LGBM_BoosterUpdateOneIterCustom", "LGBM_BoosterGetPredict")
    return hasattr(booster, "_handle") and all(hasattr(library, name) for name in calls)


def _pointer(array: NDArray[Any], kind: Any) -> Any:
    return array.ctypes.data_as(ctypes.POINTER(kind))
