"""Kernels over lists on several threads: compiled code without the interpreter lock, on one pool, safe after a fork."""

import os
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache, partial
from itertools import pairwise
from threading import Thread, current_thread, main_thread
from typing import Any

import numpy as np

from luce.arrays import Integers
from luce.errors import LuceWarning, OptionError

_limited: dict[str, bool] = {}
"""Libraries with threads of their own, and whether this process was forked after they were loaded."""

_pools: dict[int, ThreadPoolExecutor] = {}
if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_pools.clear)

SMALL = 8_192
"""Rows below which handing out work costs more than it saves."""

LONG = 10_000
"""Rows of a list from which a kernel may take long; of shorter lists, rows in one call of a kernel."""


def one_blas_thread() -> AbstractContextManager[Any]:
    """Within it BLAS works on one thread: for short vectors its threads would take longer to meet than to add, and
    where our own threads share out the work they would fight them.

    >>> with one_blas_thread():
    ...     float(np.ones(3) @ np.ones(3))
    3.0
    """
    limits: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return limits


@cache
def _libraries() -> Any:
    import scipy.linalg  # noqa: F401  SciPy has a BLAS of its own, which must be there to be found
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()


def one_thread_after_fork(library: str, limit: Callable[[int], Any] | None) -> None:
    """From now on, in a process forked from this one, `limit(1)` keeps the library to one thread.

    The threads of its OpenMP are not there in the child, and it would wait for them forever.
    """
    if library in _limited or limit is None or not hasattr(os, "register_at_fork"):
        return
    _limited[library] = False

    def keep_to_one() -> None:
        _limited[library] = True
        limit(1)

    os.register_at_fork(after_in_child=keep_to_one)


def check_threads(library: str, threads: int) -> int:
    """The threads that the library may use; one, with a warning, in a process that was forked after it was loaded."""
    if threads > 1 and _limited.get(library):
        warnings.warn(
            f"{library} works on 1 thread here instead of {threads}: this process was forked from one that had loaded "
            "it, and its threads do not survive a fork. Start processes by 'spawn' or 'forkserver' to use more.",
            LuceWarning,
            stacklevel=2,
        )
        return 1
    return threads


def thread_count(n_jobs: int | None = None) -> int:
    """The number of threads for `n_jobs`: None = LUCE_THREADS, else all cores; −1 = all, −2 = all but one.

    >>> thread_count(3)
    3
    """
    if n_jobs is None:
        setting = os.environ.get("LUCE_THREADS", "-1")
        try:
            n_jobs = int(setting)
        except ValueError:
            raise OptionError(f"LUCE_THREADS must be an integer. Got {setting!r}.") from None
    if n_jobs == 0:
        raise OptionError("n_jobs must be at least 1, or negative to count from all cores. Got 0.")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def in_parallel(tasks: list[Callable[[], Any]], n_jobs: int | None = None) -> list[Any]:
    """The results of the tasks, in their order; the tasks must not call this themselves.

    The caller works too: it has often done a short task before a sleeping thread awakes.
    """
    threads = min(thread_count(n_jobs), len(tasks))
    if threads <= 1:
        return [task() for task in tasks]
    results: list[Any] = [None] * len(tasks)
    failures: dict[int, BaseException] = {}
    left = iter(range(len(tasks)))  # each number goes to one thread, the one with the interpreter lock

    def work() -> None:
        for number in left:
            try:
                results[number] = tasks[number]()
            except BaseException as error:
                failures[number] = error
            if failures:
                return

    helpers = [_pool(threads - 1).submit(work) for _ in range(threads - 1)]
    work()
    for helper in helpers:
        if not helper.cancel():  # not one that never began
            helper.result()
    if failures:
        raise failures[min(failures)]  # those before it were begun earlier, and have ended well
    return results


def _pool(threads: int) -> ThreadPoolExecutor:
    pool = _pools.get(threads)
    return pool or _pools.setdefault(threads, ThreadPoolExecutor(threads, thread_name_prefix="luce"))


def over_lists(kernel: Callable[..., None], offsets: Integers, *arguments: Any, n_jobs: int | None = None) -> None:
    """Call `kernel(first, last, offsets, *arguments)` so that every list is in just one call.

    A kernel writes only to the rows and lists it was given, so the result does not depend on the split. Compiled code
    holds back Ctrl-C until it returns: no call has many rows but for a long list, and long lists are waited for.
    """
    n_lists, n_rows = len(offsets) - 1, int(offsets[-1])
    threads = 1 if n_rows < SMALL else thread_count(n_jobs)
    if threads == 1 and n_rows < LONG:
        kernel(0, n_lists, offsets, *arguments)
        return
    # At least four blocks a thread, of about equal rows: a long list then delays no more than its own block.
    blocks = max(4 * threads if threads > 1 else 1, -(-n_rows // LONG))
    cuts = np.unique(np.searchsorted(offsets, np.linspace(0, n_rows, blocks + 1)))
    cuts[0], cuts[-1] = 0, n_lists
    tasks: list[Callable[[], Any]] = [partial(kernel, a, b, offsets, *arguments) for a, b in pairwise(cuts.tolist())]
    if np.diff(offsets).max() >= LONG:
        _wait_for(partial(in_parallel, tasks, threads))
    else:
        in_parallel(tasks, threads)


def _wait_for(task: Callable[[], Any]) -> None:
    """Do it on a thread of its own: an interrupt ends the wait at once, and what it computes is dropped."""
    if current_thread() is not main_thread():  # which has no signals to handle
        task()
        return
    failures: list[BaseException] = []

    def work() -> None:
        try:
            task()
        except BaseException as error:
            failures.append(error)

    thread = Thread(target=work, daemon=True)  # the end of the process does not wait for it
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
