"""Wins and losses, the lists behind them, depth, exposure: whom they are about, and what they say of single lists."""

from types import SimpleNamespace

import numpy as np
import pytest

from luce.data.synthetic import web_search
from luce.errors import OptionError
from luce.metrics import compare_results, evaluate
from luce.rankers.importance import Importance
from luce.report import Report
from luce.report.curves import depth, means_by_depth
from luce.report.differences import changes, chosen_lists, differences_picture, tallies
from luce.report.exposure import leaders_exposure
from luce.report.exposure_shares import exposure_shares
from luce.report.formatting import share
from luce.report.lists import correlations, shown_lists
from luce.report.results import leading

NAN = np.nan


@pytest.fixture(scope="module")
def data():
    return web_search(30, n_features=5, mean_length=14, seed=5).dataset


@pytest.fixture
def report(data):
    """A report on rankers by the noise in their scores; the first is the baseline."""

    def make(metrics="ndcg@10, arp", compared=("ndcg@10",), **noise):
        rng = np.random.default_rng(0)
        scores = {name: data.labels + size * rng.normal(size=data.n_rows) for name, size in noise.items()}
        results = {name: evaluate(each, data, metrics, n_bootstrap=0) for name, each in scores.items()}
        tests = {metric: compare_results(results, metric, n_permutations=50) for metric in compared if len(noise) > 1}
        words = {"title": "T", "summary": "S", "command": "C"}
        return Report(**words, dataset=data, results=results, comparisons=tests, scores=scores)

    return make


def test_the_best_is_held_against_the_baseline_or_the_next_best(report):
    assert leading(report(base=3, good=1, better=0.5)) == ("ndcg@10", "better", "base")
    assert leading(report(base=0.5, poor=5, good=1)) == ("ndcg@10", "base", "good")
    assert leading(report(only=1)) == ("ndcg@10", "only", None)
    assert leading(report(base=3, good=1, compared=["arp"])) == ("arp", "good", "base")
    assert leading(report(good=1, poor=9, compared=[])) == ("ndcg@10", "good", "poor")


@pytest.mark.parametrize("metric", ["ndcg@10", "arp"])
def test_wins_and_losses(report, metric):
    given = report(base=2, good=1, other=1.5, compared=[metric])
    leader = leading(given)
    counted, chosen = tallies(given, leader), chosen_lists(given, leader)
    one, base = (given.results[name].values[metric] for name in ("good", "base"))
    better = one > base if metric == "ndcg@10" else one < base
    assert [row.name for row in counted] == ["good", "other"]
    row = counted[0]
    worse = ~better & (one != base) & ~np.isnan(one)
    assert (row.better, row.worse, row.same) == (better.sum(), worse.sum(), (one == base).sum())
    assert row.worse > 1 and row.lost == pytest.approx(-np.abs(one - base)[worse].mean())
    assert row.gained == pytest.approx(np.abs(one - base)[better].mean())
    kinds = [each.kind for each in chosen]
    assert kinds == ["worse"] * kinds.count("worse") + ["better"] * 5 + ["typical"]
    worst, best = chosen[0], chosen[kinds.index("better")]
    turned = one - base if metric == "ndcg@10" else base - one
    assert worst.number == np.nanargmin(turned) and best.number == np.nanargmax(turned)
    assert (worst.value, worst.before) == (one[worst.number], base[worst.number])
    picture = differences_picture(leader, changes(given, metric, "good", "base"))
    assert f"better in {row.better}, worse in {row.worse}" in picture.description


def test_where_lower_is_better_the_signs_are_told(page, report):
    contents = "dataset", "results", "comparisons", "scores"
    lower, higher = (report(base=2, good=1, compared=[metric]) for metric in ("arp", "ndcg@10"))
    told = page(**{name: getattr(lower, name) for name in contents}).sections["differences"]
    assert "mean gain or loss of arp in those lists; lower is better." in told
    told = page(**{name: getattr(higher, name) for name in contents}).sections["differences"]
    assert "mean gain or loss of ndcg@10 in those lists." in told


def test_a_typical_list_is_of_common_length_and_near_the_middle(report, data):
    given = report(only=2)
    chosen = chosen_lists(given, leading(given))
    values = given.results["only"].values["ndcg@10"]
    assert [each.kind for each in chosen] == ["worse"] * 5 + ["better"] * 5 + ["typical"]
    assert chosen[0].value == np.nanmin(values) and np.isnan(chosen[0].before)
    typical = chosen[-1]
    assert typical.size >= np.median(data.sizes) and abs(typical.value - np.nanmedian(values)) < np.nanstd(values)
    assert len({each.number for each in chosen}) == 11


