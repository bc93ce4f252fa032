"""Evaluation over ranks: each gives its lists, all get what one process gets of all lists."""

import numpy as np
import pytest

from luce.data.extreme import TaggedData
from luce.data.ragged import Dataset
from luce.data.shards import share_of
from luce.errors import MachineError
from luce.metrics import evaluate, evaluate_labels

from ..ranks import on_ranks

pytestmark = pytest.mark.multiprocess

METRICS = "ndcg@3, err, mrr, arp"


def lists(**fields):
    rng = np.random.default_rng(0)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 9, 40))])
    labels = rng.integers(0, 4, offsets[-1]).astype(float)
    labels[: offsets[20]] = np.minimum(labels[: offsets[20]], 2)  # the highest grade is on one rank alone
    labels[offsets[3] : offsets[5]] = 0
    data = Dataset(np.zeros((len(labels), 1)), labels, offsets, **{name: make(rng) for name, make in fields.items()})
    return rng.normal(size=len(labels)), data


def on_shares(scores, data, size=2, **settings):
    parts = [share_of(data, rank, size) for rank in range(size)]
    own = np.split(scores, np.cumsum([part.n_rows for part in parts])[:-1])
    return on_ranks(lambda *given: evaluate(*given, METRICS, n_jobs=1, **settings), own, parts, size=size)


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("empty", ["skip", 0])
@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"list_weights": lambda rng: rng.random(40), "query_ids": lambda rng: [f"{q} é" for q in range(40)]},
    ],
)
def test_results_are_those_of_one_process(size, empty, fields):
    scores, data = lists(**fields)
    expected = evaluate(scores, data, METRICS, empty=empty)
    for found in on_shares(scores, data, size, empty=empty):
        assert found.query_ids.equals(expected.query_ids)
        assert (found.n_empty, found.n_lists, found.max_grade) == (expected.n_empty, expected.n_lists, 3)
        for name, values in expected.values.items():
            np.testing.assert_allclose(found.values[name], values, rtol=1e-12)
            assert found.means[name] == pytest.approx(expected.means[name], rel=1e-12)
            assert found.intervals[name] == pytest.approx(expected.intervals[name], rel=1e-12)
    assert expected.n_empty["ndcg@3"] > 0


def test_what_must_be_the_same_on_all_ranks():
    scores, data = lists()
    for settings in ({"gain": "linear"}, {"random_state": 1}, {"empty": 0}):
        errors = on_ranks(
            lambda scores, data, own: evaluate(scores, data, METRICS, **own), [scores] * 2, [data] * 2, [{}, settings]
        )
        assert all(isinstance(error, MachineError) for error in errors)
    _, weighted = lists(list_weights=lambda rng: rng.random(40))
    errors = on_ranks(lambda data: evaluate(scores, data), [data, weighted])
    assert "list weights is False at rank 0 and True at rank 1" in str(errors[0])


def test_labels_of_rows():
    rng = np.random.default_rng(0)
    data = TaggedData(rng.random((30, 2)), (rng.random((30, 6)) < 0.3) * np.arange(1, 31)[:, None] / 30)
    ranking, found = rng.permuted(np.tile(np.arange(6), (30, 1)), axis=1), rng.uniform(0.1, 1, 6)
    metrics = "precision@2, psp@3, psndcg@2"
    expected = evaluate_labels(ranking, data, metrics, propensities=found)
    parts = [share_of(data, rank, 2) for rank in range(2)]
    own = [ranking[:15], ranking[15:]]
    assert [part.n_rows for part in parts] == [15, 15]
    for one in on_ranks(lambda *given: evaluate_labels(*given, metrics, propensities=found), own, parts):
        assert one.to_dict()["n_lists"] == 30 and one.n_empty == expected.n_empty
        for name, values in expected.values.items():
            np.testing.assert_allclose(one.values[name], values, rtol=1e-12)
            assert one.intervals[name] == pytest.approx(expected.intervals[name], rel=1e-12)
