"""The dataset: checked once, frozen, and the same lists after taking and joining."""

import warnings

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

from luce.data import Dataset, concatenate
from luce.errors import DataError, LuceWarning


def small(**changes):
    given = {
        "features": [[0.5, 1], [np.nan, 2], [0.1, 3], [0, 4]],
        "labels": [2, np.nan, 0.5, -1],
        "offsets": [0, 2, 2, 4],
        "query_ids": ["a", "b", "c"],
        "document_ids": ["d1", "d2", "d3", "d4"],
        "item_weights": [1, 2, 3, 4],
        "list_weights": [1, 0, 2],
        "feature_names": ["x", "y"],
    }
    return Dataset(**{**given, **changes})


def test_a_dataset_holds_what_it_was_given():
    data = small()
    assert (data.n_rows, data.n_lists, data.n_features) == (4, 3, 2)
    assert data.features.dtype == np.float32
    assert data.labels.dtype == data.item_weights.dtype == data.list_weights.dtype == np.float64
    assert data.offsets.dtype == np.int64
    assert data.sizes.tolist() == [2, 0, 2]
    assert data.rows(2) == slice(2, 4)
    assert data.feature_names == ("x", "y")
    assert [data.feature_name(column) for column in (0, 1)] == ["x", "y"]
    assert small(feature_names=None).feature_name(1) == "2"
    assert repr(data) == "Dataset(4 rows, 3 lists, 2 features, labels -1 to 2)"
    assert repr(small(labels=[np.nan] * 4)) == "Dataset(4 rows, 3 lists, 2 features, no labels)"


def test_no_array_of_a_dataset_can_be_changed_and_the_given_one_stays_writable():
    given = np.zeros((2, 1), dtype=np.float32)
    data = Dataset(given, [0, 1], [0, 2], item_weights=[1, 1], list_weights=[1])
    for array in (data.features, data.labels, data.offsets, data.item_weights, data.list_weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        data.labels = None
    given[0] = 1  # ours to change; nothing was copied
    assert data.features[0, 0] == 1


def test_ids_are_integers_or_strings():
    assert small(query_ids=None).query_ids.to_pylist() == [1, 2, 3]
    assert small(query_ids=np.array([5, 4, 9], dtype=np.int32)).query_ids.type == pa.int64()
    assert small(query_ids=pa.chunked_array([["a"], ["b", "c"]])).query_ids.to_pylist() == ["a", "b", "c"]
    with pytest.raises(DataError, match="query_ids must be all integers or all strings"):
        small(query_ids=["a", 2, 3])
    with pytest.raises(DataError, match=r"query_ids must have 3 entries. Got 2"):
        small(query_ids=["a", "b"])
    with pytest.raises(DataError, match=r"document_ids must have 4 entries. Got 1"):
        small(document_ids=["a"])


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (
            {"labels": [0, 1, np.inf, 0]},
            "labels must be finite, or NaN where not observed. Got an infinite value at row 3",
        ),
        ({"labels": [0, 1]}, "labels must have 4 entries. Got 2"),
        ({"labels": ["a", "b", "c", "d"]}, "labels must be numbers"),
        ({"features": [[1, 2], [1, -np.inf], [1, 2], [1, 2]]}, "features must be finite.*at row 2"),
        ({"features": [[1e39, 2]] * 4}, "features must be finite.*at row 1"),
        ({"features": [1, 2, 3, 4]}, r"two-dimensional, rows by features. Got shape \(4,\)"),
        ({"features": [[1], [1, 2], [1], [1]]}, "numbers in a table of one shape"),
        ({"features": [["a", "b"]] * 4}, "numbers in a table of one shape"),
        ({"item_weights": [1, 1, -1, 1]}, "item_weights must be finite and not negative. Got -1.0 at position 3"),
        ({"item_weights": [1, 1, np.nan, 1]}, "item_weights must not be NaN"),
        ({"list_weights": [1, np.inf, 1]}, "list_weights must be finite and not negative. Got inf at position 2"),
        ({"feature_names": ["x"]}, "feature_names must have 2 entries. Got 1"),
        ({"feature_names": ["x", "x"]}, "feature_names must differ from each other. Got 'x' twice"),
        ({"offsets": [0, 2, 4]}, "query_ids must have 2 entries. Got 3"),
    ],
)
def test_what_does_not_fit_is_refused(changes, text):
    with pytest.raises(DataError, match=text):
        small(**changes)


def test_an_infinite_sparse_feature_is_refused():
    with pytest.raises(DataError, match="features must be finite"):
        Dataset(sparse.csr_array([[0, np.inf]]), [1], [0, 1])


