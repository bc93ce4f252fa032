"""CSV, Parquet and Arrow files, read through the same columns as a table in memory."""

import logging
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from luce.data.categories import is_text
from luce.data.columns import (
    DOCUMENT,
    ITEM_GROUP,
    LABEL,
    LIST_WEIGHT,
    QUERY,
    WEIGHT,
    Columns,
    Table,
    choose_columns,
    is_number,
)
from luce.data.grouping import integer_ids
from luce.data.ragged import Dataset
from luce.data.streams import CODECS, InputStream, check_utf8, text_pieces
from luce.data.tables import BLOCK, dataset_of, missing_group, table_of, validated
from luce.errors import DataError, LuceWarning

logger = logging.getLogger(__name__)

FilePath = str | os.PathLike[str]

TABLE_SUFFIXES = {
    **dict.fromkeys((".csv", ".tsv"), "csv"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "arrow"),
}
"""The formats of tables by suffix."""

DELIMITERS = ",;\t|"
"""What may separate the columns of a CSV file."""

USUAL = {*QUERY, *LABEL, *DOCUMENT, *WEIGHT, *LIST_WEIGHT, *ITEM_GROUP}
"""The column names that are not features."""

NULLS = ["", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "NaN", "nan", "-NaN", "-nan", "null", "NULL", "None"]
NULLS += ["1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"]
"""What a missing value may be written as in CSV: Arrow's list, and None."""

NUMBER = r"^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$"
COMMA_NUMBER = r"^\s*[-+]?\d+,\d+\s*$"


def read_csv(
    path: FilePath,
    *,
    delimiter: str | None = None,
    categorical: Sequence[str] = (),
    temp_folder: FilePath | None = None,
    **columns: Any,
) -> Dataset:
    """The dataset of a CSV file with a header, which also shows the delimiter; `columns` as in `from_table`."""
    with clear_errors(path, "csv"):
        delimiter = delimiter or _detect_delimiter(path)
        first = _csv_schema(path, delimiter, categorical)
        schema = _different_names(path, first, columns)
        chosen = choose_columns(Table(str(path), schema, 0, lambda names: ()), **columns)
        table = _csv_table(path, delimiter, schema, chosen, None if schema is first else schema.names)
        ids = table.column(chosen.query).combine_chunks()
        empty = pc.index(ids, "").as_py()
        if empty >= 0:
            raise DataError(
                f"{path}: column {chosen.query!r} is empty at row {empty + 2}; each row needs its query. (Row 1 is the "
                "header.)"
            )
        at = table.schema.get_field_index(chosen.query)
        table = table.set_column(at, chosen.query, integer_ids(ids))
        if chosen.item_group is not None:
            item_groups = table.column(chosen.item_group).combine_chunks()
            empty = pc.index(item_groups, "").as_py()
            if empty >= 0:
                raise missing_group(str(path), chosen.item_group, f"row {empty + 2} (row 1 is the header)")
            at = table.schema.get_field_index(chosen.item_group)
            table = table.set_column(at, chosen.item_group, integer_ids(item_groups))
        for name in chosen.features:
            at = table.schema.get_field_index(name)
            if is_text(table.schema.field(at).type):
                if name not in categorical:
                    _refuse_commas(path, name, table.column(at))
                missing = pc.is_in(table.column(at), value_set=pa.array(NULLS, pa.large_string()))
                table = table.set_column(at, name, pc.if_else(missing, None, table.column(at)))
        return _dataset(table_of(str(path), table), chosen, columns, categorical, temp_folder)


def _refuse_commas(path: FilePath, name: str, values: pa.ChunkedArray) -> None:
    """An error where most values are numbers with a comma, which would be taken for text."""
    found = values.filter(pc.match_substring_regex(values, COMMA_NUMBER))
    if 2 * len(found) > len(values) - (pc.sum(pc.is_in(values, value_set=pa.array(NULLS, values.type))).as_py() or 0):
        raise DataError(
            f"{path}: column {name!r} has numbers with a comma, such as {found[0].as_py()!r}. Write them with a "
            "decimal point and without separators of thousands, or read the column as a category with "
            f"categorical=[{name!r}], on the command line --read categorical={name}."
        )


def read_parquet(
    path: FilePath, *, categorical: Sequence[str] = (), temp_folder: FilePath | None = None, **columns: Any
) -> Dataset:
    """The dataset of a Parquet file, read block by block; `columns` as in `from_table`."""
    from pyarrow import parquet

    with clear_errors(path, "parquet"):
        facts, schema = parquet.read_metadata(path), parquet.read_schema(path)
        table = Table(str(path), schema, facts.num_rows, lambda names: parquet_batches(path, names))
        return _dataset(table, choose_columns(table, **columns), columns, categorical, temp_folder)


