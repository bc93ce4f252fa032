"""The systems of quality.py: Luce's rankers with their former and present defaults, peers, and both bagged or tuned."""

import hashlib
import json
import math
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone

import luce
from luce.data import Dataset
from luce.experiments.cache import version_of
from luce.experiments.peers import PEERS, is_installed, peer
from luce.metrics import measure
from luce.rankers import EnsembleRanker, LinearRanker, NeuralRanker, TreeRanker

OLD_DEFAULTS: dict[str, dict[str, Any]] = {
    "linear": {
        "objective": "listmle",
        "reg_lambda": 1.0,
        "transforms": ("fill", "standardize"),
        "early_stopping_rounds": 20,
        "n_bags": 1,
    },
    "neural": {
        "objective": "listmle",
        "hidden_layer_sizes": (64, 32),
        "transforms": ("fill", "standardize"),
        "batch_size": 64,
        "learning_rate": 1e-3,
        "epochs": 100,
        "early_stopping_rounds": 10,
        "n_bags": 1,
    },
    "trees": {
        "objective": "pl-partition",
        "n_estimators": 500,
        "num_leaves": 7,
        "min_child_samples": 10,
        "learning_rate": 0.1,
        "early_stopping_rounds": 50,
        "n_bags": 1,
    },
}
"""The defaults before the last change; everything not named here is as it is now."""

BAGS = 5
OUR_LEAVES = TreeRanker().num_leaves
LEAVES = tuple(sorted({OUR_LEAVES, 31}))
"""The two tree sizes of the peers: ours and LightGBM's default."""
SHARED = {name: getattr(TreeRanker(), name) for name in ("n_estimators", "learning_rate", "early_stopping_rounds")}
"""What the peers are given of our tree ranker's defaults."""
SPACE = {"num_leaves": (4.0, 64.0), "learning_rate": (0.03, 0.3)}
"""Where tuning draws from, uniformly on a logarithmic scale."""
QUICK = {"n_estimators": 10, "epochs": 2, "max_iter": 5}

LINEAR, NEURAL, TREES, ENSEMBLE = "luce linear", "luce neural", "luce trees", f"luce trees, {BAGS} bags"
BLEND = "luce linear and trees"


class System(NamedTuple):
    """A name, an estimator and the number of its fits, by which long tasks are started first."""

    name: str
    estimator: Any
    n_fits: int = 1

    def fitted(self, train: Dataset, validation: Dataset | None, seed: int) -> Any:
        """The estimator, fitted with this seed."""
        return clone(self.estimator).set_params(random_state=seed).fit(train, validation=validation)

    def settings(self) -> str:
        """A digest of all that the scores depend on besides the data: parameters, versions, the source of Luce."""
        values = {name: str(value) for name, value in self.estimator.get_params().items()}
        values |= {package: version_of(package) for package in ("numpy", *self.estimator.packages)}
        values["source"] = source_digest() if self.name.startswith("luce") else ""
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]

    def quick(self) -> "System":
        """The same with few rounds."""
        own = {name: name.removeprefix("ranker__") for name in self.estimator.get_params()}
        few = {name: QUICK[short] for name, short in own.items() if short in QUICK}
        return self._replace(estimator=clone(self.estimator).set_params(**few))


class OnePassEpochs(NeuralRanker):
    """A network whose epoch is one pass over the lists with something to learn from, as it once was."""

    def fit(self, dataset: Dataset, *, validation: Dataset | None = None) -> Self:  # type: ignore[override]
        self.steps_per_epoch = math.ceil(self.informative_lists(dataset).sum() / self.batch_size)
        return super().fit(dataset, validation=validation)


class BaggedPeer(BaseEstimator):
    """The mean score of several fits of a peer, each on a random share of the lists and features, as our bags are.

    A column that is not drawn is zero in training, so that no tree splits by it. All fits stop early by the same
    validation lists.
    """

    def __init__(
        self,
        ranker: Any,
        *,
        n_bags: int = BAGS,
        max_samples: float = TreeRanker().max_samples,
        max_features: float = TreeRanker().max_features,
        random_state: int = 0,
    ):
        self.ranker = ranker
        self.n_bags = n_bags
        self.max_samples = max_samples
        self.max_features = max_features
        self.random_state = random_state

    @property
    def packages(self) -> tuple[str, ...]:
        return tuple(self.ranker.packages)

    def fit(self, dataset: Dataset, *, validation: Dataset | None = None) -> Self:
        rngs = [np.random.default_rng([self.random_state, bag]) for bag in range(self.n_bags)]
        self.rankers_ = [self._fitted(dataset, validation, rng) for rng in rngs]
        return self

    def _fitted(self, dataset: Dataset, validation: Dataset | None, rng: np.random.Generator) -> Any:
        lists = rng.permutation(dataset.n_lists)[: max(1, round(self.max_samples * dataset.n_lists))]
        columns = rng.permutation(dataset.n_features)[: max(1, round(self.max_features * dataset.n_features))]
        ranker = clone(self.ranker).set_params(random_state=int(rng.integers(2**31)))
        return ranker.fit(only_columns(dataset.take(np.sort(lists)), columns), validation=validation)

    def predict(self, dataset: Dataset) -> np.ndarray:
        return np.mean([ranker.predict(dataset) for ranker in self.rankers_], axis=0)


