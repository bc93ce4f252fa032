"""Made lists that the tests of the rankers share."""

import numpy as np

import luce
from luce.data.synthetic import web_search
from luce.objectives import OBJECTIVES


def parts(n_lists=60, mean_length=15, n_features=40, missing=0.05):
    """Three sets of lists of one kind: to train on, to stop by, to test on."""
    names = ("train", "validation", "test")
    return {
        name: web_search(n_lists, n_features=n_features, mean_length=mean_length, seed=seed, missing=missing).dataset
        for seed, name in enumerate(names, 1)
    }


def for_objective(name, dataset):
    """The same lists, labelled so that an objective can take them: pl-topk wants the best three in order."""
    if OBJECTIVES[name].name != "pl-topk":
        return dataset
    labels = np.zeros(dataset.n_rows)
    for q in range(dataset.n_lists):
        rows = dataset.rows(q)
        best = np.argsort(-dataset.labels[rows], kind="stable")[:3]
        labels[rows.start + best] = np.arange(len(best), 0, -1)
    return luce.Dataset(dataset.features, labels, dataset.offsets)


def ndcg(scores, dataset):
    return luce.evaluate(scores, dataset, "ndcg@10", n_bootstrap=0).means["ndcg@10"]


def random_ndcg(dataset):
    return ndcg(np.random.default_rng(0).random(dataset.n_rows), dataset)


def pages(n_lists, seed, one=0, other=1, taste=0.0):
    """Pages graded by how good they are and, in another genre, by a taste for what two of the features tell besides."""
    made = web_search(n_lists, n_features=30, mean_length=20, seed=seed)
    told = np.asarray(made.dataset.features, dtype=np.float64)[:, [one, other]]
    liked = np.clip((told - told.mean(axis=0)) / told.std(axis=0), -2, 2).sum(axis=1)
    grades = np.digitize(made.truth + taste * liked, [0.5, 1.5, 2.5, 3.5])
    return luce.Dataset(made.dataset.features, grades, made.dataset.offsets)
