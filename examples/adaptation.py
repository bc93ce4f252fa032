"""Adapt boosted trees from web pages to news with 50 labeled lists.

The adapted ranker is better than the original one, and than one trained on the 50 lists alone.
"""

import numpy as np

import luce
from luce.data.synthetic import web_search


def pages(n_lists: int, seed: int, taste: float = 0.0) -> luce.Dataset:
    """Synthetic pages with grades; readers of news also prefer high values of features 10 and 21."""
    synthetic = web_search(n_lists, n_features=30, mean_length=20, seed=seed)
    liked = np.asarray(synthetic.dataset.features, dtype=np.float64)[:, [9, 20]]
    preference = np.clip((liked - liked.mean(axis=0)) / liked.std(axis=0), -2, 2).sum(axis=1)
    grades = np.digitize(synthetic.truth + taste * preference, [0.5, 1.5, 2.5, 3.5])
    return luce.Dataset(synthetic.dataset.features, grades, synthetic.dataset.offsets)


def ndcg(ranker: luce.TreeRanker) -> float:
    return luce.evaluate(ranker.predict(test), test, "ndcg@10").means["ndcg@10"]


web, news, test = pages(600, seed=1), pages(50, seed=2, taste=0.8), pages(300, seed=3, taste=0.8)
settings = {"objective": "listmle", "num_leaves": 8, "min_child_samples": 10, "validation_fraction": None, "n_jobs": 1}

background = luce.TreeRanker(n_estimators=80, **settings).fit(web)
alone = luce.TreeRanker(n_estimators=60, **settings).fit(news)
adapted = luce.TreeRanker(n_estimators=20, **settings).fit(news, init_model=background)

before, after = ndcg(background), ndcg(adapted)
print(f"NDCG@10 on unseen news: {before:.4f} by the web ranker, {ndcg(alone):.4f} by one trained on 50 lists of news")
print(f"{after:.4f} by the web ranker adapted with those 50 lists: {adapted.forest_.rounds} boosting rounds")
original = adapted.truncate(background.forest_.rounds)
print(f"Its first {original.forest_.rounds} rounds are the web ranker: {ndcg(original):.4f}")
