"""Coordinate ascent: it never falls, takes the exact best of each line, and repeats to the bit."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from luce.arrays import offsets_of_sizes, read_only, rows_of_lists
from luce.errors import DataError
from luce.metrics import METRICS, measure, metric
from luce.optimizers.coordinate_ascent import _Problem, maximize
from luce.threads import SMALL

NAMES = [*(name for name in METRICS if not METRICS[name].is_stochastic), "ndcg@3", "err@2", "map@3", "hit@1"]


def never(*step):
    return False


def made(seed=0, n_lists=25, n_features=4, longest=9):
    """Features that say something of the labels; some rows of a list are the same."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, longest + 1, size=n_lists)
    labels = rng.choice([0.0, 0, 1, 2, 4], size=sizes.sum())
    features = rng.normal(size=(sizes.sum(), n_features)) + 0.3 * labels[:, None] * rng.random(n_features)
    features[rng.random(sizes.sum()) < 0.2] = 0.25
    return read_only(features.astype(np.float32)), read_only(labels), read_only(np.concatenate([[0], np.cumsum(sizes)]))


def run(features, labels, offsets, name="ndcg@10", start=None, **settings):
    settings = {"restarts": 0, "max_sweeps": 3, "tol": 0.0, "seed": 1, "watch": never, **settings}
    start = np.linspace(-1, 1, features.shape[1]) if start is None else start
    return maximize(features, labels, offsets, name, start, **settings)


def mean(features, labels, offsets, name, weights):
    return np.nanmean(measure(np.asarray(features, dtype=np.float64) @ weights, labels, offsets, name)[name])


@pytest.mark.parametrize("name", NAMES)
def test_never_falls(name):
    data, start = made(), np.linspace(-1, 1, 4)
    seen = []
    weights = run(*data, name, start, max_sweeps=6, watch=lambda *step: seen.append(step) or False)
    values = [mean(*data, name, start), *(value for _, value, _ in seen)]
    rises = np.diff(values) * (1 if metric(name).higher_is_better else -1)
    assert (rises >= 0).all()
    assert rises[0] > 0 or name in ("precision", "recall", "hit")
    assert mean(*data, name, weights) == pytest.approx(values[-1], abs=1e-12)
    assert [step[0] for step in seen] == list(range(1, len(seen) + 1))


@pytest.mark.parametrize("name", ["ndcg@3", "err", "map", "mrr", "arp", "kendall-tau"])
@pytest.mark.parametrize("seed", range(4))
def test_one_move_is_as_good_as_every_interval_looked_at(seed, name):
    features, labels, offsets = made(seed, n_lists=5, n_features=2, longest=6)
    task = _Problem(features, labels, offsets, metric(name), None, None)
    before = task.point(np.array([1.0, 0.3]))
    moved = task.improve(before, 1)
    x, y = features.T.astype(np.float64)
    times = [
        (x[i] - x[j]) / (y[j] - y[i])
        for a, b in itertools.pairwise(offsets)
        for i, j in itertools.combinations(range(a, b), 2)
        if y[i] != y[j]
    ]
    ends = np.unique([*times, min(times) - 1, max(times) + 1])
    values = [mean(features, labels, offsets, name, np.array([1.0, t])) for t in (ends[1:] + ends[:-1]) / 2]
    assert moved.weights[0] == 1
    assert mean(features, labels, offsets, name, moved.weights) == pytest.approx(metric(name).best(values), abs=1e-12)
    assert task.improve(moved, 1) is moved


