"""Sums and gathers over a process group: the same on every rank, in the order of ranks."""

import numpy as np
import pytest

from luce.distributed import LARGE, current_group
from luce.errors import MachineError

from .ranks import on_ranks

pytestmark = pytest.mark.multiprocess


def values_of(rank, size):
    return np.random.default_rng(rank).normal(size=size) * 10.0 ** (8 * rank)


@pytest.mark.parametrize("size", [0, 1, 7, LARGE + 1])
def test_sums_are_added_in_the_order_of_ranks(size):
    found = on_ranks(lambda rank: current_group().sum(values_of(rank, size)), range(3), size=3)
    expected = values_of(0, size) + values_of(1, size) + values_of(2, size)
    assert all(one.tobytes() == expected.tobytes() for one in found)


def test_ranks_may_have_different_numbers_of_values():
    found = on_ranks(lambda rank: current_group().gather(np.full(rank, rank, dtype=np.float32)), range(3), size=3)
    assert [[part.tolist() for part in one] for one in found] == [[[], [1.0], [2.0, 2.0]]] * 3


def test_settings_that_differ_are_an_error_on_every_rank():
    assert on_ranks(lambda rank: current_group().agree({"seed": 1}, rank), range(2)) == [[0, 1]] * 2
    for error in on_ranks(lambda rank: current_group().agree({"seed": rank}), range(2)):
        assert isinstance(error, MachineError)
        assert "seed is 0 at rank 0 and 1 at rank 1" in str(error)


def test_one_process_is_in_no_group():
    assert current_group() is None
