"""Tables that are walked through once, in constant memory: record batches cut where lists end."""

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from luce.arrays import Integers
from luce.data.columns import Columns, Table, choose_columns
from luce.data.grouping import arrow_ids
from luce.data.query_hashes import SeenQueries
from luce.data.ragged import Dataset
from luce.data.table_files import clear_errors, parquet_batches
from luce.data.tables import from_table, validated
from luce.errors import DataError

CELLS = 2**23
"""Values in a table of complete lists, about."""


class ScatteredListError(DataError):
    """A list whose rows are not together, in a stream that goes by once."""


def dataset_batches(batches: Iterable[pa.RecordBatch], **columns: Any) -> Iterator[Dataset]:
    """Datasets of complete lists, from batches that end anywhere; `columns` as in `from_table`.

    >>> batches = pa.table({"query": [1, 1, 2, 2], "label": [1, 0, 2, 0], "x": [5, 6, 7, 8]}).to_batches(3)
    >>> [dataset.features.ravel().tolist() for dataset in dataset_batches(batches)]
    [[5.0, 6.0, 7.0, 8.0]]
    """
    given = iter(batches)
    first = next(given, None)
    if first is not None:
        chosen = choose(first.schema, **columns)
        for table in complete_lists(chain([first], given), chosen.query):
            yield from_table(table, **columns)


def choose(schema: pa.Schema, *, categorical: Any = (), **columns: Any) -> Columns:
    """Which column has which role."""
    return choose_columns(Table("The table", schema, 0, lambda names: ()), **columns)


def complete_lists(batches: Iterable[pa.RecordBatch], query: str, cells: int | None = None) -> Iterator[pa.Table]:
    """Tables of about so many values, in which no list is cut; an error where the rows of a query are not together."""
    seen, kept = SeenQueries(), []
    for batch in batches:
        size = max(1, (cells or CELLS) // max(1, batch.num_columns))
        for first in range(0, batch.num_rows, size):
            kept.append(batch.slice(first, size))
            if sum(each.num_rows for each in kept) >= size:
                table = pa.Table.from_batches(kept)
                starts = _list_starts(table, query)
                if len(starts) > 1:
                    yield _with_new_lists(table.slice(0, starts[-1]), query, starts[:-1], seen)
                    kept = table.slice(starts[-1]).to_batches()
    if kept:
        table = pa.Table.from_batches(kept)
        yield _with_new_lists(table, query, _list_starts(table, query), seen)


def _list_starts(table: pa.Table, query: str) -> Integers:
    """The rows whose query is another than that of the row before."""
    ids = arrow_ids(f"query column {query!r}", table.column(query))
    differs = pc.fill_null(pc.not_equal(ids[1:], ids[:-1]), True)
    return np.flatnonzero(np.concatenate([[True], differs.to_numpy(zero_copy_only=False)]))


def _with_new_lists(table: pa.Table, query: str, starts: Integers, seen: SeenQueries) -> pa.Table:
    ids = arrow_ids(f"query column {query!r}", table.column(query).take(pa.array(starts)))
    if ids.null_count:
        raise DataError(f"Column {query!r} must say the query of every row. It is missing in {ids.null_count} rows.")
    again = seen.add(ids)
    if again is not None:
        raise ScatteredListError(
            f"The rows of query {again!r} are not together, and batches are read only once: sort the rows by {query!r}."
        )
    return table


def record_batches(path: Path, format: str, names: list[str] | None = None) -> Iterator[pa.RecordBatch]:
    """These columns, or all, of a Parquet or Arrow file, batch after batch."""
    with clear_errors(path, format):
        if format == "parquet":
            yield from parquet_batches(path, names)
            return
        with pa.memory_map(str(path)) as file:
            is_file = file.read(6) == b"ARROW1"
            file.seek(0)
            reader = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(file)
            numbers = range(reader.num_record_batches) if is_file else ()
            for batch in map(reader.get_batch, numbers) if is_file else reader:
                yield validated(batch if names is None else batch.select(names))
