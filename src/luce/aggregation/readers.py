"""`read_rankings`: rankings from files, PrefLib's and tables (CSV, Parquet, Arrow) of four forms."""

import os
import re
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from luce.aggregation.rankings import Rankings
from luce.data.table_files import TABLE_SUFFIXES, read_table, table_format
from luce.errors import DataError, OptionError, unknown_name

PREFLIB = (".soc", ".soi", ".toc", ".toi")
SIDES = (("left", "right"), ("model_a", "model_b"))
"""Columns of the two that are compared; the column `winner` has the name of one of them, of its item, or a tie."""
TIES = ("tie", "tie (bothbad)", "both_bad")


def read_rankings(path: str | os.PathLike[str], *, format: str | None = None, **columns: Any) -> Rankings:
    """Rankings from a file.

    Parameters
    ----------
    path : path-like
        A PrefLib file (.soc, .soi, .toc, .toi) or a table (.csv, .tsv, .parquet, .arrow, .feather); text may be
        compressed (.gz, .bz2, .zst).
    format : {"preflib", "long", "pairs", "orders", "ranks"}, optional
        The format, if it cannot be inferred from the extension of the file or its columns.

        - preflib: `unlisted=` as in `Rankings.read_preflib`.
        - long: one row per item of each ranking: columns ranking, item, place (or rank), or as named by `ranking=`,
          `item=`, `place=`, `weight=`, `ranker=`.
        - pairs: one row per comparison: columns winner and loser; or left, right and winner (model_a, model_b and
          winner), or as named by `left=`, `right=` and `outcome=`. The outcome is the name of the winning item or of
          its column, "left", "right" or "tie"; `results=` names other values (left won, tie, right won). `weight=`,
          `ranker=`.
        - orders: one row per ranking, its items from best to worst, empty after the last: columns rank1,
          rank2 and so on, or any. `weight=`, `ranker=`.
        - ranks: one row per ranking and one column per item with its rank, empty or 0 if it has none. `weight=`,
          `ranker=`.
    **columns : str
        Names of columns, as above.

    Returns
    -------
    Rankings

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "votes.csv").write_text("winner,loser\\ntea,rum\\nrum,gin\\n")
    ...     read_rankings(Path(folder) / "votes.csv").names
    ('tea', 'rum', 'gin')
    """
    file = Path(path)
    if not file.is_file():
        raise DataError(f"There is no file {file}.")
    if format == "preflib" or (format is None and file.suffix in PREFLIB):
        _check_options("preflib", Rankings.read_preflib, columns)
        return Rankings.read_preflib(file, **columns)
    if table_format(file) is None:
        known = ", ".join([*PREFLIB, *TABLE_SUFFIXES])
        raise DataError(f"Rankings are read from files that end in {known}. Got {file.name}.")
    table = _named_columns(file)
    if format is None:
        format, detected = _detect_format(file, table.column_names, columns)
        columns = detected | columns
    if format not in FORMATS:
        raise unknown_name("format of rankings", format, ["preflib", *FORMATS])
    _check_options(format, FORMATS[format], columns)
    return FORMATS[format](table, **columns)


def _check_options(format: str, reader: Callable[..., Rankings], given: dict[str, Any]) -> None:
    known = [name for name, each in signature(reader).parameters.items() if each.kind is each.KEYWORD_ONLY]
    for name in given:
        if name not in known:
            raise unknown_name(f"option of the format {format}", name, known)


