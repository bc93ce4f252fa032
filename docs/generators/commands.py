"""A section for each command of COMMANDS: description, usage, examples and options."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

from typer.models import ArgumentInfo

from luce.cli import COMMANDS

KINDS = {int: "INTEGER", float: "NUMBER", Path: "PATH", str: "TEXT"}


class CommandParameter(NamedTuple):
    """An argument or option of a command as the user sees it."""

    is_argument: bool
    names: tuple[str, ...]
    value: str
    help: str
    default: Any


def command_sections() -> str:
    """All commands in the order of the table."""
    return "\n\n".join(section(name, function) for name, function in COMMANDS.items())


def section(name: str, function: Callable[..., None]) -> str:
    """The description of a command, its usage, examples and a table of its arguments and options."""
    description, examples = _split(inspect.getdoc(function) or "")
    parameters = parameters_of(function)
    arguments = [each.value for each in parameters if each.is_argument]
    parts = [f"### {name}", description, f"```text\n{' '.join(['luce', name, *arguments, '[OPTIONS]'])}\n```"]
    parts.append("For example:\n\n```sh\n" + "\n".join(examples) + "\n```")
    rows = [f"| {_usage(each)} | {_description(each)} |" for each in parameters]
    return "\n\n".join([*parts, "\n".join(["| argument or option | meaning |", "|---|---|", *rows])])


def parameters_of(function: Callable[..., None]) -> list[CommandParameter]:
    """The parameters of a command from the signature of its function, arguments first."""
    hints = get_type_hints(function, include_extras=True)
    parameters = [
        _parameter(each, *get_args(hints[each.name])) for each in inspect.signature(function).parameters.values()
    ]
    return sorted(parameters, key=lambda each: not each.is_argument)


def _parameter(parameter: inspect.Parameter, kind: Any, info: Any) -> CommandParameter:
    plain = next((each for each in (kind, *get_args(kind)) if each in KINDS), str)
    default = None if parameter.default is inspect.Parameter.empty else parameter.default
    if isinstance(info, ArgumentInfo):
        return CommandParameter(True, (), info.metavar or parameter.name.upper(), info.help or "", default)
    given = (info.default, *(info.param_decls or ()))  # in Annotated the first name takes the position of the default
    names = tuple(each for each in given if isinstance(each, str)) or (f"--{parameter.name.replace('_', '-')}",)
    value = "" if kind is bool else info.metavar or KINDS[plain]
    return CommandParameter(False, names, value, info.help or "", default)


def _split(text: str) -> tuple[str, list[str]]:
    """The paragraphs of a docstring, and the examples at its end."""
    paragraphs = [" ".join(each.split()) for each in text.split("\n\n")]
    examples = [each.removeprefix("Example: ") for each in paragraphs if each.startswith("Example: ")]
    return "\n\n".join(_plain(each) for each in paragraphs if not each.startswith("Example: ")), examples


def _usage(each: CommandParameter) -> str:
    if each.is_argument:
        return f"`{each.value}`"
    return ", ".join(f"`{name}`" for name in each.names) + (f" {_plain(each.value)}" if each.value else "")


def _description(each: CommandParameter) -> str:
    text = _plain(each.help)
    complete = each.default is None or isinstance(each.default, bool) or "default:" in text
    return text if complete else f"{text} Default: `{each.default}`."


def _plain(text: str) -> str:
    """Help text as Markdown for a table: only backquotes are markup."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(each if each.startswith("`") else re.sub(r"([*_\[\]<>|])", r"\\\1", each) for each in parts)
