"""A marketplace in which small sellers get exposure in proportion to their merit.

Rankings by relevance alone turn a small lead in merit into most of the first positions. A policy draws rankings at
random from its scores; trained for relevance and fairness, it shares exposure by merit, at some cost in relevance.
"""

import numpy as np

import luce
from luce.report import exposure_shares, write_exposure

SIZE = 10


def market(n_lists: int, seed: int) -> luce.Dataset:
    """Synthetic offers; those of large sellers are slightly better, and a feature is the size of the seller."""
    rng = np.random.default_rng(seed)
    large = rng.random(n_lists * SIZE) < 0.5
    quality = rng.normal(size=len(large)) + 0.5 * large
    observed = quality + 2.5 * rng.normal(size=len(large))
    labels = np.digitize(quality, [0.5, 1.5])
    features = np.stack([observed, large, rng.normal(size=len(large))], axis=1)
    sellers = np.where(large, "large", "small")
    return luce.Dataset(features, labels, np.arange(n_lists + 1) * SIZE, item_groups=sellers)


def small_sellers(ranker: luce.NeuralRanker) -> tuple[float, float]:
    """Their shares of the merit and of the exposure in the first three positions of the test lists."""
    rows = exposure_shares(ranker.predict(test), test, cutoff=3, n_jobs=1).by_group
    return next((row.of_merit, row.sampled.of_exposure) for row in rows if row.name == "small")


train, test = market(400, seed=1), market(400, seed=2)
settings = {"hidden_layer_sizes": (16,), "learning_rate": 0.01, "n_jobs": 1, "device": "cpu"}
# A fixed number of steps: lists held out to choose it would be scored by NDCG, which knows nothing of fairness.
settings |= {"validation_fraction": None, "batch_size": 64, "steps_per_epoch": 100, "epochs": 1}
utilities = {"relevance alone": "ndcg@3", "some fairness": "ndcg@3 - 3*merit-gap@3", "fair": "ndcg@3 - 10*merit-gap@3"}
rankers = {
    name: luce.NeuralRanker(luce.objective("fair-policy", utility=utility), **settings).fit(train)
    for name, utility in utilities.items()
}

merit = small_sellers(rankers["fair"])[0]
print(f"Small sellers have {merit:.1%} of the merit.")
print("                  their exposure  expected NDCG@3  merit-gap@3")
for name, ranker in rankers.items():
    policy = luce.Policy.of(ranker, test)
    relevance = float(np.nanmean(policy.expected("ndcg@3", test.labels).value))
    gap = luce.evaluate(ranker.predict(test), test, "merit-gap@3").means["merit-gap@3"]
    print(f"{name:16} {small_sellers(ranker)[1]:15.1%}  {relevance:15.4f}  {gap:11.4f}")

# Three rankings for the same query: the first positions vary, and the exposure evens out over time.
policy, sellers = luce.Policy.of(rankers["fair"], test), np.array(test.item_groups.to_pylist()[:SIZE])
for ranking in policy.sample(3, depth=5, seed=1)[0]:
    print("The first query, first five:", ", ".join(sellers[ranking]))

before, after = small_sellers(rankers["relevance alone"])[1], small_sellers(rankers["fair"])[1]
scores, metrics = rankers["fair"].predict(test), "disparity@3, parity-gap@3, merit-gap@3"
page = write_exposure(
    "fair_marketplace.html",
    exposure_shares(scores, test, cutoff=3, n_jobs=1),
    {ranking: luce.evaluate(scores, test, metrics, ranking=ranking) for ranking in ("sampled", "sorted")},
    title="Exposure in a marketplace",
    summary=f"Small sellers have {merit:.1%} of the merit and get {after:.1%} of the exposure; {before:.1%} before.",
    command="python examples/fair_marketplace.py",
    settings={"utility": utilities["fair"]},
)
print(f"Report: {page}")
