"""How long kernels are being compiled, which they are on first use: said to the user, and no part of what a fit takes.

Imports nothing that compiles, so that a command can ask to be told before it loads anything.
"""

import time
from collections.abc import Callable

NOTICEABLE = 0.5
"""Seconds of compilation from which on it is reported."""


class _State:
    """One for the process: numba compiles one kernel at a time, with the functions it calls."""

    finished = 0.0  # seconds, of all compilations that have ended
    start = 0.0
    depth = 0
    report: Callable[[bool], None] | None = None


def begin() -> None:
    """A function begins to be compiled, perhaps as part of a kernel that calls it."""
    if not _State.depth:
        _State.start = time.perf_counter()
    _State.depth += 1
    if _State.report is not None and _seconds() > NOTICEABLE:
        _State.report(True)


def end() -> None:
    """The function that began last is compiled."""
    _State.depth -= 1
    if not _State.depth:
        _State.finished += time.perf_counter() - _State.start
        if _State.report is not None:
            _State.report(False)


def on_compilation(report: Callable[[bool], None] | None) -> None:
    """Have `report(True)` called during compilation that takes noticeable time, and `report(False)` at its end."""
    _State.report = report


def working_time() -> float:
    """Seconds on a clock that stands still during compilation.

    >>> start = working_time()
    >>> working_time() >= start
    True
    """
    return time.perf_counter() - _seconds()


def _seconds() -> float:
    return _State.finished + (time.perf_counter() - _State.start if _State.depth else 0.0)
