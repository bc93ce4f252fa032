"""What is known of compilation: the clock that leaves it out, and what the command line says of it."""

import time

import numba
import pytest

import luce
from luce import compilation
from luce.cli import output
from luce.data.splits import Fold
from luce.experiments.fits import run_fit


@pytest.fixture
def reports():
    heard = []
    compilation.on_compilation(heard.append)
    yield heard
    compilation.on_compilation(None)


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(compilation.time, "perf_counter", lambda: now[0])
    return now


def test_the_clock_stands_still_while_a_kernel_and_what_it_calls_are_compiled(clock):
    start = compilation.working_time()
    clock[0] += 1
    compilation.begin()
    clock[0] += 2
    compilation.begin()
    clock[0] += 4
    assert compilation.working_time() - start == 1
    compilation.end()
    compilation.end()
    clock[0] += 8
    assert compilation.working_time() - start == 9


def test_numba_tells_when_it_compiles_a_kernel():
    @numba.njit
    def double(x):
        return 2 * x

    start, own = time.perf_counter(), compilation.working_time()
    double(1)
    assert compilation.working_time() - own < time.perf_counter() - start
    own = compilation.working_time()
    assert compilation._State.depth == 0 and double(2) == 4


def test_only_noticeable_compilation_is_reported(reports, clock, monkeypatch):
    monkeypatch.setattr(compilation._State, "finished", 0.0)
    compilation.begin()
    clock[0] += compilation.NOTICEABLE / 2
    compilation.begin()
    assert reports == []
    clock[0] += compilation.NOTICEABLE
    compilation.begin()
    assert reports == [True]
    for _ in range(3):
        compilation.end()
    assert reports == [True, False]


def test_it_is_said_once_outside_a_terminal(clock, capsys):
    output.announce_compilation()
    try:
        for _ in range(2):
            compilation.begin()
            clock[0] += 1
            compilation.begin()
            compilation.end()
            compilation.end()
    finally:
        compilation.on_compilation(None)
    assert capsys.readouterr().err == "Compiling kernels (first run only) …\n"


def test_what_a_fit_takes_is_counted_without_compilation(clock):
    class Compiling(luce.LinearRanker):
        def fit(self, X, y=None, *, validation=None):
            compilation.begin()
            clock[0] += 5
            compilation.end()
            clock[0] += 1
            return super().fit(X, y, validation=validation)

    data = luce.from_arrays([[1.0, 0], [3, 1], [2, 0]] * 2, [0, 2, 1] * 2, [1, 1, 1, 2, 2, 2])
    assert run_fit(Compiling(), Fold(data, None, data), seed=0, isolated=False).cost.fit_seconds == 1
