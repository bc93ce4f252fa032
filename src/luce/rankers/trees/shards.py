"""One training whose lists lie on several machines: what they must have in common, and what they share."""

import json
import tempfile
import zlib
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from luce.errors import MachineError, OptionError
from luce.optimizers.gradient_descent import Arrays
from luce.rankers.checkpoint import Checkpoint
from luce.rankers.ranker import TrainingData, highest_grade
from luce.rankers.trees.machines import Machines


def exchange_metadata(ranker: Any, training: TrainingData, init_model: Any, machines: Machines) -> list[dict[str, Any]]:
    """What each rank has, once it is sure that all train the same ranker."""
    learned = [transform.name for transform in ranker.transforms_ if not transform.within_lists]
    if machines.size > 1 and learned:
        raise OptionError(
            f"transforms must look at lists one by one where machines share them: {', '.join(learned)} learns "
            "from all. Leave it out: trees need none."
        )
    dataset, judge, names = training.dataset, training.validation, getattr(ranker, "feature_names_in_", None)
    common = {
        **ranker.describe(("n_jobs",)),
        **_versions(),
        "the number of features": dataset.n_features,
        "the kind of features": f"{type(training.features).__name__} of {training.features.dtype}",
        "the names of features": None if names is None else names.tolist(),
        "the presence of validation lists": judge is not None,
        "init_model": zlib.crc32(init_model.forest_.text().encode()) if hasattr(init_model, "forest_") else None,
    }
    own = {
        "seed": ranker.get_seed(),
        "grade": ranker.max_grade_,
        "top": 0.0 if judge is None else highest_grade(judge),
        "teaching": bool(ranker.get_objective().has_signal(dataset.labels, dataset.offsets).any()),
        "rows": dataset.n_rows,
        **ranker.data_fingerprint(dataset),
    }
    return agree(machines, common, own)


@cache
def _versions() -> dict[str, str]:
    return {f"the version of {package}": version(package) for package in ("luce", "lightgbm")}


def agree(machines: Machines, common: dict[str, Any], own: dict[str, Any]) -> list[dict[str, Any]]:
    """What each rank tells of its own, in the order of ranks; an error on all of them where `common` differs."""
    texts = machines.gather(json.dumps([common, own]).encode())
    told = [json.loads(text) for text in texts]
    first = told[0][0]
    for rank, (theirs, _) in enumerate(told):
        for name in [*first, *theirs]:
            if first.get(name) != theirs.get(name):
                raise MachineError(
                    f"The machines do not train the same: {name} is {_short(first.get(name))} at rank 0 and "
                    f"{_short(theirs.get(name))} at rank {rank}. Give every rank the same settings, and shards of one "
                    "data set."
                )
    return [each for _, each in told]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"


def sampled_rows(machines: Machines, rows: Any, limit: int, seed: int) -> Any:
    """At most about `limit` rows of all shards, from each in proportion, the same everywhere and in one order."""
    counts = machines.total(np.eye(machines.size)[machines.rank] * rows.shape[0])
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
    return np.concatenate([np.frombuffer(part, dtype=own.dtype) for part in machines.gather(own.tobytes())])


class SharedCheckpoint:
    """Rank 0 keeps the checkpoint, and the others go on from what it has."""

    def __init__(self, machines: Machines, own: Checkpoint | None):
        self.machines, self.own = machines, own if machines.rank == 0 else None

    def load(self) -> tuple[dict[str, Any], Arrays] | None:
        kept = None if self.own is None else self.own.load()
        text = b"" if kept is None or self.own is None else self.own.path.read_bytes()
        text = self.machines.gather(text)[0]
        if not text or self.machines.rank == 0:
            return kept
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "checkpoint"
            path.write_bytes(text)
            return Checkpoint(path).load()

    def due(self, step: int) -> bool:
        return self.own is not None and self.own.due(step)

    def save(self, progress: dict[str, Any], arrays: Arrays) -> None:
        if self.own is not None:
            self.own.save(progress, arrays)
