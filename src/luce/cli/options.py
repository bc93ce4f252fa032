"""The arguments and options that commands share, each with one meaning."""

from pathlib import Path
from typing import Annotated, Any

import typer

from luce.errors import OptionError

Data = Annotated[
    Path, typer.Argument(metavar="DATA", help="Judged lists: LETOR text, CSV, Parquet, Arrow, .luce-data.")
]
Reading = Annotated[
    list[str] | None,
    typer.Option(
        "--read", metavar="KEY=VALUE", help="How to read the data, e.g. --read label=clicks --read format=csv."
    ),
]
Metrics = Annotated[str, typer.Option(help="Metrics, with commas; `luce metrics` lists them.")]
Empty = Annotated[str, typer.Option(help="What a list with nothing relevant counts: skip, 0 or 1.")]
Gain = Annotated[str, typer.Option(help="Gain of a grade: exponential (2^y − 1) or linear.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]
Threads = Annotated[int | None, typer.Option(help="Threads; all cores by default.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]


def pairs(given: list[str] | None, option: str) -> dict[str, Any]:
    """KEY=VALUE words as a dictionary; values are numbers, true, false, none, or text, with commas a list.

    >>> pairs(["depth=10", "label=clicks", "features=a,b", "sparse=true"], "--read")
    {'depth': 10, 'label': 'clicks', 'features': ['a', 'b'], 'sparse': True}
    """
    result = {}
    for word in given or []:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise OptionError(f"{option} takes KEY=VALUE. Got {word!r}.")
        result[key.strip().replace("-", "_")] = _value(value.strip())
    return result


def _value(text: str) -> Any:
    if "," in text:
        return [_value(part.strip()) for part in text.split(",")]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return {"true": True, "false": False, "none": None}.get(text.lower(), text)


def empty_value(given: str) -> Any:
    """The `empty` argument of evaluate as the command line spells it."""
    return int(given) if given in ("0", "1") else given
