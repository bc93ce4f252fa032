"""Ranking in bulk: record batches in, record batches out, in constant memory."""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from luce.data import Dataset
from luce.data.alignment import missing_features
from luce.data.columns import LABEL
from luce.data.list_batches import dataset_batches
from luce.errors import OptionError
from luce.options import integer, or_none
from luce.rankers.ranker import Ranker


def rank_batches(
    ranker: Ranker, batches: Iterable[pa.RecordBatch], *, top: int | None = None, **columns: Any
) -> Iterator[pa.RecordBatch]:
    """Rank the lists of a table that goes by in record batches, as `Ranker.rank` ranks one in memory.

    It is made for Spark's `mapInArrow`, Ray Data's `map_batches` and record batch readers. The rows of a query must be
    together, but may be in several batches: a list is ranked when the next one begins. The memory is that of a few
    batches, or of the longest list, and 8 bytes a list.

    Parameters
    ----------
    ranker : Ranker
        A fitted ranker of lists.
    batches : iterable of pyarrow.RecordBatch
        One row an item, all with the same columns.
    top : int, optional
        The number of items per list; all by default.
    **columns
        As in `from_table`, such as `query="session"`; labels need not be there. The features are those of the training
        data, by name where it had names.

    Yields
    ------
    pyarrow.RecordBatch
        The columns of `Ranker.rank`; row is the index among the rows of all batches.

    Raises
    ------
    DataError
        The rows of a query are not together, or a feature is missing.

    Examples
    --------
    >>> import luce
    >>> table = pa.table({"query": ["a", "a", "a", "b"], "label": [0, 2, 1, 0], "x": [1.0, 3.0, 2.0, 5.0]})
    >>> ranker = luce.LinearRanker().fit(luce.from_table(table))
    >>> for batch in luce.rank_batches(ranker, table.to_batches(max_chunksize=2), top=2):
    ...     print(batch.select(["query", "rank", "row"]).to_pydict())
    {'query': ['a', 'a', 'b'], 'rank': [1, 2, 1], 'row': [1, 2, 3]}
    """
    or_none(integer(1)).check("top", top)
    if not isinstance(ranker, Ranker):
        raise OptionError(f"rank_batches needs a fitted ranker of lists. Got {type(ranker).__name__}.")
    names = ranker.features[1]
    checked = batches if names is None else _with_features(batches, names)
    return rank_datasets(ranker, dataset_batches(checked, **columns_for(ranker) | columns), top)


def columns_for(ranker: Ranker) -> dict[str, Any]:
    """How the columns of a table are read for a ranker: its features by name, and labels that need not be there."""
    names = ranker.features[1]
    coded = [name for name, values in zip(names or (), ranker.categories_ or (), strict=False) if values is not None]
    return {"label": (*LABEL, None), "features": names, "categorical": coded}


def rank_datasets(ranker: Ranker, datasets: Iterable[Dataset], top: int | None) -> Iterator[pa.RecordBatch]:
    """The rankings of datasets, whose rows are counted on."""
    first = 0
    for dataset in datasets:
        for batch in ranker.rank(dataset, top=top).to_batches():
            at = batch.schema.get_field_index("row")
            yield batch.set_column(at, "row", pc.add(batch.column(at), first))
        first += dataset.n_rows


def _with_features(batches: Iterable[pa.RecordBatch], names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        missing = [name for name in names if name not in batch.schema.names]
        if missing:
            raise missing_features(missing, batch.schema.names)
        yield batch