def test_a_list_as_both_rank_it(report, data):
    given = report(base=2, good=1)
    shown = shown_lists(given, leading(given))[0]
    rows = data.rows(shown.chosen.number)
    good, base = given.scores["good"][rows], given.scores["base"][rows]
    order = np.argsort(-good, kind="stable")
    for place, item in enumerate(shown.items):
        row = order[place]
        assert (item.rank, item.score, item.rival_score) == (place + 1, good[row], base[row])
        assert item.before == 1 + np.sum(base > base[row]) and item.label == data.labels[rows][row]
        assert item.length == item.label / data.labels.max()
    assert len(shown.items) == min(10, len(order))
    missed = {1 + place for place, row in enumerate(order) if place >= 10 and data.labels[rows][row] > 0}
    assert {item.rank for item in shown.lower} <= missed and len(shown.lower) == min(5, len(missed))
    assert [item.rank for item in shown.lower] == sorted(item.rank for item in shown.lower)


def test_a_list_that_the_rival_has_not_scored_shows_none_of_its_places(page, report, data):
    given = report(base=2, good=1)
    hole = given.scores["base"].copy()
    hole[data.rows(chosen_lists(given, leading(given))[-1].number)] = NAN
    words = {name: getattr(given, name) for name in ("dataset", "results", "comparisons")}
    scores = {**given.scores, "base": hole}
    *others, last = shown_lists(Report(title="T", summary="S", command="C", **words, scores=scores), leading(given))
    assert {item.before for item in last.items} == {None} and others[0].items[0].before >= 1
    assert "None" not in page(**words, scores=scores).sections["lists"]


def test_results_of_other_lists_are_refused(report, data):
    given = report(base=2, good=1)
    fewer = data.take(np.arange(20))
    words = {"title": "T", "summary": "S", "command": "C", "results": given.results}
    with pytest.raises(OptionError, match="results of base must have one value for each of the 20 lists"):
        Report(**words, dataset=fewer)


def test_the_features_shown_are_those_that_matter(report, data):
    given = report(base=2, good=1)
    known = Importance("gain", ("3", "made by a transform", "5", "1"), np.array([3.0, 9.0, 4.0, 1.0]))
    object.__setattr__(given, "importances", {"good": known})
    shown = shown_lists(given, leading(given))[0]
    assert shown.features == ["feature 5", "feature 3", "feature 1"]
    start = data.rows(shown.chosen.number).start
    order = np.argsort(-given.scores["good"][data.rows(shown.chosen.number)], kind="stable")
    np.testing.assert_array_equal(shown.items[0].features, data.features[start + order[0], [4, 2, 0]])
    rng = np.random.default_rng(1)
    values = rng.normal(size=(9, 3)).astype(np.float32)
    scores = -2 * values[:, 1] + 0.1 * rng.normal(size=9)
    expected = [abs(np.corrcoef(values[:, i], scores)[0, 1]) for i in range(3)]
    np.testing.assert_allclose(correlations(values, scores), expected, rtol=1e-5)
    np.testing.assert_allclose(correlations(values, 1e300 * scores), expected, rtol=1e-5)
    assert correlations(values[:, :0], scores).shape == (0,)


def test_lists_on_the_page(page, report, data):
    given = report(base=2, good=1)
    made = page(**{name: getattr(given, name) for name in ("dataset", "results", "comparisons", "scores")})
    without = page(**{name: getattr(given, name) for name in ("dataset", "results", "comparisons")})
    chosen = chosen_lists(given, leading(given))
    for each in (made, without):
        assert list_ids(each) == [f"list-{one.number}" for one in chosen]
        for one in chosen:
            summary = f"Query {one.query} ndcg@10 {one.before:.4f} → {one.value:.4f} List {one.number + 1}:"
            assert summary in each.sections["lists"]
    tables = [[each for each in one.all("table") if each["class"] == "ranking"] for one in (made, without)]
    assert [len(each) for each in tables] == [len(chosen), 0]


def list_ids(page):
    return [each["id"] for each in page.all("details") if each["class"] == "list"]


def test_one_ranker_has_no_losses_but_lists(page, report):
    given = report(only=1)
    made = page(**{name: getattr(given, name) for name in ("dataset", "results", "scores")})
    assert "differences" not in made.sections and "lowest and highest ndcg@10" in made.sections["lists"]
    assert "Was" not in made.sections["lists"]


