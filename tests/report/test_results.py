"""The section of results: the figures given are the figures shown."""

import math

import numpy as np
import pytest

from luce.metrics import Comparison, compare_results, evaluate
from luce.report import Cost, Report
from luce.report.results import headline, whiskers_of

NAN = math.nan


def bold(page):
    return [page.source.split("<strong>")[i + 1].partition("<")[0] for i in range(page.source.count("<strong>"))]


def compared(name, difference, p):
    """A comparison of 100 lists with "a", whose p-value after the correction is p."""
    return Comparison("ndcg", name, "a", 0.6, 0.5, difference, NAN, NAN, 0.95, 6, 4, 100, 0.5, 0.001, 0.5, p)


def test_means_intervals_and_counts_are_shown(page, results):
    first = results(
        {"ndcg@10": (0.51234, 0.5, 0.6), "arp": (12.5, 11.25, 13.75)}, 784, n_empty={"ndcg@10": 220, "arp": 0}
    )
    second = results(
        {"ndcg@10": (0.4, 0.3, 0.45678), "arp": (10.5, 9.0, 12.0)}, 784, n_empty={"ndcg@10": 220, "arp": 0}
    )
    made = page(results={"listmle": first, "file order": second})
    assert made.rows == [
        ["Ranker", "ndcg@10", "arp lower is better"],
        ["listmle", "0.5123 0.5000 to 0.6000", "12.5000 11.2500 to 13.7500"],
        ["file order", "0.4000 0.3000 to 0.4568", "10.5000 9.0000 to 12.0000"],
        ["Lists counted", "564 of 784", "784 of 784"],
    ]
    assert bold(made) == ["0.5123", "10.5000"]
    assert made.pictures[0] == (
        "ndcg@10, mean and 95 % interval of each ranker: "
        "listmle 0.5123, 0.5000 to 0.6000; file order 0.4000, 0.3000 to 0.4568."
    )


def test_equal_means_are_both_best(page, results):
    same = results({"ndcg": (0.5, 0.4, 0.6)})
    assert bold(page(results={"a": same, "b": same})) == ["0.5000", "0.5000"]


def test_one_ranker_is_not_called_the_best(page, results):
    made = page(results={"only": results({"ndcg": (0.5, 0.4, 0.6)})})
    assert bold(made) == [] and "in bold" not in made.sections["results"]


def test_means_that_are_not_there(page, results):
    nothing = results({"ndcg": (NAN, NAN, NAN)}, n_empty={"ndcg": 100})
    made = page(results={"a": nothing, "b": results({"err": (0.25, NAN, NAN)})})
    assert made.rows[1:] == [["a", "–", "–"], ["b", "–", "0.2500"], ["Lists counted", "0 of 100", "100 of 100"]]
    assert made.sections["results"].count("a: no value") == 2
    assert bold(made) == ["0.2500"]


def test_rankers_that_count_different_lists(page, results):
    one, other = (results({"ndcg": (0.5, 0.4, 0.6)}, n_empty={"ndcg": n}) for n in (3, 10))
    assert page(results={"a": one, "b": other}).rows[-1] == ["Lists counted", "90 to 97 of 100"]


def test_what_can_change_a_mean_is_noted(page, results):
    given = {"empty": 0, "n_empty": {"err": 7}, "gain": "linear", "max_grade": 4.0, "confidence": 0.9}
    made = page(results={"a": results({"err": (0.5, 0.4, 0.6)}, **given)})
    for note in ("90 % intervals", "(up to 7 lists) counts as 0", "The gain is linear", "a highest grade of 4"):
        assert note in made.sections["results"]
    assert made.rows[-1] == ["Lists counted", "100 of 100"]


def test_awkward_names_are_drawn(page, results):
    one = results({"ndcg": (0.5, 0.4, 0.6)})
    made = page(results={"日本語 $x_$ \\frac\x00\x1b": one, "two\nlines": one, "n" * 200: one})
    assert "two lines" in made.sections["results"] and "two lines 0.5" in made.pictures[0]
    assert f"{'n' * 22}…{'n' * 21}" in made.sections["results"]
    assert "日本語 $x_$ \\frac" in made.sections["results"]


def test_comparisons_against_the_baseline(page, lists):
    rng = np.random.default_rng(0)
    dataset = lists(rng.integers(0, 3, 140), [10] * 14)
    noise = rng.normal(size=140)
    measured = {name: evaluate(dataset.labels + size * noise, dataset, "ndcg") for name, size in [("a", 9), ("b", 0)]}
    (test,) = compare_results(measured, "ndcg")
    made = page(dataset=dataset, results=measured, comparisons={"ndcg": [test]})
    row = [
        "b",
        f"+{test.difference:.4f} {test.low:.4f} to {test.high:.4f}",
        f"{test.randomization_holm:.4f}",
        "<0.0001",
        "14",
    ]
    assert test.t_test_holm < 1e-4 < test.randomization_holm
    assert row in made.rows
    assert "Differences in ndcg from the baseline, a" in made.sections["results"]


