"""LightGBM, the engine that grows trees: with `collectives` all that knows its insides, and a way around them.

LightGBM's own scores are read only to find the leaf of each row: by how much a score changed. They go on with the
values that LightGBM gave to leaves, not with ours.
"""

import ctypes
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from luce.arrays import Floats, Integers
from luce.data import Dataset
from luce.errors import DataError, MissingPackageError, OptionError, load_package
from luce.kernels.leaf_sums import Leaves
from luce.kernels.span import span
from luce.rankers.trees.collectives import Collectives
from luce.rankers.trees.forest import Forest, Tree, grown_trees
from luce.rankers.trees.rows import find_leaves
from luce.rankers.trees.shards import sampled_rows
from luce.threads import check_threads, one_thread_after_fork

VERSIONS = ((4, 4), (5, 0))
"""From this version of LightGBM on, and before that one."""

ROUNDING = 16 * np.finfo(np.float64).eps
"""A change of score is known to this part of the largest score."""

REFUSED = {
    "boosting": "trees are kept as they are grown: dart rescales earlier trees, and rf averages them",
    "data_sample_strategy": "lists are sampled whole: take subsample",
    "bagging_fraction": "lists are sampled whole: take subsample",
    "linear_tree": "a leaf has one value",
    "objective": "the objective is the ranker's own",
    "learning_rate": "it is a setting of the ranker",
    "num_leaves": "it is a setting of the ranker: leaves",
    "num_threads": "it is a setting of the ranker: n_jobs",
    "machines": "training on several machines is asked for by fit(…, machines=luce.Machines(…))",
    "num_machines": "training on several machines is asked for by fit(…, machines=luce.Machines(…))",
    "tree_learner": "several machines grow a tree each with its own rows, one machine alone with all",
}
"""Parameters of LightGBM that cannot be given, and why."""


def lightgbm() -> Any:
    """The package, if it is there in a version that this was tested with."""
    package = load_package("lightgbm", "trees")
    found = tuple(int(part) for part in re.findall(r"\d+", package.__version__)[:2])
    if not VERSIONS[0] <= found < VERSIONS[1]:
        low, high = (".".join(map(str, version)) for version in VERSIONS)
        raise MissingPackageError(
            f"Trees need lightgbm from {low} on and before {high}. Found {package.__version__}; to install it: "
            "pip install 'luce[trees]'"
        )
    one_thread_after_fork("LightGBM", getattr(package.basic._LIB, "LGBM_SetMaxThreads", None))
    return package


def check_parameters(given: Mapping[str, Any]) -> None:
    """An error for a parameter of LightGBM that does not go with leaves and scores of our own."""
    aliases = lightgbm().basic._ConfigAliases
    for name, reason in REFUSED.items():
        for alias in sorted(aliases.get(name) & given.keys()):
            if not (name == "boosting" and given[alias] in ("gbdt", "gbrt")):
                raise OptionError(f"LightGBM's {alias}={given[alias]!r} cannot be used: {reason}.")


class OwnObjective(NamedTuple):
    """What LightGBM's own objectives need to know."""

    labels: Floats
    sizes: Integers
    weights: Floats | None
    start: Floats | None = None
    """The score of each row to begin at."""

    @classmethod
    def of(cls, dataset: Dataset) -> "OwnObjective":
        """From judged lists; an error for labels that LightGBM does not take."""
        labels, lists, items = dataset.labels, dataset.list_weights, dataset.item_weights
        if np.isnan(labels).any():
            raise DataError("LightGBM's own objectives need a label for every item: leave out those not observed.")
        if (labels != np.floor(labels)).any() or labels.min() < 0:
            raise DataError("LightGBM's own objectives need labels that are whole grades from 0 on.")
        weights = None if lists is None else np.repeat(lists, dataset.sizes)
        if items is not None:
            weights = items if weights is None else weights * items
        return cls(labels, dataset.sizes[dataset.sizes > 0], weights)

    def tell(self, data: Any) -> None:
        """Tell it to a dataset of LightGBM."""
        data.set_label(self.labels)
        data.set_group(self.sizes)
        data.set_weight(self.weights)
        data.set_init_score(self.start)


