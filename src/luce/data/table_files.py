"""CSV, Parquet and Arrow files: read through the same columns as a table in memory, written block by block."""

import logging
import os
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from luce.arrays import list_of_row
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
    features_hint,
    is_number,
)
from luce.data.grouping import integer_ids
from luce.data.ragged import Dataset
from luce.data.streams import CODECS, InputStream, check_utf8, open_to_write, text_pieces
from luce.data.tables import BLOCK, dataset_of, table_of, validated
from luce.errors import DataError, LuceWarning
from luce.files import atomic_write

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

COLUMNS_LIMIT = 16_384
CELLS_LIMIT = 2**30
"""Tables hold every value: a sparse dataset is written as one up to this many columns, and rows times columns."""


def read_csv(path: FilePath, *, delimiter: str | None = None, **columns: Any) -> Dataset:
    """The dataset of a CSV file with a header, which also shows the delimiter; `columns` as in `from_table`."""
    with clear_errors(path, "csv"):
        delimiter = delimiter or _detect_delimiter(path)
        schema = _csv_schema(path, delimiter)
        chosen = choose_columns(Table(str(path), schema, 0, lambda names: ()), **columns)
        table = _csv_table(path, delimiter, schema, chosen)
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
            item_groups = pc.if_else(pc.equal(item_groups, ""), None, item_groups)
            at = table.schema.get_field_index(chosen.item_group)
            table = table.set_column(at, chosen.item_group, integer_ids(item_groups))
        return dataset_of(_with_rows(table_of(str(path), table)), chosen)


def read_parquet(path: FilePath, **columns: Any) -> Dataset:
    """The dataset of a Parquet file, read block by block; `columns` as in `from_table`."""
    from pyarrow import parquet

    with clear_errors(path, "parquet"), parquet.ParquetFile(path, memory_map=True) as file:
        n_rows = file.metadata.num_rows

        def batches(names: list[str]) -> Iterator[pa.RecordBatch]:
            left = n_rows
            for batch in file.iter_batches(BLOCK, columns=names):
                left -= batch.num_rows
                if left < 0:
                    break
                yield validated(batch.select(names))  # Arrow also returns the struct `s` for a flat column `s.t`
            if left:
                shown = ", ".join(map(repr, names[:5])) + (", …" if len(names) > 5 else "")
                raise DataError(f"{path} is damaged: it says that it has {n_rows:,} rows; {shown} have another number.")

        table = Table(str(path), file.schema_arrow, n_rows, batches)
        return dataset_of(_with_rows(table), choose_columns(table, **columns))


def read_arrow(path: FilePath, **columns: Any) -> Dataset:
    """The dataset of an Arrow IPC file, a Feather file or an Arrow stream; `columns` as in `from_table`."""
    table = _with_rows(table_of(str(path), read_table(path, format="arrow")))
    with clear_errors(path, "arrow"):
        return dataset_of(table, choose_columns(table, **columns))


def read_table(path: FilePath, *, format: str | None = None) -> pa.Table:
    """Read the table in a CSV, Parquet or Arrow file.

    Parameters
    ----------
    path : str or path-like
        The file. Its extension determines the format, for CSV also before .gz, .bz2 or .zst.
    format : {"csv", "parquet", "arrow"}, optional
        The format where the suffix does not say it. Arrow is an IPC file, a Feather file or an IPC stream.

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
                check_utf8(path)  # else Arrow would take text that is not UTF-8 for a column of bytes
                return _parse_csv(path, _detect_delimiter(path))
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
            return list(_csv_schema(path, delimiter or _detect_delimiter(path)).names)
        if format == "parquet":
            from pyarrow import parquet

            return list(parquet.read_schema(path).names)
    return list(read_table(path, format=format).column_names)


def table_format(path: FilePath) -> str | None:
    """The format of the table that the suffix of a path means."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes if suffix.lower() not in CODECS]
    return TABLE_SUFFIXES.get(suffixes[-1]) if suffixes else None