def test_real_results_give_their_own_figures(contents):
    measured = evaluate(np.arange(5.0), contents["dataset"], "ndcg@1, mrr", n_bootstrap=50)
    given = Report(**contents, results={"a": measured})
    cells = [cell for metric in measured.means for cell in whiskers_of(given, metric)]
    assert [(cell.mean, (cell.low, cell.high)) for cell in cells] == list(
        zip(measured.means.values(), measured.intervals.values(), strict=True)
    )


def test_what_each_took_stands_beside_its_means(page, results):
    one = results({"ndcg": (0.5, 0.4, 0.6)})
    costs = {"a": Cost(75.2, 0.0421, 3.2e9), "b": Cost(4.0)}
    made = page(results={"a": one, "b": one, "random order": one}, costs=costs)
    assert made.rows[0] == ["Ranker", "ndcg", "Fit", "Rank", "Memory"]
    assert [row[2:] for row in made.rows[1:4]] == [["1 min 15 s", "42 ms", "3.2 GB"], ["4.0 s", "–", "–"], ["–"] * 3]
    assert page(results={"b": one}, costs={"b": Cost(4.0)}).rows[0] == ["Ranker", "ndcg", "Fit"]
    assert page(results={"b": one}).rows[0] == ["Ranker", "ndcg"]


def test_differences_beyond_chance_are_marked(page, results):
    measured = {name: results({"ndcg": (0.5, 0.4, 0.6), "arp": (9.0, 8.0, 10.0)}) for name in "abcd"}
    tests = [
        compared(name, difference, p)
        for name, difference, p in (("b", 0.1, 0.049), ("c", -0.1, 0.001), ("d", 0.3, 0.051))
    ]
    made = page(results=measured, comparisons={"ndcg": tests, "arp": tests})
    marks = {row[0]: ["".join(mark for mark in cell if mark in "▲▼") for cell in row[1:]] for row in made.rows[1:5]}
    assert marks == {"a": ["", ""], "b": ["▲", "▼"], "c": ["▼", "▲"], "d": ["", ""]}
    assert "▲ significantly better" in made.sections["results"]
    assert "▲" not in page(results=measured, comparisons={"ndcg": tests[2:]}).sections["results"]


@pytest.mark.parametrize(
    ("metric", "tests", "said"),
    [
        ("ndcg", [("b", 0.1, 0.2), ("c", -0.1, 0.3)], "b and c are not significantly different (p < 0.05"),
        ("ndcg", [("b", 0.1, 0.01), ("c", -0.1, 0.02)], "b is significantly better, and c is significantly worse (p"),
        ("arp", [("b", 0.1, 0.01), ("c", -0.1, 0.3)], "b is significantly worse, and c is not significantly different"),
    ],
)
def test_a_headline_says_what_the_tests_show(results, metric, tests, said):
    measured = {name: results({metric: (mean, 0.1, 0.9)}) for name, mean in (("a", 0.5), ("b", 0.6), ("c", 0.4))}
    text = headline(measured, metric, [compared(*test) for test in tests]).translate({0x2068: None, 0x2069: None})
    assert said in text and "best" not in text
    first = "b has the highest mean ndcg, 0.6000" if metric == "ndcg" else "c has the lowest mean arp, 0.4000"
    assert text.startswith(f"{first}. Compared with a (0.5000), ")


def test_a_headline_of_one_ranker_has_its_interval(page, results):
    one = {"a {b}": results({"ndcg": (0.5, 0.1, 0.9)})}
    made = page(results=one, summary=headline(one, "ndcg", ()))
    assert "<bdi>a {b}</bdi> has a mean ndcg of 0.5000 (95 % interval 0.1000 to 0.9000)." in made.source


def test_what_a_ranker_is_stands_below_its_name(page, results):
    one = results({"ndcg": (0.5, 0.4, 0.6)})
    made = page(results={"mine": one, "b": one}, origins={"mine": "scores in column bm25"})
    assert [row[0] for row in made.rows[1:3]] == ["mine scores in column bm25", "b"]


def test_many_metrics_and_comparisons_fold_away(page, results):
    names = [f"ndcg@{i}" for i in range(1, 7)]
    measured = {name: results(dict.fromkeys(names, (0.5, 0.4, 0.6))) for name in "ab"}
    tests = {metric: [compared("b", 0.1, 1.0)] for metric in names[:3]}
    made = page(results=measured, comparisons=tests)
    assert "Pictures of ndcg@5, ndcg@6" in made.sections["results"]
    assert "Differences in ndcg@2, ndcg@3 Differences in ndcg@2 from the baseline, a" in made.sections["results"]
    assert len(made.all("details")) == 2 and sum("interval of each ranker" in text for text in made.pictures) == 6
