"""The fits of one ranker, one after the other: in this process, or in one of its own that may crash alone."""

import os
import pickle
import signal
import threading
import warnings
from collections.abc import Generator, Iterator, Sequence
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


class FitError(Exception):
    """Why the fits of a ranker ended early."""


def run_jobs(
    estimator: Any, jobs: Sequence[FitJob], cache: ResultCache, isolated: bool = False
) -> Generator[list[str] | None]:
    """Run the jobs and cache their results; yields the warnings of each."""
    for job in jobs:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            try:
                cache.save(job.key, run_fit(estimator, job.fold.read(), job.seed, isolated=isolated))
            except MemoryError as error:
                raise FitError("Out of memory.") from error
            except LuceError as error:
                raise FitError(str(error)) from error
            except Exception as error:  # whatever one ranker does, the others go on
                raise FitError(f"{type(error).__name__}: {error}") from error
        yield [str(warning.message) for warning in caught]


def run_isolated(estimator: Any, jobs: Sequence[FitJob], cache: ResultCache) -> Generator[list[str] | None]:
    """The same in a process of its own; also yields None now and then while it waits."""
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(sender, estimator, jobs, cache), daemon=True)
    try:
        with _interrupts_blocked():
            process.start()
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise FitError(f"It cannot be sent to another process: {error}") from error
    sender.close()
    message: list[str] | str | None = None
    try:
        while not isinstance(message, str):
            yield message
            message = receiver.recv() if receiver.poll(POLL_SECONDS) else None
    except (EOFError, OSError):  # it ended early, perhaps in the middle of a message
        process.join()
        message = _describe_exit(process.exitcode or 0)
    finally:
        if process.is_alive():
            process.kill()
        process.join()
    if message:
        raise FitError(message)


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
        return f"Its process ended prematurely with status {code}."
    name = signal.Signals(-code).name
    hint = " The system may have run out of memory." if name == "SIGKILL" else ""
    return f"Its process was killed by {name}.{hint}"


def _child(sender: Connection, estimator: Any, jobs: Sequence[FitJob], cache: ResultCache) -> None:
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    try:
        for messages in run_jobs(estimator, jobs, cache, isolated=True):
            sender.send(messages)
        sender.send("")
    except FitError as error:
        sender.send(str(error))


def _exit_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
