"""Training on several machines: one model, that of one machine with all the lists; and nobody waits for the dead."""

import numpy as np
import pytest
from scipy import sparse

import luce
from luce.cli.train import train as train_command
from luce.errors import DataError, MachineError, OptionError
from luce.rankers.trees import TreeRanker
from luce.rankers.trees.machines import Machines

from .growing import quick
from .made import ndcg, parts
from .together import COMMAND_LINE, free_addresses, in_threads, on_all, split, start


@pytest.fixture(scope="module")
def data():
    """Lists that all teach something: rows without weight would blur LightGBM's counts of rows."""
    made = parts(n_lists=90, n_features=12)
    return {name: part.take(np.flatnonzero(has_signal(part))) for name, part in made.items()}


def has_signal(dataset):
    return luce.objective("listmle").has_signal(dataset.labels, dataset.offsets)


def fitted(data, settings, sizes=(20,), checkpoint=None, **more):
    """The rankers of all ranks: the first gets the first so many lists, …"""
    shards, judges = split(data["train"], *sizes), split(data["validation"], *[10] * len(sizes))

    def work(rank, machines):
        kept = None if checkpoint is None else luce.Checkpoint(checkpoint, steps=5, resume=True)
        own = {"validation": judges[rank], "machines": machines, "checkpoint": kept, **more}
        return quick(**settings).fit(shards[rank], **own)

    return on_all(work, len(sizes) + 1)


def texts(rankers):
    return [ranker.forest_.text() for ranker in rankers]


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"objective": "pl-partition", "subsample": 0.5, "min_child_samples": 1, "n_estimators": 8},
        {"objective": "mcrank", "n_estimators": 5},
        {"objective": "squared-label"},
        {"objective": "pairties-davidson", "colsample_bytree": 0.5},
        {
            "objective": "listmle",
            "n_estimators": 200,
            "early_stopping_rounds": 4,
            "learning_rate": 0.4,
            "metric": "err",
        },
    ],
    ids=str,
)
def test_it_is_the_model_of_one_machine(data, settings):
    """Bins come from all rows and draws go by the numbers of all lists, so that little but rounding differs."""
    alone = quick(**settings).fit(data["train"], validation=data["validation"])
    rankers = fitted(data, settings)
    assert len(set(texts(rankers))) == 1
    assert rankers[0].history_ == rankers[1].history_
    assert rankers[0].best_iteration_ == alone.best_iteration_
    for field in ("split_feature", "left_child", "leaf_count", "internal_count"):
        found, expected = (
            [getattr(tree, field).tolist() for tree in ranker.forest_.trees] for ranker in (rankers[0], alone)
        )
        assert found == expected
    assert rankers[0].nuisance_ == pytest.approx(alone.nuisance_, rel=1e-6)
    for found, expected in zip(rankers[0].history_, alone.history_, strict=True):
        assert found == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(rankers[1].predict(data["test"]), alone.predict(data["test"]), rtol=1e-6, atol=1e-9)


def test_three_machines_of_sparse_features_start_from_a_model(data):
    thin = {name: part.with_features(sparse.csr_array(np.nan_to_num(part.features))) for name, part in data.items()}
    first = quick(n_estimators=3).fit(thin["train"])
    alone = quick(n_estimators=4).fit(thin["train"], validation=thin["validation"], init_model=first)
    rankers = fitted(thin, {"n_estimators": 4}, (5, 30), init_model=first)
    assert len(set(texts(rankers))) == 1
    assert rankers[2].forest_.trees[:3] == first.forest_.trees
    np.testing.assert_allclose(rankers[2].predict(thin["test"]), alone.predict(thin["test"]), rtol=1e-6, atol=1e-9)