def _named_columns(path: Path) -> pa.Table:
    """The table in a file, without the column of row numbers that has no name."""
    table = read_table(path)
    twice = next((name for name in table.column_names if name and table.column_names.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"{path} has more than one column named {twice!r}; names must differ.")
    return table.select([i for i, name in enumerate(table.column_names) if name])


def _detect_format(path: Path, names: list[str], columns: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The format by the names of the columns, and the parameters of its reader that they imply."""
    known, given = set(names), set(columns)
    place = "place" if "place" in known else "rank"
    if {"ranking", "item", place} <= known | given or given & {"ranking", "item", "place"}:
        return "long", {"place": place}
    if {"winner", "loser"} <= known or given & {"left", "right", "outcome"}:
        return "pairs", {}
    for left, right in SIDES:
        if {left, right, "winner"} <= known:
            return "pairs", {"left": left, "right": right, "outcome": "winner"}
    ranked = [name for name in names if name not in (columns.get("weight"), columns.get("ranker"))]
    if ranked and all(re.fullmatch(r"(rank|place)[ _]?\d+", name) for name in ranked):
        return "orders", {}
    some = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    raise DataError(
        f"The format of {path.name} cannot be inferred from its columns ({some}). Give the format: long (one row per "
        "item: ranking, item, place), pairs (one row per comparison: winner, loser), orders (one row per ranking, best "
        "item first) or ranks (one row per ranking, one column per item). For comparisons with a column of outcomes, "
        "name the columns instead: left=…, right=… and outcome=…."
    )


def _column(table: pa.Table, name: str) -> list[Any]:
    if name not in table.column_names:
        raise unknown_name("column", name, table.column_names)
    return table.column(name).to_pylist()


def _extras(table: pa.Table, weight: str | None, ranker: str | None) -> dict[str, Any]:
    return {
        "weights": None if weight is None else _column(table, weight),
        "rankers": None if ranker is None else _column(table, ranker),
    }


def _from_pairs(
    table: pa.Table,
    *,
    left: str = "winner",
    right: str = "loser",
    outcome: str | None = None,
    results: Any = None,
    weight: str | None = None,
    ranker: str | None = None,
) -> Rankings:
    first, second, extras = _column(table, left), _column(table, right), _extras(table, weight, ranker)
    for name, items in ((left, first), (right, second)):
        row = next((row for row, item in enumerate(items, 1) if item is None or item == ""), None)
        if row is not None:
            raise DataError(f"Column {name!r} has no item in row {row}. Fill it in, or remove the row.")
    if outcome is None:
        return Rankings.from_pairs(first, second, **extras)
    outcomes = _column(table, outcome)
    if results is None:
        results = ((left, "left"), TIES, (right, "right"))
        words = {word for each in results for word in each}
        if not words.issuperset(outcomes):
            outcomes = [
                won if won in words else left if won == a else right if won == b else won
                for a, b, won in zip(first, second, outcomes, strict=True)
            ]
    if len(results) != 3:
        raise OptionError(f"results must be three outcomes: left wins, a tie, right wins. Got {results!r}.")
    return Rankings.from_pairs(first, second, outcomes, results=tuple(results), **extras)


def _from_orders(table: pa.Table, *, weight: str | None = None, ranker: str | None = None) -> Rankings:
    own = [name for name in table.column_names if name not in (weight, ranker)]
    cells = [[_as_integer(value) for value in table.column(name).to_pylist()] for name in own]
    orders = [[item for item in row if item is not None and item != ""] for row in zip(*cells, strict=True)]
    return Rankings.from_orderings(orders, **_extras(table, weight, ranker))


def _from_ranks(table: pa.Table, *, weight: str | None = None, ranker: str | None = None) -> Rankings:
    own = [name for name in table.column_names if name not in (weight, ranker)]
    try:
        ranks = np.array([table.column(name).to_numpy().astype(np.float64) for name in own]).T
    except (ValueError, TypeError) as error:
        raise DataError(f"The columns of ranks must be numeric: {error}") from error
    return Rankings.from_ranks(ranks, names=own, **_extras(table, weight, ranker))


def _as_integer(value: Any) -> Any:
    """An integer that a column with gaps has turned into a float, as the integer it was."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


FORMATS: dict[str, Callable[..., Rankings]] = {
    "long": Rankings.from_table,
    "pairs": _from_pairs,
    "orders": _from_orders,
    "ranks": _from_ranks,
}