class Engine:
    """Grows trees on the rows of some features; `held_out` are further rows whose leaves are wanted.

    With a network of several machines these are the rows of this one, and the trees are grown on all together; where
    a feature may be split then follows from a sample of all rows, `bins`.
    """

    def __init__(
        self,
        features: Any,
        parameters: Mapping[str, Any],
        *,
        categorical: Sequence[int] = (),
        held_out: Any = None,
        native: OwnObjective | None = None,
        network: Collectives | None = None,
        bins: Any = None,
    ):
        package = lightgbm()
        self.n_jobs = parameters["num_threads"]
        check_threads("LightGBM", self.n_jobs)
        self.parameters = {"verbosity": -1, "metric": "None", "deterministic": True, **parameters}
        self.rows = [_matrix(part) for part in (features, held_out) if part is not None]
        self.categorical, self.native, self.outputs = categorical, native, int(parameters.get("num_class", 1))
        self.network, self.bins = network or Collectives(), bins
        if self.network.machines.size > 1 and bins is None:
            self._share_bins()
        data = package.Dataset(
            self.rows[0], reference=self.bins, params=self.parameters, categorical_feature=list(categorical)
        )
        if native is not None:
            native.tell(data)
        self.network.open()
        with self.network.watched():
            self.booster = package.Booster(self.parameters, data)
        for part in self.rows[1:]:
            label = np.zeros(part.shape[0]) if native is not None else None
            self.booster.add_valid(package.Dataset(part, label, reference=data, params=self.parameters), "held out")
        self.infos = tuple(grown_trees(self.booster.model_to_string())[1])
        self.private = _has_private_calls(self.booster)
        self.round, self.before = 0, [self._scores(part) for part in range(len(self.rows))] if self.private else []

    def starting_at(self, scores: Floats) -> "Engine":
        """The same engine, its own objective going on from these scores; other objectives do not ask for them."""
        if self.native is None:
            return self
        held_out = self.rows[1] if len(self.rows) > 1 else None
        native = self.native._replace(start=scores)
        same: dict[str, Any] = {"categorical": self.categorical, "network": self.network, "bins": self.bins}
        return Engine(self.rows[0], self.parameters, held_out=held_out, native=native, **same)

    def _share_bins(self) -> None:
        """The same bins of features on all machines, as one alone would find them in all rows."""
        machines, package = self.network.machines, lightgbm()
        names = package.basic._ConfigAliases.get("bin_construct_sample_cnt")
        limit = next((int(self.parameters[name]) for name in names if name in self.parameters), 200_000)
        rows = sampled_rows(machines, self.rows[0], limit, self.parameters["seed"])
        more = {"tree_learner": "data", "num_machines": machines.size, "feature_pre_filter": False}
        self.parameters.update(more)  # no filter: a sample has too few rows for it
        self.bins = package.Dataset(rows, params=self.parameters, categorical_feature=list(self.categorical))
        self.bins.construct()

    @property
    def usable(self) -> bool:
        """Whether there is a feature to split by."""
        return any(info != "none" for info in self.infos)

    def grow(self, gradient: Floats, second: Floats, seeds: Mapping[str, int]) -> list[Tree] | None:
        """One tree for each output, for gradient and second derivative (N,) or (N, outputs); None if none can split."""
        if not self.usable:
            return None
        if seeds:
            self.booster.reset_parameter(dict(seeds))
        with self.network.watched():
            if self.native is not None:
                finished = self.booster.update()
            elif self.private:
                finished = self._update(gradient, second)
            else:
                finished = self.booster.update(fobj=lambda *_: (gradient, second))
        if finished:
            return None
        self.round += 1
        return grown_trees(self.booster.model_to_string(start_iteration=self.round - 1, num_iteration=1))[0]

    def leaves(self, trees: list[Tree], part: int = 0) -> list[Leaves]:
        """The leaf of each row in each tree that was just grown; part 1 are the rows held out."""
        if not self.private:
            return self._predicted_leaves(part)
        after, before = self._scores(part), self.before[part]
        self.before[part] = after
        if not after.size:
            return [np.zeros(0, dtype=np.int32) for _ in trees]
        largest = max(map(abs, (*span(after.ravel()), *span(before.ravel()))))
        found = []
        for output, tree in enumerate(trees):
            leaves = find_leaves(before[output], after[output], tree, ROUNDING * largest, self.n_jobs)
            if leaves is None:
                return self._predicted_leaves(part)
            found.append(leaves)
        return found

    def _predicted_leaves(self, part: int) -> list[Leaves]:
        """The same by LightGBM's prediction from the features: slower than a tree, but always sure."""
        found = self.booster.predict(
            self.rows[part], start_iteration=self.round - 1, num_iteration=1, pred_leaf=True, num_threads=self.n_jobs
        )
        return list(np.ascontiguousarray(found.reshape(-1, self.outputs).T, dtype=np.int32))

    def _update(self, gradient: Floats, second: Floats) -> bool:
        """`Booster.update` without its copies."""
        basic, finished = lightgbm().basic, ctypes.c_int(0)
        with np.errstate(over="raise"):
            slope, bend = (np.ascontiguousarray(array.T, dtype=np.float32) for array in (gradient, second))
        basic._safe_call(
            basic._LIB.LGBM_BoosterUpdateOneIterCustom(
                self.booster._handle,
                _pointer(slope, ctypes.c_float),
                _pointer(bend, ctypes.c_float),
                ctypes.byref(finished),
            )
        )
        return bool(finished.value)

    def _scores(self, part: int) -> Floats:
        """LightGBM's own scores of the rows, (outputs, N)."""
        basic, length = lightgbm().basic, ctypes.c_int64(0)
        scores = np.empty((self.outputs, self.rows[part].shape[0]))
        basic._safe_call(
            basic._LIB.LGBM_BoosterGetPredict(
                self.booster._handle, ctypes.c_int(part), ctypes.byref(length), _pointer(scores, ctypes.c_double)
            )
        )
        return scores