def test_splits_by_many_categories_are_known_everywhere(data):
    """Their description is so long that LightGBM sends it in two steps."""
    moved = {
        name: part.with_features(np.c_[np.arange(part.n_rows) % 60, np.nan_to_num(part.features)])
        for name, part in data.items()
    }
    labelled = {
        name: luce.Dataset(part.features, np.arange(part.n_rows) % 60 % 7 % 2, part.offsets)
        for name, part in moved.items()
    }
    settings = {
        "categorical_feature": [0],
        "n_estimators": 3,
        "lightgbm_params": {"max_cat_threshold": 1_000, "cat_smooth": 0.0},
    }
    rankers = fitted(labelled, settings)
    alone = quick(**settings).fit(labelled["train"], validation=labelled["validation"])
    assert len(set(texts(rankers))) == 1
    assert any(len(tree.cat_threshold) for tree in alone.forest_.trees)
    np.testing.assert_allclose(
        rankers[1].predict(labelled["test"]), alone.predict(labelled["test"]), rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("builtin", ["lambdarank", "rank_xendcg"])
def test_objectives_of_lightgbm_train_together(data, builtin):
    rankers = fitted(data, {"lightgbm_objective": builtin})
    assert len(set(texts(rankers))) == 1
    alone = quick(lightgbm_objective=builtin).fit(data["train"], validation=data["validation"])
    assert rankers[0].history_[-1]["loss"] == pytest.approx(alone.history_[-1]["loss"], rel=0.02)


def test_bins_of_many_rows_come_from_a_sample_of_all_shards(data):
    """Of shards that differ: the second alone could not tell where to split the first."""
    train = data["train"]
    features = np.nan_to_num(np.array(train.features))
    features[: train.offsets[20]] += 100.0
    moved = {**data, "train": train.with_features(features)}
    rankers = fitted(moved, {"lightgbm_params": {"bin_construct_sample_cnt": 300}})
    assert len(set(texts(rankers))) == 1
    thresholds = np.concatenate([tree.threshold for tree in rankers[0].forest_.trees])
    assert (thresholds > 90).any()
    assert (thresholds < 50).any()


SETTINGS = ["n_estimators=20", "num_leaves=8", "min-child-samples=10"]


def command(rank, folder, addresses):
    """The arguments of `luce train` on a rank, as Python takes them."""
    settings = {"model": "trees", "objective": "listmle", "threads": 1, "setting": SETTINGS}
    return {"data": folder / f"{rank}.txt", "machines": addresses, "rank": rank, **settings}


@pytest.mark.multiprocess
def test_two_processes_train_the_same_model(data, tmp_path, monkeypatch):
    addresses = ",".join(free_addresses(2))
    for rank, (train, judge) in enumerate(zip(split(data["train"], 20), split(data["validation"], 30), strict=True)):
        luce.write(train, tmp_path / f"{rank}.txt")
        luce.write(judge, tmp_path / f"vali{rank}.txt")
    words = ["train", "1.txt", "--validation", "vali1.txt", "-o", "1.luce", "--threads", 1, "--model", "trees"]
    words += ["--objective", "listmle", *(word for setting in SETTINGS for word in ("--set", setting))]
    with start(COMMAND_LINE, *words, "--machines", addresses, "--rank", 1, cwd=tmp_path) as other:
        monkeypatch.chdir(tmp_path)
        train_command(**command(0, tmp_path, addresses), validation=tmp_path / "vali0.txt")
        printed, said = other.communicate(timeout=60)
    assert other.returncode == 0, said
    assert printed == ""
    models = [luce.load(tmp_path / name) for name in ("model.luce", "1.luce")]
    assert len(set(texts(models))) == 1
    assert models[0].history_ == models[1].history_
    alone = quick().fit(data["train"], validation=data["validation"])
    expected = ndcg(alone.predict(data["test"]), data["test"])
    assert ndcg(models[0].predict(data["test"]), data["test"]) == pytest.approx(expected, abs=0.03)
    assert not list(tmp_path.glob("*.checkpoint"))


KILLED = """
import os, sys, luce
from luce.rankers.trees import collectives

calls, whole = [], collectives.Collectives._reduce_scatter

def killing(*arguments):
    calls.append(arguments)
    if len(calls) == 60:
        os.kill(os.getpid(), 9)
    whole(*arguments)

collectives.Collectives._reduce_scatter = killing
with luce.Machines(sys.argv[1], rank=1) as machines:
    shard = luce.read(sys.argv[2])
    settings = {"n_estimators": 20, "num_leaves": 8, "min_child_samples": 10, "n_jobs": 1}
    luce.TreeRanker("listmle", **settings).fit(shard, machines=machines)
"""


@pytest.mark.multiprocess
def test_when_one_is_killed_the_other_says_so_and_the_training_can_go_on(data, tmp_path):
    """It dies while LightGBM waits for it, in the middle of a tree."""
    addresses = ",".join(free_addresses(2))
    for rank, shard in enumerate(split(data["train"], 20)):
        luce.write(shard, tmp_path / f"{rank}.txt")
    with start(KILLED, addresses, tmp_path / "1.txt") as other:
        with pytest.raises(MachineError, match=rf"rank 1 \({addresses.split(',')[1]}\) is disconnected"):
            train_command(**command(0, tmp_path, addresses), output=tmp_path / "a.luce", checkpoint_steps=5)
        assert other.wait(timeout=60) == -9
    assert not (tmp_path / "a.luce").exists()

    def go_on(rank, machines):
        kept = luce.Checkpoint(tmp_path / "a.luce.checkpoint", resume=True) if rank == 0 else None
        seen = []
        read = luce.read(tmp_path / f"{rank}.txt")
        ranker = quick(validation_fraction=0.2)  # as the command has it, though several machines hold out none
        return ranker.fit(read, machines=machines, checkpoint=kept, callback=seen.append), len(seen)

    def unbroken(rank, machines):
        return quick().fit(luce.read(tmp_path / f"{rank}.txt"), machines=machines)

    (one, left), (two, _) = on_all(go_on)
    assert left == 15
    assert {one.forest_.text(), two.forest_.text()} == set(texts(on_all(unbroken)))


def test_a_checkpoint_is_of_all_the_shards(data, tmp_path):
    fitted(data, {"n_estimators": 5}, checkpoint=tmp_path / "a")
    other = {**data, "train": data["train"].take(np.arange(80))}
    first, second = fitted(other, {"n_estimators": 6}, checkpoint=tmp_path / "a")
    assert isinstance(first, DataError)
    assert "its data was" in str(first)
    assert isinstance(second, MachineError)
    assert "has stopped: " in str(second)


def test_a_shard_without_lists_stops_all(data):
    shards = [data["train"], data["train"].take([])]
    first, second = on_all(lambda rank, machines: quick().fit(shards[rank], machines=machines))
    assert isinstance(second, DataError)
    assert "nothing to learn from" in str(second)
    assert isinstance(first, MachineError)
    assert "rank 1 (127.0.0.1:" in str(first)
    assert f"has stopped: {second}" in str(first)


def test_a_shard_that_teaches_nothing_is_no_harm(data):
    train = data["train"]
    silent = luce.Dataset(train.features[:50], np.ones(50), [0, 20, 50])
    rankers = on_all(lambda rank, machines: quick().fit((train, silent)[rank], machines=machines))
    assert len(set(texts(rankers))) == 1
    both = on_all(lambda rank, machines: quick().fit(silent, machines=machines))
    assert all("listmle has nothing to learn from" in str(error) for error in both)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("learning_rate", {"learning_rate": 0.2}),
        ("objective", {"objective": "pl-partition"}),
        ("random_state", {"random_state": 7}),
        ("the number of features", {"features": 11}),
        ("the presence of validation lists", {"validation": None}),
        ("init_model", {"init_model": None}),
    ],
)
def test_ranks_that_differ_are_told_before_training(data, name, change):
    init = quick(n_estimators=1).fit(data["train"])

    def work(rank, machines):
        now = change if rank == 1 else {}
        cut = slice(None, now.get("features"))
        train, judge = (data[each].with_features(data[each].features[:, cut]) for each in ("train", "validation"))
        settings = {k: v for k, v in now.items() if k not in ("features", "validation", "init_model")}
        own = {"validation": judge, "init_model": init} | {
            k: v for k, v in now.items() if k in ("validation", "init_model")
        }
        return quick(**settings).fit(train, machines=machines, **own)

    errors = on_all(work)
    assert all(isinstance(error, MachineError) for error in errors)
    assert str(errors[0]) == str(errors[1])
    assert f"{name} is " in str(errors[0])
    assert " at rank 0 and " in str(errors[0])


