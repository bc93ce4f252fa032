"""The ground that everything stands on: offsets, threads, randomness, errors."""

import os
import signal
import threading
import warnings

import numpy as np
import pytest
from numba import njit, uint32
from threadpoolctl import threadpool_info, threadpool_limits

import luce
from luce.arrays import as_floats, check_offsets, check_rows, list_of_row, offsets_of_sizes, read_only, rows_of_lists
from luce.errors import DataError, OptionError, load_package
from luce.randomness import Draw, philox, random_bits, uniform
from luce.threads import LONG, SMALL, in_parallel, one_blas_thread, over_lists, thread_count

# ---- randomness


@pytest.mark.parametrize(
    ("key", "counter", "words"),
    [
        ((0, 0), (0, 0, 0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 4, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            (0xA4093822, 0x299F31D0),
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_philox_gives_the_published_words(key, counter, words):
    given = [uint32(number) for number in (*key, *counter)]
    assert [int(word) for word in _call_philox(*given)] == [int(word, 16) for word in words.split()]


@njit
def _call_philox(k0, k1, c0, c1, c2, c3):
    return philox(uint32(k0), uint32(k1), uint32(c0), uint32(c1), uint32(c2), uint32(c3))


def test_every_part_of_a_draw_counts():
    names = ("seed", "step", "list_number", "sample", "draw")
    start = dict.fromkeys(names, 3)
    seen = {int(random_bits(**start))} | {int(random_bits(**{**start, name: 4})) for name in names}
    assert len(seen) == 6
    assert int(random_bits(3, 3, 3, 3, 3)) == int(random_bits(**start))
    assert int(random_bits(3 + 2**40, 3, 3, 3, 3)) not in seen


def test_uniform_is_uniform_and_open():
    draws = np.array([uniform(1, 0, 0, sample, draw) for sample in range(20) for draw in range(200)])
    assert draws.min() > 0
    assert draws.max() < 1
    assert abs(draws.mean() - 0.5) < 4 / np.sqrt(12 * len(draws))
    assert np.abs(np.histogram(draws, 10, (0, 1))[0] - 400).max() < 100


def test_draw_numbers_lists_from_zero_or_as_given():
    assert Draw().list_numbers(3).tolist() == [0, 1, 2]
    assert Draw(lists=[7, 2]).list_numbers(2).tolist() == [7, 2]


# ---- threads


@njit(nogil=True)
def _visit(first, last, offsets, values, sums, visits):
    for q in range(first, last):
        visits[q] += 1
        for i in range(offsets[q], offsets[q + 1]):
            sums[q] += values[i]


def _lists(seed=0):
    random = np.random.default_rng(seed)
    sizes = random.integers(0, 40, 1_500)
    sizes[:20], sizes[-20:], sizes[700] = 0, 0, 9_000
    offsets = offsets_of_sizes(sizes)
    return offsets, random.random(offsets[-1])


def _sums(offsets, values, n_jobs):
    sums, visits = np.zeros(len(offsets) - 1), np.zeros(len(offsets) - 1, dtype=np.int64)
    over_lists(_visit, offsets, values, results=[sums, visits], n_jobs=n_jobs)
    assert np.all(visits == 1)
    return sums


@pytest.mark.parametrize("n_jobs", [2, 3, 8])
def test_over_lists_visits_every_list_once_whatever_the_threads(n_jobs):
    offsets, values = _lists()
    assert offsets[-1] > SMALL
    assert np.array_equal(_sums(offsets, values, n_jobs), _sums(offsets, values, 1))


@pytest.mark.parametrize("sizes", [[], [0], [0, 0, 0], [3], [SMALL + 1], [0, SMALL + 1, 0]])
def test_over_lists_with_few_lists(sizes):
    offsets = offsets_of_sizes(sizes)
    assert _sums(offsets, np.ones(offsets[-1]), 2).tolist() == sizes


def test_over_lists_from_several_python_threads():
    offsets, values = _lists()
    expected, results = _sums(offsets, values, 1), []
    callers = [threading.Thread(target=lambda: results.append(_sums(offsets, values, 2))) for _ in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(results) == 6
    assert all(np.array_equal(result, expected) for result in results)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_over_lists_after_a_fork():
    offsets, values = _lists()
    expected = _sums(offsets, values, 2)  # the pool has threads now, which no child inherits
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn about the very thing tested here
        child = os.fork()
    if child == 0:
        signal.alarm(30)
        os._exit(0 if np.array_equal(_sums(offsets, values, 2), expected) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_no_call_of_a_kernel_has_many_rows(n_jobs):
    offsets, calls = offsets_of_sizes([50] * 1_000), []
    over_lists(lambda first, last, offsets: calls.append(offsets[last] - offsets[first]), offsets, n_jobs=n_jobs)
    assert sum(calls) == offsets[-1]
    assert max(calls) < 2 * LONG < offsets[-1]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_does_not_wait_for_a_long_list(n_jobs):
    threads, end = [], threading.Event()

    def kernel(first, last, offsets):
        if offsets[last] > offsets[first]:
            threads.append(threading.current_thread())
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
            end.wait(10)  # compiled code would not notice the signal

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            over_lists(kernel, np.array([0, LONG]), n_jobs=n_jobs)
    finally:
        signal.signal(signal.SIGINT, before)
    end.set()
    assert threading.main_thread() not in threads
    with pytest.raises(ZeroDivisionError):
        over_lists(lambda *lists: 1 // 0, np.array([0, LONG]), n_jobs=n_jobs)


def test_in_parallel_keeps_the_order_and_passes_errors_on():
    assert in_parallel([lambda i=i: i * i % 7 for i in range(50)], 3) == [i * i % 7 for i in range(50)]
    with pytest.raises(ZeroDivisionError):
        in_parallel([lambda: 1, lambda: 1 // 0, lambda: 3], 2)


def test_of_several_failures_the_first_task_has_its_say():
    failed = threading.Event()

    def slow():
        failed.wait(10)
        raise KeyError("first")

    def quick():
        failed.set()
        raise ValueError("second")

    with pytest.raises(KeyError):
        in_parallel([slow, quick], 2)


def test_no_task_begins_after_a_failure():
    begun = []

    def fail():
        begun.append(1)
        raise ValueError

    with pytest.raises(ValueError):
        in_parallel([fail] * 10, 2)
    assert len(begun) <= 2  # one on each thread


def test_thread_count(monkeypatch):
    monkeypatch.delenv("LUCE_THREADS", raising=False)
    every = thread_count(-1)
    assert thread_count() == every
    assert thread_count(-2) == max(1, every - 1)
    assert thread_count(-1000) == 1
    monkeypatch.setenv("LUCE_THREADS", "5")
    assert thread_count() == 5
    assert thread_count(2) == 2
    with pytest.raises(OptionError, match=r"n_jobs must be at least 1.* Got 0"):
        thread_count(0)
    monkeypatch.setenv("LUCE_THREADS", "many")
    with pytest.raises(OptionError, match=r"LUCE_THREADS must be an integer. Got 'many'"):
        thread_count()


# ---- arrays


def test_rows_and_lists_are_each_others_inverse():
    offsets = np.array([0, 2, 2, 5, 6])
    assert list_of_row(offsets).tolist() == [0, 0, 2, 2, 2, 3]
    lists = np.array([3, 1, 2, 2])
    assert rows_of_lists(offsets, lists).tolist() == [5, 2, 3, 4, 2, 3, 4]
    assert rows_of_lists(offsets, np.array([], dtype=np.int64)).tolist() == []
    assert offsets_of_sizes(np.diff(offsets)).tolist() == offsets.tolist()
    assert offsets_of_sizes([]).tolist() == [0]


@pytest.mark.parametrize(
    ("offsets", "text"),
    [
        ([0, 3, 2, 4], "must not decrease. Got 3 then 2 at list 2"),
        ([1, 4], "from 0 to the number of rows, 4. Got 1 to 4"),
        ([0, 3], "Got 0 to 3"),
        ([[0, 4]], "one-dimensional array of integers. Got int64 of shape"),
        ([0.0, 4.0], "one-dimensional array of integers. Got float64"),
        ([], "one-dimensional array of integers"),
    ],
)
def test_bad_offsets_are_refused(offsets, text):
    with pytest.raises(DataError, match=text):
        check_offsets(offsets, 4)


def test_numbers_and_rows_are_checked():
    assert as_floats("x", [1, 2]).dtype == np.float64
    assert np.isnan(as_floats("x", [np.nan]))[0]
    with pytest.raises(DataError, match="x must be numbers"):
        as_floats("x", ["a"])
    with pytest.raises(DataError, match=r"x must be one-dimensional. Got shape \(1, 1\)"):
        as_floats("x", [[1]])
    with pytest.raises(DataError, match=r"x must have 3 entries. Got 2"):
        as_floats("x", [1, 2], 3)
    with pytest.raises(DataError, match=r"x must have 0 entries. Got 1"):
        as_floats("x", [1], 0)
    with pytest.raises(DataError, match=r"x must not be NaN. Got NaN at row 2 \(2 in total\)"):
        check_rows("x", [0, np.nan, np.nan])


def test_frozen_is_a_view_that_cannot_be_written():
    values = np.zeros(2)
    view = read_only(values)
    values[0] = 7
    assert view[0] == 7
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1


# ---- errors


def test_a_missing_package_comes_with_its_install_line():
    with pytest.raises(luce.MissingPackageError, match=r"needs no_such_package.*pip install 'luce\[neural\]'"):
        load_package("no_such_package.part", "neural")
    assert load_package("json.decoder", "neural").__name__ == "json.decoder"


def test_blas_keeps_to_one_thread_for_a_while():
    def threads():
        return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}

    with threadpool_limits(2, "blas"):
        with one_blas_thread():
            assert threads() == {1}
        assert threads() == {2}