@pytest.mark.parametrize("name", ["ndcg@10", "err", "kendall-tau", "arp"])
def test_finds_a_planted_order(name):
    rng = np.random.default_rng(3)
    features = rng.normal(size=(400, 5)).astype(np.float32)
    offsets = np.arange(0, 401, 20)
    hidden = features @ np.array([1.0, -2, 0.5, 0, 3])
    labels = np.concatenate([np.argsort(np.argsort(part)) // 5 for part in np.split(hidden, 20)]).astype(float)
    weights = run(features, labels, offsets, name, np.full(5, 0.2), max_sweeps=25, restarts=2)
    best = mean(hidden[:, None], labels, offsets, name, np.ones(1))
    assert mean(features, labels, offsets, name, weights) == pytest.approx(best, rel=0.003)
    start = mean(features, labels, offsets, name, np.full(5, 0.2))
    assert abs(start - best) > 0.1


def test_repeats_to_the_bit_on_any_number_of_threads():
    data = made(n_lists=600, n_features=3, longest=30)
    assert len(data[1]) > SMALL
    first = run(*data, restarts=1, max_sweeps=2, n_jobs=1)
    np.testing.assert_array_equal(first, run(*data, restarts=1, max_sweeps=2, n_jobs=1))
    np.testing.assert_array_equal(first, run(*data, restarts=1, max_sweeps=2, n_jobs=3))
    assert (first != run(*data, restarts=1, seed=2)).any()


def test_the_best_of_all_climbs_is_returned():
    data, seen = made(seed=6, n_features=8), []  # a seed with which one climb ends clearly above all others
    weights = run(*data, restarts=4, watch=lambda *step: seen.append(step) or False)
    best = max(seen, key=lambda step: step[1])
    np.testing.assert_array_equal(weights, best[2])
    assert best[1] > run_value(data) + 0.01
    assert 5 < len(seen) <= 15


def run_value(data):
    return mean(*data, "ndcg@10", run(*data))


def test_the_watcher_ends_it():
    seen = []
    run(*made(), restarts=3, watch=lambda sweep, *rest: seen.append(sweep) or sweep == 2)
    assert seen == [1, 2]


def test_ends_where_a_sweep_brings_little():
    data, seen = made(n_lists=60, n_features=8), []
    run(*data, max_sweeps=50, watch=lambda *step: seen.append(step[1]) or False)
    assert 3 <= len(seen) < 50
    assert seen[-1] == seen[-2]
    coarse = []
    run(*data, max_sweeps=50, tol=0.5, watch=lambda *step: coarse.append(step[1]) or False)
    assert len(coarse) == 1


def test_no_sweeps_give_the_start():
    start = np.array([0.5, -1, 2, 0])
    found = run(*made(), start=start, max_sweeps=0)
    np.testing.assert_array_equal(found, start)
    assert found is not start


def test_a_feature_that_is_constant_within_lists_stays():
    features, labels, offsets = made()
    features = features.copy()
    features[:, 2] = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    features[:, 1] = 0
    weights = run(features, labels, offsets, start=np.array([0.1, 0.2, 0.3, 0.4]))
    assert weights[1] == 0.2
    assert weights[2] == 0.3
    assert weights[3] != 0.4


def test_starts_from_nothing():
    data = made()
    weights = run(*data, start=np.zeros(4))
    assert mean(*data, "ndcg@10", weights) > mean(*data, "ndcg@10", np.zeros(4)) + 0.05


def test_equal_scores_stay_where_they_are_best():
    features = np.array([[-1], [0], [1]] * 4 + [[0], [1]], dtype=np.float32)
    labels = np.array([0.0, 1, 0] * 4 + [0, 1])
    seen = []
    settings = {"start": np.zeros(1), "watch": lambda *step: seen.append(step) or False}
    run(features, labels, np.array([0, 3, 6, 9, 12, 14]), "mrr", **settings)
    # 1/rank is 11/18 in the first four lists and 3/4 in the last; a weight above zero would make it 1/2 and 1.
    assert seen == [(1, pytest.approx((4 * 11 / 18 + 3 / 4) / 5), 0)]


def test_unlabelled_items_and_empty_lists_do_not_matter():
    features, labels, offsets = made()
    wanted = run(features, labels, offsets)
    rows = np.repeat(np.arange(len(labels)), 2)
    doubled = np.where(np.arange(len(rows)) % 2, np.nan, labels[rows])
    noise = features[rows] + np.isnan(doubled)[:, None].astype(np.float32)
    more = np.concatenate([2 * offsets, [2 * offsets[-1] + 3]])  # and a list with nothing to measure
    found = run(np.vstack([noise, np.eye(3, 4, dtype=np.float32)]), np.concatenate([doubled, [0, 0, 0]]), more)
    np.testing.assert_array_equal(found, wanted)


def test_weights_of_lists_are_repetitions():
    features, labels, offsets = made()
    list_weights = np.arange(len(offsets) - 1) % 3.0
    lists = np.repeat(np.arange(len(offsets) - 1), list_weights.astype(int))
    rows = rows_of_lists(offsets, lists)
    repeated = features[rows], labels[rows], offsets_of_sizes(np.diff(offsets)[lists])
    found = run(features, labels, offsets, list_weights=list_weights)
    assert mean(*repeated, "ndcg@10", found) == pytest.approx(run_value(repeated), abs=1e-12)
    assert (found != run(features, labels, offsets)).any()


def test_sparse_features():
    features, labels, offsets = made(n_lists=60)
    features = np.where(np.abs(features) < 0.7, 0, features)
    weights = run(features, labels, offsets)
    np.testing.assert_allclose(run(sparse.csr_array(features), labels, offsets), weights, rtol=1e-12)


def test_bad_input():
    features, labels, offsets = made()
    with pytest.raises(DataError, match=r"ndcg@10 is undefined for every list"):
        run(features, np.zeros(len(labels)), offsets)
    with pytest.raises(DataError, match="start must have 4 entries"):
        run(features, labels, offsets, start=np.zeros(3))
    holes = features.copy()
    holes[5, 2] = np.nan
    with pytest.raises(DataError, match="finite features without missing values"):
        run(holes, labels, offsets)
