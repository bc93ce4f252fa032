"""A ranker of one genre, adapted to another by 50 judged lists: better than it was, and than those lists alone."""

import numpy as np

import luce
from luce.data.synthetic import web_search


def pages(n_lists: int, seed: int, taste: float = 0.0) -> luce.Dataset:
    """Pages graded by how good they are; readers of news have a taste for what features 10 and 21 tell, besides."""
    made = web_search(n_lists, n_features=30, mean_length=20, seed=seed)
    told = np.asarray(made.dataset.features, dtype=np.float64)[:, [9, 20]]
    liked = np.clip((told - told.mean(axis=0)) / told.std(axis=0), -2, 2).sum(axis=1)
    grades = np.digitize(made.truth + taste * liked, [0.5, 1.5, 2.5, 3.5])
    return luce.Dataset(made.dataset.features, grades, made.dataset.offsets)


def ndcg(ranker: luce.TreeRanker) -> float:
    return luce.evaluate(ranker.predict(test), test, "ndcg@10").means["ndcg@10"]


web, news, test = pages(600, seed=1), pages(50, seed=2, taste=0.8), pages(300, seed=3, taste=0.8)
settings = {"objective": "listmle", "num_leaves": 8, "min_child_samples": 10, "n_jobs": 1}

background = luce.TreeRanker(n_estimators=80, **settings).fit(web)
alone = luce.TreeRanker(n_estimators=60, **settings).fit(news)
adapted = luce.TreeRanker(n_estimators=20, **settings).fit(news, init_model=background)

before, after = ndcg(background), ndcg(adapted)
print(f"NDCG@10 on unseen news: {before:.4f} by the ranker of the web, {ndcg(alone):.4f} by one of 50 lists of news")
print(f"{after:.4f} by the ranker of the web, adapted by those 50 lists: {adapted.forest_.rounds} rounds of trees")
again = adapted.truncate(background.forest_.rounds)
print(f"Its first {again.forest_.rounds} rounds are the ranker of the web again: {ndcg(again):.4f}")
