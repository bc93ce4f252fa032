"""Tag documents with the relevant few of many labels: a network with one score a label, trained by pl-partition."""

import luce
from luce.data.synthetic import tagged_documents

train, validation, test = (tagged_documents(rows, seed=seed) for seed, rows in enumerate((2_000, 500, 500)))
settings = {"hidden": (64,), "learning_rate": 3e-3, "n_jobs": 1, "device": "cpu"}

barely = luce.LabelRanker("pl-partition", epochs=1, **settings).fit(train)
ranker = luce.LabelRanker("pl-partition", epochs=20, **settings).fit(train, validation=validation)

before, after = (each.evaluate(test, metrics="precision@5").means["precision@5"] for each in (barely, ranker))
print(f"Precision@5 on unseen documents: {before:.3f} after one epoch, {after:.3f} after {ranker.best_iteration_}")
print(ranker.rank(test, top=3).slice(0, 3).to_pandas().to_string(index=False))
