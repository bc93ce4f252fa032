"""Trees grown on several ranks: one model, that of one process with all the lists; and nobody waits for the dead."""

import numpy as np
import pytest
from scipy import sparse

import luce
from luce.distributed import current_group
from luce.errors import LuceError, MachineError, OptionError
from luce.rankers.trees.grower import TreeGrower

from ..ranks import on_ranks
from .growing import quick
from .made import parts

pytestmark = pytest.mark.multiprocess


@pytest.fixture(scope="module")
def data():
    """Lists that all teach something: rows without weight would blur LightGBM's counts of rows."""
    made = parts(n_lists=90, n_features=12)
    return {name: part.take(np.flatnonzero(has_signal(part))) for name, part in made.items()}


def has_signal(dataset):
    return luce.objective("listmle").has_signal(dataset.labels, dataset.offsets)


def cut(dataset, *sizes):
    """The lists in parts of these sizes; the last has the rest."""
    return [dataset.take(part) for part in np.split(np.arange(dataset.n_lists), np.cumsum(sizes))]


def grown(train, validation, settings, more):
    return quick(**settings).fit(train, validation=validation, **more)


def on_parts(data, settings, sizes=(20,), held_out=(10,), **more):
    """The rankers of all ranks: the first gets the first so many lists, …"""
    shares = cut(data["train"], *sizes), cut(data["validation"], *held_out)
    return on_ranks(grown, *shares, size=len(shares[0]), settings=settings, more=more)


def refused(train, validation, settings, more):
    """What all ranks say who find the same error together; they go on to the next test."""
    try:
        return quick(**settings).fit(train, validation=validation, **more)
    except LuceError as error:
        return f"{type(error).__name__}: {error}"


def texts(rankers):
    return [ranker.forest_.text() for ranker in rankers]


def same_model(found, alone, dataset):
    """Whether all ranks have one model, with the splits of the other and its scores but for rounding."""
    assert len(set(texts(found))) == 1
    assert all(one.history_ == found[0].history_ for one in found)
    assert found[0].best_iteration_ == alone.best_iteration_
    for field in ("split_feature", "left_child", "leaf_count", "internal_count"):
        trees, expected = ([getattr(tree, field).tolist() for tree in each.forest_.trees] for each in (found[0], alone))
        assert trees == expected
    assert found[0].nuisance_ == pytest.approx(alone.nuisance_, rel=1e-6)
    for one, other in zip(found[0].history_, alone.history_, strict=True):
        assert one == pytest.approx(other, rel=1e-6)
    np.testing.assert_allclose(found[-1].predict(dataset), alone.predict(dataset), rtol=1e-6, atol=1e-9)


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
def test_it_is_the_model_of_one_process(data, settings):
    """Bins come from all rows and draws go by the numbers of all lists, so that little but rounding differs."""
    alone = quick(**settings).fit(data["train"], validation=data["validation"])
    same_model(on_parts(data, settings), alone, data["test"])


def test_three_ranks_of_sparse_features_start_from_a_model(data):
    thin = {name: part.with_features(sparse.csr_array(np.nan_to_num(part.features))) for name, part in data.items()}
    first = quick(n_estimators=3).fit(thin["train"])
    alone = quick(n_estimators=4).fit(thin["train"], validation=thin["validation"], init_model=first)
    rankers = on_parts(thin, {"n_estimators": 4}, (5, 30), (10, 10), init_model=first)
    same_model(rankers, alone, thin["test"])
    assert rankers[2].forest_.trees[:3] == first.forest_.trees


def test_the_number_of_rounds_is_chosen_on_lists_of_all_ranks(data):
    settings = {"validation_fraction": 0.3, "n_estimators": 60, "early_stopping_rounds": 5, "learning_rate": 0.3}
    alone = quick(**settings).fit(data["train"])
    assert alone.best_iteration_ < 60
    same_model(
        on_ranks(grown, cut(data["train"], 20), settings=settings, validation=None, more={}), alone, data["test"]
    )


