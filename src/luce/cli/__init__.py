"""The command line: COMMANDS is the one table, and every error a user can cause ends in one clear line."""

import logging
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import typer

from luce.cli.aggregate import aggregate
from luce.cli.card import card
from luce.cli.compare import compare
from luce.cli.convert import convert
from luce.cli.demo import demo
from luce.cli.evaluate import evaluate
from luce.cli.explain import explain
from luce.cli.export import export
from luce.cli.exposure import exposure
from luce.cli.hints import unknown_option
from luce.cli.inspect import inspect
from luce.cli.listing import metrics, objectives, presets
from luce.cli.output import announce_compilation, say
from luce.cli.rank import rank
from luce.cli.serve import serve
from luce.cli.signals import exit_status, interrupt_on_sigterm
from luce.cli.tradeoff import tradeoff
from luce.cli.train import train
from luce.cli.tune import tune
from luce.cli.warm import warm
from luce.errors import LuceError

COMMANDS: dict[str, Callable[..., None]] = {
    function.__name__: function
    for function in (
        demo,
        inspect,
        convert,
        train,
        rank,
        evaluate,
        compare,
        tune,
        explain,
        card,
        exposure,
        tradeoff,
        export,
        aggregate,
        serve,
        warm,
        objectives,
        metrics,
        presets,
    )
}

app = typer.Typer(
    name="luce",
    help="Plackett-Luce learning to rank: from judged lists to an evaluated ranking.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for name, function in COMMANDS.items():
    app.command(name)(function)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(version("luce"))
        raise typer.Exit


@app.callback()
def options(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
    verbose: bool = typer.Option(False, "--verbose", "-v", help="Print log messages."),
) -> None:
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, format="%(name)s: %(message)s")


USAGE: Any = typer.BadParameter.__base__
"""What Typer raises for words that are no command, option or value."""


def main() -> None:
    """Run the command line; what Luce refuses is one line on standard error and exit status 2."""
    warnings.showwarning = _warn
    announce_compilation()
    interrupt_on_sigterm()
    try:
        status = app(standalone_mode=False, prog_name="luce")
        sys.exit(exit_status() if status == 130 else status)
    except USAGE as error:
        line = unknown_option(error) or " ".join(error.format_message().split())
        if line:
            line += "" if line.endswith((".", "?")) else "."
            command = "luce" if error.ctx is None else error.ctx.command_path
            say(f"{line} See {command} --help.", "Error")
        sys.exit(2)
    except typer.Abort:  # of a KeyboardInterrupt Typer makes this, or, newer versions, the status 130
        sys.exit(exit_status())
    except LuceError as error:
        say(error, "Error")
        sys.exit(2)
    except BrokenPipeError:  # the reader of our output, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:  # a full disk, a folder that is not ours
        say(f"{error.strerror or error}: {error.filename or 'no file named'}.", "Error")
        sys.exit(2)


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    say(message, "Note")
