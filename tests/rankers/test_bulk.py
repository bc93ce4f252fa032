"""Ranking of record batches: the table that ranking in memory gives, whatever the batches."""

import numpy as np
import pyarrow as pa
import pytest

import luce
from luce.data.list_batches import ScatteredListError, complete_lists, record_batches
from luce.data.synthetic import web_search
from luce.errors import DataError, OptionError


def table_of_lists(n_lists=40, seed=0):
    data = web_search(n_lists, n_features=4, mean_length=9, seed=seed).dataset
    queries = np.repeat([f"q{number}" for number in range(n_lists)], data.sizes)
    columns = {"query": queries, "label": data.labels, "document": [f"d{row}" for row in range(data.n_rows)]}
    features = {name: data.features[:, column] for column, name in enumerate("abcd")}
    return pa.table(columns | features)


@pytest.fixture(scope="module")
def ranker():
    return luce.LinearRanker(max_iter=5, n_jobs=1).fit(luce.from_table(table_of_lists(seed=1)))


@pytest.mark.parametrize("size", [1, 7, 50, 10_000])
@pytest.mark.parametrize("cells", [20, 300, 10_000])
def test_batches_that_cut_lists_give_the_table_of_ranking_in_memory(ranker, size, cells, monkeypatch):
    monkeypatch.setattr("luce.data.list_batches.CELLS", cells)
    table = table_of_lists()
    shuffled = table.drop(["label"]).select(["d", "query", "b", "c", "document", "a"])
    found = list(luce.rank_batches(ranker, shuffled.to_batches(max_chunksize=size), top=5))
    assert pa.Table.from_batches(found).combine_chunks() == ranker.rank(luce.from_table(table), top=5).combine_chunks()
    assert len(found) > 5 or cells > 20


def test_a_list_is_ranked_when_the_next_one_begins(ranker, monkeypatch):
    monkeypatch.setattr("luce.data.list_batches.CELLS", 1)
    table, given = table_of_lists(), []

    def batches():
        for batch in table.to_batches(max_chunksize=1):
            given.append(batch)
            yield batch

    first = next(luce.rank_batches(ranker, batches()))
    assert len(given) == first.num_rows + 1


def test_no_batches_give_none(ranker):
    assert list(luce.rank_batches(ranker, [])) == []
    assert list(luce.rank_batches(ranker, table_of_lists().slice(0, 0).to_batches())) == []


@pytest.mark.parametrize("size", [1, 1_000])
def test_rows_of_a_query_that_are_not_together_are_refused(ranker, size):
    table = table_of_lists(3)
    scattered = pa.concat_tables([table, table.slice(0, 1)])
    with pytest.raises(ScatteredListError, match=r"query 'q0' are not together.*sort the rows by 'query'"):
        list(luce.rank_batches(ranker, scattered.to_batches(max_chunksize=size)))


def test_what_cannot_be_ranked_is_refused(ranker):
    table = table_of_lists(3)
    with pytest.raises(DataError, match="lack features that the model was trained on: 'c'"):
        list(luce.rank_batches(ranker, table.drop(["c"]).to_batches()))
    with pytest.raises(OptionError, match=r"needs a fitted ranker of lists\. Got LabelRanker"):
        luce.rank_batches(luce.LabelRanker(), table.to_batches())
    with pytest.raises(OptionError, match="top"):
        luce.rank_batches(ranker, table.to_batches(), top=0)
    missing = table.set_column(0, "query", [[None, *table["query"].to_pylist()[1:]]])
    with pytest.raises(DataError, match="Column 'query' must say the query of every row"):
        list(luce.rank_batches(ranker, missing.to_batches()))


def test_columns_are_named_as_for_tables(ranker):
    table = table_of_lists(5).rename_columns(["session", "label", "sku", "a", "b", "c", "d"])
    found = pa.Table.from_batches(luce.rank_batches(ranker, table.to_batches(), query="session", document="sku"))
    expected = ranker.rank(luce.from_table(table, query="session", document="sku"))
    assert found.combine_chunks() == expected.combine_chunks()


def test_categories_are_those_of_the_training_data():
    table = table_of_lists(30)
    table = table.append_column("brand", [np.random.default_rng(0).choice(["x", "y", "z"], len(table))])
    ranker = luce.LinearRanker(max_iter=5, n_jobs=1).fit(luce.from_table(table))
    found = pa.Table.from_batches(luce.rank_batches(ranker, table.to_batches(max_chunksize=3)))
    assert found.combine_chunks() == ranker.rank(luce.from_table(table)).combine_chunks()


@pytest.mark.parametrize("kind", ["file", "stream", "parquet"])
def test_files_are_read_batch_by_batch(kind, tmp_path):
    from pyarrow import parquet

    table, path = table_of_lists(), tmp_path / "a.file"
    if kind == "parquet":
        parquet.write_table(table, path)
    else:
        with (pa.ipc.new_file if kind == "file" else pa.ipc.new_stream)(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=50)
    found = list(record_batches(path, "parquet" if kind == "parquet" else "arrow", ["query", "a"]))
    assert pa.Table.from_batches(found).combine_chunks() == table.select(["query", "a"]).combine_chunks()
    assert len(found) > 3 or kind == "parquet"
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(DataError, match="cannot be read as"):
        list(record_batches(path, "parquet" if kind == "parquet" else "arrow"))


def test_tables_have_about_the_cells_that_are_asked_for():
    table = table_of_lists()
    parts = list(complete_lists(table.to_batches(), "query", cells=7 * 60))
    assert pa.concat_tables(parts).combine_chunks() == table.combine_chunks()
    assert all(30 < part.num_rows <= 120 for part in parts[:-1])
