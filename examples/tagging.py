"""Extreme multi-label classification: read the text format, train, evaluate, and print tags by name.

The first line of a file is `rows features labels`; every other line is a document, `3,17 0:1.2 5:0.7 …`: its labels and
its features, by number. The files are synthetic; Delicious, Eurlex, Wiki10 and others have the same format.
"""

import luce
from luce.data.synthetic import tagged_documents

TOPICS = ("cooking", "travel", "music", "physics", "history", "gardens", "cinema", "health", "money", "sports")
KINDS = ("news", "guides", "reviews", "essays", "letters", "maps", "people", "places", "lists", "jokes")
tags = [f"{topic} {kind}" for kind in KINDS for topic in TOPICS]  # the names of labels 0 to 99

for seed, (part, rows) in enumerate({"train": 2_000, "validation": 500, "test": 500}.items()):
    luce.write_tagged(tagged_documents(rows, n_labels=len(tags), seed=seed), f"{part}.txt")
train, validation, test = (luce.read_tagged(f"{part}.txt") for part in ("train", "validation", "test"))
print("Training data:", train)

# The tags of a document are a partition: the relevant ones are above all others, without an order among themselves.
# An epoch is 16 steps of 128 documents, one pass over the 2,000.
settings = {"hidden_layer_sizes": (64,), "learning_rate": 3e-3, "steps_per_epoch": 16, "n_jobs": 1, "device": "cpu"}
ranker = luce.LabelRanker("pl-partition", epochs=20, **settings).fit(train, validation=validation)
one_epoch = luce.LabelRanker("pl-partition", epochs=1, **settings).fit(train, validation=validation)
independent = luce.LabelRanker("bce", epochs=20, **settings).fit(train, validation=validation)

# P@k is the precision of the first k tags; PSP@k gives rare tags more weight, since common ones are easy.
METRICS = "precision@1, precision@3, precision@5, psp@1, psp@3, psp@5"
rankers = {"one epoch": one_epoch, "independent (bce)": independent, "pl-partition": ranker}
print(f"{'':22}" + "".join(f"{name:>13}" for name in METRICS.split(", ")))
results = {name: each.evaluate(test, metrics=METRICS, n_bootstrap=0).means for name, each in rankers.items()}
for name, means in results.items():
    print(f"{name:22}" + "".join(f"{mean:13.3f}" for mean in means.values()))

before, after = results["one epoch"]["precision@5"], results["pl-partition"]["precision@5"]
print(f"Precision@5 on unseen documents: {before:.3f} after one epoch, {after:.3f} after {ranker.best_iteration_}")

# In parentheses: tags that the document does not have.
labels, scores = ranker.top_labels(test, 5)
for row in range(4):
    relevant = test.labels[[row]].indices
    named = [tags[label] if label in relevant else f"({tags[label]})" for label in labels[row]]
    print(f"Document {row}, {len(relevant)} tags: {', '.join(named)}")

ranker.save("tagging.luce")
identical = (luce.load("tagging.luce").top_labels(test, 5)[0] == labels).all()
print(f"Saved to tagging.luce; the loaded model ranks the same tags: {bool(identical)}")
