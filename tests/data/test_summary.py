"""What a model file says of data: checked against counts by hand, of several machines, and from a file."""

import numpy as np
import pytest
from scipy import sparse

from luce.data.fingerprint import fingerprint
from luce.data.ragged import BLOCK, Dataset
from luce.data.summary import checked_summary, joined, summarize
from luce.data.synthetic import tagged_documents, web_search

NAN = np.nan


def test_the_facts():
    features = [[1.0, 5, NAN, 0], [2, 5, NAN, 0], [1, 5, NAN, NAN], [1, 5, NAN, 0]]
    names = ("a", "five", "gone", "zero or gone")
    data = Dataset(features, [0, 1.5, NAN, 0], [0, 1, 1, 4], feature_names=names)
    assert summarize(data) == {
        "lists": 3,
        "rows": 4,
        "features": 4,
        "list_lengths": {"least": 0, "median": 1.0, "most": 3},
        "labels": {"0": 2, "1.5": 1},
        "rows_without_label": 1,
        "missing_values": 5,
        "constant_features": 2,
        "constant_feature_names": ["five", "gone"],
        "fingerprint": fingerprint(data),
    }


def test_a_feature_that_varies_only_in_a_later_block():
    n = BLOCK + 2
    features = np.zeros((n, 2), np.float32)
    features[-1, 0] = 1
    found = summarize(Dataset(features, np.zeros(n), [0, n]))
    assert found["constant_feature_names"] == ["2"] and found["labels"] == {"0": n}


def test_many_labels_no_labels_no_rows_and_sparse_features():
    spread = summarize(Dataset(np.ones((30, 1)), np.arange(30), [0, 30]))
    assert spread["labels"] == {"least": 0.0, "median": 14.5, "most": 29.0}
    unlabeled = summarize(Dataset([[1.0]], [NAN], [0, 1]))
    assert unlabeled["labels"] == {} and unlabeled["rows_without_label"] == 1
    empty = summarize(Dataset(np.zeros((0, 2)), [], [0]))
    assert empty["list_lengths"] == {} and empty["constant_features"] == 0
    stored = sparse.csr_array((np.array([NAN, 1.0]), ([0, 1], [2, 0])), shape=(2, 4))
    thin = summarize(Dataset(stored, [1, 0], [0, 2]))
    assert (thin["missing_values"], thin["constant_features"], thin["constant_feature_names"]) == (1, None, [])


def test_shards_join_to_the_facts_of_the_whole():
    data = web_search(12, n_features=3, mean_length=6, seed=0, missing=0.1).dataset
    whole, found = summarize(data), joined([summarize(data.take(np.arange(*ends))) for ends in ((0, 5), (5, 12))])
    for name in ("lists", "rows", "features", "labels", "rows_without_label", "missing_values"):
        assert found[name] == whole[name], name
    assert found["list_lengths"] == {name: whole["list_lengths"][name] for name in ("least", "most")}
    assert found["fingerprint"] != whole["fingerprint"] and checked_summary(found) == found
    counts, many = Dataset([[1.0]] * 2, [7, 99], [0, 2]), Dataset(np.ones((30, 1)), np.arange(30), [0, 30])
    assert joined([summarize(counts), summarize(many)])["labels"] == {"least": 0.0, "most": 99.0}


@pytest.mark.parametrize("data", [web_search(5, n_features=3, seed=0).dataset, tagged_documents(20)])
def test_facts_from_a_file_are_checked(data):
    found = summarize(data)
    assert checked_summary(found | {"from elsewhere": 1}) == found and checked_summary(None) is None
    wrong = {"rows": -1, "features": 1.5, "fingerprint": 7}
    wrong |= {"labels": {"red": 1}, "lists": "5"} if "lists" in found else {"labels_per_row": {"most": "9"}}
    for name, value in wrong.items():
        with pytest.raises((ValueError, TypeError)):
            checked_summary(found | {name: value})
    for name in found:
        with pytest.raises((KeyError, ValueError)):
            checked_summary({key: value for key, value in found.items() if key != name})
