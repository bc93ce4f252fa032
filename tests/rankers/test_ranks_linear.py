"""Linear rankers fitted on several ranks: one model on all of them, that of one process with the joined lists."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

import luce
from luce.errors import LuceWarning
from luce.rankers import Checkpoint, EnsembleRanker, LinearRanker

from ..ranks import on_ranks
from .made import parts
from .ranks import assert_close, bits, fitted, refused

pytestmark = pytest.mark.multiprocess


@pytest.fixture(scope="module")
def data():
    """Lists of which those of the first rank lack the highest grade."""
    made = parts(n_lists=40, n_features=10)
    lists = made["train"]
    lower = np.arange(lists.n_rows) < lists.offsets[lists.n_lists // 2 + 2]
    labels = np.where(lower, np.minimum(lists.labels, 3), lists.labels)
    return {**made, "train": luce.Dataset(lists.features, labels, lists.offsets)}


@pytest.mark.parametrize(
    ("settings", "size"),
    [
        ({}, 2),
        ({"objective": "mcrank", "max_iter": 10}, 3),
        ({"objective": "pairties-davidson", "transforms": ("fill", "second-order", "standardize"), "max_iter": 10}, 2),
        ({"objective": "pmop-gibbs", "max_iter": 6, "batch_size": 7}, 2),
        ({"objective": "listnet", "n_bags": 3, "max_features": 0.7}, 2),
        ({"objective": "pl-partition", "optimizer": "gradient-descent", "max_iter": 5, "batch_size": 1}, 2),
    ],
    ids=str,
)
def test_it_is_the_model_of_one_process(data, settings, size):
    """Also where some batches have no list of a rank."""
    ranker, given = LinearRanker(n_jobs=1, **settings), (data["train"], data["validation"])
    found = on_ranks(fitted, [ranker] * size, *([each] * size for each in given), size=size)
    expected = fitted(ranker, *given)
    assert [bits(one) == bits(found[0]) for one in found] == [True] * size
    assert_close(found[0], expected, 1e-8, 1e-10)
    assert found[0].best_iteration_ == expected.best_iteration_
    assert found[0].baseline_score_ == pytest.approx(expected.baseline_score_)
    assert found[0].max_grade_ == expected.max_grade_
    rows = [ranker.provenance_["training"]["labels"] for ranker in (found[0], expected)]
    assert rows[0] == rows[1]


def test_a_seed_that_is_not_given_is_that_of_the_first_rank(data):
    found = on_ranks(
        fitted, [LinearRanker("listmle", max_iter=3, random_state=None, n_jobs=1)] * 2, [data["train"]] * 2
    )
    assert bits(found[0]) == bits(found[1])


def told(train, labels_of, **settings):
    """The warnings and callbacks of this rank."""
    seen = []
    train = luce.Dataset(train.features, labels_of(train), train.offsets)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", LuceWarning)
        fitted(LinearRanker(n_jobs=1, max_iter=2, **settings), train, callback=seen.append)
    return [str(one.message) for one in caught if one.category is LuceWarning], len(seen)


def test_the_first_rank_alone_warns_and_reports(data):
    train = data["train"]
    (first, reports), second = on_ranks(told, [train] * 2, labels_of=lambda lists: lists.labels * 10)
    assert "other items hardly count" in first[0]
    assert reports == 2
    assert second == ([], 0)
    (first, _), second = on_ranks(told, [train] * 2, labels_of=lambda lists: np.ones(lists.n_rows))
    assert "no order to learn" in first[0]
    assert second[0] == []
    half = train.offsets[train.n_lists // 4]
    some = on_ranks(
        told, [train] * 2, labels_of=lambda lists: np.where(np.arange(lists.n_rows) < half, 1, lists.labels)
    )
    assert [messages for messages, _ in some] == [[], []]


def test_what_fails_on_one_rank_fails_on_all(data):
    lists, usual = data["train"], [LinearRanker(transforms=(), n_jobs=1)] * 2
    rankers = [LinearRanker(reg_lambda=value) for value in (1.0, 2.0)]
    for error, text in on_ranks(refused, rankers, [lists] * 2):
        assert error == "MachineError"
        assert "reg_lambda is 1.0 at rank 0 and 2.0 at rank 1" in text
    for _, text in on_ranks(refused, usual, [lists, lists.with_features(lists.features[:, :9])]):
        assert "the number of features is 10 at rank 0 and 9 at rank 1" in text
    for _, text in on_ranks(refused, usual, [lists] * 2, [data["validation"], None]):
        assert "the presence of validation data is True at rank 0 and False at rank 1" in text
    features = np.nan_to_num(np.array(lists.features))
    features[-1, 3] = np.nan
    first, second = on_ranks(refused, usual, [lists.with_features(features)] * 2)
    assert second[0] == first[0] == "DataError"
    assert first[1] == f"Rank 1 has stopped: {second[1]}"


def test_what_needs_all_lists_at_once_is_refused(data):
    for ranker in (LinearRanker(optimizer="coordinate-ascent"), EnsembleRanker()):
        for error, _ in on_ranks(refused, [ranker] * 2, [data["train"]] * 2):
            assert error == "OptionError"


def test_a_checkpoint_is_of_the_lists_of_all_ranks(data, tmp_path):
    lists, path = data["train"], tmp_path / "a"
    rankers = [LinearRanker(max_iter=3, n_jobs=1)] * 2
    on_ranks(fitted, rankers, [lists] * 2, checkpoint=path)
    for error, text in on_ranks(refused, rankers, [lists] * 2, checkpoint=path):
        assert error == "DataError"
        assert "is the checkpoint of an earlier training" in text
    other = luce.Dataset(lists.features, np.append(lists.labels[:-1], 4), lists.offsets)
    for error, text in on_ranks(refused, rankers, [lists, other], checkpoint=Checkpoint(path, resume=True)):
        assert error == "DataError"
        assert "is the checkpoint of another training: its data was" in text


def test_outside_of_a_group_nothing_of_torch_is_imported():
    code = "import sys, luce; luce.LinearRanker().fit([[1.0], [2]], [0, 1], ['q', 'q']); print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
