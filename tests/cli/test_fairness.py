"""`luce exposure` and `luce tradeoff`: figures, files and pages, and errors that say what to do."""

import csv
import json
import re
import sys
from itertools import pairwise

import numpy as np
import pytest
from typer.testing import CliRunner

import luce
from luce.cli import app
from luce.cli.rankers import make_ranker
from luce.cli.tradeoff import _finding, _points, formula_of
from luce.metrics.exposure import exposures_of, merits_of
from luce.report.exposure_shares import exposure_shares
from luce.report.formatting import decimal


def call(*words, fails=False):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert (result.exit_code != 0) == fails, f"{result.output} {result.exception!r}"
    return str(result.exception) if fails else result.stdout


def made(seed=0, n_lists=120, size=8, groups=True):
    """Lists whose grades can be told from two features but for some noise, of two sellers."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n_lists * size, 4))
    truth = features[:, 0] + 0.5 * features[:, 1] + 0.3 * rng.normal(size=len(features))
    labels, sellers = np.digitize(truth, [0.5, 1.5]), np.where(features[:, 2] > 0, "north", "<south>")
    return luce.Dataset(features, labels, np.arange(n_lists + 1) * size, item_groups=sellers if groups else None)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fairness")
    luce.write(made(), folder / "market.parquet")
    luce.write(made(groups=False), folder / "plain.txt")
    ranker = luce.LinearRanker("listnet", max_iter=20).fit(made())
    ranker.save(folder / "model.luce")
    return folder


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_exposure_shows_shares_of_exposure_and_merit(place, tmp_path):
    words = ["exposure", place / "model.luce", place / "market.parquet", "--places", 3]
    text = call(*words, "--csv", "shares.csv")
    found = json.loads(call(*words, "--json"))
    data = made()
    scores = luce.load(place / "model.luce").predict(data)
    merits = merits_of(data.labels)
    exposures = {name: exposures_of(scores, data.labels, data.offsets, 3, name) for name in ("sampled", "sorted")}
    totals = {name: np.add.reduceat(each, data.offsets[:-1]) for name, each in exposures.items()}
    kept = np.add.reduceat(merits, data.offsets[:-1]) > 0
    assert found["lists"] == kept.sum()
    of = {"grade": data.labels, "group": np.array(data.item_groups.to_pylist())}
    for row in found["shares"]:
        here, ranking = of[row["by"]] == (float(row["name"]) if row["by"] == "grade" else row["name"]), row["ranking"]
        pairs = (merits, np.add.reduceat(merits, data.offsets[:-1])), (exposures[ranking], totals[ranking])
        for key, (values, total) in zip(("of_merit", "of_exposure"), pairs, strict=True):
            shares = np.add.reduceat(values * here, data.offsets[:-1])[kept] / total[kept]
            assert row[key] == pytest.approx(shares.mean(), rel=1e-9)
        assert row["error"] == pytest.approx(shares.std(ddof=1) / np.sqrt(len(shares)), rel=1e-9)
        assert row["items"] == np.count_nonzero(here & np.repeat(kept, 8))
    for by in ("grade", "group"):
        for ranking in exposures:
            rows = [row for row in found["shares"] if row["by"] == by and row["ranking"] == ranking]
            assert sum(row["of_exposure"] for row in rows) == pytest.approx(1)
            assert sum(row["of_items"] for row in rows) == pytest.approx(1)
    assert set(found["metrics"]) == {"disparity@3", "parity-gap@3", "merit-gap@3"}
    expected = luce.evaluate(scores, data, "disparity@3", ranking="sorted").means["disparity@3"]
    assert found["sorted_metrics"]["disparity@3"]["mean"] == pytest.approx(expected, rel=1e-9)
    with open("shares.csv") as file:
        assert [row["name"] for row in csv.DictReader(file)] == [row["name"] for row in found["shares"]]
    assert "north" in text and "disparity@3" in text and "Impact ratio" in text
    page = (tmp_path / "exposure.html").read_text()
    assert page.count("<svg") == 2 and "&lt;south&gt;" in page and "<south>" not in page
    assert "of the exposure" in page and "http" not in page.split("Versions")[0].replace("http-equiv", "")


def test_evaluate_measures_the_fairness_of_sorted_rankings(place):
    words = ["evaluate", place / "model.luce", place / "market.parquet", "--metrics", "ndcg@3,merit-gap@3"]
    scores = luce.load(place / "model.luce").predict(made())
    for ranking in ("sampled", "sorted"):
        text = call(*words, "--ranking", ranking)
        (found,) = json.loads(call(*words, "--ranking", ranking, "--json")).values()
        expected = luce.evaluate(scores, made(), "merit-gap@3", ranking=ranking).means["merit-gap@3"]
        assert f"fairness of {ranking} rankings" in text and found["ranking"] == ranking
        assert found["metrics"]["merit-gap@3"]["mean"] == pytest.approx(expected)
    assert "rankings" not in call(*words[:3])


def test_one_list_has_no_error(place):
    data = made()
    luce.write(data.take([data.labels.argmax() // 8]), place / "one.parquet")
    text = call("exposure", place / "model.luce", place / "one.parquet")
    assert "nan" not in text and "–" in text


def test_exposure_without_groups(place, tmp_path):
    call("exposure", place / "model.luce", place / "plain.txt", "--report", "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "By grade" in page and "By group" not in page and "merit-gap" not in page


def test_many_grades_are_binned_and_small_groups_put_together():
    rng = np.random.default_rng(0)
    labels, groups = rng.random(600), rng.integers(0, 40, 600)
    data = luce.Dataset(np.zeros((600, 1)), labels, np.arange(61) * 10, item_groups=groups)
    found = exposure_shares(rng.normal(size=600), data)
    assert len(found.by_grade) == 5 and sum(row.items for row in found.by_grade) == 600
    assert len(found.by_group) == 21 and found.by_group[-1].name == "20 others"
    assert sum(row.sampled.of_exposure for row in found.by_group) == pytest.approx(1)


def test_list_weights_count(place):
    data = made(3, n_lists=4)
    weights, scores = np.array([1.0, 0, 3, 0.5]), np.random.default_rng(0).normal(size=data.n_rows)
    weighted = luce.Dataset(data.features, data.labels, data.offsets, list_weights=weights)
    alone = [exposure_shares(scores[data.rows(q)], data.take([q])).by_grade for q in range(4)]
    shares = [sum(row.sampled.of_exposure for row in rows if row.name == "0") for rows in alone]
    found = exposure_shares(scores, weighted).by_grade[0].sampled.of_exposure
    assert found == pytest.approx(np.average(shares, weights=weights), rel=1e-9)
    one = luce.Dataset(data.features, data.labels, data.offsets, list_weights=np.array([0.0, 2, 0, 0]))
    assert np.isnan(exposure_shares(scores, one).by_grade[0].sampled.error), "one list tells nothing of others"


def test_tradeoff_goes_down_along_the_mix(place, tmp_path):
    words = ["tradeoff", place / "market.parquet", "--steps", 4, "--relevance", "ndcg@4", "--fairness", "parity-gap@4"]
    words += ["--set", "epochs=2", "--set", "learning-rate=0.03", "--set", "hidden_layer_sizes=8", "--threads", 1]
    found = json.loads(call(*words, "--json", "--csv", "frontier.csv"))
    *points, by_score = found["points"]
    assert {point["ranking"] for point in points} == {"sampled"} and by_score["ranking"] == "sorted"
    assert [point["mix"] for point in points] == pytest.approx([0, 1 / 3, 2 / 3, 1])
    assert points[0]["objective"] == "1*ndcg@4" and points[3]["objective"] == f"-{1 / found['unit']:.6g}*parity-gap@4"
    for name in ("relevance", "unfairness"):
        for one, next_one in pairwise(points):
            noise = np.hypot(one[f"{name}_error"], next_one[f"{name}_error"])
            assert next_one[name] < one[name] + 3 * noise
        noise = np.hypot(points[0][f"{name}_error"], points[-1][f"{name}_error"])
        assert points[-1][name] < points[0][name] - 4 * noise
    with open("frontier.csv") as file:
        assert [float(row["relevance"]) for row in csv.DictReader(file)] == [
            point["relevance"] for point in found["points"]
        ]
    page = (tmp_path / "tradeoff.html").read_text()
    assert page.count("<svg") == 1 and "Relevance and fairness" in page and points[1]["objective"] in page
    assert "validation_fraction=None" in page, "no list is held out to be scored by relevance alone"


def test_tradeoff_of_a_linear_ranker_and_several_seeds(place, monkeypatch):
    seeds = []

    def recorded(*arguments):
        ranker = make_ranker(*arguments)
        seeds.append(ranker.random_state)
        return ranker

    monkeypatch.setattr(sys.modules["luce.cli.tradeoff"], "make_ranker", recorded)
    words = ["tradeoff", place / "plain.txt", "--steps", 2, "--model", "linear", "--seeds", 2, "--threads", 1]
    text = call(*words, "--set", "max-iter=10", "--report", "page.html")
    assert "84 training lists, 36 held out" in text and "disparity@10 lower is fairer" in text
    assert seeds == [0, 1, 0, 1]


def test_the_formula_of_a_mix():
    assert formula_of(0.0, 3.0, "dcg@5", "disparity") == "1*dcg@5"
    assert formula_of(0.5, 0.25, "dcg@5", "disparity") == "0.5*dcg@5 - 2*disparity"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (
            ["plain.txt", "--fairness", "merit-gap@10"],
            r"merit-gap@10 needs the group of each item.*--read item_group=seller",
        ),
        (["plain.txt", "--fairness", "disprity"], "no term of a utility 'disprity'. Did you mean 'disparity'"),
        (["plain.txt", "--fairness", "ndcg"], "There is no fairness metric 'ndcg'"),
        (["plain.txt", "--relevance", "arp"], "--relevance must be dcg, ndcg, rbp, precision or recall"),
        (["plain.txt", "--relevance", "err"], "err is not linear"),
        (["plain.txt", "--model", "forest"], "There is no kind of ranker 'forest'"),
        (["plain.txt", "--set", "epoch=3"], "Did you mean 'epochs'"),
        (["nothing.txt"], "The training lists have no merit"),
    ],
)
def test_tradeoff_refuses_with_reasons(place, words, error):
    luce.write(luce.Dataset(np.eye(8), [0] * 8, np.arange(0, 9, 2)), place / "nothing.txt")
    assert re.search(error, call("tradeoff", place / words[0], *words[1:], fails=True))


def test_exposure_refuses_with_reasons(place):
    luce.write(luce.Dataset(np.ones((4, 4)), [0] * 4, [0, 4]), place / "nothing.txt")
    found = call("exposure", place / "model.luce", place / "nothing.txt", fails=True)
    assert "no merit to compare exposure with" in found
    found = call("exposure", place / "model.luce", place / "market.parquet", "--read", "item_group=shop", fails=True)
    assert "no column 'shop' for item_group=" in found


def test_errors_of_tradeoff_points_add_up_to_the_error_of_their_difference():
    lists = np.random.default_rng(0).normal(size=(3, 2, 9))  # two mixes and the sorted ranking, both metrics, lists
    *points, by_score = _points([0.0, 1.0, 0.0], ["a", "b", "a"], [tuple(each) for each in lists])
    expected = (lists[1, 0] - lists[0, 0]).std(ddof=1) / np.sqrt(9)
    assert np.hypot(*(point.relevance_error for point in points)) == pytest.approx(expected)
    assert (by_score.relevance, by_score.ranking) == (pytest.approx(lists[2, 0].mean()), "sorted")
    expected = (lists[2, 0] - lists[:2, 0].mean(axis=0)).std(ddof=1) / np.sqrt(9)
    assert by_score.relevance_error == pytest.approx(expected)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ((0.1, 0.1), ": more relevant and less fair."),
        ((-0.1, -0.1), ": less relevant and fairer."),
        ((0.01, -0.01), ": about as relevant and about as fair."),
    ],
)
def test_the_page_says_how_sorting_compares_with_sampling(changes, words):
    rng = np.random.default_rng(0)
    sampled = rng.normal(size=(2, 30))
    in_order = sampled + np.array(changes)[:, None] + 0.1 * rng.normal(size=(2, 30))
    sampled[:, 3] = np.nan
    *points, by_score = _points([0.0, 1.0, 0.0], ["a", "b", "a"], [sampled, sampled, in_order])
    found = _finding(points, by_score, [sampled, in_order], in_order, ("ndcg@5", "disparity@5"))
    assert found.endswith(words) and found.count(words) == 2, "the lists differ by far more than the rankings do"
    assert f"gives disparity@5 {decimal(by_score.unfairness)} and ndcg@5 {decimal(by_score.relevance)}" in found


def test_the_sorted_point_is_the_order_of_the_scores_trained_for_relevance(place, monkeypatch):
    rankers = []

    def recorded(*arguments):
        rankers.append(make_ranker(*arguments))
        return rankers[-1]

    monkeypatch.setattr(sys.modules["luce.cli.tradeoff"], "make_ranker", recorded)
    words = ["tradeoff", place / "market.parquet", "--steps", 2, "--model", "linear", "--set", "max-iter=3"]
    words += ["--relevance", "ndcg@3", "--fairness", "merit-gap@3", "--threads", 1, "--json", "--csv", "f.csv"]
    by_score = json.loads(call(*words))["points"][-1]
    held_out = luce.split(luce.read(place / "market.parquet"), (0.7, 0.3), 0)[1]
    scores = rankers[0].predict(held_out)
    expected = luce.evaluate(scores, held_out, "ndcg@3, merit-gap@3", ranking="sorted").means
    assert by_score["relevance"] == pytest.approx(expected["ndcg@3"], rel=1e-9)
    assert by_score["unfairness"] == pytest.approx(expected["merit-gap@3"], rel=1e-9)
    assert by_score["mix"] == 0 and by_score["objective"] == "1*ndcg@3"


def test_merit_follows_the_gain(place, monkeypatch):
    monkeypatch.setattr("luce.report.exposure.write_exposure", lambda path, *arguments, **words: path)
    words = "exposure", place / "model.luce", place / "market.parquet", "--gain", "linear", "--json"
    data = made()
    totals = np.add.reduceat(data.labels, data.offsets[:-1])
    shares = np.add.reduceat(2.0 * (data.labels == 2), data.offsets[:-1])[totals > 0] / totals[totals > 0]
    rows = {row["name"]: row for row in json.loads(call(*words))["shares"]}
    assert rows["2"]["of_merit"] == pytest.approx(shares.mean())