def write_csv(dataset: Dataset, path: FilePath) -> None:
    """Write a CSV file with a header, compressed where the name ends in .gz, .bz2 or .zst."""
    from pyarrow import csv

    options = csv.WriteOptions(delimiter=_delimiter(path))
    with _replacing(dataset, path) as partial, open_to_write(partial, path) as stream:
        _write(dataset, lambda schema: csv.CSVWriter(stream, schema, write_options=options))


def write_parquet(dataset: Dataset, path: FilePath) -> None:
    """Write a Parquet file."""
    from pyarrow import parquet

    with _replacing(dataset, path) as partial:
        _write(dataset, lambda schema: parquet.ParquetWriter(partial, schema))


def write_arrow(dataset: Dataset, path: FilePath) -> None:
    """Write an Arrow IPC file, which is also a Feather file."""
    with _replacing(dataset, path) as partial:
        _write(dataset, lambda schema: pa.ipc.new_file(str(partial), schema))


def _write(dataset: Dataset, open_writer: Callable[[pa.Schema], Any]) -> None:
    batches = _batches(dataset)
    first = next(batches)
    with open_writer(first.schema) as writer:
        for batch in chain([first], batches):
            writer.write_batch(batch)


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


def _with_rows(table: Table) -> Table:
    if not table.n_rows:
        raise DataError(f"{table.name} has no rows; at least one is needed.")
    return table


def _delimiter(path: FilePath) -> str:
    return "\t" if ".tsv" in Path(path).suffixes else ","


def _detect_delimiter(path: FilePath) -> str:
    """What separates the columns: what the suffix means or, if the header does not have it, the most frequent mark."""
    with InputStream(path) as stream:
        header = bytes(next(text_pieces(stream), b"")).partition(b"\n")[0]
    unquoted, usual = re.sub(r'"[^"]*"', "", header.decode(errors="replace")), _delimiter(path)
    found = usual if usual in unquoted else max(usual, *DELIMITERS, key=unquoted.count)
    if found != usual:
        logger.info("%s: the columns are separated by %r.", path, found)
    return found


def _csv_schema(path: FilePath, delimiter: str) -> pa.Schema:
    """The columns, as true or false where the first block of the file has that, else as numbers.

    What they are is fixed before the file is read, so that a value that is no number is named with its row.
    """
    first = _first_schema(path, delimiter)
    return pa.schema([(each.name, each.type if pa.types.is_boolean(each.type) else pa.float32()) for each in first])


def _first_schema(path: FilePath, delimiter: str) -> pa.Schema:
    """The columns as the first block of the file has them."""
    from pyarrow import csv

    with InputStream(path) as stream:
        piece = next(text_pieces(stream), b"")
    options = {
        "read_options": csv.ReadOptions(use_threads=False),
        "parse_options": csv.ParseOptions(delimiter=delimiter),
    }
    return csv.open_csv(pa.BufferReader(piece), **options).schema


def _csv_table(
    path: FilePath, delimiter: str, schema: pa.Schema, chosen: Columns, use_threads: bool = True
) -> pa.Table:
    from pyarrow import csv

    types = {name: pa.float64() for name in (chosen.label, chosen.weight, chosen.list_weight) if name is not None}
    types |= {
        name: pa.large_string() for name in (chosen.query, chosen.document, chosen.item_group) if name is not None
    }
    types |= {name: schema.field(name).type for name in chosen.features}
    try:
        options = csv.ConvertOptions(column_types=types, include_columns=list(types))
        return _parse_csv(path, delimiter, use_threads, convert_options=options)
    except pa.ArrowInvalid as error:
        check_utf8(path)
        if use_threads:  # one thread knows the row
            return _csv_table(path, delimiter, schema, chosen, use_threads=False)
        text = re.sub(r"CSV column #(\d+)", lambda match: f"column {schema.names[int(match[1])]!r}", str(error))
        hint = "" if text == str(error) else _numbers_hint(path, delimiter, chosen)
        raise DataError(f"{path}: {text}{hint}. (Row 1 is the header.)") from error


