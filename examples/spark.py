"""Ranking in bulk with Spark: a table of lists ranked by `mapInArrow`, one task a partition, in constant memory.

It needs pyspark and Java 17, and runs on this machine; on a cluster the master is another one, and so are the paths.
"""

import os
import sys

from pyspark import SparkFiles
from pyspark.sql import SparkSession

import luce
from luce.data.synthetic import web_search

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

# A model file, and lists to rank, here in two files; labels are in them only to see what the ranking is worth.
train, test = (web_search(150, n_features=20, mean_length=20, seed=seed).dataset for seed in (0, 1))
luce.LinearRanker("listmle", n_jobs=1).fit(train).save("spark.luce")
os.makedirs("lists", exist_ok=True)
for number in (0, 1):
    luce.write(test.take(range(75 * number, 75 * number + 75)), f"lists/part-{number}.parquet")

settings = {"spark.ui.enabled": False, "spark.sql.shuffle.partitions": 4}
spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
spark.sparkContext.addFile("spark.luce")  # every worker gets a copy

# A list must be complete where it is ranked: all rows of a query in one partition, one after another. Without this,
# rank_batches refuses a query that comes again, but cannot know of rows in another partition.
lists = spark.read.parquet("lists").repartition("query").sortWithinPartitions("query")
ranked = lists.mapInArrow(
    lambda batches: luce.rank_batches(luce.load(SparkFiles.get("spark.luce")), batches, top=5),
    "query long, rank long, document string, score double, row long",
)
ranked.drop("row").write.mode("overwrite").parquet("ranked")  # the row in the partition, which says nothing here

found = spark.read.parquet("ranked").filter("rank = 1").collect()
spark.stop()

label_of = dict(zip(test.document_ids.to_pylist(), test.labels.tolist(), strict=True))
first = [label_of[row["document"]] for row in found]
before, after = float(test.labels.mean()), sum(first) / len(first)
print(f"{len(first)} queries ranked; mean label {before:.3f} of all documents, {after:.3f} of the first ones")
