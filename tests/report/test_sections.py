"""Learning, the ranked example and the data card: what each says of its contents, and of contents at the edge."""

import math

import numpy as np
import pytest
from scipy import sparse

from luce.data.ragged import Dataset
from luce.errors import DataError, OptionError
from luce.report import Example
from luce.report.data_card import binned

NAN, INF = math.nan, math.inf


def test_the_best_iteration_is_that_of_the_validation_metric(page):
    history = [{"iteration": i, "loss": 3.0 - i, "validation": v} for i, v in enumerate([0.1, 0.7, 0.7])]
    made = page(history=history, validation_metric="ndcg@10")
    assert "ran to iteration 2; ndcg@10 was best at iteration 1: 0.7000" in made.sections["learning"]
    assert made.pictures[:2] == [
        "loss by iteration: from 3.0000 at iteration 0 to 1.0000 at iteration 2; best iteration 1.",
        "ndcg@10 by iteration: from 0.1000 at iteration 0 to 0.7000 at iteration 2; best iteration 1.",
    ]
    assert "arp was best at iteration 0: 0.1000" in page(history=history, validation_metric="arp").sections["learning"]


def test_loss_decides_where_nothing_was_validated(page):
    made = page(history=[{"iteration": 10 * i, "loss": loss} for i, loss in enumerate([INF, 2.0, 2.5, NAN])])
    assert "ran to iteration 30; loss was best at iteration 10: 2.0000" in made.sections["learning"]
    assert len([text for text in made.pictures if "best iteration" in text]) == 1


def test_validation_measured_now_and_then(page):
    history = [{"iteration": 1, "loss": NAN}, {"iteration": 2, "loss": NAN, "validation": 0.25}]
    made = page(history=history, validation_metric="ndcg")
    assert "ndcg was best at iteration 2: 0.2500" in made.sections["learning"]
    assert "learning" not in page(history=[{"iteration": 1, "loss": NAN}]).sections


def test_history_without_a_loss_is_refused(page):
    with pytest.raises(OptionError, match=r"must hold 'iteration' and 'loss'. Got \{'loss': 1\}"):
        page(history=[{"loss": 1}])


def test_the_list_is_shown_as_ranked_beside_the_ideal(page, lists):
    dataset = lists([9, 0, 2, NAN, 1, 4], [1, 5], document_ids=["x", "a", "b", "c", "d", None], query_ids=["q1", "q2"])
    made = page(dataset=dataset, example=Example(1, [0, 3, 1, 3, -INF, 2], "listmle", depth=4))
    assert "Query q2 (list 1): the top 4 of its 5 items as ranked by listmle" in made.sections["example"]
    assert made.rows == [
        ["Rank", "Document", "Score", "Grade", "Ideal"],
        ["1", "a", "3.0000", "0", "4"],
        ["2", "c", "3.0000", "–", "2"],
        ["3", "row 5", "2.0000", "4", "1"],
        ["4", "b", "1.0000", "2", "0"],
    ]
    lengths = [float(bar["style"].partition(":")[2]) for bar in made.all("i")]
    assert lengths == pytest.approx([0, 4 / 9, 0, 2 / 9, 4 / 9, 1 / 9, 2 / 9, 0], abs=1e-4)


def test_all_of_a_short_list(page, lists):
    made = page(dataset=lists([1, -3]), example=Example(0, [-INF, 2]))
    assert "its 2 items" in made.sections["example"] and "the top" not in made.sections["example"]
    assert [row[1:] for row in made.rows[1:]] == [["row 1", "2.0000", "−3", "1"], ["row 0", "−∞", "1", "−3"]]
    assert [bar["style"] for bar in made.all("i")] == [
        f"--length: {n}" for n in ("0.0000", "1.0000", "1.0000", "0.0000")
    ]