def only_columns(dataset: Dataset, columns: np.ndarray) -> Dataset:
    """The dataset with zeros in all other columns."""
    if dataset.is_sparse:
        kept = np.isin(dataset.features.indices, columns)
        features: Any = sparse.csr_array(dataset.features, copy=True)
        features.data[~kept] = 0
        features.eliminate_zeros()
    else:
        features = np.zeros_like(dataset.features)
        features[:, columns] = dataset.features[:, columns]
    return dataset.with_features(features, dataset.feature_names)


class Tuned(BaseEstimator):
    """The best of several draws of parameters, by the NDCG@10 of the validation lists."""

    def __init__(self, ranker: Any, *, n_draws: int, random_state: int = 0):
        self.ranker = ranker
        self.n_draws = n_draws
        self.random_state = random_state

    @property
    def packages(self) -> tuple[str, ...]:
        return tuple(self.ranker.packages)

    def fit(self, dataset: Dataset, *, validation: Dataset) -> Self:
        best = -np.inf
        for draw in draws(self.n_draws):
            ranker = clone(self.ranker).set_params(**draw, random_state=self.random_state)
            value = np.nanmean(ndcg(ranker.fit(dataset, validation=validation), validation))
            if value > best:
                best, self.ranker_ = value, ranker
        return self

    def predict(self, dataset: Dataset) -> np.ndarray:
        return self.ranker_.predict(dataset)


def draws(n_draws: int) -> list[dict[str, Any]]:
    """The parameters to try, the same for every system; more draws begin with the fewer.

    >>> draws(1) == draws(2)[:1]
    True
    """
    low, high = np.log(list(SPACE.values())).T
    values = np.exp(np.random.default_rng(0).uniform(low, high, (n_draws, len(SPACE))))
    return [{"num_leaves": round(leaves), "learning_rate": float(rate)} for leaves, rate in values]


def ndcg(ranker: Any, dataset: Dataset) -> np.ndarray:
    """NDCG@10 of each list; NaN where no item is relevant."""
    return measure(ranker.predict(dataset), dataset.labels, dataset.offsets, "ndcg@10", n_jobs=1)["ndcg@10"]


def old(name: str) -> str:
    return f"{name}, old defaults"


def tuned(name: str) -> str:
    return f"{name}, tuned"


def peer_row(name: str, leaves: int, bagged: bool = False) -> str:
    return f"{name}, {leaves} leaves{f', {BAGS} bags' if bagged else ''}"


def all_systems(tune: int) -> list[System]:
    """The rows of the tables, without those that this installation does not have."""
    return [*_luce_systems(tune), *_peer_systems(tune)]


def _luce_systems(tune: int) -> Iterable[System]:
    cpu: dict[str, Any] = {"device": "cpu", "n_jobs": 1}
    yield System(LINEAR, LinearRanker(n_jobs=1))
    yield System(old(LINEAR), LinearRanker(**OLD_DEFAULTS["linear"], n_jobs=1))
    yield System(NEURAL, NeuralRanker(**cpu))
    yield System(old(NEURAL), OnePassEpochs(**OLD_DEFAULTS["neural"], **cpu))
    yield System(TREES, TreeRanker(n_jobs=1))
    yield System(old(TREES), TreeRanker(**OLD_DEFAULTS["trees"], n_jobs=1))
    yield System(ENSEMBLE, TreeRanker(n_bags=BAGS, n_jobs=1), BAGS)
    yield System(BLEND, EnsembleRanker(n_jobs=1))
    if tune:
        yield System(tuned(TREES), Tuned(TreeRanker(n_jobs=1), n_draws=tune), tune)


def _peer_systems(tune: int) -> Iterable[System]:
    for name in filter(is_installed, PEERS):
        for leaves in LEAVES:
            ranker = peer(name, num_leaves=leaves, **SHARED, n_jobs=1)
            yield System(peer_row(name, leaves), ranker)
            if leaves == OUR_LEAVES:
                yield System(peer_row(name, leaves, bagged=True), BaggedPeer(ranker), BAGS)
        if tune:
            yield System(tuned(name), Tuned(peer(name, **SHARED, n_jobs=1), n_draws=tune), tune)


@cache
def source_digest() -> str:
    """Of all modules of Luce."""
    digest = hashlib.sha256()
    for file in sorted(Path(luce.__path__[0]).rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
