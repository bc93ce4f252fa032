"""`read_rankings`: rankings from PrefLib files, and from tables in files (CSV, Parquet, Arrow) and in memory."""

import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import Any

import pyarrow as pa

from luce.aggregation.cells import id_cells, null_words
from luce.aggregation.choice_columns import CHOICE, columns_hint
from luce.aggregation.rankings import Rankings
from luce.aggregation.table_readers import PLACE, SIDES, from_long, from_orders, from_pairs, from_ranks
from luce.data.grouping import group_rows
from luce.data.streams import CODECS
from luce.data.table_files import TABLE_SUFFIXES, read_table, table_format
from luce.data.tables import arrow_table
from luce.errors import DataError, LuceError, LuceWarning, OptionError, unknown_name, warn

WEIGHTS = ("weight", "weights", "count", "counts", "votes", "freq", "frequency")
"""Columns that may well be weights: a warning says that they are not used."""

PREFLIB = (".soc", ".soi", ".toc", ".toi")

FORMATS: dict[str, Callable[..., Rankings]] = {
    "preflib": Rankings.read_preflib,
    "long": from_long,
    "pairs": from_pairs,
    "orders": from_orders,
    "ranks": from_ranks,
}
OPTIONS = {
    format: [name for name, each in signature(reader).parameters.items() if each.kind is each.KEYWORD_ONLY]
    for format, reader in FORMATS.items()
}
"""The options of each format."""

READ_OPTIONS = tuple(sorted({name for names in OPTIONS.values() for name in names}))
"""All options; their values are text or lists of text, also where a column is called 2024."""


def read_rankings(source: Any, *, format: str | None = None, **options: Any) -> Rankings:
    """Rankings from files or tables.

    Parameters
    ----------
    source : path-like, table, or list of these
        A PrefLib file (.soc, .soi, .toc, .toi) or a table: a file (.csv, .tsv, .parquet, .arrow, .feather), or one of
        pandas, Polars, DuckDB or Arrow. Text files may be compressed (.gz, .bz2, .zst). The rankings of several files
        or tables are put together, items and rankers by their names.
    format : {"preflib", "long", "pairs", "orders", "ranks"}, optional
        The format, if it cannot be inferred from the extension of the file or the names of its columns.

        - preflib: `unlisted=` as in `Rankings.read_preflib`.
        - long: one row per item of each ranking: columns ranking, item, place (or rank, or position), or as named by
          `ranking=`, `item=`, `place=`. `missing=`, `unlisted=` and `repeated=` as in `Rankings.from_table`.
        - pairs: one row per comparison: columns winner and loser, or as named by `winner=` and `loser=`; or left,
          right and winner (model_a and model_b, model_x and model_y, item_a and item_b), or as named by `left=`,
          `right=` and `outcome=`. The outcome is the name of the winning item or of its column; left, A, model_a or 1;
          right, B, model_b or 0; or tie, draw, both_bad, tie (bothbad) or 0.5; in any case, with `_`, `-` or blanks.
          `results=` sets other words (left won, tie, right won). A missing outcome is an error; `missing="absent"`
          leaves out such rows.
        - orders: one row per ranking, its items from best to worst: columns rank1, rank2 and so on, or as named by
          `columns=`. Empty cells are skipped and the later choices move up; so is an overvote, whose place was given to
          several. `unlisted=` and `repeated=` as in `Rankings.from_orderings`.
        - ranks: one row per ranking and one column per item with its rank, empty or 0 if it has none. `columns=` names
          those of the items. `unlisted=` as in `Rankings.from_ranks`.
    **options : str or list of str
        As above, and for every table:

        - `weight=`, `ranker=`: the columns of the weights and of who made a ranking.
        - `nulls=`: the words that stand for a missing value, as written. By default they are NA, N/A, NaN, nan, null,
          NULL, None and the like; \\N, skipped, undervote and overvote in any case; and in places and ranks DNF, DNS,
          DSQ and DNQ. An empty cell is always missing, and nulls="" allows no others.
        - `columns=` (orders, ranks): names or patterns such as "rank*". Without it all columns are used, and one that
          is clearly no choice or rank is an error: a ballot id, a precinct, a date.

    Returns
    -------
    Rankings
        Its `left_out` has the number of cells with each word for a missing value. Blanks around names are ignored.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "votes.csv").write_text("winner,loser\\ntea,rum\\nrum,gin\\n")
    ...     read_rankings(Path(folder) / "votes.csv").names
    ('tea', 'rum', 'gin')
    >>> ballots = pa.table({"id": [7, 8], "rank1": ["rum", "overvote"], "rank2": ["tea", "tea"], "rank3": ["", "rum"]})
    >>> print(read_rankings(ballots, format="orders", columns="rank*"))
    2 rankings of 2 items, 2 each
      rum > tea
      tea > rum
    Left out: overvote cells (1)
    """
    if not isinstance(source, (list, tuple)):
        return _read(source, format, _checked(format, options))
    numbered = enumerate(source, 1)
    names = [str(each) if isinstance(each, (str, os.PathLike)) else f"Table {number}" for number, each in numbered]
    return read_named(names, source, format, options)


