"""The data card: what it says of its contents, and of contents at the edge."""

import math

import numpy as np
import pytest
from scipy import sparse

from luce.data.ragged import Dataset
from luce.report.data_card import binned

NAN = math.nan


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


def test_features_that_may_give_the_label_away(page):
    data = {"features": [[1.0, 2.0], [3.0, 4.0]], "labels": [1, 0], "offsets": [0, 2]}
    assert "may give" not in page(dataset=Dataset(**data)).sections["data"]
    text = page(dataset=Dataset(**data, feature_names=("price", "click_count"))).sections["data"]
    assert "Features that may give the label away click_count " in text


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
    made = page(dataset=lists(labels))
    assert len(made.pictures) == 1 and made.pictures[0].startswith("Lists by length")


@pytest.mark.parametrize("n_lists", [0, 2])
def test_an_empty_dataset(page, n_lists):
    made = page(dataset=Dataset(np.zeros((0, 3)), [], np.zeros(n_lists + 1, dtype=np.int64)))
    assert f"Lists {n_lists} Rows 0 Features 3" in made.sections["data"]
    assert "Grades none Rows without a grade none Missing feature values none" in made.sections["data"]
    assert len(made.pictures) == (1 if n_lists else 0)
