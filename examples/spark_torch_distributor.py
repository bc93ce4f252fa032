"""Spark: boosted trees on two tasks of a Spark cluster, each of which takes its share of the lists.

`TorchDistributor` starts the function on the executors with the variables of torchrun; `local_mode=False` is for a
cluster, whose machines must share the folder.
"""

import tempfile

from pyspark.ml.torch.distributor import TorchDistributor
from pyspark.sql import SparkSession

import luce
from luce.data.synthetic import web_search


def train(train_file, validation_file, model_file):
    """What each process does; rank 0 writes the model."""
    import luce
    from luce.data.shards import share_of
    from luce.distributed import launched

    with launched(timeout=300.0) as group:
        lists, held_out = (share_of(luce.read(path), group.rank, group.size) for path in (train_file, validation_file))
        ranker = luce.TreeRanker("pl-partition", n_estimators=60, num_leaves=7, n_jobs=1)
        ranker.fit(lists, validation=held_out)
        if group.rank == 0:
            ranker.save(model_file)


folder = tempfile.mkdtemp()
files = [f"{folder}/{part}.parquet" for part in ("train", "validation")]
for seed, path in enumerate(files):
    luce.write(web_search(150, n_features=20, mean_length=15, seed=seed).dataset, path)

spark = SparkSession.builder.master("local[2]").getOrCreate()
TorchDistributor(num_processes=2, local_mode=True, use_gpu=False).run(train, *files, f"{folder}/model.luce")
spark.stop()

ranker, test = luce.load(f"{folder}/model.luce"), web_search(100, n_features=20, mean_length=15, seed=2).dataset
before, after = (luce.evaluate(scores, test).means["ndcg@10"] for scores in (test.labels * 0, ranker.predict(test)))
print(f"NDCG@10 {before:.3f} of equal scores, {after:.3f} after {ranker.best_iteration_} rounds in two processes")
