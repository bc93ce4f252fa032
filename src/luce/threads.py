"""Running compiled kernels over lists on several threads, safe after a fork."""

import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache, partial
from itertools import pairwise
from threading import Thread, current_thread, main_thread
from typing import Any

import numpy as np

from luce.arrays import Floats, Integers, read_only
from luce.errors import LuceWarning, OptionError

_limited: dict[str, bool] = {}
"""Libraries with their own threads, and whether this process was forked after they were loaded."""

_pools: dict[int, ThreadPoolExecutor] = {}
if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=_pools.clear)

SMALL = 8_192
"""Rows below which threads cost more than they save."""

LONG = 10_000
"""Lists with more rows may take long; shorter lists are passed to a kernel in calls of at most about so many rows."""


def one_blas_thread() -> AbstractContextManager[Any]:
    """A context in which BLAS uses one thread: for short vectors more threads are slower, and beside the threads of
    this module they would compete for cores.

    >>> with one_blas_thread():
    ...     float(np.ones(3) @ np.ones(3))
    3.0
    """
    limits: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return limits


@cache
def _libraries() -> Any:
    import scipy.linalg  # noqa: F401  SciPy has its own BLAS, which must be loaded to be found
    from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

    return ThreadpoolController()


def one_thread_after_fork(library: str, limit: Callable[[int], Any] | None) -> None:
    """Limit the library to one thread, by `limit(1)`, in every process forked from this one.

    The OpenMP threads of the parent do not exist in the child, which would wait for them forever.
    """
    if library in _limited or limit is None or not hasattr(os, "register_at_fork"):
        return
    _limited[library] = False

    def keep_to_one() -> None:
        _limited[library] = True
        limit(1)

    os.register_at_fork(after_in_child=keep_to_one)


def check_threads(library: str, threads: int) -> int:
    """The number of threads the library may use: 1, with a warning, in a process forked after it was loaded."""
    if threads > 1 and _limited.get(library):
        warnings.warn(
            f"{library} uses 1 thread here instead of {threads}: this process was forked from one that had loaded it, "
            "and its threads do not survive a fork. Start processes by 'spawn' or 'forkserver' to use more.",
            LuceWarning,
            stacklevel=2,
        )
        return 1
    return threads


def thread_count(n_jobs: int | None = None) -> int:
    """The number of threads for `n_jobs`: None = LUCE_THREADS, else all cores; −1 = all, −2 = all but one.

    All cores are shared equally by the ranks that torchrun started on this machine.

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
    cores //= int(os.environ.get("LOCAL_WORLD_SIZE", 1))
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def in_parallel(tasks: Sequence[Callable[[], Any]], n_jobs: int | None = None) -> list[Any]:
    """The results of the tasks, in their order; tasks must not call this themselves.

    The calling thread works too: it has often finished a short task before another thread wakes up.
    """
    threads = min(thread_count(n_jobs), len(tasks))
    if threads <= 1:
        return [task() for task in tasks]
    results: list[Any] = [None] * len(tasks)
    failures: dict[int, BaseException] = {}
    remaining = iter(range(len(tasks)))  # `next` is atomic under the interpreter lock

    def work() -> None:
        for number in remaining:
            try:
                results[number] = tasks[number]()
            except BaseException as error:
                failures[number] = error
            if failures:
                return

    helpers = [_pool(threads - 1).submit(work) for _ in range(threads - 1)]
    work()
    for helper in helpers:
        if not helper.cancel():  # one that has begun
            helper.result()
    if failures:
        raise failures[min(failures)]  # tasks before it began earlier and succeeded
    return results


def _pool(threads: int) -> ThreadPoolExecutor:
    pool = _pools.get(threads)
    return pool or _pools.setdefault(threads, ThreadPoolExecutor(threads, thread_name_prefix="luce"))


def over_lists(
    kernel: Callable[..., None],
    offsets: Integers,
    *inputs: Any,
    results: Iterable[Any] = (),
    n_jobs: int | None = None,
) -> None:
    """Call `kernel(first, last, offsets, *inputs, *results)` on blocks of lists, in parallel.

    Arrays among the inputs are passed as read-only, so that a kernel is compiled once, whoever owns them. A kernel
    writes only to its own rows and lists, so the result does not depend on the split. Ctrl-C has no effect until
    compiled code returns, so calls are kept short; lists too long for that run on a thread that can be abandoned.
    """
    n_lists, n_rows = len(offsets) - 1, int(offsets[-1])
    arguments = *map(kernel_input, (offsets, *inputs)), *results
    threads = 1 if n_rows < SMALL else thread_count(n_jobs)
    if threads == 1 and n_rows < LONG:
        kernel(0, n_lists, *arguments)
        return
    # At least four blocks a thread: a long list then delays no more than its own block.
    blocks = split_lists(offsets, max(4 * threads if threads > 1 else 1, -(-n_rows // LONG)))
    tasks = [partial(kernel, a, b, *arguments) for a, b in blocks if a < b]
    if np.diff(offsets).max() >= LONG:
        _run_interruptibly(partial(in_parallel, tasks, threads))
    else:
        in_parallel(tasks, threads)


def sum_over_lists(
    kernel: Callable[..., None],
    offsets: Integers,
    shapes: Sequence[int | tuple[int, ...]],
    *inputs: Any,
    results: Iterable[Any] = (),
    n_blocks: int | None = None,
    n_jobs: int | None = None,
) -> list[Floats]:
    """What `kernel(first, last, offsets, *inputs, *results, *sums)` adds to arrays of these shapes, over all lists.

    Each block of lists adds to its own arrays, which are summed at the end. There is a block for each thread, or a
    fixed number of them: then the number of threads does not change the rounding.
    """
    arguments = *map(kernel_input, (offsets, *inputs)), *results
    threads = 1 if offsets[-1] < SMALL else thread_count(n_jobs)
    blocks = split_lists(offsets, n_blocks or threads)
    sums = [[np.zeros(shape) for shape in shapes] for _ in blocks]
    tasks = [partial(kernel, a, b, *arguments, *own) for (a, b), own in zip(blocks, sums, strict=True)]
    in_parallel(tasks, threads)
    return [sum(parts[1:], parts[0]) for parts in zip(*sums, strict=True)]


def split_lists(offsets: Integers, n_blocks: int) -> list[tuple[int, int]]:
    """The first list of each of some blocks of about equal rows, and the first after it; blocks may be empty.

    >>> split_lists(np.array([0, 2, 4, 9, 10]), 2)
    [(0, 3), (3, 4)]
    """
    if n_blocks == 1:
        return [(0, len(offsets) - 1)]
    cuts = np.searchsorted(offsets, np.linspace(0, int(offsets[-1]), n_blocks + 1))
    cuts[0], cuts[-1] = 0, len(offsets) - 1
    return list(pairwise(cuts.tolist()))


def kernel_input(value: Any) -> Any:
    """An array as a read-only view, also within a NamedTuple; other values as they are."""
    if isinstance(value, np.ndarray):
        return read_only(value)
    return value._make(map(kernel_input, value)) if hasattr(value, "_make") else value


def _run_interruptibly(task: Callable[[], Any]) -> None:
    """Run a task on its own thread, so that Ctrl-C ends the wait at once and the result is dropped."""
    if current_thread() is not main_thread():  # which alone handles signals
        task()
        return
    failures: list[BaseException] = []

    def work() -> None:
        try:
            task()
        except BaseException as error:
            failures.append(error)

    thread = Thread(target=work, daemon=True)  # the process does not wait for it to exit
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
