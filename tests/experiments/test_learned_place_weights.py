"""The weights of places of p-listmle, learned by the metric on held-out lists, where it is known which are good."""

import numpy as np
import pytest

import luce
from luce.data import Dataset

TRUTH = np.array([1.0, -1, 0.5, 0.25, 0, 0, 0, 0])


def orders(n_lists, n_items, informative, seed):
    """Plackett-Luce orders of which only the first places are kept: those below are shuffled."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_lists, n_items, 8))
    order = np.argsort(-x @ TRUTH - rng.gumbel(size=(n_lists, n_items)), axis=1)
    order[:, informative:] = rng.permuted(order[:, informative:], axis=1)
    labels = np.empty((n_lists, n_items))
    np.put_along_axis(labels, order, np.arange(n_items - 1.0, -1, -1)[None], axis=1)
    return Dataset(x.reshape(-1, 8), labels.ravel(), np.arange(0, labels.size + 1, n_items))


@pytest.mark.parametrize(
    ("n_lists", "n_items", "informative", "best", "worst"),
    [(25, 30, 30, {"dcg", 0.0, 0.5, 1.0}, "halving"), (200, 10, 1, {"halving", 1.0, 2.0}, 0.0)],
)
def test_tuning_finds_weights_for_the_noise_of_the_places(n_lists, n_items, informative, best, worst):
    """Flat weights where every place says as much as the first, steep ones where all but the first are noise."""
    ranker = luce.LinearRanker(luce.objective("p-listmle", alpha=worst), n_jobs=1, reg_lambda=0.1, metric="ndcg@10")
    train, test = (orders(n, n_items, informative, seed) for n, seed in ((n_lists, 1), (500, 2)))
    found = luce.tune(ranker, train, trials=12, fixed=["reg_lambda"])
    assert found.best.params["alpha"] in best

    def ndcg(fitted):
        return luce.evaluate(fitted.predict(test), test, "ndcg@10").means["ndcg@10"]

    assert ndcg(found.best_ranker) > ndcg(ranker.fit(train)) + 0.005