def test_lists_that_nothing_scored(page, report, data):
    given = report(base=2, good=1)
    hole = given.scores["good"].copy()
    worst = chosen_lists(given, leading(given))[0].number
    hole[data.rows(worst).start] = NAN
    words = {name: getattr(given, name) for name in ("dataset", "results", "comparisons")}
    made = page(**words, scores={**given.scores, "good": hole})
    assert f"list-{worst}" in list_ids(made)
    assert "depth" in made.sections and "exposure" in made.sections


def test_depth_is_what_evaluate_says(report, data):
    given = report(base=2, good=1)
    metric, _, means = means_by_depth(given)
    assert metric == "ndcg" and len(means["good"]) == 20
    expected = evaluate(given.scores["good"], data, "ndcg@1, ndcg@3, ndcg@5, ndcg@10, ndcg@20", n_bootstrap=0)
    assert means["good"][[0, 2, 4, 9, 19]] == pytest.approx(list(expected.means.values()))
    drawn = depth(given).blocks[1]
    assert len(drawn.pictures) == 1 and not drawn.small
    drawn = depth(report(**{f"r{i}": 1 + i for i in range(5)})).blocks[1]
    assert len(drawn.pictures) == 5 and drawn.small
    assert means_by_depth(report(base=2, good=1, metrics="arp", compared=["arp"]))[0] == "ndcg"


def test_depth_counts_lists_as_the_results_do(data):
    scores, labels = np.arange(5.0), np.array([0, 1, 0, 0, 0.0])
    some = type(data)(np.zeros((5, 1)), labels, [0, 3, 5])
    results = {"a": evaluate(scores, some, "ndcg@2", empty=0, n_bootstrap=0)}
    words = {"title": "T", "summary": "S", "command": "C", "dataset": some}
    _, _, means = means_by_depth(Report(**words, results=results, scores={"a": scores}))
    assert len(means["a"]) == 3 and means["a"][2] == pytest.approx(0.5 / np.log2(3))


def test_a_measure_of_the_users_own_has_no_depth(page, results):
    own = {"a": results({"my own": (0.5, 0.4, 0.6)})}
    own["a"].values["my own"] = np.array([0.4, 0.6])
    made = page(results=own, scores={"a": np.arange(5.0)})
    assert "depth" not in made.sections and "lists" in made.sections


def test_exposure_of_the_leader_beside_the_rival(page, report, data, monkeypatch):
    given = report(base=9, good=0.1)
    found, n_sampled = leaders_exposure(given)
    assert (list(found), n_sampled) == (["good", "base"], 30)
    good, base = (each.by_grade[-1].sampled.of_exposure for each in found.values())
    assert good > base > 0
    made = page(**{name: getattr(given, name) for name in ("dataset", "results", "comparisons", "scores")})
    row = next(row for row in made.rows if row[0] == found["good"].by_grade[-1].name and len(row) == 8)
    assert row[4].startswith(share(good)) and row[5] == share(base)
    assert "sample" not in made.sections["exposure"].partition("averaged")[2].partition("±")[0]
    monkeypatch.setattr("luce.report.exposure.ITEMS", data.n_rows // 2)
    assert leaders_exposure(given)[1] == 10, "every third list: half of the rows and no more"
    made = page(**{name: getattr(given, name) for name in ("dataset", "results", "comparisons", "scores")})
    assert "in a sample of 10," in made.sections["exposure"]


def test_differences_by_rounding_are_no_wins():
    values = {"a": np.array([0.1 + 0.2, 0.5]), "b": np.array([0.3, 0.25])}
    results = {name: SimpleNamespace(values={"ndcg": each}) for name, each in values.items()}
    assert changes(SimpleNamespace(results=results), "ndcg", "a", "b").tolist() == [0, 0.25]


def test_depth_has_the_highest_grade_of_the_results(report, data):
    given = report(good=1, metrics="err", compared=[])
    high = evaluate(given.scores["good"], data, "err", max_grade=9, n_bootstrap=0)
    object.__setattr__(given, "results", {"good": high})
    expected = evaluate(given.scores["good"], data, "err@1", max_grade=9, n_bootstrap=0).means["err@1"]
    assert means_by_depth(given)[2]["good"][0] == pytest.approx(expected)


def test_merit_has_the_gain_of_the_results(report, data):
    given = report(good=1)
    linear = evaluate(given.scores["good"], data, "ndcg@10", gain="linear", n_bootstrap=0)
    object.__setattr__(given, "results", {"good": linear})
    expected = exposure_shares(given.scores["good"], data, gain="linear").by_grade
    found = leaders_exposure(given)[0]["good"].by_grade
    assert [row.of_merit for row in found] == [row.of_merit for row in expected]
