"""Product search from clicks: shoppers click what they see, and they see what stands high.

Clicks are made from known relevance, so that what is learned from them can be held against the truth. Counted as they
are, they teach the order that was shown. Divided by how often each place is looked at, they teach relevance.
"""

import numpy as np

import luce
from luce.data.synthetic import web_search
from luce.metrics import compare
from luce.report import write_report

LONGEST, SESSIONS = 30, 40
random = np.random.default_rng(0)
train, test = (web_search(n, n_features=20, mean_length=12, seed=seed).dataset for n, seed in ((300, 1), (250, 2)))
attraction = np.array([0.02, 0.15, 0.5, 0.8, 0.95])[train.labels.astype(int)]  # of a product that is looked at


def places(scores: np.ndarray) -> np.ndarray:
    """Where each product stands in its list, from 0, when the lists are sorted by these scores."""
    order = np.lexsort((-scores, np.repeat(np.arange(train.n_lists), train.sizes)))
    found = np.empty(train.n_rows, dtype=np.int64)
    found[order] = np.arange(train.n_rows) - np.repeat(train.offsets[:-1], train.sizes)
    return found


def clicks(shown: np.ndarray, sessions: int) -> np.ndarray:
    """How often each product is clicked: it must be looked at, which is rarer the lower it stands, and attract."""
    return random.binomial(sessions, attraction / (1 + shown) ** 1.5)


# The shop has shown the highest price first, feature 17, and in one session of ten a random order.
PRICE = 16
shown = places(train.features[:, PRICE])
log = clicks(shown, SESSIONS)

# In random orders every place has the same products on average: its clicks tell how often it is looked at.
seen, tries = np.zeros(LONGEST), np.zeros(LONGEST)
for _ in range(SESSIONS // 10):
    order = places(random.random(train.n_rows))
    lower = np.minimum(order, LONGEST - 1)
    seen += np.bincount(lower, clicks(order, 1), minlength=LONGEST)
    tries += np.bincount(lower, minlength=LONGEST)
looked = np.maximum(seen / tries / (seen[0] / tries[0]), 0.01)
print("Looked at, by place:", ", ".join(f"{share:.0%}" for share in looked[:6]), "…")


def learned(weights: np.ndarray) -> luce.LinearRanker:
    """The softmax likelihood of clicks: each click is a choice from its list, and counts by its weight."""
    data = luce.Dataset(train.features, weights > 0, train.offsets, item_weights=weights)
    return luce.LinearRanker("softmax", reg_lambda=10.0, n_jobs=1).fit(data)


rankers = {
    "clicks as they are": learned(log),
    "clicks over how often they are seen": learned(log / looked[np.minimum(shown, LONGEST - 1)]),
    "relevance itself, which no shop knows": luce.LinearRanker("kl", n_jobs=1).fit(train),
}
scores = {"the highest price first": test.features[:, PRICE]}
scores |= {name: ranker.predict(test) for name, ranker in rankers.items()}
results = {name: luce.evaluate(found, test, "ndcg@5, ndcg@1, precision@5") for name, found in scores.items()}
means = {name: result.means["ndcg@5"] for name, result in results.items()}
for name, mean in means.items():
    print(f"{name:38} NDCG@5 by true relevance {mean:.4f}")

before, after = means["clicks as they are"], means["clicks over how often they are seen"]
page = write_report(
    "clicks.html",
    title="Product search from clicks",
    summary=f"Clicks over how often they are seen lift NDCG@5 from {before:.3f} to {after:.3f}; relevance itself "
    f"would give {means['relevance itself, which no shop knows']:.3f}.",
    command="python examples/clicks.py",
    dataset=test,
    results=results,
    comparisons={"ndcg@5": compare(results, "ndcg@5", "clicks as they are")},
    scores=scores,
)
print(f"To look at: {page}")
