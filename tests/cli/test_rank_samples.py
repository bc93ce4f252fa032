"""`luce rank --sample`: rankings drawn from a model's policy, as a table that tells samples apart."""

import csv
import io

import numpy as np
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import luce
from luce.cli import app
from luce.data.synthetic import web_search

RUN = CliRunner()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("samples")
    data = web_search(12, n_features=6, mean_length=8, seed=0).dataset
    luce.write(data, place / "test.txt")
    luce.LinearRanker(max_iter=5).fit(data).save(place / "model.luce")
    return place


def call(folder, *words):
    return RUN.invoke(app, ["rank", str(folder / "model.luce"), str(folder / "test.txt"), *map(str, words)])


def test_rankings_are_those_of_the_policy(folder):
    result = call(folder, "--sample", 10, "--seed", 1, "--top", 3, "--temperature", 0.5)
    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader(io.StringIO(result.stdout)))
    assert list(rows[0]) == ["query", "sample", "rank", "document", "score", "row"]
    data, ranker = luce.read(folder / "test.txt"), luce.load(folder / "model.luce")
    policy = luce.Policy.of(ranker, data, temperature=0.5)
    rankings = policy.sample(10, depth=3, seed=1)
    found = np.full(rankings.shape, -1)
    queries = data.query_ids.to_pylist()
    for row in rows:
        q = queries.index(int(row["query"]))
        found[q, int(row["sample"]) - 1, int(row["rank"]) - 1] = int(row["row"]) - 1 - data.offsets[q]
        assert float(row["score"]) == policy.scores[int(row["row"]) - 1]
        assert row["document"] == data.document_ids[int(row["row"]) - 1].as_py()
    np.testing.assert_array_equal(found, rankings)


def test_rankings_to_a_file_in_full(folder, tmp_path):
    assert call(folder, "--sample", 2, "-o", tmp_path / "drawn.parquet").exit_code == 0
    table = pyarrow.parquet.read_table(tmp_path / "drawn.parquet")
    n_rows = luce.read(folder / "test.txt").n_rows
    assert table.num_rows == 2 * n_rows
    assert sorted(table["row"].to_pylist()) == sorted(2 * list(range(1, n_rows + 1)))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--temperature", 0.5], "add --sample"),
        (["--sample", 2, "--format", "run"], "one ranking per query"),
        (["--sample", 2, "-o", "drawn.run"], "one ranking per query"),
        (["--sample", 2, "--temperature", 0], "temperature of a policy must be a number > 0. Got 0.0"),
        (["--sample", 0], "for '--sample'"),
        (["--sample", 2, "--top", 0], "for '--top'"),
        (["--sample", 2, "--seed", -1], "seed must be an integer from 0"),
    ],
)
def test_errors_say_what_is_wrong(folder, words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = call(folder, *words)
    assert result.exit_code != 0
    assert message in str(result.exception) + result.output
    assert not list(tmp_path.iterdir())
