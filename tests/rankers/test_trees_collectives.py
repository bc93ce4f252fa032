"""What LightGBM gets from the other ranks: sums and blocks, and answers after an error."""

import ctypes

import numpy as np
import pytest

from luce.distributed import current_group
from luce.rankers.trees.collectives import _REDUCER as REDUCER
from luce.rankers.trees.collectives import Collectives
from luce.rankers.trees.collectives import _memory as memory

from ..ranks import on_ranks

LENGTHS = [3_000_000, 0, 4_000_000]
STARTS = [0, 3_000_000, 3_000_000]


@REDUCER
def add(source, into, unit, size):
    target = memory(into, size).view(np.float64)
    target += memory(source, size).view(np.float64)


def summed_and_gathered(network, given, one_memory):
    """Its own block of the sum of what the ranks have been given, and the blocks of all."""
    sizes = [(ctypes.c_int32 * 3)(*part) for part in (STARTS, LENGTHS)]
    own = LENGTHS[network.group.rank]
    into = given if one_memory else np.zeros_like(given)
    call = given.ctypes.data, len(given), 1, *sizes, 3, into.ctypes.data, len(into), ctypes.pointer(add)
    network._reduce_scatter(*call)
    summed = into[:own].copy()
    everywhere = into if one_memory else np.zeros_like(given)
    network._all_gather(into.ctypes.data, own, *sizes, 3, everywhere.ctypes.data, len(everywhere))
    return network.failure, summed, everywhere


def exchanged(given, one_memory):
    from tests.rankers.test_trees_collectives import summed_and_gathered  # the callback cannot be pickled

    return summed_and_gathered(Collectives(current_group()), given, one_memory)


@pytest.mark.multiprocess
@pytest.mark.parametrize("one_memory", [False, True])
def test_lightgbm_gets_its_sums_and_blocks(one_memory):
    """Added in the order of ranks; also where it gives the same memory to send from and to receive in."""
    numbers = np.random.default_rng(0).normal(size=(3, sum(LENGTHS) // 8)) * [[1.0], [1e8], [1e16]]
    values, total = numbers.view(np.uint8), ((numbers[0] + numbers[1]) + numbers[2]).view(np.uint8)
    for rank, (failure, summed, everywhere) in enumerate(on_ranks(exchanged, values, size=3, one_memory=one_memory)):
        assert failure is None
        np.testing.assert_array_equal(summed, total[STARTS[rank] : STARTS[rank] + LENGTHS[rank]])
        np.testing.assert_array_equal(everywhere, total)


class Lost:
    """A group whose other ranks have gone."""

    rank, size = 2, 3

    def exchange(self, *_):
        raise KeyboardInterrupt


def test_after_an_error_lightgbm_gets_answers_until_it_returns():
    given = np.arange(sum(LENGTHS)).astype(np.uint8)
    failure, summed, everywhere = summed_and_gathered(Collectives(Lost()), given, False)
    assert isinstance(failure, KeyboardInterrupt)
    np.testing.assert_array_equal(summed, given[STARTS[2] :])
    np.testing.assert_array_equal(everywhere[: LENGTHS[0]], summed[: LENGTHS[0]])
    np.testing.assert_array_equal(everywhere[STARTS[2] :], summed)
