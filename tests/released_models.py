"""Write a model of each kind, for later versions to read: `python tests/released_models.py VERSION`."""

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import luce

FOLDER = Path(__file__).parent / "released"
PACKAGE = {"neural": "torch", "attention": "torch", "labels": "torch", "trees": "lightgbm", "grades": "lightgbm"} | {
    "ensemble": "lightgbm"
}
NETWORK = {"hidden_layer_sizes": (4,), "epochs": 2, "device": "cpu", "n_jobs": 1}
TREES = {"n_estimators": 3, "num_leaves": 4, "min_child_samples": 2, "n_jobs": 1}
RANKERS = {
    "linear": lambda: luce.LinearRanker(n_jobs=1),
    "neural": lambda: luce.NeuralRanker(**NETWORK),
    "attention": lambda: luce.NeuralRanker(context="attention", **NETWORK),
    "trees": lambda: luce.TreeRanker(categorical_feature=[0], **TREES),
    "grades": lambda: luce.TreeRanker("mcrank", **TREES),
    "ensemble": lambda: luce.EnsembleRanker(
        [
            ("linear", luce.LinearRanker()),
            ("trees", luce.TreeRanker(**TREES)),
            ("grades", luce.TreeRanker("mcrank", **TREES)),
        ],
        n_jobs=1,
    ),
    "labels": lambda: luce.LabelRanker(**NETWORK),
}
"""One ranker of each kind that is stored in a way of its own."""


def write(folder: Path) -> None:
    """For each ranker whose package is installed: a model file, and rows with the scores that it predicts for them."""
    folder.mkdir(parents=True)
    random = np.random.default_rng(0)
    features = np.column_stack([random.integers(0, 3, 60), random.normal(size=(60, 3))]).round(3)
    qid = np.repeat(np.arange(12), 5)
    grades = random.integers(0, 3, 60)
    for name, make in RANKERS.items():
        if find_spec(PACKAGE.get(name, "luce")):
            if name == "labels":
                ranker = make().fit(luce.TaggedData(features, np.eye(3)[grades]))
                scores = ranker.predict(features)
            else:
                ranker = make().fit(features, grades, qid)
                scores = ranker.predict(features, qid)
            ranker.save(folder / f"{name}.luce")
            rows = {"features": features.tolist(), "qid": qid.tolist(), "scores": scores.tolist()}
            (folder / f"{name}.json").write_text(json.dumps(rows))
    write_aggregations(folder)


def write_aggregations(folder: Path) -> None:
    """Models of rankings without features, and the log-probabilities of the rankings, or the scores of the items."""
    orderings = [["a", ["b", "c"], "d"], ["b", "a", "d"], [["d", "a"], "c"], ["c", "b"], ["d", "c", "a"]]
    models = {
        "plackett-luce": luce.PlackettLuce(ties="exact", n_jobs=1),
        "davidson": luce.PlackettLuce(ties="davidson", prior=luce.aggregation.NormalPrior(sd=2), n_jobs=1),
        "item-scores": luce.ItemScores("ranknet", n_jobs=1),
    }
    for name, model in models.items():
        model.fit(orderings).save(folder / f"{name}.luce")
        answers = aggregation_answers(model, orderings)
        (folder / f"{name}.json").write_text(json.dumps({"orderings": orderings, "scores": answers.tolist()}))


def aggregation_answers(model: Any, orderings: list[Any]) -> NDArray[np.float64]:
    """What a model of rankings must give again."""
    return model.log_prob(orderings) if hasattr(model, "log_prob") else model.scores_


if __name__ == "__main__":
    write(FOLDER / sys.argv[1])
    print("Wrote", *sorted(path.name for path in (FOLDER / sys.argv[1]).iterdir()))