def parquet_batches(path: FilePath, names: list[str] | None = None) -> Iterator[pa.RecordBatch]:
    """These columns, or all, of a Parquet file, batch after batch."""
    from pyarrow import parquet

    with parquet.ParquetFile(path, memory_map=True) as file:
        left = n_rows = file.metadata.num_rows
        names = file.schema_arrow.names if names is None else names
        for batch in file.iter_batches(BLOCK, columns=names):
            left -= batch.num_rows
            if left < 0:
                break
            yield validated(batch.select(names))  # Arrow also returns the struct `s` for a flat column `s.t`
        if left:
            shown = ", ".join(map(repr, names[:5])) + (", …" if len(names) > 5 else "")
            raise DataError(f"{path} is damaged: it says that it has {n_rows:,} rows; {shown} have another number.")


def read_arrow(
    path: FilePath, *, categorical: Sequence[str] = (), temp_folder: FilePath | None = None, **columns: Any
) -> Dataset:
    """The dataset of an Arrow IPC file, a Feather file or an Arrow stream; `columns` as in `from_table`."""
    table = table_of(str(path), read_table(path, format="arrow"))
    with clear_errors(path, "arrow"):
        return _dataset(table, choose_columns(table, **columns), columns, categorical, temp_folder)


def _dataset(
    table: Table,
    chosen: Columns,
    options: dict[str, Any],
    categorical: Sequence[str],
    temp_folder: FilePath | None,
) -> Dataset:
    if not table.n_rows:
        raise DataError(f"{table.name} has no rows; at least one is needed.")
    named = options.get("features") is not None
    return dataset_of(table, chosen, categorical=categorical, named=named, temp_folder=temp_folder)


def read_table(path: FilePath, *, format: str | None = None, nulls: Sequence[str] | None = None) -> pa.Table:
    """Read the table in a CSV, Parquet or Arrow file.

    Parameters
    ----------
    path : str or path-like
        The file. Its extension determines the format, for CSV also before .gz, .bz2 or .zst.
    format : {"csv", "parquet", "arrow"}, optional
        The format where the suffix does not say it. Arrow is an IPC file, a Feather file or an IPC stream.
    nulls : sequence of str, optional
        What a missing number is written as in CSV, by default as in Arrow. A column with any other word is text.

    Returns
    -------
    pyarrow.Table
        The columns, each of the type of its values, all text in them valid.

    Raises
    ------
    DataError
        The file is missing or not of its format.
    """
    format = format or table_format(path)
    with clear_errors(path, format or ""):
        match format:
            case "csv":
                from pyarrow import csv

                check_utf8(path)  # else Arrow would take text that is not UTF-8 for a column of bytes
                options = csv.ConvertOptions(null_values=None if nulls is None else list(nulls))
                return _parse_csv(path, _detect_delimiter(path), convert_options=options)
            case "parquet":
                from pyarrow import parquet

                return validated(parquet.read_table(path))
            case "arrow":
                with pa.memory_map(str(path)) as file:
                    is_file = file.read(6) == b"ARROW1"
                    file.seek(0)
                    return validated((pa.ipc.open_file if is_file else pa.ipc.open_stream)(file).read_all())
    raise DataError(f"Tables are read from files that end in {', '.join(TABLE_SUFFIXES)}. Got {Path(path).name}.")


def column_names(path: FilePath, format: str, *, delimiter: str | None = None) -> list[str]:
    """The names of the columns of a table in a file, without reading its rows."""
    with clear_errors(path, format):
        if format == "csv":
            return list(_first_block(path, delimiter or _detect_delimiter(path)).schema.names)
        if format == "parquet":
            from pyarrow import parquet

            return list(parquet.read_schema(path).names)
    return list(read_table(path, format=format).column_names)