def _has_private_calls(booster: Any) -> bool:
    library = getattr(lightgbm().basic, "_LIB", None)
    calls = ("LGBM_BoosterUpdateOneIterCustom", "LGBM_BoosterGetPredict")
    return hasattr(booster, "_handle") and all(hasattr(library, name) for name in calls)


def _pointer(array: NDArray[Any], kind: Any) -> Any:
    return array.ctypes.data_as(ctypes.POINTER(kind))


def _matrix(features: Any) -> Any:
    """Features in a form that LightGBM takes, without a copy of the numbers."""
    if not sparse.issparse(features):
        return features
    parts = features.data, features.indices.astype(np.int32, copy=False), features.indptr.astype(np.int32, copy=False)
    return sparse.csr_matrix(parts, shape=features.shape)


def booster_of(forest: Forest) -> Any:
    """The trees as a Booster of LightGBM."""
    return lightgbm().Booster(model_str=forest.text())


def contributed(booster: Any, features: Any, n_jobs: int) -> tuple[Floats, float]:
    """What each feature adds to the score of each row, (N, F), and the score to add it to, for trees of one output."""
    check_threads("LightGBM", n_jobs)
    rows = _matrix(features)
    if not rows.shape[0]:
        return np.zeros(rows.shape), 0.0
    if sparse.issparse(rows):  # of float32 numbers LightGBM would give back float32 contributions
        found = booster.predict(rows.astype(np.float64), pred_contrib=True, num_threads=n_jobs).toarray()
    else:
        found = booster.predict(rows, pred_contrib=True, num_threads=n_jobs)
    return np.ascontiguousarray(found[:, :-1]), float(found[0, -1])


def predicted(booster: Any, features: Any, n_jobs: int) -> Floats:
    """The scores of some rows, (N,) or (N, outputs)."""
    check_threads("LightGBM", n_jobs)
    rows = _matrix(features)
    if not rows.shape[0]:
        outputs = booster.num_model_per_iteration()
        return np.zeros(0 if outputs == 1 else (0, outputs))
    return booster.predict(rows, raw_score=True, num_threads=n_jobs)
