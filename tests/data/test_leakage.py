"""Features that give the label away are found by name and by value, and others are left alone."""

import numpy as np
import pytest
from scipy import sparse

from luce.data import Dataset, leakage
from luce.data.leakage import suspicious_features, suspicious_name
from luce.data.synthetic import web_search

LABELS, POSITION, ID = "as the labels do", "as a position does", "as an id or a row number does"


def lists(**columns):
    """Forty lists of 3 to 12 items; the columns are functions of the labels and the offsets."""
    random = np.random.default_rng(3)
    offsets = np.concatenate([[0], np.cumsum(random.integers(3, 13, 40))])
    labels = random.integers(0, 4, offsets[-1]).astype(float)
    values = {name: make(labels, offsets) for name, make in columns.items()}
    return Dataset(np.column_stack(list(values.values())), labels, offsets, feature_names=tuple(values))


def within(offsets):
    """0…n − 1 in each list."""
    return np.arange(offsets[-1]) - np.repeat(offsets[:-1], np.diff(offsets))


def noise(seed):
    return lambda labels, offsets: np.random.default_rng(seed).normal(size=len(labels))


PLANTED = {
    "same": (lambda labels, offsets: labels, LABELS),
    "reverse": (lambda labels, offsets: 5 - 2 * labels, LABELS),
    "finer": (lambda labels, offsets: labels + noise(1)(labels, offsets).clip(-2, 2) / 10, LABELS),
    "first": (lambda labels, offsets: within(offsets), POSITION),
    "backwards": (lambda labels, offsets: np.repeat(np.diff(offsets), np.diff(offsets)) - within(offsets), POSITION),
    "number": (lambda labels, offsets: np.arange(len(labels)), ID),
    "time": (lambda labels, offsets: 1.7e9 - 300.0 * np.arange(len(labels)), ID),
    "scattered": (lambda labels, offsets: np.random.default_rng(1).permutation(2 * len(labels))[: len(labels)], ID),
}  # fmt: skip

HARMLESS = {
    "noise": noise(2),
    "strong": lambda labels, offsets: labels + noise(4)(labels, offsets) / 2,
    "tied": lambda labels, offsets: labels > 1,
    "count": lambda labels, offsets: np.random.default_rng(1).integers(0, 1000, len(labels)),
    "bytes": lambda labels, offsets: 15_401 * np.random.default_rng(1).permutation(1000)[: len(labels)],
    "sorted": lambda labels, offsets: np.sort(noise(1)(labels, offsets).reshape(-1)) % 1,
    "sorted within": lambda labels, offsets: 2.5 * within(offsets),
    "constant": lambda labels, offsets: np.ones(len(labels)),
    "of the query": lambda labels, offsets: np.repeat(np.arange(len(offsets) - 1), np.diff(offsets)),
    "missing": lambda labels, offsets: np.full(len(labels), np.nan),
    "partly": lambda labels, offsets: np.where(np.arange(len(labels)) % 3, labels, np.nan),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_feature_is_found_by_its_values(name):
    make, reason = PLANTED[name]
    data = lists(noise=noise(2), feature=make)
    found = suspicious_features(data)
    assert [each.name for each in found] == ["feature"]
    assert found[0].reason.endswith(reason)
    assert suspicious_features(data.take(np.arange(5))) == []


@pytest.mark.parametrize("name", HARMLESS)
def test_other_values_raise_no_alarm(name):
    assert suspicious_features(lists(noise=noise(3), feature=HARMLESS[name])) == []


def test_values_of_sparse_features_and_missing_labels_are_looked_at():
    data = lists(noise=noise(2), feature=PLANTED["same"][0])
    labels = np.where(np.arange(data.n_rows) % 4, data.labels, np.nan)
    data = Dataset(sparse.csr_array(data.features), labels, data.offsets)
    assert [each.name for each in suspicious_features(data)] == ["2"]


def test_a_large_dataset_is_sampled(monkeypatch):
    data = lists(noise=noise(2), feature=PLANTED["number"][0])
    monkeypatch.setattr(leakage, "MOST_LISTS", 12)
    monkeypatch.setattr(leakage, "MOST_ITEMS", 4)
    sampled = leakage._some_lists(data)
    assert (len(sampled), sampled[0], sampled[-1]) == (12, 0, 39)
    monkeypatch.setattr(leakage, "LEAST_ROWS", 50)
    assert [each.name for each in suspicious_features(data)] == ["feature"]
    monkeypatch.setattr(leakage, "MOST_VALUES", 30)
    assert suspicious_features(data) == []


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "shape", [{}, {"n_features": 5, "noise": 0.0}, {"mean_length": 3, "n_features": 20}, {"missing": 0.2}]
)
def test_synthetic_data_raise_no_alarm(shape, seed):
    data = web_search(100, **{"n_features": 40, "mean_length": 20} | shape, seed=seed, world_seed=seed).dataset
    assert suspicious_features(data) == []


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        ("click_count nClicks clicked CTR url.impressions dwell_time booking_bool purchased", "recorded after"),
        ("position item_pos rank serpRank", "position in a ranking"),
        ("timestamp event-time date release_date time", "date or time"),
        ("id doc_id userID session uuid search.ids", "an id"),
        ("label relevance_label target Grade relevance human_judgment", "a label"),
    ],
)
def test_suspicious_names(names, reason):
    assert [reason in (suspicious_name(name) or "") for name in names.split()] == [True] * len(names.split())


def test_harmless_names():
    names = "price rating age page_rank PageRank bm25 update_rate composition width humid load_time positive idf"
    names += " relevance_score ranker_version sessions_per_day identity 17"
    assert [name for name in names.split() if suspicious_name(name)] == []


def test_numbered_features_have_no_names():
    assert suspicious_features(Dataset([[1.0], [2.0]], [0, 1], [0, 2])) == []
    named = Dataset([[1.0], [2.0]], [0, 1], [0, 2], feature_names=("click",))
    assert [each.name for each in suspicious_features(named)] == ["click"]