def table_format(path: FilePath) -> str | None:
    """The format of the table that the suffix of a path means."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes if suffix.lower() not in CODECS]
    return TABLE_SUFFIXES.get(suffixes[-1]) if suffixes else None


@contextmanager
def clear_errors(path: FilePath, format: str) -> Iterator[None]:
    """What Arrow cannot read is a DataError."""
    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if format == "csv":
            check_utf8(path)
        name = {"csv": "CSV", "parquet": "Parquet", "arrow": "Arrow"}[format]
        raise DataError(f"{path} cannot be read as {name}: {error}") from error


def usual_delimiter(path: FilePath) -> str:
    """What separates the columns of a file by its suffix."""
    return "\t" if ".tsv" in Path(path).suffixes else ","


def _detect_delimiter(path: FilePath) -> str:
    """What separates the columns: what the suffix means or, if the header does not have it, the most frequent mark."""
    with InputStream(path) as stream:
        header = bytes(next(text_pieces(stream), b"")).partition(b"\n")[0]
    unquoted, usual = re.sub(r'"[^"]*"', "", header.decode(errors="replace")), usual_delimiter(path)
    found = usual if usual in unquoted else max(usual, *DELIMITERS, key=unquoted.count)
    if found != usual:
        logger.info("%s: the columns are separated by %r.", path, found)
    return found


def _csv_schema(path: FilePath, delimiter: str, categorical: Sequence[str]) -> pa.Schema:
    """The columns, of the types that the first block of the file shows.

    What they are is fixed before the file is read, so that a value that is no number is named with its row.
    """
    block = _first_block(path, delimiter)
    first = block.schema
    return pa.schema(
        (each.name, pa.large_string() if each.name in categorical else _feature_type(values))
        for each, values in zip(first, block.columns, strict=True)
    )


def _feature_type(values: pa.Array) -> pa.DataType:
    """The type to read a column as; text of which most values are numbers is a column of numbers, with mistakes."""
    kind = values.type
    if is_number(kind) and not pa.types.is_boolean(kind):
        return pa.float32()
    if pa.types.is_binary(kind):  # text that is not UTF-8, which reading the file will say
        return pa.large_string()
    if not is_text(kind):
        return kind
    numbers = pc.sum(pc.match_substring_regex(values, NUMBER)).as_py() or 0
    return pa.float32() if 2 * numbers > len(values) - values.null_count else pa.large_string()


def _first_block(path: FilePath, delimiter: str) -> pa.RecordBatch:
    """The first rows of the file, each column as they show it."""
    from pyarrow import csv

    with InputStream(path) as stream:
        piece = next(text_pieces(stream), b"")
    options = {
        "read_options": csv.ReadOptions(use_threads=False),
        "parse_options": csv.ParseOptions(delimiter=delimiter),
        "convert_options": csv.ConvertOptions(null_values=NULLS),
    }
    # In memory of Arrow's own: a thread of Arrow that releases Python's when the process ends would abort it.
    copy = pa.BufferOutputStream()
    copy.write(piece)
    reader = csv.open_csv(pa.BufferReader(copy.getvalue()), **options)
    return next(iter(reader), pa.RecordBatch.from_pylist([], schema=reader.schema))


def _different_names(path: FilePath, schema: pa.Schema, roles: dict[str, Any]) -> pa.Schema:
    """The schema with names as pandas has them: price, price.1 where one is there before, Unnamed: 0 for none."""
    names = [name or f"Unnamed: {place}" for place, name in enumerate(schema.names)]
    if len(set(names)) == len(names) and "" not in schema.names:
        return schema
    new: list[str] = []
    for name in names:
        others = (f"{name}.{number}" for number in count(1))
        keeps = name not in new or name in USUAL or name in roles.values()  # a doubled role is an error
        new.append(name if keeps else next(each for each in others if each not in names and each not in new))
    renamed = ", ".join(repr(after) for before, after in zip(names, new, strict=True) if before != after)
    if renamed:
        warnings.warn(
            f"{path} has several columns with the same name; the later ones are renamed to {renamed}.",
            LuceWarning,
            stacklevel=5,
        )
    return pa.schema((name, each.type) for name, each in zip(new, schema, strict=True))


def _csv_table(
    path: FilePath,
    delimiter: str,
    schema: pa.Schema,
    chosen: Columns,
    header: list[str] | None,
    use_threads: bool = True,
) -> pa.Table:
    """The chosen columns; a `header` replaces that of the file."""
    from pyarrow import csv

    types = {name: schema.field(name).type for name in chosen.features}
    types |= {name: pa.float64() for name in (chosen.label, chosen.weight, chosen.list_weight) if name is not None}
    types |= {
        name: pa.large_string() for name in (chosen.query, chosen.document, chosen.item_group) if name is not None
    }
    try:
        options = csv.ConvertOptions(column_types=types, include_columns=list(types), null_values=NULLS)
        return _parse_csv(path, delimiter, use_threads, header, convert_options=options)
    except pa.ArrowInvalid as error:
        check_utf8(path)
        if use_threads:  # one thread knows the row
            return _csv_table(path, delimiter, schema, chosen, header, use_threads=False)
        at = re.search(r"CSV column #(\d+)", str(error))
        name = None if at is None else schema.names[int(at[1])]
        text = str(error) if at is None else str(error).replace(at[0], f"column {name!r}")
        hint = _numbers_hint(name) if name in chosen.features else ". Labels and weights must be numbers" * bool(name)
        raise DataError(f"{path}: {text}{hint}. (Row 1 is the header.)") from error


def _parse_csv(
    path: FilePath, delimiter: str, use_threads: bool = True, header: list[str] | None = None, **options: Any
) -> pa.Table:
    from pyarrow import csv

    names = {} if header is None else {"column_names": header, "skip_rows": 1}

    # Arrow's own stream: a thread of Arrow that still reads from Python when the process ends would abort it.
    with pa.input_stream(str(path), compression=CODECS.get(Path(path).suffix.lower())) as stream:
        return csv.read_csv(
            stream,
            read_options=csv.ReadOptions(use_threads=use_threads, **names),
            parse_options=csv.ParseOptions(delimiter=delimiter),
            **options,
        )


def _numbers_hint(name: str) -> str:
    """What to do where a value of a feature is no number."""
    return (
        ". Most of the first values of this column are numbers or dates. Correct this value, or read the column as a "
        f"category with categorical=[{name!r}], on the command line --read categorical={name}"
    )
