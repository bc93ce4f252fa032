"""`luce rank` of files that may be larger than memory: ranked list after list, as they are ranked in memory."""

import numpy as np
import pytest
from pyarrow import parquet
from typer.testing import CliRunner

import luce
import luce.arrays
from luce.cli import app
from luce.cli.reading import list_stream
from luce.data.synthetic import web_search

SUFFIXES = ["txt", "csv", "parquet", "arrow", "luce-data"]
FORMATS = ["csv", "parquet", "jsonl", "run"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("streams")
    data = web_search(40, n_features=4, mean_length=9, seed=0).dataset
    luce.LinearRanker(max_iter=5, n_jobs=1).fit(data).save(place / "model.luce")
    for suffix in SUFFIXES:
        luce.write(data, place / f"test.{suffix}")
    table = parquet.read_table(place / "test.parquet")
    parquet.write_table(table.take(np.random.default_rng(0).permutation(len(table))), place / "shuffled.parquet")
    (place / "parts").mkdir()
    (place / "mapped").mkdir()
    for number, lists in enumerate(np.array_split(np.arange(40), 3)):
        for name, suffix in (("parts", "parquet"), ("mapped", "luce-data")):
            luce.write(data.take(lists), place / name / f"{number}.{suffix}")
    return place


def ranked(folder, data, *words, fails=False):
    result = CliRunner().invoke(app, ["rank", *map(str, [folder / "model.luce", folder / data, *words])])
    assert (result.exit_code != 0) == fails, f"{result.output} {result.exception!r}"
    return str(result.exception) if fails else result.stdout


@pytest.mark.parametrize("data", [*(f"test.{suffix}" for suffix in SUFFIXES), "parts", "parts/*.parquet", "mapped"])
@pytest.mark.parametrize("block", [30, 2**17])
def test_every_form_of_the_data_is_ranked_alike(folder, data, block, monkeypatch):
    whole = ranked(folder, "test.txt", "--top", 4)
    monkeypatch.setattr("luce.data.list_batches.CELLS", block)
    monkeypatch.setattr(luce.arrays.list_blocks, "__defaults__", (block,))
    assert ranked(folder, data, "--top", 4) == whole
    assert len(whole.splitlines()) > 100


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_is_written_block_by_block(folder, kind, tmp_path, monkeypatch):
    ranked(folder, "test.txt", "-o", tmp_path / f"whole.{kind}")
    monkeypatch.setattr("luce.data.list_batches.CELLS", 300)
    ranked(folder, "test.parquet", "-o", tmp_path / f"blocks.{kind}")
    if kind == "parquet":
        whole, blocks = (parquet.read_table(tmp_path / f"{name}.parquet") for name in ("whole", "blocks"))
        assert whole == blocks
        assert parquet.ParquetFile(tmp_path / "blocks.parquet").num_row_groups > 3
    else:
        assert (tmp_path / f"whole.{kind}").read_bytes() == (tmp_path / f"blocks.{kind}").read_bytes()


def test_lists_whose_rows_are_not_together_are_read_whole(folder):
    ranker = luce.load(folder / "model.luce")
    assert list_stream(ranker, folder / "shuffled.parquet", None) is None
    assert list_stream(ranker, folder / "test.parquet", None) is not None
    found, expected = ranked(folder, "shuffled.parquet"), ranker.rank(luce.read(folder / "shuffled.parquet"))
    assert [int(line.split(",")[-1]) - 1 for line in found.splitlines()[1:]] == expected["row"].to_pylist()


def test_a_list_in_two_mapped_files_is_refused(folder, tmp_path):
    data = luce.read(folder / "test.luce-data")
    for number, lists in enumerate(([0, 1], [1, 2])):
        luce.write(data.take(lists), tmp_path / f"{number}.luce-data")
    assert "Query 2 has rows in" in ranked(folder, tmp_path, fails=True)


def test_a_missing_feature_is_named(folder, tmp_path):
    table = parquet.read_table(folder / "test.parquet")
    names = [f"f{name}" if name.isdigit() else name for name in table.column_names]
    luce.LinearRanker(max_iter=5, n_jobs=1).fit(luce.from_table(table.rename_columns(names))).save(
        tmp_path / "model.luce"
    )
    message = ranked(tmp_path, folder / "test.parquet", fails=True)
    assert "lacks features that the model was trained on: 'f1'" in message
    parquet.write_table(table.slice(0, 0), tmp_path / "none.parquet")
    assert "has no rows" in ranked(folder, tmp_path / "none.parquet", fails=True)


def test_options_of_reading_hold_for_streams(folder, tmp_path):
    table = parquet.read_table(folder / "test.parquet")
    renamed = table.rename_columns(["session", *table.column_names[1:]]).append_column("note", [["x"] * len(table)])
    parquet.write_table(renamed, tmp_path / "test.parquet")
    words = ("--read", "query=session", "--read", "exclude=note")
    assert ranked(folder, tmp_path / "test.parquet", *words) == ranked(folder, "test.parquet")
    assert "has no option 'sparse'" in ranked(folder, "test.parquet", "--read", "sparse=true", fails=True)
