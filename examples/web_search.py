"""Web search: judged pages in LETOR files, linear rankers and trees, LightGBM on the same lists, and a page about all.

The files are made here; yours are read in the same way, one for each of training, validation and test.
"""

import luce
from luce.data.synthetic import web_search
from luce.experiments.peers import peer
from luce.report import write_report

METRICS = "ndcg@10, ndcg@5, err"

# Lines such as `2 qid:7 1:0.35 2:12 …`: a grade, the query, and features by number.
for number, (part, n_lists) in enumerate({"train": 250, "validation": 80, "test": 150}.items()):
    luce.write(web_search(n_lists, n_features=30, mean_length=25, seed=number).dataset, f"{part}.txt")

train = luce.read("train.txt")
validation, test = (luce.read(f"{part}.txt", n_features=train.n_features) for part in ("validation", "test"))
print("Training lists:", train)

# All are stopped by the same validation lists and measured on the same test lists.
settings = {"n_estimators": 150, "num_leaves": 15, "early_stopping_rounds": 20, "n_jobs": 1}
rankers = {
    "linear, ListMLE": luce.LinearRanker("listmle", n_jobs=1),
    "trees, ListMLE": luce.TreeRanker("listmle", **settings),
    "trees, partition likelihood": luce.TreeRanker("pl-partition", **settings),
    "LightGBM, LambdaRank": peer("lightgbm-lambdarank", **settings),
}
found = luce.compare_rankers(rankers, [(train, validation, test)], METRICS, n_jobs=1)
means = {name: result.means["ndcg@10"] for name, result in found.results.items()}
for name, result in found.results.items():
    low, high = result.intervals["ndcg@10"]
    print(f"{name:28} NDCG@10 {means[name]:.4f} ({low:.4f} to {high:.4f})")
for test_of in found.tests["ndcg@10"]:
    print(f"{test_of.name}: {test_of.difference:+.4f} against linear, p = {test_of.randomization_holm:.4f}")

# The best ranker goes into one file; nothing else is needed to rank with it.
best = max((name for name in rankers if isinstance(rankers[name], luce.TreeRanker)), key=means.__getitem__)
ranker = rankers[best].fit(train, validation=validation)
ranker.save("web_search.luce")
first = luce.load("web_search.luce").rank(test, top=3).slice(0, 3).to_pylist()
print("The first query, best pages:", ", ".join(f"{row['document']} ({row['score']:.2f})" for row in first))

page = write_report(
    "web_search.html",
    title="Web search: which ranker?",
    summary=f"On {test.n_lists} queries that none has seen, {max(means, key=means.__getitem__)} orders pages best.",
    command="python examples/web_search.py",
    dataset=found.judged,
    results=found.results,
    comparisons=found.tests,
    costs=found.costs,
    histories=found.histories,
    validation_metric="ndcg@10",
    scores=found.scores,
    importances=found.importances,
)
before, after = means["linear, ListMLE"], means[best]
print(f"To look at: {page}, best on it {best}")