def test_the_others_are_told_what_went_wrong(data):
    shards = split(data["train"], 40)

    def work(rank, machines):
        def after(record):
            if record["iteration"] == 3 and rank == 0:
                raise RuntimeError("the disk is full")

        return quick().fit(shards[rank], machines=machines, callback=after)

    first, second = on_all(work)
    assert str(first) == "the disk is full"
    assert isinstance(second, MachineError)
    assert str(second).endswith("has stopped: the disk is full")


def test_an_interrupt_inside_lightgbm_waits_until_it_returns(data):
    shards, rankers = split(data["train"], 40), [quick(), quick()]

    def work(rank, machines):
        whole, seen = machines.all_to_all, []

        def after(record):
            seen.append(record)
            if len(seen) == 4 and rank == 1:
                machines.all_to_all = interrupted  # the next to call it is LightGBM

        def interrupted(*arguments):
            raise KeyboardInterrupt

        try:
            return rankers[rank].fit(shards[rank], machines=machines, callback=after)
        finally:
            machines.all_to_all = whole

    first, second = on_all(work)
    assert isinstance(second, KeyboardInterrupt)
    assert isinstance(first, MachineError)
    assert [len(ranker.history_) for ranker in rankers] == [4, 4]
    assert len(set(texts(rankers))) == 1
    assert str(first).endswith("has stopped: KeyboardInterrupt")