def _parse_csv(path: FilePath, delimiter: str, use_threads: bool = True, **options: Any) -> pa.Table:
    from pyarrow import csv

    # Arrow's own stream: a thread of Arrow that still reads from Python when the process ends would abort it.
    with pa.input_stream(str(path), compression=CODECS.get(Path(path).suffix.lower())) as stream:
        return csv.read_csv(
            stream,
            read_options=csv.ReadOptions(use_threads=use_threads),
            parse_options=csv.ParseOptions(delimiter=delimiter),
            **options,
        )


def _numbers_hint(path: FilePath, delimiter: str, chosen: Columns) -> str:
    """What to do where a value is no number: the first block shows all columns at once."""
    first = _first_schema(path, delimiter)
    numbers = [name for name in chosen.features if is_number(first.field(name).type)]
    others = [repr(name) for name in chosen.features if name not in numbers]
    if not others:
        return ". Labels, weights and features must be numbers"
    shown = ", ".join(others[:10]) + (", …" if len(others) > 10 else "")
    verb = "are" if len(others) > 1 else "is"
    return f". Features must be numbers, and {shown} {verb} not. {features_hint(numbers)}, or correct the values"


@contextmanager
def _replacing(dataset: Dataset, path: FilePath) -> Iterator[Path]:
    """A path to write a table to; an error or a warning for what it cannot hold."""
    _check_table(dataset)
    if not dataset.n_rows:
        raise DataError(f"{path} was not written: a table needs at least one row.")
    if len(dataset.query_ids.unique()) < dataset.n_lists:
        raise DataError(f"{path}: lists with the same query id would be read back as one. Give them different ids.")
    empty = int(np.count_nonzero(dataset.sizes == 0))
    if empty:
        warnings.warn(f"{path}: {empty} empty list(s) left out; a table cannot store them.", LuceWarning, stacklevel=5)
    with atomic_write(path) as partial:
        yield partial


def _check_table(dataset: Dataset) -> None:
    """An error for a dataset that a table cannot hold."""
    usual = {*QUERY, *LABEL, *DOCUMENT, *WEIGHT, *LIST_WEIGHT, *ITEM_GROUP}
    clash = next((name for name in dataset.feature_names or () if name in usual), None)
    if clash is not None:
        raise DataError(f"A feature is named {clash!r}, which a table keeps for something else. Give it another name.")
    if dataset.is_sparse and (dataset.n_features > COLUMNS_LIMIT or dataset.n_features * dataset.n_rows > CELLS_LIMIT):
        raise DataError(
            f"A sparse dataset is written as a table up to {COLUMNS_LIMIT:,} features and {CELLS_LIMIT:,} values. "
            f"Got {dataset!r}. Write it as .luce-data or LETOR text (.txt), which stay sparse."
        )


def _batches(dataset: Dataset) -> Iterator[pa.RecordBatch]:
    """The dataset as a table, one row an item, block after block."""
    names = [dataset.feature_name(column) for column in range(dataset.n_features)]
    step = max(1, min(8 * BLOCK, 2**23 // max(1, dataset.n_features)))
    all_lists = list_of_row(dataset.offsets)
    for first in range(0, dataset.n_rows, step):
        rows = slice(first, min(first + step, dataset.n_rows))
        lists, weights = all_lists[rows], dataset.list_weights
        columns = {
            QUERY[0]: dataset.query_ids.take(pa.array(lists)),
            LABEL[0]: _nullable(dataset.labels[rows]),
            DOCUMENT[0]: None if dataset.document_ids is None else dataset.document_ids[rows],
            WEIGHT[0]: None if dataset.item_weights is None else pa.array(dataset.item_weights[rows]),
            LIST_WEIGHT[0]: None if weights is None else pa.array(weights[lists]),
            ITEM_GROUP[0]: None if dataset.item_groups is None else dataset.item_groups[rows],
        }
        block = dataset.features[rows].toarray() if dataset.is_sparse else dataset.features[rows]
        columns |= dict(zip(names, map(_nullable, np.ascontiguousarray(block.T)), strict=True))
        yield pa.record_batch({name: values for name, values in columns.items() if values is not None})


def _nullable(values: Any) -> pa.Array:
    return pa.array(values, from_pandas=True)  # NaN is a null there
