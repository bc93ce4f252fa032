"""Second-order products: those chosen are those whose correlation, computed one by one, passes the threshold."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from luce.data import Dataset
from luce.data.transforms import (
    SecondOrder,
    apply_transforms,
    base,
    feature_products,
    fit_transforms,
    transformed_names,
)
from luce.errors import DataError, LuceWarning, OptionError


def judged(n_rows=400, n_features=6, seed=0, missing=0.0):
    random = np.random.default_rng(seed)
    features = random.normal(size=(n_rows, n_features)).astype(np.float32)
    truth = features[:, 0] * features[:, 1] + features[:, 3] ** 2 + 0.5 * features[:, 4] * features[:, 5]
    features[:, 2] = 0  # constant: so is its every product with a number
    features[random.random(features.shape) < missing] = np.nan
    labels = np.rint(truth + random.normal(size=n_rows))
    labels[::9] = np.nan
    return Dataset(features, labels, [0, n_rows // 2, n_rows])


def all_correlations(features, labels):
    """Pearson's r of each product with the label, one pair at a time."""
    features = np.asarray(features, dtype=np.float64)
    result = {}
    for i in range(features.shape[1]):
        for j in range(i, features.shape[1]):
            product = features[:, i] * features[:, j]
            rows = ~np.isnan(product) & ~np.isnan(labels)
            varies = rows.sum() > 1 and np.ptp(product[rows]) > 0 and np.ptp(labels[rows]) > 0
            result[i, j] = np.corrcoef(product[rows], labels[rows])[0, 1] if varies else 0.0
    return result


def chosen(fitted):
    pairs = zip(fitted.left.tolist(), fitted.right.tolist(), strict=True)
    return dict(zip(pairs, fitted.correlations.tolist(), strict=True))


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("threshold", [0, 0.05, 0.15, 0.3])
def test_the_products_that_pass_are_kept(missing, threshold):
    data = judged(missing=missing)
    expected = {pair: r for pair, r in all_correlations(data.features, data.labels).items() if abs(r) > threshold}
    found = chosen(SecondOrder(threshold).fit(data))
    assert list(found) == sorted(expected)
    assert all(abs(found[pair] - expected[pair]) < 1e-12 for pair in expected)
    assert threshold > 0.3 or {(0, 1), (3, 3)} <= set(found)


def test_tiles_blocks_pieces_and_threads_change_nothing(monkeypatch):
    data = judged(missing=0.1)
    before = fit_transforms(["standardize"], data)
    expected = chosen(SecondOrder(0.1).fit(data, before))
    assert len(expected) > 2
    for changes in ({"TILE": 2}, {"TILE": 4, "PIECE": 7}, {"CELLS": 50}, {"CELLS": 1}, {"LUCE_THREADS": "3"}):
        with monkeypatch.context() as patch:
            for name, value in changes.items():
                if isinstance(value, str):
                    patch.setenv(name, value)
                else:
                    patch.setattr(base if name == "CELLS" else feature_products, name, value)
            found = chosen(SecondOrder(0.1).fit(data, before))
        assert list(found) == list(expected)
        assert np.allclose(list(found.values()), list(expected.values()), rtol=1e-10)


def test_products_follow_the_features_they_are_made_of():
    data = judged(missing=0.1)
    chain = fit_transforms(["fill", "standardize", SecondOrder(0.1)], data)
    plain = apply_transforms(chain[:2], data.features, data.offsets)
    result = apply_transforms(chain, data.features, data.offsets)
    left, right = chain[2].left, chain[2].right
    assert result.dtype == np.float32
    assert np.array_equal(result, np.hstack([plain, plain[:, left] * plain[:, right]]))
    expected = {p: r for p, r in all_correlations(plain, data.labels).items() if abs(r) > 0.1}
    assert list(chosen(chain[2])) == sorted(expected)
    names = transformed_names(chain, ["a", "b", "c", "d", "e", "f"], 6)
    assert names == (*"abcdef", *("abcdef"[i] + "*" + "abcdef"[j] for i, j in zip(left, right, strict=True)))
    assert transformed_names(chain, None, 6)[6] == f"{left[0] + 1}*{right[0] + 1}"


def test_products_of_products():
    data = judged()
    chain = fit_transforms([SecondOrder(0.1), SecondOrder(0.3)], data)
    once = apply_transforms(chain[:1], data.features, data.offsets)
    expected = {p: r for p, r in all_correlations(once, data.labels).items() if abs(r) > 0.3}
    assert list(chosen(chain[1])) == sorted(expected)
    assert max(chain[1].right) > 6
    assert apply_transforms(chain, data.features, data.offsets).shape[1] == once.shape[1] + len(expected)


