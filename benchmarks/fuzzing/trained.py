"""Small valid files that a training, a comparison or a tuning leaves behind, and how each is read again."""

import functools
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import luce
from luce.data.synthetic import web_search
from luce.rankers import Checkpoint, EnsembleRanker, LabelRanker, LinearRanker, NeuralRanker, TreeRanker

LISTS = web_search(6, n_features=4, mean_length=5, seed=1).dataset
TAGGED = luce.TaggedData(np.eye(4, dtype=np.float32), np.array([[1, 0, 1], [0, 1, 0], [0, 0, 0], [1, 0, 0]]))
SMALL: dict[str, Any] = {"steps_per_epoch": 3, "device": "cpu", "n_jobs": 1}
TRAININGS = {
    "lbfgs": LinearRanker(max_iter=3, n_jobs=1),
    "descent": LinearRanker(optimizer="gradient-descent", max_iter=2, batch_size=4, n_jobs=1),
    "boosting": TreeRanker("pairties-davidson", n_estimators=2, num_leaves=3, min_child_samples=2, n_jobs=1),
    "adam": NeuralRanker(
        "pairties-davidson", hidden_layer_sizes=(4,), epochs=2, batch_size=4, normalization="batch", **SMALL
    ),
}
"""The trainings whose checkpoints are mutated."""


class TrainingInterrupted(Exception):
    """Raised to interrupt a training."""


def model_files() -> dict[str, bytes]:
    chain = ["fill", "standardize", luce.data.make_transform("second-order", threshold=0.01)]
    rankers: dict[str, Any] = {
        "linear": LinearRanker(luce.objective("listmle", depth=5), transforms=chain, max_iter=3, n_jobs=1),
        "network": NeuralRanker("mcrank", hidden_layer_sizes=(3,), normalization="batch", epochs=1, **SMALL),
        "trees": TreeRanker(n_estimators=3, num_leaves=4, min_child_samples=2, categorical_feature=[0], n_jobs=1),
        "bags": NeuralRanker(hidden_layer_sizes=(3,), n_bags=2, max_features=0.5, epochs=1, **SMALL),
        "attention": NeuralRanker(hidden_layer_sizes=(4,), context="attention", attention_blocks=1, epochs=1, **SMALL),
    }
    rankers["ensemble"] = EnsembleRanker([("linear", rankers["linear"]), ("trees", rankers["trees"])], n_jobs=1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.luce"
        files = {}
        for name, ranker in rankers.items():
            ranker.fit(LISTS, validation=LISTS).save(path)
            files[f"{name}.luce"] = path.read_bytes()
        LabelRanker(hidden_layer_sizes=(3,), epochs=1, **SMALL).fit(TAGGED, validation=TAGGED).save(path)
        return files | {"labels.luce": path.read_bytes()}


def read_model(path: Path) -> None:
    ranker = luce.load(path)
    if isinstance(ranker, LabelRanker):
        assert np.isfinite(ranker.top_labels(TAGGED, 2)[1]).all()
    else:
        _check_scores(ranker.predict(LISTS))


def checkpoint_files() -> dict[str, bytes]:
    def interrupt(record: dict[str, float]) -> None:
        if record["iteration"] == 1:
            raise TrainingInterrupted

    files = {}
    for name, ranker in TRAININGS.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "checkpoint"
            try:
                ranker.fit(LISTS, validation=LISTS, checkpoint=Checkpoint(path, steps=1), callback=interrupt)
            except TrainingInterrupted:
                files[f"{name}.checkpoint"] = path.read_bytes()
    return files


def read_checkpoint(path: Path) -> None:
    ranker = TRAININGS[path.stem].fit(LISTS, validation=LISTS, checkpoint=Checkpoint(path, resume=True))
    _check_scores(ranker.predict(LISTS))


def _check_scores(scores: Any) -> None:
    assert scores.shape == (LISTS.n_rows,) and np.isfinite(scores).all()


KEY: dict[str, Any] = {"kind": "linear", "params": {"reg_lambda": 1.0}, "threads": 1, "data": ["a", None, "b"]}


def result_files() -> dict[str, bytes]:
    from luce.data.splits import Fold
    from luce.experiments.cache import ResultCache
    from luce.experiments.fits import run_fit

    with tempfile.TemporaryDirectory() as folder:
        cache, files = ResultCache(Path(folder)), {}
        for name in ("lbfgs", "boosting"):
            cache.save(KEY, run_fit(TRAININGS[name], Fold(LISTS, LISTS, LISTS), seed=0, isolated=False))
            files[f"{name}.fit"] = cache.path(KEY).read_bytes()
        return files


def read_result(path: Path) -> None:
    from luce.experiments.cache import ResultCache

    cache = ResultCache(path.parent)
    shutil.copyfile(path, cache.path(KEY))
    result = cache.load(KEY, LISTS.n_rows)
    _check_scores(result.scores)
    if result.importance is not None:
        result.importance.table().to_pylist()


def tune(path: Path) -> Any:
    from luce.experiments.tuning import tune

    return tune(LinearRanker("listnet", max_iter=2, n_jobs=1), LISTS, trials=2, folds=2, storage=path)


@functools.cache
def study_files() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "one.study"
        tune(path)
        return {"one.study": path.read_bytes()}


def read_study(path: Path) -> None:
    found = tune(path)
    assert np.isfinite(found.best.value)
    [
        (trial.number, trial.state, dict(trial.params), trial.mean_iteration, f"{trial.seconds:.1f}")
        for trial in found.trials
    ]
    assert all(0 <= share <= 1 for share in found.importance.values())
