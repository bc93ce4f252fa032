"""Small rankers made of bags, and a look at the parts of which they are the mean."""

import numpy as np
import pytest

import luce
from luce.data.synthetic import web_search
from luce.rankers import LinearRanker, NeuralRanker, TreeRanker

NETWORK = {"hidden_layer_sizes": (6,), "batch_size": 8, "steps_per_epoch": 4, "epochs": 3, "device": "cpu"}
TREES = {"n_estimators": 8, "num_leaves": 4, "min_child_samples": 3}
SETTINGS = {
    "linear": (LinearRanker, {"max_iter": 6}),
    "trees": (TreeRanker, TREES),
    "neural": (NeuralRanker, NETWORK),
}
TOLERANCE = {"linear": 1e-12, "trees": 1e-12, "neural": 1e-5}


def bagged(kind, objective="listmle", **settings):
    made, small = SETTINGS[kind]
    return made(objective, **{**small, "n_bags": 3, "max_features": 0.5, "n_jobs": 1, **settings})


def lists(n_lists=30, seed=1, **settings):
    return web_search(n_lists, **{"n_features": 6, "mean_length": 8, "seed": seed, **settings}).dataset


def with_parts(ranker, *given, **more):
    """The fitted ranker, and the rankers whose mean it is."""
    parts = []
    with pytest.MonkeyPatch.context() as patch:
        combine = type(ranker).combine
        patch.setattr(type(ranker), "combine", lambda self, found, w: parts.extend(found) or combine(self, found, w))
        return ranker.fit(*given, **more), parts


def with_bags(ranker, *given, **more):
    """The fitted ranker, and its bags."""
    drawn = []
    with pytest.MonkeyPatch.context() as patch:
        from luce.rankers.bagging import Bagging

        draw = Bagging.draw
        patch.setattr(Bagging, "draw", lambda self: drawn.extend(draw(self)) or drawn)
        return ranker.fit(*given, **more), drawn


def assert_same(one, other):
    """Bit by bit what two fits have learned."""
    assert one.history_ == other.history_
    assert one.best_iteration_ == other.best_iteration_
    first, second = one.state_dict(), other.state_dict()
    assert first.keys() == second.keys()
    for name, array in first.items():
        np.testing.assert_array_equal(array, second[name])


def column_changed(dataset, column):
    """The same lists with other values of a feature."""
    X = np.array(dataset.features)
    X[:, column] = np.random.default_rng(7).normal(size=len(X)) * 100
    return luce.Dataset(X, dataset.labels, dataset.offsets)
