"""The arguments and options that commands share, each with one meaning."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated, Any

import typer

from luce.errors import OptionError

Data = Annotated[
    Path, typer.Argument(metavar="DATA", help="Judged lists: LETOR text, CSV, Parquet, Arrow or .luce-data.")
]
Reading = Annotated[
    list[str] | None,
    typer.Option(
        "--read",
        metavar="KEY=VALUE",
        help="How to read the data, e.g. --read label=clicks --read 'exclude=*_id,position' --read format=csv.",
    ),
]
Metrics = Annotated[str, typer.Option(help="Metrics, separated by commas; `luce metrics` lists them.")]
Empty = Annotated[
    str,
    typer.Option(
        help="Lists in which a metric is undefined, such as those without relevant items: skip, or count as 0 or 1."
    ),
]
Gain = Annotated[str, typer.Option(help="Gain of a grade: exponential (2^y − 1) or linear.")]
Seed = Annotated[int, typer.Option(help="Random seed.")]
Threads = Annotated[int | None, typer.Option(help="Number of threads. (default: all cores)")]
Page = Annotated[Path, typer.Option("--report", metavar="HTML", help="Report page to write.")]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file, as written by `luce train`.")]
Json = Annotated[bool, typer.Option("--json", help="Print machine-readable JSON.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace existing output files.")]
Csv = Annotated[Path | None, typer.Option("--csv", help="CSV file for the table.")]
PATIENCE = 1800.0
"""Seconds after which a rank that does not answer counts as lost, where one may work far longer than the others."""
Validation = Annotated[
    Path | None,
    typer.Option(help="Judged lists for early stopping. (default: trees and networks hold out a part of DATA for it)"),
]
Objective = Annotated[
    str | None,
    typer.Option(help="Training objective, see `luce objectives`. (default: c-kl; for trees and labels pl-partition)"),
]
ObjectiveOptions = Annotated[
    list[str] | None, typer.Option("--option", metavar="KEY=VALUE", help="Option of the objective, e.g. depth=10.")
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Parameter of the ranker, e.g. reg_lambda=10, hidden_layer_sizes=64,32, num_leaves=63.",
    ),
]


def pairs(given: list[str] | None, option: str, texts: Collection[str] = ()) -> dict[str, Any]:
    """KEY=VALUE words as a dictionary; values are numbers, true, false, none, or text, with commas a list.

    Those of the keys in `texts` are text or none, also where they look like numbers.

    >>> pairs(["depth=10", "label=clicks", "features=a,b", "sparse=true"], "--read")
    {'depth': 10, 'label': 'clicks', 'features': ['a', 'b'], 'sparse': True}
    >>> pairs(["label=2024", "item_group=none"], "--read", texts=["label", "item_group"])
    {'label': '2024', 'item_group': None}
    """
    result = {}
    for word in given or []:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise OptionError(f"{option} must be KEY=VALUE. Got {word!r}.")
        key = key.strip().replace("-", "_")
        if key in result:
            raise OptionError(f"{option} {key}=… is given twice. Several values are separated by commas.")
        result[key] = _value(value.strip(), (_text,) if key in texts else (int, float))
    return result


def objective_options(given: list[str] | None) -> dict[str, Any]:
    """The options of an objective; OPTION__KEY=VALUE is a key of the objective that an option names.

    >>> objective_options(["loss=lambdaloss", "loss__metric=dcg@5", "samples=10"])
    {'loss': {'name': 'lambdaloss', 'metric': 'dcg@5'}, 'samples': 10}
    """
    result = pairs(given, "--option")
    for key in [key for key in result if "__" in key]:
        option, _, inner = key.partition("__")
        if option not in result:
            raise OptionError(f"--option {key}=… belongs to an objective: add --option {option}=NAME.")
        named = result[option] if isinstance(result[option], dict) else {"name": result[option]}
        result[option] = {**named, inner: result.pop(key)}
    return result


def _text(given: str) -> str | None:
    return None if given.lower() == "none" else given


def _value(text: str, kinds: tuple[Callable[[str], Any], ...]) -> Any:
    if "," in text:
        return [_value(part.strip(), kinds) for part in text.split(",")]
    for kind in kinds:
        try:
            return kind(text)
        except ValueError:
            pass
    return {"true": True, "false": False, "none": None}.get(text.lower(), text)


def empty_value(given: str) -> Any:
    """The `empty` argument of evaluate as the command line spells it."""
    return int(given) if given in ("0", "1") else given