def test_equal_scores_keep_the_order_of_rows_and_long_ids_are_cut(page, lists):
    ids = [f"{row:02d}{'x' * 200}" for row in range(60)]
    made = page(dataset=lists(np.ones(60), document_ids=ids), example=Example(0, np.arange(60) % 2, depth=60))
    assert [row[1] for row in made.rows[1:]] == [
        f"{row:02d}{'x' * 37}…" for row in [*range(1, 60, 2), *range(0, 60, 2)]
    ]


def test_an_example_with_no_items(page, lists):
    made = page(dataset=lists([1], [1, 0]), example=Example(1, [0.5]))
    assert "has no items" in made.sections["example"] and not made.all("table")


@pytest.mark.parametrize(
    ("example", "error", "text"),
    [
        (Example(-1, np.zeros(5)), OptionError, "Got -1 for a dataset of 2 lists"),
        (Example(0, np.zeros(5), depth=0), OptionError, "depth of the example must be an integer ≥ 1. Got 0"),
        (Example(0, np.zeros(4)), DataError, "scores of the example must have 5 entries. Got 4"),
        (Example(0, [0, 0, NAN, 0, 0]), DataError, "scores of the example must not be NaN"),
    ],
)
def test_examples_that_do_not_fit_are_refused(page, example, error, text):
    with pytest.raises(error, match=text):
        page(example=example)


def test_the_data_card(page, lists):
    features = np.arange(12.0).reshape(6, 2)
    features[[0, 3, 3], [0, 0, 1]] = NAN
    made = page(dataset=lists([0, 0, 0, 2, 1.5, NAN], [4, 0, 2], features=features))
    text = made.sections["data"]
    for fact in ("Lists 3", "Rows 6", "Features 2", "List length 0 to 4, median 2; 1 empty list", "Grades 0 to 2"):
        assert fact in text
    assert "Rows without a grade 1 (16.7 %)" in text and "Missing feature values 3 (25.0 %)" in text
    assert made.pictures == [
        "Rows by grade: 0 60.0 %, 1.5 20.0 %, 2 20.0 %.",
        "Lists by length: 0 33.3 %, 2 33.3 %, 4 33.3 %.",
    ]


def test_missing_values_of_sparse_features(page):
    stored = sparse.csr_array((np.array([NAN, 1.0]), ([0, 1], [2, 0])), shape=(2, 4))
    text = page(dataset=Dataset(stored, [1, 0], [0, 2])).sections["data"]
    assert "Features 4, sparse" in text and "Missing feature values 1 (12.5 %)" in text and "List length 2 " in text


def test_many_grades_become_a_histogram(page, lists):
    rng = np.random.default_rng(0)
    real = page(dataset=lists(rng.normal(size=3000), [10] * 300)).pictures
    assert real[0].startswith("Rows by grade: from −3.") and "most often" in real[0]


@pytest.mark.parametrize("low", [-7, 0, 3])
def test_whole_numbers_share_their_bins_evenly(low):
    counts, edges = binned(np.repeat(np.arange(low, low + 60.0), 2))
    assert counts.tolist() == [6] * 20
    assert edges[0] == low - 0.5 and edges[-1] == low + 59.5
    counts, edges = binned(np.array([*range(low, low + 61)]))
    assert counts.sum() == 61, "the last is counted"


@pytest.mark.parametrize("labels", [[NAN] * 12, [-1e308, 1e308, *range(10)], [1e17 + 16 * i for i in range(12)]])
def test_grades_that_no_axis_can_show_get_no_picture(page, lists, labels):
    made = page(dataset=lists(labels), example=Example(0, np.arange(12.0)))
    assert len(made.pictures) == 1 and made.pictures[0].startswith("Lists by length")


@pytest.mark.parametrize("n_lists", [0, 2])
def test_an_empty_dataset(page, n_lists):
    made = page(dataset=Dataset(np.zeros((0, 3)), [], np.zeros(n_lists + 1, dtype=np.int64)))
    assert f"Lists {n_lists} Rows 0 Features 3" in made.sections["data"]
    assert "Grades none Rows without a grade none Missing feature values none" in made.sections["data"]
    assert len(made.pictures) == (1 if n_lists else 0)
