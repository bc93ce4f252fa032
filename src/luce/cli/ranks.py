"""A command on several ranks, as torchrun starts it: one of them prints, and one says why all end."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from typing import Annotated

import typer

from luce.distributed import Group, is_first_rank, launched
from luce.errors import LuceError, OptionError

Timeout = Annotated[
    float, typer.Option(help="Seconds to wait for an answer of another rank, where torchrun started several.")
]


@contextmanager
def all_ranks(timeout: float) -> Iterator[Group | None]:
    """The group of the ranks that were started, if they are several; only the first of them prints.

    An error is said by the rank that stops first: others would say the same, or that this one has stopped.
    """
    if not timeout > 0:
        raise OptionError(f"--timeout must be a number of seconds > 0. Got {timeout:g}.")
    group = None
    try:
        with launched(timeout) as group, ExitStack() as silent:
            if not is_first_rank():
                nowhere = silent.enter_context(open(os.devnull, "w", encoding="utf-8"))
                silent.enter_context(redirect_stdout(nowhere))
                silent.enter_context(redirect_stderr(nowhere))
            yield group
    except (LuceError, OSError):
        if group is not None and not group.fails_first:
            raise typer.Exit(2) from None
        raise


def restarts() -> bool:
    """Whether torchrun starts the ranks again when one of them ends by an error (--max-restarts)."""
    return int(os.environ.get("TORCHELASTIC_MAX_RESTARTS", "0")) > 0