def test_bags_are_those_of_one_process(data):
    settings = {"n_bags": 2, "n_estimators": 6, "max_samples": 0.7}
    alone = quick(**settings).fit(data["train"])
    found = on_ranks(grown, cut(data["train"], 40), settings=settings, validation=None, more={})
    assert len(set(texts(found))) == 1
    np.testing.assert_allclose(found[1].predict(data["test"]), alone.predict(data["test"]), rtol=1e-6, atol=1e-9)


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
    rankers = on_parts(labelled, settings)
    alone = quick(**settings).fit(labelled["train"], validation=labelled["validation"])
    assert len(set(texts(rankers))) == 1
    assert any(len(tree.cat_threshold) for tree in alone.forest_.trees)
    np.testing.assert_allclose(
        rankers[1].predict(labelled["test"]), alone.predict(labelled["test"]), rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("builtin", ["lambdarank", "rank_xendcg"])
def test_objectives_of_lightgbm_train_together(data, builtin):
    rankers = on_parts(data, {"lightgbm_objective": builtin})
    assert len(set(texts(rankers))) == 1
    alone = quick(lightgbm_objective=builtin).fit(data["train"], validation=data["validation"])
    assert rankers[0].history_[-1]["loss"] == pytest.approx(alone.history_[-1]["loss"], rel=0.02)


def test_bins_of_many_rows_come_from_a_sample_of_all_ranks(data):
    """Of parts that differ: the second alone could not tell where to split the first."""
    train = data["train"]
    features = np.nan_to_num(np.array(train.features))
    features[: train.offsets[20]] += 100.0
    moved = {**data, "train": train.with_features(features)}
    rankers = on_parts(moved, {"lightgbm_params": {"bin_construct_sample_cnt": 300}})
    assert len(set(texts(rankers))) == 1
    thresholds = np.concatenate([tree.threshold for tree in rankers[0].forest_.trees])
    assert (thresholds > 90).any()
    assert (thresholds < 50).any()


def test_a_resumed_training_ends_in_the_same_bits(data, tmp_path):
    """Rank 1 has no file of its own."""
    kept = luce.Checkpoint(tmp_path / "a", steps=3, resume=True)
    on_parts(data, {"n_estimators": 7}, checkpoint=kept)
    resumed, unbroken = on_parts(data, {}, checkpoint=kept), on_parts(data, {})
    assert set(texts(resumed)) == set(texts(unbroken))
    assert resumed[1].history_ == unbroken[1].history_
    assert kept.load()[0]["rounds"] == 20


def test_a_checkpoint_is_of_the_lists_of_all_ranks(data, tmp_path):
    kept = luce.Checkpoint(tmp_path / "a", steps=5, resume=True)
    on_parts(data, {"n_estimators": 5}, checkpoint=kept)
    other = {**data, "train": data["train"].take(np.arange(80))}
    said = on_ranks(
        refused, cut(other["train"], 20), cut(data["validation"], 10), settings={}, more={"checkpoint": kept}
    )
    assert all("its data was" in one for one in said)
    assert "Rank 0 has stopped: " in said[1]


def test_a_rank_without_lists_stops_all(data):
    errors = on_ranks(refused, cut(data["train"], data["train"].n_lists), validation=None, settings={}, more={})
    assert errors == ["DataError: Every rank needs lists. Rank 1 has none: start fewer ranks."] * 2


def test_a_rank_whose_lists_teach_nothing_is_no_harm(data):
    train = data["train"]
    silent = luce.Dataset(train.features[:50], np.ones(50), [0, 20, 50])
    rankers = on_ranks(grown, (train, silent), validation=None, settings={}, more={})
    assert len(set(texts(rankers))) == 1
    both = on_ranks(refused, (silent, silent), validation=None, settings={}, more={})
    assert all(said.startswith("DataError: ") and "listmle has nothing to learn from" in said for said in both)


@pytest.mark.parametrize(
    ("name", "settings", "more"),
    [
        ("learning_rate", {"learning_rate": 0.2}, {}),
        ("random_state", {"random_state": 7}, {}),
        ("the number of features", {}, {"features": 11}),
        ("the presence of validation data", {}, {"validation": None}),
        ("init_model", {}, {"init_model": None}),
    ],
)
def test_ranks_that_differ_are_told_before_they_grow_trees(data, name, settings, more):
    first = {"init_model": quick(n_estimators=1).fit(data["train"]), "validation": data["validation"], "features": 12}
    one, other = on_ranks(differing, [{}, settings], [first, first | more], train=data["train"])
    assert one == other
    assert one.startswith("MachineError: The ranks do not work on the same")
    assert f"{name} is " in one
    assert " at rank 0 and " in one


def differing(settings, more, train):
    train = train.with_features(train.features[:, : more["features"]])
    return refused(train, more["validation"], settings, {"init_model": more["init_model"]})


def test_the_others_are_told_what_went_wrong(data):
    first, second = on_ranks(failing, cut(data["train"], 40))
    assert str(first) == "the disk is full"
    assert isinstance(second, MachineError)
    assert str(second) == "Rank 0 has stopped: the disk is full"


def failing(train):
    def after(record):
        if record["iteration"] == 3:
            raise RuntimeError("the disk is full")

    quick().fit(train, callback=after)


def test_an_interrupt_inside_lightgbm_waits_until_it_returns(data):
    """The exception of the second rank tells what it has learned."""
    (said, rounds, text), second = on_ranks(interrupted, range(2), cut(data["train"], 40))
    assert said == "Rank 1 has stopped: KeyboardInterrupt"
    assert second.args == (4, text)
    assert rounds == 4


def interrupted(rank, train):
    group, ranker, whole, rounds = current_group(), quick(), TreeGrower.grow, []

    def grow(self, *arguments):
        rounds.append(1)
        if len(rounds) == 5 and rank == 1:
            group.exchange = interrupt  # the next to call it is LightGBM
        return whole(self, *arguments)

    def interrupt(*_):
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TreeGrower, "grow", grow)
        try:
            ranker.fit(train)
        except KeyboardInterrupt:
            raise RuntimeError(len(ranker.history_), ranker.forest_.text()) from None
        except MachineError as error:
            return str(error), len(ranker.history_), ranker.forest_.text()


def test_afterwards_lightgbm_is_alone_again(data):
    """Were its network still there, the first rank would wait for the second."""
    first, second = on_ranks(alone_after, range(2), cut(data["train"], 40))
    assert first == alone_after(2, cut(data["train"], 40)[0])
    assert second is None


def alone_after(rank, train):
    import lightgbm

    if rank < 2:
        quick(n_estimators=2).fit(train)
    if rank != 1:
        settings = {"num_threads": 1, "num_iterations": 2, "verbosity": -1}
        return lightgbm.train(settings, lightgbm.Dataset(train.features, train.labels)).model_to_string()


def test_what_does_not_go_with_several_ranks(data):
    with pytest.raises(OptionError, match="num_machines=2 cannot be used: to train on several machines start"):
        quick(lightgbm_params={"num_machines": 2}).fit(data["train"])
    linear = luce.LinearRanker(max_iter=2, n_jobs=1, transforms=["fill"]).fit(data["train"])
    said = on_ranks(refused, cut(data["train"], 40), validation=None, settings={}, more={"init_model": linear})
    assert said == ["OptionError: On several ranks init_model must be of trees. Got LinearRanker."] * 2
