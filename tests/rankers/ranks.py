"""Fits on several ranks that the tests of the rankers share, and how they are compared."""

import numpy as np
import pytest

from luce.data.shards import share_of
from luce.distributed import current_group
from luce.errors import LuceError


def fitted(ranker, train, validation=None, **more):
    """The ranker of this rank, on its share of the lists; outside of a group on all of them."""
    group = current_group()
    if group is not None:
        train = share_of(train, group.rank, group.size)
        validation = None if validation is None else share_of(validation, group.rank, group.size)
    return ranker.fit(train, validation=validation, **more)


def refused(*arguments, **more):
    """The name of the error that a fit on all ranks ends with, and what it says."""
    try:
        fitted(*arguments, **more)
    except LuceError as error:
        return type(error).__name__, str(error)


def bits(ranker):
    """What must be the same on all ranks."""
    arrays = {name: array.tobytes() for name, array in ranker.state_dict().items()}
    return arrays, ranker.history_, ranker.best_iteration_, ranker.provenance_


def assert_close(found, expected, rel, absolute):
    """The parameters and the history are the same but for rounding."""
    for name, array in expected.state_dict().items():
        np.testing.assert_allclose(found.state_dict()[name], array, rtol=rel, atol=absolute, err_msg=name)
    assert len(found.history_) == len(expected.history_)
    for one, other in zip(found.history_, expected.history_, strict=True):
        assert one == pytest.approx(other, rel=rel)
