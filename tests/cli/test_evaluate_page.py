"""`luce evaluate --report`: one page for models of the same lists, and a refusal where the lists are not the same."""

import pytest
from typer.testing import CliRunner

import luce
from luce.cli import app
from luce.cli.evaluate import _significance
from luce.data import split, write
from luce.data.synthetic import web_search
from luce.metrics import compare

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
    assert (
        "has the best mean ndcg@5 of" in page and "statistically significant (p = " in page and "listnet.luce" in page
    )
    for name in ("results", "depth", "differences", "lists", "calibration", "attention"):
        assert f'<section id="{name}">' in page


def test_one_run_gets_a_page_and_two_are_refused(folder, tmp_path):
    call("convert", folder / "test.txt", tmp_path / "test.qrels")
    for name in ("listmle", "listnet"):
        call("rank", folder / f"{name}.luce", folder / "test.txt", "-o", tmp_path / f"{name}.run")
    runs = [tmp_path / "listmle.run", tmp_path / "listnet.run"]
    page = tmp_path / "page.html"
    call("evaluate", runs[0], tmp_path / "test.qrels", "--report", page)
    assert "has a mean ndcg@10 of" in page.read_text(encoding="utf-8")
    page.unlink()
    result = call("evaluate", *runs, tmp_path / "test.qrels", "--report", page, code=1)
    assert "in the same row order" in str(result.exception) and not page.exists()


@pytest.mark.parametrize(
    ("scores", "best", "words"),
    [
        ({"old": -1.0, "new": 1.0}, "new", "; its difference from old is statistically significant (p = "),
        ({"old": 1.0, "new": -1.0}, "old", "; its difference from new is statistically significant (p = "),
        ({"old": 1.0, "new": 1.0}, "old", "; its difference from new is not statistically significant (p = 1"),
        ({"old": 1.0}, "old", ""),
    ],
)
def test_the_headline_claims_what_the_test_shows(scores, best, words):
    data = web_search(20, n_features=3, mean_length=8, seed=1).dataset
    results = {name: luce.evaluate(sign * data.labels, data, "ndcg@10") for name, sign in scores.items()}
    tests = compare(results, "ndcg@10") if len(results) > 1 else ()
    assert _significance(best, "ndcg@10", results, tests).startswith(words)
    assert bool(_significance(best, "ndcg@10", results, tests)) == bool(words)
