"""Synthetic data: the shapes and the truth it promises."""

import numpy as np
import pytest

from luce.data.synthetic import web_search
from luce.data.transforms import apply_transforms, fit_transforms
from luce.errors import OptionError


def concordance(scores, dataset):
    """Of the pairs of a list with different labels, how many the scores put in the right order."""
    right = total = 0
    for q in range(dataset.n_lists):
        rows = dataset.rows(q)
        above = dataset.labels[rows, None] > dataset.labels[None, rows]
        right += ((scores[rows, None] > scores[None, rows]) & above).sum()
        total += above.sum()
    return right / total


def test_lists_are_shaped_like_web_search():
    data = web_search(n_lists=1_500, n_features=40, mean_length=40, seed=1).dataset
    shares = np.bincount(data.labels.astype(int), minlength=5) / data.n_rows
    assert np.abs(shares - [0.52, 0.32, 0.13, 0.02, 0.01]).max() < 0.02
    assert abs(data.sizes.mean() - 40) < 3
    assert data.sizes.min() >= 1
    assert data.sizes.max() > 4 * np.median(data.sizes)
    assert len(data.document_ids.unique()) == data.n_rows
    assert not np.isnan(data.features).any()
    within = np.array([np.ptp(data.features[data.rows(q)], axis=0) for q in range(100)])
    constant = (within == 0).all(axis=0)
    assert 1 <= constant.sum() <= 12
    assert np.ptp(data.features[:, constant], axis=0).min() > 0
    whole = (data.features == np.floor(data.features)).all(axis=0)
    heavy = data.features.max(axis=0) > 30 * np.median(np.abs(data.features), axis=0)
    zeros = (data.features == 0).mean(axis=0) > 0.3
    assert min(whole.sum(), (heavy & ~whole & ~zeros).sum(), (zeros & ~whole).sum()) >= 2
    assert web_search(n_lists=300, mean_length=2).dataset.sizes.min() == 1


def test_training_and_test_data_share_one_truth():
    train, test = web_search(400, 30, 30, seed=1).dataset, web_search(200, 30, 30, seed=2)
    chain = fit_transforms(["standardize"], train)
    features = apply_transforms(chain, train.features, train.offsets).astype(np.float64)
    weights = np.linalg.lstsq(features, train.labels - train.labels.mean(), rcond=None)[0]
    scores = apply_transforms(chain, test.dataset.features, test.dataset.offsets) @ weights
    linear, best = concordance(scores, test.dataset), concordance(test.truth, test.dataset)
    assert 0.65 < linear < best - 0.05
    assert best > 0.85
    elsewhere = web_search(200, 30, 30, seed=2, world_seed=1).dataset
    assert (
        concordance(apply_transforms(chain, elsewhere.features, elsewhere.offsets) @ weights, elsewhere) < linear - 0.05
    )


def test_the_seed_decides_and_noise_is_the_judges():
    one, same, other = (web_search(20, 10, 10, seed=seed) for seed in (3, 3, 4))
    assert np.array_equal(one.dataset.features, same.dataset.features)
    assert np.array_equal(one.dataset.labels, same.dataset.labels)
    assert np.array_equal(one.truth, same.truth)
    assert not np.array_equal(one.truth[:20], other.truth[:20])
    clear = web_search(50, 10, 20, noise=0)
    assert concordance(clear.truth, clear.dataset) == 1
    assert concordance(web_search(50, 10, 20, noise=2).truth, web_search(50, 10, 20, noise=2).dataset) < 0.9


def test_values_can_be_missing():
    data = web_search(100, 20, 30, missing=0.1).dataset
    assert abs(np.isnan(data.features).mean() - 0.1) < 0.01


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"n_lists": 0}, r"n_lists must be at least 1. Got 0"),
        ({"n_features": 0}, r"n_features must be at least 1. Got 0"),
        ({"mean_length": 0.5}, r"mean_length must be at least 1. Got 0.5"),
        ({"noise": -1}, r"noise must be at least 0. Got -1"),
        ({"seed": -1}, r"seed must be at least 0. Got -1"),
        ({"world_seed": -1}, r"world_seed must be at least 0. Got -1"),
        ({"missing": 1}, r"missing must be from 0 to below 1. Got 1"),
    ],
)
def test_impossible_wishes_are_refused(options, text):
    with pytest.raises(OptionError, match=text):
        web_search(**options)