def read_named(
    names: Sequence[str], sources: Sequence[Any], format: str | None, options: Mapping[str, Any]
) -> Rankings:
    """The rankings of several files or tables; an error starts with the name of the one it is in."""
    options = _checked(format, options)
    if not sources:
        raise DataError("At least one file or table of rankings is needed. Got an empty list.")
    return Rankings.concat(same_kind_of_names(_read_each(names, sources, format, options)))


def read_rankings_by(source: Any, by: str, *, format: str | None = None, **options: Any) -> dict[Any, Rankings]:
    """The rankings of each value of a column, such as a year or a precinct, in the order of first appearance.

    Parameters
    ----------
    source : path-like, table, or list of these
        Tables as in `read_rankings`; PrefLib files have no columns.
    by : str
        The column. It is no item, choice or rank.
    format, **options
        As in `read_rankings`.

    Returns
    -------
    dict of Rankings

    Examples
    --------
    >>> votes = pa.table({"winner": ["tea", "rum", "gin"], "loser": ["rum", "gin", "tea"], "year": [2023, 2024, 2024]})
    >>> read_rankings_by(votes, "year")
    {2023: Rankings(1 ranking of 2 items, 2 each), 2024: Rankings(2 rankings of 3 items, 2 each)}
    """
    by, options = _as_text(by), _checked(format, options)
    parts: dict[Any, list[pa.Table]] = {}
    for each in source if isinstance(source, (list, tuple)) else [source]:
        if _is_preflib(each, format):
            raise OptionError(f"{each} cannot be split by {by!r}: PrefLib files have no columns. Give a table.")
        for value, table in _split(_table(each), by, options).items():
            parts.setdefault(value, []).append(table)
    found = {}
    for value, tables in parts.items():
        with _named_errors(f"{by} = {value}"):
            found[value] = read_rankings(tables if len(tables) > 1 else tables[0], format=format, **options)
    return found


def _split(table: pa.Table, by: str, options: dict[str, Any]) -> dict[Any, pa.Table]:
    """The rows of each value of a column, without this column unless an option names it."""
    if by not in table.column_names:
        raise unknown_name("column", by, table.column_names)
    grouping = group_rows(id_cells(table.column(by), null_words(options.get("nulls"))), f"Column {by!r}")
    table = table if by in options.values() else table.drop_columns([by])
    table = table if grouping.order is None else table.take(pa.array(grouping.order))
    starts = grouping.offsets.tolist()
    values = grouping.query_ids.to_pylist()
    return {value: table.slice(starts[at], starts[at + 1] - starts[at]) for at, value in enumerate(values)}


def _read(source: Any, format: str | None, options: dict[str, Any]) -> Rankings:
    if _is_preflib(source, format):
        _check_options("preflib", options)
        return Rankings.read_preflib(source, **options)
    table = _table(source)
    if format is None:
        name = Path(source).name if isinstance(source, (str, os.PathLike)) else "the table"
        format = _detect_format(name, table.column_names, options)
        _check_options(format, options)
    weights = next((name for name in table.column_names if name.lower() in WEIGHTS), None)
    if weights is not None and "weight" not in options and weights not in options.values():
        warn(
            f"Column {weights!r} is not used as weights. If it says how often a ranking occurred, give "
            f"weight={weights!r}, on the command line --read weight={weights}. Otherwise weight=None, "
            "on the command line --read weight=none, silences this warning.",
        )
    return FORMATS[format](table, **options)


def _read_each(
    names: Sequence[str], sources: Sequence[Any], format: str | None, options: dict[str, Any]
) -> list[Rankings]:
    """The rankings of each source; a warning about several is given once, for the first."""
    refuse_doubled(sources)
    parts: list[Rankings] = []
    said: dict[str, list[str]] = {}
    for name, each in zip(names, sources, strict=True):
        with _named_errors(name), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", LuceWarning)
            parts.append(_read(each, format, options))
        for one in caught:
            if not issubclass(one.category, LuceWarning):
                warnings.warn(one.message, one.category, stacklevel=2)
                continue
            text = str(one.message)
            said.setdefault(text.partition(":")[0], []).append(f"{name}: {text}" if len(sources) > 1 else text)
    for first, *others in said.values():
        warn(first + (f" The same kind in {len(others):,} more of the {len(sources):,}." if others else ""))
    return parts


def refuse_doubled(sources: Sequence[Any]) -> None:
    """An error for a file that is given twice."""
    paths = [Path(each).resolve() for each in sources if isinstance(each, (str, os.PathLike))]
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice is not None:
        raise DataError(f"{twice.name} is given twice: its rankings would count twice.")


def _as_text(value: Any) -> Any:
    """The value of an option, where numbers are names of columns or words."""
    if isinstance(value, (list, tuple)):
        return [_as_text(each) for each in value]
    return str(value) if isinstance(value, (int, float)) else value


