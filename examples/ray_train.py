"""Ray Train: boosted trees on two workers of a Ray cluster, each of which takes its share of the lists.

A worker of `TorchTrainer` is in a process group of torch.distributed, and a fit in a group is a fit on all of its
workers. The address of a cluster goes to `ray.init`; without one, Ray starts the workers on this machine.
"""

import tempfile

import ray
from ray.train import Checkpoint, RunConfig, ScalingConfig, get_context, report
from ray.train.torch import TorchConfig, TorchTrainer

import luce
from luce.data.shards import share_of
from luce.data.synthetic import web_search

FOLDER = tempfile.mkdtemp()  # on a cluster: a folder that all machines share
SETTINGS = {"n_estimators": 60, "num_leaves": 7, "n_jobs": 1}


def train(config):
    """What each worker does."""
    rank, size = get_context().get_world_rank(), get_context().get_world_size()
    lists, held_out = (share_of(luce.read(config[part]), rank, size) for part in ("train", "validation"))
    ranker = luce.TreeRanker("pl-partition", **SETTINGS)
    ranker.fit(lists, validation=held_out, checkpoint=luce.Checkpoint(config["checkpoint"], resume=True))
    with tempfile.TemporaryDirectory() as folder:
        if rank == 0:
            ranker.save(f"{folder}/model.luce")
        report({"ndcg": ranker.best_score_}, checkpoint=Checkpoint.from_directory(folder) if rank == 0 else None)


files = {part: f"{FOLDER}/{part}.parquet" for part in ("train", "validation")}
for seed, path in enumerate(files.values()):
    luce.write(web_search(150, n_features=20, mean_length=15, seed=seed).dataset, path)

ray.init(num_cpus=2, include_dashboard=False, configure_logging=False)
trainer = TorchTrainer(
    train,
    train_loop_config={**files, "checkpoint": f"{FOLDER}/model.checkpoint"},
    torch_config=TorchConfig(backend="gloo"),
    scaling_config=ScalingConfig(num_workers=2),
    run_config=RunConfig(storage_path=FOLDER),
)
with trainer.fit().checkpoint.as_directory() as folder:
    ranker = luce.load(f"{folder}/model.luce")
ray.shutdown()

test = web_search(100, n_features=20, mean_length=15, seed=2).dataset
before, after = (luce.evaluate(scores, test).means["ndcg@10"] for scores in (test.labels * 0, ranker.predict(test)))
print(f"NDCG@10 {before:.3f} of equal scores, {after:.3f} after {ranker.best_iteration_} rounds on two workers")
