"""The cells of one method, one after the other: here, or in a process of its own that may crash alone."""

import os
import pickle
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from luce.errors import LuceError
from luce.experiments.cells import run_cell
from luce.experiments.kept import StoredFold, save_cell

SIGNALS = (signal.SIGINT, signal.SIGTERM)
"""Interrupts, which are for whoever started the processes: it ends them itself."""

MOMENT = 0.5
"""Seconds between two looks at the clock."""


class Task(NamedTuple):
    """A cell to do, and where it goes."""

    fold: StoredFold
    seed: int
    key: dict[str, Any]
    path: Path


Told = Callable[[int, list[str]], None]
"""Hears of each finished task, by its number, with the warnings that it gave."""


def work_here(estimator: Any, tasks: Sequence[Task], told: Told, waiting: Callable[[], None]) -> str | None:
    """Do the tasks in this process; what went wrong, if anything did."""
    waiting()
    return _work(estimator, tasks, told, alone=False)


def work_apart(estimator: Any, tasks: Sequence[Task], told: Told, waiting: Callable[[], None]) -> str | None:
    """Do the tasks in a process of their own; what went wrong, if anything did. `waiting` is called now and then."""
    context = get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(sender, estimator, tasks), daemon=True)
    try:
        with _interrupts_held_back():
            process.start()
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        return f"It cannot be sent to a process of its own: {error}"
    sender.close()
    try:
        failure = _listen(receiver, told, waiting)
        process.join()
        return _ending(process.exitcode or 0) if failure is None else failure or None
    finally:
        if process.is_alive():
            process.kill()
        process.join()


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Ctrl-C and SIGTERM wait for the end of the block, and what is started in it never hears of one, not even as it
    starts."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # as it starts, it lets interrupts through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _listen(receiver: Connection, told: Told, waiting: Callable[[], None]) -> str | None:
    """What went wrong, empty where nothing did; None where the process ended without a word."""
    while True:
        waiting()
        try:
            message = receiver.recv() if receiver.poll(MOMENT) else None
        except (EOFError, OSError):  # it may have ended in the middle of a message
            return None
        if isinstance(message, str):
            return message
        if message is not None:
            told(*message)


def _ending(code: int) -> str:
    """What the exit status of a process that did not do all of its work says."""
    if code >= 0:
        return f"Its process ended too early, with status {code}."
    name = signal.Signals(-code).name
    hint = " The system may have run out of memory." if name == "SIGKILL" else ""
    return f"Its process was ended by {name}.{hint}"


def _child(sender: Connection, estimator: Any, tasks: Sequence[Task]) -> None:
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sender.send(_work(estimator, tasks, lambda *news: sender.send(news), alone=True) or "")


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(estimator: Any, tasks: Sequence[Task], told: Told, *, alone: bool) -> str | None:
    for number, task in enumerate(tasks):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            failure = _done(estimator, task, alone)
        if failure is not None:
            return failure
        told(number, [str(warning.message) for warning in caught])
    return None


def _done(estimator: Any, task: Task, alone: bool) -> str | None:
    """Do a task and keep its cell; what went wrong, if anything did."""
    try:
        save_cell(task.path, task.key, run_cell(estimator, task.fold.load(), task.seed, alone=alone))
    except MemoryError:
        return "There was not enough memory."
    except LuceError as error:
        return str(error)
    except Exception as error:  # whatever one method does, the others go on
        return f"{type(error).__name__}: {error}"
    return None
