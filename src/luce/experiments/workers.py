"""The fits of one ranker, one after the other: in this process, or in one of its own that may crash alone."""

import os
import pickle
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from luce.errors import LuceError
from luce.experiments.cache import ResultCache, StoredFold
from luce.experiments.fits import run_fit

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""Interrupts are for the parent process, which ends its children itself."""
POLL_SECONDS = 0.5


class FitJob(NamedTuple):
    """A fit to run, and the key by which its result is cached."""

    fold: StoredFold
    seed: int
    key: dict[str, Any]


OnResult = Callable[[int, list[str]], None]
"""Called with the number of each finished job and the warnings it gave."""


def run_jobs(estimator: Any, jobs: Sequence[FitJob], cache: ResultCache, on_result: OnResult, isolated: bool) -> str:
    """Run the jobs and cache their results; what went wrong, empty where nothing did."""
    for number, job in enumerate(jobs):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            try:
                cache.save(job.key, run_fit(estimator, job.fold.read(), job.seed, isolated=isolated))
            except MemoryError:
                return "There was not enough memory."
            except LuceError as error:
                return str(error)
            except Exception as error:  # whatever one ranker does, the others go on
                return f"{type(error).__name__}: {error}"
        on_result(number, [str(warning.message) for warning in caught])
    return ""


def run_isolated(
    estimator: Any, jobs: Sequence[FitJob], cache: ResultCache, on_result: OnResult, on_wait: Callable[[], None]
) -> str:
    """Run the jobs in a process of their own, with `on_wait` called now and then; what went wrong, if anything."""
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(sender, estimator, jobs, cache), daemon=True)
    try:
        with _interrupts_blocked():
            process.start()
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        return f"It cannot be sent to a process of its own: {error}"
    sender.close()
    try:
        while True:
            on_wait()
            try:
                message = receiver.recv() if receiver.poll(POLL_SECONDS) else None
            except (EOFError, OSError):  # it ended early, perhaps in the middle of a message
                process.join()
                return _describe_exit(process.exitcode or 0)
            if isinstance(message, str):
                return message
            if message is not None:
                on_result(*message)
    finally:
        if process.is_alive():
            process.kill()
        process.join()


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Ctrl-C and SIGTERM wait for the end of the block; a process started in it never receives one."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # as it starts, it unblocks interrupts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _describe_exit(code: int) -> str:
    if code >= 0:
        return f"Its process ended too early, with status {code}."
    name = signal.Signals(-code).name
    hint = " The system may have run out of memory." if name == "SIGKILL" else ""
    return f"Its process was ended by {name}.{hint}"


def _child(sender: Connection, estimator: Any, jobs: Sequence[FitJob], cache: ResultCache) -> None:
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    sender.send(run_jobs(estimator, jobs, cache, lambda *message: sender.send(message), isolated=True))


def _exit_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