def test_sparse_features_become_csr_with_each_entry_once():
    values, columns = np.array([1, 4, 2], dtype=np.float32), np.array([2, 0, 2])
    twice = sparse.csr_array((values, columns, [0, 3, 3]), shape=(2, 3))
    data = Dataset(twice, [0, 1], [0, 2])
    assert data.is_sparse
    assert data.features.indices.tolist() == [0, 2]
    assert (values.tolist(), columns.tolist()) == ([1, 4, 2], [2, 0, 2])
    assert data.features.format == "csr"
    assert data.features.dtype == np.float32
    assert data.features.data.tolist() == [4, 3]
    assert repr(data).endswith("sparse)")


def test_observed_leaves_out_items_without_a_label_and_lists_without_items():
    data = Dataset(
        np.arange(6)[:, None],
        labels=[np.nan, 1, np.nan, np.nan, 0, 2],
        offsets=[0, 2, 4, 4, 6],
        query_ids=["a", "b", "c", "d"],
        item_weights=np.arange(1, 7),
        list_weights=[1, 2, 3, 4],
    )
    kept = data.observed()
    assert kept.features[:, 0].tolist() == [1, 4, 5]
    assert (kept.labels.tolist(), kept.offsets.tolist()) == ([1, 0, 2], [0, 1, 3])
    assert (kept.query_ids.to_pylist(), kept.list_weights.tolist()) == (["a", "d"], [1, 4])
    assert kept.item_weights.tolist() == [2, 5, 6]
    assert kept.observed() is kept


def test_take_gives_whole_lists_in_the_order_asked_for():
    part = small().take([2, 0])
    assert part.query_ids.to_pylist() == ["c", "a"]
    assert part.document_ids.to_pylist() == ["d3", "d4", "d1", "d2"]
    assert part.offsets.tolist() == [0, 2, 4]
    assert part.item_weights.tolist() == [3, 4, 1, 2]
    assert part.list_weights.tolist() == [2, 1]
    assert np.array_equal(part.labels, [0.5, -1, 2, np.nan], equal_nan=True)
    assert part.features[:, 1].tolist() == [3, 4, 1, 2]
    assert part.feature_names == ("x", "y")
    assert not part.features.flags.writeable


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_concatenate_puts_lists_one_after_the_other(kind):
    data = small(features=kind(np.arange(8, dtype=np.float32).reshape(4, 2)))
    lists = [data.take([0]), data.take([1]), data.take([2])]
    whole = concatenate(lists)
    for name in ("offsets", "item_weights", "list_weights"):
        assert np.array_equal(getattr(whole, name), getattr(data, name))
    assert np.array_equal(whole.labels, data.labels, equal_nan=True)
    assert whole.query_ids.equals(data.query_ids)
    assert whole.document_ids.equals(data.document_ids)
    assert whole.is_sparse == data.is_sparse
    assert (whole.features != data.features).sum() == 0


def test_concatenate_joins_ids_of_two_kinds_and_drops_weights_that_only_some_have():
    whole = concatenate([small(), small(query_ids=[1, 2, 3], item_weights=None)])
    assert whole.query_ids.to_pylist() == ["a", "b", "c", "1", "2", "3"]
    assert whole.item_weights is None
    assert whole.list_weights.tolist() == [1, 0, 2, 1, 0, 2]
    with pytest.raises(DataError, match="must have the same features"):
        concatenate([small(), small(feature_names=["x", "z"])])


@pytest.mark.parametrize(
    ("labels", "offsets", "warns"),
    [
        ([2, 1, 3, 1, 2], [0, 3, 5], True),
        ([2, 1, 3, 1, 2], [0, 3, 3, 5], True),
        ([2, 1, 3, 0, 1], [0, 3, 5], False),
        ([1, 1, 3, 1, 2], [0, 3, 5], False),
        ([1, 2, 1], [0, 2, 3], False),
        ([], [0], False),
    ],
)
def test_labels_that_look_like_ranks_are_warned_of(labels, offsets, warns):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Dataset(np.zeros((len(labels), 1)), labels, offsets)
    assert [warning.category for warning in caught] == [LuceWarning] * warns
    assert not warns or "as ranks are" in str(caught[0].message)
    assert not warns or caught[0].filename == __file__


def test_other_features_leave_the_lists_alone():
    data = small()
    other = data.with_features(np.zeros((4, 3)), ["a", "b", "c"])
    assert other.feature_names == ("a", "b", "c")
    assert other.query_ids is data.query_ids or other.query_ids.equals(data.query_ids)
    assert np.array_equal(other.labels, data.labels, equal_nan=True)
    with pytest.raises(DataError, match=r"features must have 4 rows. Got 3"):
        data.with_features(np.zeros((3, 3)))


def test_query_ids_must_be_there():
    with pytest.raises(DataError, match=r"query_ids must not be missing\. Got 1 null"):
        Dataset([[1.0], [2.0]], [0, 1], [0, 1, 2], query_ids=["a", None])
