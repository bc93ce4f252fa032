"""Every metric of the table is the sum over places that its form says, but for a constant a list."""

import numpy as np
import pytest

from luce.kernels.line_search import changes
from luce.metrics import METRICS as EVERY
from luce.metrics import measure, metric
from luce.metrics.places import places_of

METRICS = {name: record for name, record in EVERY.items() if not record.is_stochastic}
NAMES = [
    "rbp(p=0.5)",
    "ndcg(gain=linear)@3",
    "err(max_grade=6)@3",
    *METRICS,
    *(f"{name}@{k}" for name, one in METRICS.items() if one.takes_cutoff for k in (1, 3, 50)),
]


def made(seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 9, size=30)
    labels = rng.choice([-1.0, 0, 0, 1, 2, 3.5], size=sizes.sum())
    lines = rng.normal(size=(2, sizes.sum()))
    lines[:, rng.random(sizes.sum()) < 0.3] = 0.5  # equal scores for every t
    return *lines, labels, np.concatenate([[0], np.cumsum(sizes)])


@pytest.mark.parametrize("name", NAMES)
def test_steps_are_those_of_the_metric(name):
    heights, slopes, labels, offsets = made(len(name))
    places = places_of(metric(name), labels, offsets)
    ((times, sizes),) = changes(heights, slopes, offsets, places)
    moments = np.linspace(-3, 3, 25)
    sums = np.concatenate([[0.0], np.cumsum(sizes)])[np.searchsorted(times, moments)]
    values = [np.nansum(measure(heights + t * slopes, labels, offsets, name)[name]) for t in moments]
    np.testing.assert_allclose(np.diff(sums), np.diff(values), atol=1e-11)
    order_matters = np.abs(places.scales).max() > 1e-12  # not to precision without a cutoff, for one
    assert np.ptp(values) > 0.05 if order_matters else np.ptp(values) < 1e-12


@pytest.mark.parametrize("name", ["ndcg@3", "sharp-ndcg", "arp"])
def test_gains_of_any_size(name):
    labels, offsets = np.array([1500.0, 1499, 0, 3, 2, 0]), np.array([0, 3, 6])
    scales = places_of(metric(name), labels, offsets).scales
    assert np.isfinite(scales).all()
    assert scales.all()


@pytest.mark.parametrize("name", ["ndcg", "kendall-tau", "hit@5", "map"])
def test_no_scale_where_no_order_is_better(name):
    labels, offsets = np.array([2.0, 2, 0, 0, 1, 0, 0, 1]), np.array([0, 2, 4, 4, 5, 8])
    scales = places_of(metric(name), labels, offsets).scales
    np.testing.assert_array_equal(scales != 0, [False] * 4 + [name != "hit@5"])
