"""Commands started by torchrun: every process its share of the files, one result as of one process."""

import json
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import luce
from luce.cli import app
from luce.data.synthetic import web_search

pytestmark = pytest.mark.multiprocess


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("evaluated")
    data = web_search(40, n_features=4, mean_length=9, seed=0).dataset
    luce.LinearRanker(max_iter=5, n_jobs=1).fit(data).save(place / "model.luce")
    (place / "parts").mkdir()
    for number, lists in enumerate(np.array_split(np.arange(40), 3)):
        luce.write(data.take(lists), place / "parts" / f"{number}.parquet")
    return place


def on_two_processes(*words):
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "luce"]
    return subprocess.run([sys.executable, *launcher, *map(str, words)], capture_output=True, text=True, check=False)


def test_the_first_process_prints_the_results_of_all_lists(folder):
    words = ["evaluate", folder / "model.luce", folder / "parts", "--json", "--threads", "1"]
    result = on_two_processes(*words, "--per-list", folder / "lists.csv")
    assert result.returncode == 0, result.stderr
    expected = json.loads(CliRunner().invoke(app, [*map(str, words)]).stdout)
    (found,), (one,) = json.loads(result.stdout).values(), expected.values()
    assert found["n_lists"] == one["n_lists"] == 40
    for name, facts in one["metrics"].items():
        assert found["metrics"][name] == pytest.approx(facts, rel=1e-12)
    assert len((folder / "lists.csv").read_text().splitlines()) == 41


def test_what_needs_all_lists_in_one_process_is_refused(folder):
    result = on_two_processes("evaluate", folder / "model.luce", folder / "parts", "--report", folder / "page.html")
    assert result.returncode != 0
    assert "torchrun is for models, without --report" in " ".join(result.stderr.split())


def test_rankings_in_several_files(folder, monkeypatch):
    monkeypatch.chdir(folder)
    for number, rows in enumerate(
        (["tea,rum", "rum,gin"], ["gin,tea", "tea,gin"], ["rum,tea", "gin,rum", "7,tea", "tea,7"])
    ):
        (folder / f"{number}.csv").write_text("\n".join(["winner,loser", *rows]))
    words = ["aggregate", *(folder / f"{number}.csv" for number in range(3)), "--json", "--threads", "1"]
    result = on_two_processes(*words)
    assert result.returncode == 0, result.stderr
    expected = CliRunner().invoke(app, [*map(str, words)])
    assert json.loads(result.stdout) == json.loads(expected.stdout)
    assert on_two_processes(*words, "--by", "year").returncode != 0
