"""A marketplace in which small sellers get the attention their offers deserve: a small difference in merit, no more."""

import numpy as np

import luce
from luce.report.exposure import attention

SIZE = 10


def market(n_lists: int, seed: int) -> luce.Dataset:
    """Offers for each query; those of large sellers are a little better, and a feature tells whose an offer is."""
    rng = np.random.default_rng(seed)
    large = rng.random(n_lists * SIZE) < 0.5
    quality = rng.normal(size=len(large)) + 0.5 * large
    seen = quality + 2.5 * rng.normal(size=len(large))
    labels = np.digitize(quality, [0.5, 1.5])
    features = np.stack([seen, large, rng.normal(size=len(large))], axis=1)
    sellers = np.where(large, "large", "small")
    return luce.Dataset(features, labels, np.arange(n_lists + 1) * SIZE, groups=sellers)


def small_sellers(ranker: luce.NeuralRanker) -> tuple[float, float]:
    """Their share of the merit and of the attention in the first three places of unseen lists."""
    rows = attention(ranker.predict(test), test, cutoff=3, n_jobs=1).by_group
    return next((row.of_merit, row.of_attention) for row in rows if row.name == "small")


train, test = market(400, seed=1), market(400, seed=2)
settings = {"hidden": (16,), "learning_rate": 0.02, "epochs": 20, "n_jobs": 1}
greedy = luce.NeuralRanker(luce.objective("pl-rank-3", metric="ndcg@3"), **settings).fit(train)
fair = luce.NeuralRanker(luce.objective("fair-policy", goal="ndcg@3 - 10*merit-gap@3"), **settings).fit(train)

merit, before = small_sellers(greedy)
after = small_sellers(fair)[1]
print(f"Small sellers have {merit:.1%} of the merit. Attention: {before:.1%} by relevance alone, {after:.1%} when fair")
for name, ranker in (("relevance alone", greedy), ("fair", fair)):
    found = luce.evaluate(ranker.predict(test), test, "ndcg@3, disparity@3, merit-gap@3").means
    print(name, {metric: round(mean, 3) for metric, mean in found.items()})
