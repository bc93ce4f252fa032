"""Product search from position-biased clicks: estimate the examination of positions, and weight clicks by its inverse.

The clicks are simulated from known relevance, so that rankers can be evaluated with the truth. Raw clicks reproduce the
order that was shown; clicks divided by the probability that their position is examined are unbiased.
"""

import numpy as np

import luce
from luce.data.synthetic import web_search
from luce.metrics import compare_results
from luce.report import write_report

LONGEST, SESSIONS = 30, 40
random = np.random.default_rng(0)
train, test = (web_search(n, n_features=20, mean_length=12, seed=seed).dataset for n, seed in ((300, 1), (250, 2)))
# The probability of a click on an examined product, by its grade.
attraction = np.array([0.02, 0.15, 0.5, 0.8, 0.95])[train.labels.astype(int)]


def positions(scores: np.ndarray) -> np.ndarray:
    """The position of each product in its list, from 0, when lists are sorted by these scores."""
    order = np.lexsort((-scores, np.repeat(np.arange(train.n_lists), train.sizes)))
    result = np.empty(train.n_rows, dtype=np.int64)
    result[order] = np.arange(train.n_rows) - np.repeat(train.offsets[:-1], train.sizes)
    return result


def clicks(shown: np.ndarray, sessions: int) -> np.ndarray:
    """The number of clicks on each product: it must be examined, which is rarer at lower positions, and attractive."""
    return random.binomial(sessions, attraction / (1 + shown) ** 1.5)


# The shop shows the highest price (feature 17) first, and in one session of ten a random order.
PRICE = 16
shown = positions(train.features[:, PRICE])
log = clicks(shown, SESSIONS)

# In random orders all positions have the same products on average: the clicks measure how often each is examined.
clicked, displayed = np.zeros(LONGEST), np.zeros(LONGEST)
for _ in range(SESSIONS // 10):
    order = positions(random.random(train.n_rows))
    position = np.minimum(order, LONGEST - 1)
    clicked += np.bincount(position, clicks(order, 1), minlength=LONGEST)
    displayed += np.bincount(position, minlength=LONGEST)
propensity = np.maximum(clicked / displayed / (clicked[0] / displayed[0]), 0.01)
print("Examination by position:", ", ".join(f"{share:.0%}" for share in propensity[:6]), "…")


def train_on_clicks(weights: np.ndarray) -> luce.LinearRanker:
    """Maximize the softmax likelihood of the clicks: each is a choice from its list, with a weight."""
    data = luce.Dataset(train.features, weights > 0, train.offsets, item_weights=weights)
    return luce.LinearRanker("softmax", reg_lambda=10.0, n_jobs=1).fit(data)


rankers = {
    "raw clicks": train_on_clicks(log),
    "inverse propensity weighting": train_on_clicks(log / propensity[np.minimum(shown, LONGEST - 1)]),
    "true relevance (upper bound)": luce.LinearRanker("kl", n_jobs=1).fit(train),
}
scores = {"highest price first": test.features[:, PRICE]}
scores |= {name: ranker.predict(test) for name, ranker in rankers.items()}
results = {name: luce.evaluate(predicted, test, "ndcg@5, ndcg@1, precision@5") for name, predicted in scores.items()}
means = {name: result.means["ndcg@5"] for name, result in results.items()}
for name, mean in means.items():
    print(f"{name:30} NDCG@5 by true relevance {mean:.4f}")

before, after = means["raw clicks"], means["inverse propensity weighting"]
page = write_report(
    "clicks.html",
    title="Product search from clicks",
    summary=f"Inverse propensity weighting raises NDCG@5 from {before:.3f} to {after:.3f}; true relevance would "
    f"give {means['true relevance (upper bound)']:.3f}.",
    command="python examples/clicks.py",
    dataset=test,
    results=results,
    comparisons={"ndcg@5": compare_results(results, "ndcg@5", "raw clicks")},
    scores=scores,
)
print(f"Report: {page}")
