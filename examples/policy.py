"""Train a Plackett-Luce policy for the expected NDCG of its rankings; sample rankings, and compute exposure."""

import numpy as np

import luce
from luce.data.synthetic import web_search

train, test = (web_search(200, n_features=20, mean_length=20, seed=seed).dataset for seed in (1, 2))
objective = luce.objective("pl-rank-2", metric="ndcg@5", samples=50)
ranker = luce.LinearRanker(objective, max_iter=60, learning_rate=0.5).fit(train)


def ndcg(policy: luce.Policy) -> float:
    return float(np.nanmean(policy.expected("ndcg@5", test.labels).value))


policy = luce.Policy.of(ranker, test)
before, after = ndcg(luce.Policy(np.zeros(test.n_rows), test.offsets)), ndcg(policy)
print(f"Expected NDCG@5 of sampled rankings: {before:.4f} uniformly at random, {after:.4f} after training")

rows = test.rows(0)
print("Three rankings of the first list:", *policy.sample(3, depth=5, seed=1)[0].tolist())
exposure = policy.exposure(1 / np.log2(np.arange(2, 7)))
for row in range(rows.start, min(rows.start + 5, rows.stop)):
    error = f" ± {exposure.standard_error[row]:.4f}" if exposure.standard_error[row] else ""
    print(f"  document {row}, grade {test.labels[row]:.0f}: exposure {exposure.value[row]:.4f}{error}")
for temperature in (0.5, 1, 2):
    other = luce.Policy.of(ranker, test, temperature)
    print(f"At temperature {temperature}: NDCG@5 {ndcg(other):.4f}, entropy {other.entropy(5).value.mean():.2f}")