def _is_preflib(source: Any, format: str | None) -> bool:
    if not isinstance(source, (str, os.PathLike)):
        if format == "preflib":
            raise OptionError(f"The format preflib is for files only. Got {type(source)}.")
        return False
    suffixes = [suffix.lower() for suffix in Path(source).suffixes if suffix.lower() not in CODECS]
    named = bool(suffixes) and suffixes[-1] in PREFLIB
    if named and format not in (None, "preflib"):
        raise OptionError(f"{source} is a PrefLib file by its extension, not a table of the format {format}.")
    return format == "preflib" or named


def _table(source: Any) -> pa.Table:
    """A table with different names of columns; without those that have no name (in pandas Unnamed: 0), row numbers."""
    name = "The table"
    if isinstance(source, (str, os.PathLike)):
        name = str(source)
        if not Path(source).is_file():
            raise DataError(f"There is no file {name}.")
        if table_format(source) is None:
            known = ", ".join([*PREFLIB, *TABLE_SUFFIXES])
            raise DataError(f"Rankings are read from files that end in {known}. Got {Path(source).name}.")
        table = read_table(source, nulls=[""])  # other words for a missing value are counted, or are names
    elif isinstance(source, (list, tuple, dict)):
        raise DataError(
            f"Rankings are read from files and tables. Got a {type(source).__name__}: Rankings.from_orderings, "
            "from_ranks and from_pairs make rankings of lists."
        )
    else:
        table = arrow_table(source)
    twice = next((each for each in table.column_names if each and table.column_names.count(each) > 1), None)
    if twice is not None:
        raise DataError(f"{name} has more than one column named {twice!r}; names must differ.")
    return table.select([each for each in table.column_names if not re.fullmatch(r"(Unnamed: \d+)?", each)])


def _checked(format: str | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options, with numbers as the names of columns or words that they are."""
    given = {name: _as_text(value) for name, value in options.items()}
    _check_options(format, given)
    return given


def _check_options(format: str | None, options: dict[str, Any]) -> None:
    """An unknown option, or one of another format, is an error."""
    if format is not None and format not in FORMATS:
        raise unknown_name("format of rankings", format, FORMATS)
    known = READ_OPTIONS if format is None else OPTIONS[format]
    for name in options:
        others = [other for other, names in OPTIONS.items() if name in names]
        if not others:
            kind = "option for reading rankings" if format is None else f"option of the format {format}"
            raise unknown_name(kind, name, known, ["format"])
        if name not in known:
            raise OptionError(
                f"{name}= is an option of {' and '.join(others)}, but the format is {format}, with the options "
                f"{', '.join(known)}."
            )


def _detect_format(name: str, names: list[str], options: dict[str, Any]) -> str:
    """The format by the options and the names of the columns."""
    known = {each.lower() for each in names}
    if ({"ranking", "item"} <= known and known & {*PLACE}) or options.keys() & {"ranking", "item", "place"}:
        return "long"
    sides = {"winner", "loser"} <= known or any({*each, "winner"} <= known for each in SIDES)
    if sides or options.keys() & {"winner", "loser", "left", "right", "outcome"}:
        return "pairs"
    choices = [each for each in names if CHOICE.fullmatch(each)]
    others = [each for each in names if each not in (*choices, options.get("weight"), options.get("ranker"))]
    if choices and ("columns" in options or not others):
        return "orders"
    some = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
    if len(choices) > 1:
        raise DataError(
            f"{name} has columns {', '.join(choices[:2])}, …, which may be choices, and others ({some}). Name the "
            f"choices, best first: {columns_hint(choices, names)}. Or give another format."
        )
    if known & {*PLACE}:
        raise DataError(
            f"{name} may be a long table, one row per item with its place, but has no columns 'ranking' and 'item' "
            f"({some}). Name them: ranking=…, item=…, on the command line --read ranking=NAME --read item=NAME. Or "
            "give another format."
        )
    raise DataError(
        f"The format of {name} cannot be inferred from its columns ({some}). Give the format: long (one row per item: "
        "ranking, item, place), pairs (one row per comparison: winner, loser), orders (one row per ranking, best item "
        "first) or ranks (one row per ranking, one column per item). Or name the columns: ranking=…, item=… and "
        "place=… of a long table; left=…, right=… and outcome=… of comparisons."
    )


def same_kind_of_names(parts: list[Rankings]) -> list[Rankings]:
    """Items that are numbers in one part and text in another are text in all."""
    if not any(isinstance(name, str) for part in parts for name in part.names):
        return parts
    return [part.with_names({name: str(name) for name in part.names}) for part in parts]


@contextmanager
def _named_errors(name: str) -> Iterator[None]:
    """Errors that start with the name of the file or table."""
    try:
        yield
    except LuceError as error:
        if name in str(error):
            raise
        raise type(error)(f"{name}: {error}") from error
