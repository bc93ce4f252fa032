"""Rankers of every kind for the exports, of features that are hard for engines: tiny, huge, missing, with names."""

from functools import cache

import numpy as np

import luce
from luce.data.synthetic import web_search

NAMES = ["title bm25", "price", "age", "clicks", "length", "freshness"]
SETTINGS = {"n_jobs": 1, "validation_fraction": None}


@cache
def data(missing: bool = False):
    """Lists with a feature of tiny and one of huge values; `missing`: some values are NaN."""
    given = web_search(60, n_features=6, seed=1).dataset
    features = np.array(given.features)
    features[:, 0] *= 1e-9
    features[:, 1] *= 1e8
    if missing:
        features[np.random.default_rng(0).random(features.shape) < 0.1] = np.nan
    return luce.Dataset(features, given.labels, given.offsets, feature_names=NAMES)


def trees(**params):
    return luce.TreeRanker(**{"n_estimators": 30, **SETTINGS, **params})


def network(**params):
    return luce.NeuralRanker(
        **{"epochs": 1, "hidden_layer_sizes": (8, 4), "transforms": ("standardize",), **SETTINGS, **params}
    )


MADE = {
    "linear": lambda: luce.LinearRanker(transforms=("standardize",), n_jobs=1).fit(data()),
    "linear with intercept": lambda: luce.LinearRanker("bce", transforms=("standardize",), n_jobs=1).fit(data()),
    "linear, 0 where missing": lambda: luce.LinearRanker(
        transforms=(luce.data.make_transform("fill", constant=0), "standardize"), n_jobs=1
    ).fit(data(missing=True)),
    "linear bags": lambda: luce.LinearRanker(transforms=("standardize",), n_bags=2, n_jobs=1).fit(data()),
    "linear, default": lambda: luce.LinearRanker(n_jobs=1).fit(data()),
    "trees": lambda: trees().fit(data()),
    "trees, missing values": lambda: trees().fit(data(missing=True)),
    "trees, transforms": lambda: trees(transforms=("symlog1p", "fill", "standardize")).fit(data(missing=True)),
    "trees, list-zscore": lambda: trees(transforms=("list-zscore",)).fit(data()),
    "tree bags": lambda: trees(n_bags=2).fit(data()),
    "trees, scores of grades": lambda: trees(objective="mcrank").fit(data()),
    "trees after linear": lambda: trees().fit(data(), init_model=made("linear")),
    "ensemble of trees": lambda: luce.EnsembleRanker(
        [("plain", trees()), ("scaled", trees(transforms=("standardize",)))], n_jobs=1
    ).fit(data()),
    "ensemble": lambda: luce.EnsembleRanker([("linear", luce.LinearRanker()), ("trees", trees())], n_jobs=1).fit(
        data()
    ),
    "network": lambda: network().fit(data()),
    "network, batch": lambda: network(normalization="batch", activation="tanh").fit(data()),
    "network bags": lambda: network(n_bags=2, activation="sigmoid", max_features=0.5).fit(data()),
    "network, gelu": lambda: network(activation="gelu").fit(data()),
    "network, layer": lambda: network(normalization="layer").fit(data()),
    "network, attention": lambda: network(context="attention").fit(data()),
    "labels": lambda: luce.LabelRanker(epochs=1, hidden_layer_sizes=(8,)).fit(
        luce.TaggedData([[1.0, 0], [0, 1], [1, 1]], [[1, 0, 0], [0, 1, 0], [1, 1, 0]])
    ),
}
"""How each ranker is fitted."""

PLUGINS = {"elasticsearch", "opensearch"}
TREES = {*PLUGINS, "elasticsearch-native", "solr", "vespa", "lightgbm", "treelite"}
EXPRESSED = {
    **{name: PLUGINS | {"solr"} for name in MADE if name.startswith("linear")},
    "linear, default": set(),
    **{name: TREES | {"ranklib"} for name in ("trees", "tree bags")},
    **dict.fromkeys(("trees, missing values", "trees, transforms", "ensemble of trees"), TREES),
    **{name: {"solr"} for name in ("network", "network, batch", "network bags")},
}
"""The formats that can express each of them."""


@cache
def made(name: str):
    """A fitted ranker by its name in MADE."""
    return MADE[name]()
