"""Made tagged rows that the tests of the label ranker share, and a ranker that learns them quickly."""

import numpy as np
from scipy import sparse

import luce
from luce.rankers import LabelRanker


def tagged(n_rows=150, n_features=30, n_labels=40, seed=0, graded=False, without=3):
    """Rows whose labels a few features foretell; the first `without` rows have none."""
    rng = np.random.default_rng(seed)
    features = (rng.random((n_rows, n_features)) < 0.2).astype(np.float32)
    weights = np.random.default_rng(99).normal(size=(n_features, n_labels)) * 2
    utilities = features @ weights + rng.gumbel(size=(n_rows, n_labels))
    order = np.argsort(-utilities, axis=1)
    labels = np.zeros((n_rows, n_labels))
    for row, best in enumerate(order):
        size = 1 + row % 5
        labels[row, best[:size]] = np.arange(size, 0, -1) if graded else 1
    labels[:without] = 0
    return luce.TaggedData(sparse.csr_array(features), labels)


def parts():
    """Three sets of rows of one kind: to train on, to stop by, to test on."""
    return {name: tagged(seed=seed) for seed, name in enumerate(("train", "validation", "test"))}


def quick(objective="pl-partition", **settings):
    base = {
        "hidden_layer_sizes": (16,),
        "learning_rate": 0.02,
        "batch_size": 16,
        "steps_per_epoch": 10,
        "epochs": 8,
        "validation_fraction": None,
        "device": "cpu",
        "n_jobs": 1,
    }
    return LabelRanker(objective, **{**base, **settings})
