"""Tag documents with the relevant few of many tags: read extreme-classification text, learn, measure, name the tags.

The first line of such a file is `rows features labels`; each further one a document, `3,17 0:1.2 5:0.7 …`: its tags
and its words, by number. The files are made here; Delicious, Eurlex, Wiki10 and others come in the same form.
"""

import luce
from luce.data.synthetic import tagged_documents

TOPICS = ("cooking", "travel", "music", "physics", "history", "gardens", "cinema", "health", "money", "sports")
KINDS = ("news", "guides", "reviews", "essays", "letters", "maps", "people", "places", "lists", "jokes")
tags = [f"{topic} {kind}" for kind in KINDS for topic in TOPICS]  # the names of labels 0 to 99

for seed, (part, rows) in enumerate({"train": 2_000, "validation": 500, "test": 500}.items()):
    luce.write_tagged(tagged_documents(rows, n_labels=len(tags), seed=seed), f"{part}.txt")
train, validation, test = (luce.read_tagged(f"{part}.txt") for part in ("train", "validation", "test"))
print("To learn from:", train)

# The tags of a document form a partition: the relevant ones above all others, in no order among themselves.
settings = {"hidden_layer_sizes": (64,), "learning_rate": 3e-3, "n_jobs": 1, "device": "cpu"}
ranker = luce.LabelRanker("pl-partition", epochs=20, **settings).fit(train, validation=validation)
barely = luce.LabelRanker("pl-partition", epochs=1, **settings).fit(train)
independent = luce.LabelRanker("bce", epochs=20, **settings).fit(train, validation=validation)

# P@k counts right tags among the first k; PSP@k counts rare ones for more, since common tags are easy.
METRICS = "precision@1, precision@3, precision@5, psp@1, psp@3, psp@5"
rows = {"one epoch": barely, "each tag alone (bce)": independent, "pl-partition": ranker}
print(f"{'':22}" + "".join(f"{name:>13}" for name in METRICS.split(", ")))
found = {name: each.evaluate(test, metrics=METRICS, n_bootstrap=0).means for name, each in rows.items()}
for name, means in found.items():
    print(f"{name:22}" + "".join(f"{mean:13.3f}" for mean in means.values()))

before, after = found["one epoch"]["precision@5"], found["pl-partition"]["precision@5"]
print(f"Precision@5 on unseen documents: {before:.3f} after one epoch, {after:.3f} after {ranker.best_iteration_}")

# In brackets: tags that the document does not have.
labels, scores = ranker.top_labels(test, 5)
for row in range(4):
    relevant = test.labels[[row]].indices
    named = [tags[label] if label in relevant else f"({tags[label]})" for label in labels[row]]
    print(f"Document {row}, {len(relevant)} tags: {', '.join(named)}")

ranker.save("tagging.luce")
same = (luce.load("tagging.luce").top_labels(test, 5)[0] == labels).all()
print(f"Kept in tagging.luce, which ranks the same tags again: {bool(same)}")
