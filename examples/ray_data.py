"""Ranking in bulk with Ray Data: `map_batches` over the files of a table, one task a file, in constant memory.

It needs ray[data], and runs on this machine; on a cluster the files lie where all nodes see them.
"""

import glob
import os

import pyarrow as pa
import ray
from pyarrow import parquet

import luce
from luce.data.synthetic import web_search

# A model file, and lists to rank, here in two files; labels are in them only to see what the ranking is worth.
train, test = (web_search(150, n_features=20, mean_length=20, seed=seed).dataset for seed in (0, 1))
luce.LinearRanker("listmle", n_jobs=1).fit(train).save("ray.luce")
os.makedirs("lists", exist_ok=True)
for number in (0, 1):
    luce.write(test.take(range(75 * number, 75 * number + 75)), f"lists/part-{number}.parquet")

ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
ray.data.DataContext.get_current().enable_progress_bars = False
model = ray.put(luce.load("ray.luce"))  # one copy for each node

# A list must be complete where it is ranked. Ray cuts tables into blocks that may end inside a list, so that the rows
# that are mapped are the names of files: a task reads its file batch by batch, and every list is in one file.
files = ray.data.from_items([{"file": os.path.abspath(name)} for name in sorted(glob.glob("lists/*.parquet"))])
ranked = files.map_batches(
    lambda names: (
        pa.Table.from_batches([batch])
        for name in names["file"]
        for batch in luce.rank_batches(ray.get(model), parquet.ParquetFile(name).iter_batches(), top=5)
    ),
    batch_size=1,
)
ranked.write_parquet(os.path.abspath("ranked"), mode="overwrite")
ray.shutdown()

table = parquet.read_table("ranked", columns=["query", "rank", "document"])
label_of = dict(zip(test.document_ids.to_pylist(), test.labels.tolist(), strict=True))
first = [label_of[row["document"]] for row in table.to_pylist() if row["rank"] == 1]
before, after = float(test.labels.mean()), sum(first) / len(first)
print(f"{len(first)} queries ranked; mean label {before:.3f} of all documents, {after:.3f} of the first ones")
