"""The commands of the command line as sections, from COMMANDS: what each does, how it is called, its options."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

from typer.models import ArgumentInfo

from luce.cli import COMMANDS

KINDS = {int: "INTEGER", float: "NUMBER", Path: "PATH", str: "TEXT"}


class Input(NamedTuple):
    """An argument or option of a command as its user meets it."""

    is_argument: bool
    names: tuple[str, ...]
    value: str
    help: str
    default: Any


def command_sections() -> str:
    """Every command in the order of the table."""
    return "\n\n".join(section(name, function) for name, function in COMMANDS.items())


def section(name: str, function: Callable[..., None]) -> str:
    """What a command does, its usage, its examples and a table of its arguments and options."""
    words, examples = _split(inspect.getdoc(function) or "")
    inputs = inputs_of(function)
    arguments = [each.value for each in inputs if each.is_argument]
    parts = [f"### {name}", words, f"```text\n{' '.join(['luce', name, *arguments, '[OPTIONS]'])}\n```"]
    parts.append("For example:\n\n```sh\n" + "\n".join(examples) + "\n```")
    rows = [f"| {_called(each)} | {_meaning(each)} |" for each in inputs]
    return "\n\n".join([*parts, "\n".join(["| argument or option | meaning |", "|---|---|", *rows])])


def inputs_of(function: Callable[..., None]) -> list[Input]:
    """What a command takes, from the signature of its function: arguments first."""
    hints = get_type_hints(function, include_extras=True)
    found = [_input(each, *get_args(hints[each.name])) for each in inspect.signature(function).parameters.values()]
    return sorted(found, key=lambda each: not each.is_argument)


def _input(parameter: inspect.Parameter, kind: Any, info: Any) -> Input:
    plain = next((each for each in (kind, *get_args(kind)) if each in KINDS), str)
    default = None if parameter.default is inspect.Parameter.empty else parameter.default
    if isinstance(info, ArgumentInfo):
        return Input(True, (), info.metavar or parameter.name.upper(), info.help or "", default)
    given = (info.default, *(info.param_decls or ()))  # in Annotated the first name comes where a default would be
    names = tuple(each for each in given if isinstance(each, str)) or (f"--{parameter.name.replace('_', '-')}",)
    value = "" if kind is bool else info.metavar or KINDS[plain]
    return Input(False, names, value, info.help or "", default)


def _split(text: str) -> tuple[str, list[str]]:
    """The paragraphs of a docstring, and the examples at its end."""
    paragraphs = [" ".join(each.split()) for each in text.split("\n\n")]
    examples = [each.removeprefix("Example: ") for each in paragraphs if each.startswith("Example: ")]
    return "\n\n".join(_plain(each) for each in paragraphs if not each.startswith("Example: ")), examples


def _called(each: Input) -> str:
    if each.is_argument:
        return f"`{each.value}`"
    return ", ".join(f"`{name}`" for name in each.names) + (f" {_plain(each.value)}" if each.value else "")


def _meaning(each: Input) -> str:
    words = _plain(each.help)
    told = each.default is None or isinstance(each.default, bool) or "default:" in words
    return words if told else f"{words} Default: `{each.default}`."


def _plain(words: str) -> str:
    """Text of a help page as Markdown for a table: only back quotes keep their meaning."""
    parts = re.split(r"(`[^`]*`)", words)
    return "".join(each if each.startswith("`") else re.sub(r"([*_\[\]<>|])", r"\\\1", each) for each in parts)