def test_many_rows_are_multiplied_on_several_threads(monkeypatch):
    data = judged(n_rows=20_000)
    fitted = SecondOrder(0.1).fit(data)
    results = []
    for threads in ("1", "3"):
        monkeypatch.setenv("LUCE_THREADS", threads)
        results.append(fitted.apply(data.features, data.offsets))
    assert np.array_equal(
        results[0], np.hstack([data.features, data.features[:, fitted.left] * data.features[:, fitted.right]])
    )
    assert np.array_equal(results[0], results[1])


def test_sparse_features_give_the_same_products(monkeypatch):
    data = judged()
    dense = np.where(np.abs(data.features) > 0.7, data.features, 0)
    full = Dataset(dense, data.labels, data.offsets)
    held = Dataset(sparse.csr_array(dense), data.labels, data.offsets)
    fitted = SecondOrder(0.1).fit(held)
    assert chosen(fitted) == pytest.approx(chosen(SecondOrder(0.1).fit(full)))
    monkeypatch.setattr(base, "SPARSE_ROWS", 17)
    result = apply_transforms([fitted], held.features, held.offsets)
    assert result.format == "csr"
    assert result.dtype == np.float32
    assert np.array_equal(result.toarray(), apply_transforms([fitted], full.features, full.offsets))


def test_labels_far_from_zero_and_values_of_any_size():
    data = judged(n_rows=2_000)
    moved = Dataset(data.features, data.labels + 1e9, data.offsets)
    assert np.allclose(SecondOrder(0.1).fit(moved).correlations, SecondOrder(0.1).fit(data).correlations, rtol=1e-9)
    large = Dataset(data.features * 1e30, data.labels, data.offsets)
    fitted = SecondOrder(0.1).fit(large)
    assert np.allclose(fitted.correlations, SecondOrder(0.1).fit(data).correlations, rtol=1e-5)
    assert np.isfinite(fitted.apply(large.features, large.offsets)).all()
    held = Dataset(sparse.csr_array(large.features), data.labels, data.offsets)
    assert np.isfinite(fitted.apply(held.features, held.offsets).data).all()


@pytest.mark.parametrize("labels", [np.zeros(50), np.full(50, np.nan)])
def test_labels_that_say_nothing_choose_nothing(labels):
    data = Dataset(np.random.default_rng(0).normal(size=(50, 3)), labels, [0, 50])
    with pytest.warns(LuceWarning, match=r"No product passes the threshold 0.0 of second-order"):
        fitted = SecondOrder(0.0).fit(data)
    assert fitted.apply(data.features, data.offsets).tolist() == data.features.tolist()


def test_a_constant_product_is_not_chosen_by_rounding():
    random = np.random.default_rng(0)
    features = np.tile(random.normal(size=20).astype(np.float32), (5_000, 1))
    data = Dataset(features, random.normal(size=5_000), [0, 5_000])
    with pytest.warns(LuceWarning, match="No product passes"):
        assert SecondOrder(0.0).fit(data).left.size == 0


def test_limits_and_options(monkeypatch):
    with pytest.raises(OptionError, match=r"'threshold' option of second-order must be from 0 to below 1. Got 1"):
        SecondOrder(1)
    with pytest.raises(OptionError, match="must be from 0 to below 1"):
        SecondOrder(np.nan)
    monkeypatch.setattr(feature_products, "PRODUCTS_LIMIT", 3)
    with pytest.raises(
        OptionError, match=r"products pass the threshold 0.01.*At most 3 are allowed: raise the threshold"
    ):
        SecondOrder(0.01).fit(judged())
    monkeypatch.setattr(feature_products, "FEATURES_LIMIT", 5)
    with pytest.raises(DataError, match=r"supports at most 5 features, .* Got 6"):
        SecondOrder().fit(judged())


@pytest.mark.parametrize(
    "changes",
    [{"left": np.array([6])}, {"right": np.array([-1])}, {"left": np.array([0, 1])}, {"left": np.array([0.0])}],
)
def test_stored_pairs_that_are_no_features_are_refused(changes):
    good = {"n_features": 6, "left": np.array([0]), "right": np.array([1])}
    with warnings.catch_warnings():
        assert SecondOrder(**good).n_outputs(6) == 7
    with pytest.raises(DataError, match="must be indices of its features"):
        SecondOrder(**{**good, **changes})
