"""One training whose lists lie on several machines: what they must have in common, and what they share."""

import json
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from luce.arrays import Floats
from luce.data.transforms import Transform
from luce.errors import MachineError, OptionError
from luce.optimizers.gradient_descent import Arrays, Checkpointer
from luce.rankers.checkpoint import Checkpoint
from luce.rankers.training_data import TrainingData
from luce.rankers.trees.collectives import Collectives
from luce.rankers.trees.lightgbm_package import aliases, lightgbm
from luce.rankers.trees.machines import Machines
from luce.rankers.trees.reducer import Reducer
from luce.scoring.forest import Forest


@contextmanager
def connected(machines: Any) -> Iterator["ShardReducer"]:
    """The reducer of connected machines; what fails here ends the training on all of them."""
    if not isinstance(machines, Machines):
        raise OptionError(f"machines must be luce.Machines(addresses, rank), connected. Got {machines!r}.")
    with machines.working(), Collectives(machines) as network:
        yield ShardReducer(machines, network)


class ShardReducer(Reducer):
    """Sums over the shards of several machines, each of which has some of the lists."""

    def __init__(self, machines: Machines, network: Collectives):
        self.machines, self.network = machines, network
        self.rank, self.size = machines.rank, machines.size

    def sum(self, values: Floats) -> Floats:
        return self.machines.all_reduce(values)

    def gather(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        return [np.frombuffer(part, dtype=values.dtype) for part in self.machines.all_gather(values.tobytes())]

    def exchange_metadata(
        self,
        own: dict[str, Any],
        settings: dict[str, Any],
        training: TrainingData,
        transforms: Sequence[Transform],
        init_forest: Forest | None,
    ) -> list[dict[str, Any]]:
        learned = [transform.name for transform in transforms if not transform.within_lists]
        if self.size > 1 and learned:
            raise OptionError(
                f"transforms must treat each list separately on several machines: {', '.join(learned)} learns "
                "from all. Leave it out: trees need none."
            )
        dataset = training.dataset
        common = {
            **settings,
            **_versions(),
            "the number of features": dataset.n_features,
            "the kind of features": f"{type(training.features).__name__} of {training.features.dtype}",
            "the names of features": dataset.feature_names,
            "the categories of features": dataset.categories,
            "the presence of validation lists": training.validation is not None,
            "init_model": None if init_forest is None else zlib.crc32(init_forest.text().encode()),
        }
        return agree(self.machines, common, {**own, "rows": dataset.n_rows})

    @contextmanager
    def lightgbm_calls(self) -> Iterator[None]:
        self.network.open()
        with self.network.watched():
            yield

    def shared_bins(self, features: Any, parameters: dict[str, Any], categorical: list[int]) -> Any:
        """The bins that one machine alone would find in all rows."""
        if self.size == 1:
            return None
        names = aliases("bin_construct_sample_cnt")
        limit = next((int(parameters[name]) for name in names if name in parameters), 200_000)
        rows = sampled_rows(self.machines, features, limit, parameters["seed"])
        parameters |= {"tree_learner": "data", "num_machines": self.size}
        parameters["feature_pre_filter"] = False  # a sample has too few rows for it
        return lightgbm().Dataset(rows, params=parameters, categorical_feature=categorical).construct()

    def checkpointer(self, own: Checkpoint | None) -> Checkpointer:
        return SharedCheckpoint(self.machines, own)


@cache
def _versions() -> dict[str, str]:
    return {f"the version of {package}": version(package) for package in ("luce", "lightgbm")}


def agree(machines: Machines, common: dict[str, Any], own: dict[str, Any]) -> list[dict[str, Any]]:
    """What each rank has of its own, in the order of ranks; an error on all of them where `common` differs."""
    texts = machines.all_gather(json.dumps([common, own]).encode())
    metadata = [json.loads(text) for text in texts]
    first = metadata[0][0]
    for rank, (theirs, _) in enumerate(metadata):
        for name in [*first, *theirs]:
            if first.get(name) != theirs.get(name):
                raise MachineError(
                    f"The machines do not train the same: {name} is {_short(first.get(name))} at rank 0 and "
                    f"{_short(theirs.get(name))} at rank {rank}. Give every rank the same settings, and shards of one "
                    "data set."
                )
    return [each for _, each in metadata]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"


def sampled_rows(machines: Machines, rows: Any, limit: int, seed: int) -> Any:
    """At most about `limit` rows of all shards, from each in proportion, the same everywhere and in one order."""
    counts = machines.all_reduce(np.eye(machines.size)[machines.rank] * rows.shape[0])
    if counts.sum() > limit:
        wanted = max(1, int(limit * rows.shape[0] / counts.sum()))
        rng = np.random.default_rng((seed, machines.rank))
        rows = rows[np.sort(rng.choice(rows.shape[0], wanted, replace=False))]
    if not sparse.issparse(rows):
        return _joined(machines, np.ascontiguousarray(rows)).reshape(-1, rows.shape[1])
    sizes = _joined(machines, np.diff(rows.indptr).astype(np.int64))
    parts = _joined(machines, rows.data), _joined(machines, rows.indices.astype(np.int32)), np.r_[0, np.cumsum(sizes)]
    return sparse.csr_matrix(parts, shape=(len(sizes), rows.shape[1]))


def _joined(machines: Machines, own: NDArray[Any]) -> NDArray[Any]:
    """The numbers of all ranks, one after the other."""
    return np.concatenate([np.frombuffer(part, dtype=own.dtype) for part in machines.all_gather(own.tobytes())])


class SharedCheckpoint:
    """Rank 0 saves the checkpoint, and the others resume from what it has."""

    def __init__(self, machines: Machines, own: Checkpoint | None):
        self.machines, self.own = machines, own if machines.rank == 0 else None

    def load(self) -> tuple[dict[str, Any], Arrays] | None:
        saved = None if self.own is None else self.own.load()
        text = b"" if saved is None or self.own is None else self.own.path.read_bytes()
        text = self.machines.all_gather(text)[0]
        if not text or self.machines.rank == 0:
            return saved
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "checkpoint"
            path.write_bytes(text)
            return Checkpoint(path).load()

    def due(self, step: int) -> bool:
        return self.own is not None and self.own.due(step)

    def save(self, progress: dict[str, Any], arrays: Arrays) -> None:
        if self.own is not None:
            self.own.save(progress, arrays)