def test_afterwards_a_thread_is_alone_again(data):
    shards = split(data["train"], 40)

    def work(rank, machines):
        quick(n_estimators=2).fit(shards[rank], machines=machines)
        return quick(n_estimators=2).fit(data["train"])

    assert set(texts(on_all(work))) == {quick(n_estimators=2).fit(data["train"]).forest_.text()}


def test_only_rank_0_writes_unless_told(data, tmp_path, monkeypatch):
    saved, addresses = [], ",".join(free_addresses(2))
    monkeypatch.setattr(TreeRanker, "save", lambda self, path: saved.append(str(path)))
    for rank in range(2):
        luce.write(data["train"], tmp_path / f"{rank}.txt")
    assert in_threads(lambda rank: train_command(**command(rank, tmp_path, addresses)), 2) == [None, None]
    assert saved == ["model.luce"]


def test_what_does_not_go_with_machines(data):
    for given, rank, words in (
        ("localhost", 0, "must be host:port"),
        ("localhost:0", 0, "must be host:port"),
        ("a:1,b:70000", 0, "must be host:port"),
        ("a:1,a:1", 0, "each once"),
        ([], 0, "each once"),
        ("a:1,b:1", 2, "rank must be from 0 to 1"),
        ("a:1,b:1", -1, "rank must be from 0 to 1"),
    ):
        with pytest.raises(OptionError, match=words):
            Machines(given, rank)
    with pytest.raises(OptionError, match="timeout must be"):
        Machines("a:1", 0, timeout=0)
    with pytest.raises(OptionError, match=r"must be luce\.Machines"):
        quick().fit(data["train"], machines="a:1,b:1")
    with pytest.raises(OptionError, match="not connected"):
        quick().fit(data["train"], machines=Machines("a:1,b:1", 0))
    with pytest.raises(OptionError, match="num_machines=2 cannot be used"):
        quick(lightgbm_params={"num_machines": 2}).fit(data["train"])
    scaled = on_all(lambda _, machines: quick(transforms=["fill"]).fit(data["train"], machines=machines))
    assert any("fill learns from all" in str(error) for error in scaled)
    for options in ({"machines": "a:1,b:1"}, {"rank": 0}):
        with pytest.raises(OptionError, match="needs both"):
            train_command("none.txt", model="trees", **options)
    with pytest.raises(OptionError, match="Only trees"):
        train_command("none.txt", machines="a:1,b:1", rank=0)
