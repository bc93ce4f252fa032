"""Linear rankers fitted on several ranks: one model on all of them, that of one process with the joined lists."""

import warnings

import numpy as np
import pytest
from scipy import sparse

import luce
from luce.data.shards import share_of
from luce.distributed import current_group
from luce.errors import DataError, LuceWarning, MachineError, OptionError
from luce.rankers import LinearRanker

from ..ranks import on_ranks
from .made import parts

pytestmark = pytest.mark.multiprocess


@pytest.fixture(scope="module")
def data():
    return parts(n_lists=40, n_features=10)


def fitted(train, validation=None, **settings):
    """The ranker of this rank, on its share of the lists."""
    group = current_group()
    if group is not None:
        train = share_of(train, group.rank, group.size)
        validation = None if validation is None else share_of(validation, group.rank, group.size)
    return LinearRanker(n_jobs=1, **settings).fit(train, validation=validation)


def close(found, expected):
    """Whether the weights, intercepts, nuisance parameters and the history are the same but for rounding."""
    for name, array in expected.state_dict().items():
        np.testing.assert_allclose(found.state_dict()[name], array, rtol=1e-8, atol=1e-10)
    assert len(found.history_) == len(expected.history_)
    for one, other in zip(found.history_, expected.history_, strict=True):
        assert one == pytest.approx(other, rel=1e-8)


def bits(ranker):
    return {name: array.tobytes() for name, array in ranker.state_dict().items()}, ranker.history_


@pytest.mark.parametrize(
    ("settings", "size"),
    [
        ({}, 2),
        ({"objective": "mcrank", "max_iter": 10}, 3),
        ({"objective": "pairties-davidson", "transforms": ("fill", "second-order", "standardize"), "max_iter": 10}, 2),
        ({"objective": "listmle", "max_iter": 10, "random_state": None}, 2),
        ({"objective": "pmop-gibbs", "max_iter": 6, "batch_size": 7}, 3),
        ({"objective": "pl-partition", "optimizer": "gradient-descent", "max_iter": 5, "batch_size": 1}, 2),
    ],
    ids=str,
)
def test_it_is_the_model_of_one_process(data, settings, size):
    train, validation = data["train"], data["validation"]
    found = on_ranks(fitted, [train] * size, [validation] * size, size=size, **settings)
    assert all(bits(one) == bits(found[0]) for one in found)
    if "random_state" not in settings:
        close(found[0], fitted(train, validation, **settings))
        assert found[0].best_iteration_ == fitted(train, validation, **settings).best_iteration_
        assert found[0].baseline_score_ == pytest.approx(fitted(train, validation, **settings).baseline_score_)
