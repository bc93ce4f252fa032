"""SIGTERM ends a command as Ctrl-C does, so that what was learned so far is saved."""

import signal
from typing import Any

_received = signal.SIGINT


def interrupt_on_sigterm() -> None:
    """From now on SIGTERM raises KeyboardInterrupt, unless whoever started the process has it ignored."""
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _interrupt)


def exit_status() -> int:
    """The exit status of a command that was interrupted: 130 after Ctrl-C, 143 after SIGTERM.

    >>> exit_status()
    130
    """
    return 128 + _received


def _interrupt(number: int, frame: Any) -> None:
    global _received
    _received = signal.Signals(number)
    raise KeyboardInterrupt
