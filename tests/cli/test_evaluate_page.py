"""`luce evaluate --report`: one page for models of the same lists, and a refusal where the lists are not the same."""

import pytest
from typer.testing import CliRunner

from luce.cli import app
from luce.data import split, write
from luce.data.synthetic import web_search

RUN = CliRunner()


def call(*words, code=0):
    result = RUN.invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("page")
    train, test = split(web_search(60, n_features=5, mean_length=8, seed=3).dataset, (0.5, 0.5), 0)
    write(train, place / "train.txt")
    write(test, place / "test.txt")
    for name in ("listmle", "listnet"):
        words = ["--objective", name, "--set", "max-iter=5", "--threads", 1]
        call("train", place / "train.txt", "-o", place / f"{name}.luce", *words)
    return place


def test_two_models_on_one_page(folder, tmp_path):
    models = [folder / "listmle.luce", folder / "listnet.luce"]
    call("evaluate", *models, folder / "test.txt", "--metrics", "ndcg@5", "--report", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "has the highest mean ndcg@5" in page and "Compared with" in page and "Evaluated on 30 lists." in page
    for name in ("results", "depth", "differences", "lists", "calibration", "exposure"):
        assert f'<section id="{name}">' in page


def test_one_run_gets_a_page_and_two_are_refused(folder, tmp_path):
    call("convert", folder / "test.txt", tmp_path / "test.qrels")
    for name in ("listmle", "listnet"):
        call("rank", folder / f"{name}.luce", folder / "test.txt", "-o", tmp_path / f"{name}.run")
    runs = [tmp_path / "listmle.run", tmp_path / "listnet.run"]
    page = tmp_path / "page.html"
    call("evaluate", runs[0], tmp_path / "test.qrels", "--report", page)
    assert "has a mean ndcg@10" in page.read_text(encoding="utf-8")
    page.unlink()
    result = call("evaluate", *runs, tmp_path / "test.qrels", "--report", page, code=1)
    assert "in the same row order" in str(result.exception) and not page.exists()
