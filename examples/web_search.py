"""Web search: read LETOR files, compare linear rankers, trees and LightGBM on the same lists, and write a report.

The files are synthetic; yours are read in the same way, one each for training, validation and test.
"""

import luce
from luce.data.synthetic import web_search
from luce.report import write_report

METRICS = "ndcg@10, ndcg@5, err"

# Lines such as `2 qid:7 1:0.35 2:12 …`: a grade, the query, and features by number.
for number, (part, n_lists) in enumerate({"train": 250, "validation": 80, "test": 150}.items()):
    luce.write(web_search(n_lists, n_features=30, mean_length=25, seed=number).dataset, f"{part}.txt")

train = luce.read("train.txt")
validation, test = (luce.read(f"{part}.txt", n_features=train.n_features) for part in ("validation", "test"))
print("Training lists:", train)

# All use the same validation lists for early stopping, and the same test lists.
settings = {"n_estimators": 150, "num_leaves": 15, "early_stopping_rounds": 20, "n_jobs": 1}
rankers = {
    "linear, ListMLE": luce.LinearRanker("listmle", n_jobs=1),
    "trees, ListMLE": luce.TreeRanker("listmle", **settings),
    "trees, partition likelihood": luce.TreeRanker("pl-partition", **settings),
    "LightGBM, LambdaRank": luce.peer("lightgbm-lambdarank", **settings),
}
comparison = luce.compare_rankers(rankers, [(train, validation, test)], METRICS, n_jobs=1)
means = {name: result.means["ndcg@10"] for name, result in comparison.results.items()}
for name, result in comparison.results.items():
    low, high = result.intervals["ndcg@10"]
    print(f"{name:28} NDCG@10 {means[name]:.4f} ({low:.4f} to {high:.4f})")
for paired in comparison.tests["ndcg@10"]:
    print(f"{paired.name}: {paired.difference:+.4f} against linear, p = {paired.randomization_holm:.4f}")

# The best ranker of ours is saved to one file, which is all that ranking needs.
best = max((name for name in rankers if isinstance(rankers[name], luce.TreeRanker)), key=means.__getitem__)
ranker = rankers[best].fit(train, validation=validation)
ranker.save("web_search.luce")
first = luce.load("web_search.luce").rank(test, top=3).slice(0, 3).to_pylist()
print("The first query, best pages:", ", ".join(f"{row['document']} ({row['score']:.2f})" for row in first))

page = write_report(
    "web_search.html",
    title="Web search: which ranker?",
    summary=f"On {test.n_lists} unseen queries, {max(means, key=means.__getitem__)} has the highest NDCG@10.",
    command="python examples/web_search.py",
    dataset=comparison.test_data,
    results=comparison.results,
    comparisons=comparison.tests,
    costs=comparison.costs,
    histories=comparison.histories,
    validation_metric="ndcg@10",
    scores=comparison.scores,
    importances=comparison.importances,
)
before, after = means["linear, ListMLE"], means[best]
print(f"Report: {page}; best ranker of ours: {best}")
