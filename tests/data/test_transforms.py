"""Transforms: learnt from training rows, the same in any blocks, dense or sparse, stored and restored."""

import json

import numpy as np
import pytest
from scipy import sparse

from luce.arrays import offsets_of_sizes
from luce.data import TRANSFORMS, Dataset
from luce.data.transforms import (
    Fill,
    ListMinMax,
    Standardize,
    apply_transforms,
    base,
    fit_transforms,
    make_transform,
    restore_transforms,
    scaling,
    transformed_names,
)
from luce.data.transforms.scaling import moments_of
from luce.errors import DataError, OptionError

LARGEST = np.finfo(np.float32).max


def ragged(n_lists=40, n_features=5, seed=0, missing=0.2):
    random = np.random.default_rng(seed)
    sizes = random.integers(0, 9, n_lists)
    sizes[3], sizes[-1] = 30, 0
    offsets = offsets_of_sizes(sizes)
    features = random.normal(3, 2, (offsets[-1], n_features)).astype(np.float32)
    features[random.random(features.shape) < missing] = np.nan
    features[:, 1] = 7  # constant
    features[:, 2] = np.nan  # never there
    labels = random.integers(0, 3, offsets[-1]).astype(float)
    labels[::7] = np.nan
    return Dataset(features, labels, offsets)


def applied(fitted, data):
    return apply_transforms([fitted], data.features, data.offsets)


def test_fill_takes_the_training_mean_or_a_constant():
    data = ragged()
    there = ~np.isnan(data.features)
    means = np.array(
        [data.features[there[:, j], j].mean(dtype=np.float64) if there[:, j].any() else 0 for j in range(5)]
    )
    result = applied(Fill().fit(data), data)
    assert np.array_equal(result[there], data.features[there])
    assert np.allclose(result, np.where(there, data.features, means), rtol=1e-6)
    assert not np.isnan(result).any()
    constant = applied(Fill(constant=-2.5).fit(data), data)
    assert np.array_equal(constant, np.where(there, data.features, np.float32(-2.5)))
    new = Dataset([[np.nan] * 5], [0], [0, 1])
    assert np.allclose(applied(Fill().fit(data), new), means)


def test_standardize_gives_mean_0_and_deviation_1_over_what_is_there():
    data = ragged()
    result = applied(Standardize().fit(data), data)
    varying = result[:, [0, 3, 4]].astype(np.float64)
    assert np.allclose(np.nanmean(varying, axis=0), 0, atol=1e-6)
    assert np.allclose(np.nanstd(varying, axis=0), 1, rtol=1e-6)
    assert np.all(result[:, 1] == 0)
    assert np.isnan(result[:, 2]).all()
    assert np.array_equal(np.isnan(result), np.isnan(data.features))


def test_a_constant_is_told_from_rounding_and_large_means_lose_nothing():
    n = 100_001
    random = np.random.default_rng(0)
    features = np.full((n, 3), 0.1, dtype=np.float32)
    features[:, 1] = 1e6 + random.integers(0, 2, n)
    features[:, 2] *= 1e-38
    data = Dataset(features, np.zeros(n), [0, n])
    fitted = Standardize().fit(data)
    assert fitted.scale[[0, 2]].tolist() == [1, 1]
    constants = Dataset(np.tile(random.normal(size=1_000).astype(np.float32), (49, 1)), np.zeros(49), [0, 49])
    for each in (Standardize(), make_transform("list-zscore")):
        assert not applied(each.fit(constants), constants).any()
    assert np.isclose(fitted.scale[1], features[:, 1].astype(np.float64).std(), rtol=1e-9)
    assert np.isclose(fitted.mean[1], features[:, 1].mean(dtype=np.float64), rtol=1e-12)
    assert np.abs(applied(fitted, data)[:, 0]).max() < 1e-6


def test_moments_of_parts_make_those_of_the_whole():
    data = ragged()
    parts = [moments_of(data.features[rows]) for rows in (slice(0, 1), slice(1, 50), slice(50, 50), slice(50, None))]
    merged = scaling.no_moments(5)
    for part in parts:
        merged = merged.merged(part)
    for one, other in zip(merged, moments_of(data.features), strict=True):
        assert np.allclose(one, other, rtol=1e-12)
    there = data.features[~np.isnan(data.features[:, 0]), 0].astype(np.float64)
    assert np.isclose(merged.squares[0], ((there - there.mean()) ** 2).sum())
    assert merged.counts[0] == len(there)


def test_sparse_features_are_filled_and_scaled_in_place():
    dense = np.array([[0, 2, np.nan, 0], [4, 0, 1, 5], [0, 0, 3, 5], [0, 6, 0, 5]], dtype=np.float32)
    stored = sparse.csr_array(dense)
    data, same = Dataset(stored, [0, 0, 1, 1], [0, 4]), Dataset(dense, [0, 0, 1, 1], [0, 4])
    for one, other in zip(moments_of(stored), moments_of(dense), strict=True):
        assert np.allclose(one, other)
    filled = applied(Fill().fit(data), data)
    assert filled.format == "csr"
    assert filled.dtype == np.float32
    assert np.allclose(filled.toarray(), applied(Fill().fit(same), same))
    scaled = applied(Standardize().fit(data), data)
    assert np.allclose(scaled.toarray(), dense / Standardize().fit(same).scale, equal_nan=True)
    assert scaled.nnz == stored.nnz
    fives = Dataset(sparse.csr_array([[5.0], [5.0]]), [0, 1], [0, 2])
    assert applied(Standardize().fit(fives), fives).toarray().ravel().tolist() == [5, 5]
    with pytest.raises(
        DataError, match=r"list-minmax needs dense features, because it changes zeros. Got sparse features"
    ):
        applied(ListMinMax(), data)


def by_list(data, change):
    expected = np.full(data.features.shape, np.nan)
    for q in range(data.n_lists):
        rows = data.rows(q)
        for j in range(data.n_features):
            values = data.features[rows, j].astype(np.float64)
            there = ~np.isnan(values)
            if there.any():
                expected[rows, j] = change(values, values[there])
    return expected


def min_max(values, there):
    return (values - there.min()) / ((there.max() - there.min()) or 1)


def z_score(values, there):
    return (values - there.mean()) / (there.std() if there.max() > there.min() else 1)


@pytest.mark.parametrize(("name", "change"), [("list-minmax", min_max), ("list-zscore", z_score)])
def test_scaling_within_lists(name, change, monkeypatch):
    data = ragged()
    fitted = make_transform(name).fit(data)
    assert fitted.within_lists
    result = applied(fitted, data)
    assert result.dtype == np.float32
    assert np.allclose(result, by_list(data, change), rtol=1e-5, atol=1e-6, equal_nan=True)
    monkeypatch.setattr(base, "CELLS", 40)
    assert np.array_equal(applied(fitted, data), result, equal_nan=True)


def test_lists_are_scaled_alike_on_several_threads(monkeypatch):
    data = ragged(n_lists=4_000)
    results = []
    for threads in ("1", "3"):
        monkeypatch.setenv("LUCE_THREADS", threads)
        results.append([applied(make_transform(name), data) for name in ("list-minmax", "list-zscore")])
    assert np.array_equal(results[0], results[1], equal_nan=True)


@pytest.mark.parametrize("cells", [1, 33, 1_000])
def test_the_size_of_a_block_changes_nothing(cells, monkeypatch):
    data = ragged(seed=1)
    names = ["fill", "list-zscore", "standardize"]
    whole = fit_transforms(names, data)
    expected = apply_transforms(whole, data.features, data.offsets)
    monkeypatch.setattr(base, "CELLS", cells)
    blocked = fit_transforms(names, data)
    assert np.allclose(apply_transforms(blocked, data.features, data.offsets), expected, rtol=1e-5, atol=1e-6)
    one_by_one = data.features
    for each in whole:
        one_by_one = each.apply(one_by_one, data.offsets)
    assert np.allclose(one_by_one, expected, rtol=1e-6)


def test_each_transform_learns_from_what_those_before_it_leave():
    data = ragged(seed=2)
    chain = fit_transforms(["standardize", Fill(constant=3.0), "standardize"], data)
    after = apply_transforms(chain[:2], data.features, data.offsets).astype(np.float64)
    assert np.allclose(chain[2].mean, after.mean(axis=0))
    result = apply_transforms(chain, data.features, data.offsets)
    assert np.allclose(result.mean(axis=0, dtype=np.float64), 0, atol=1e-6)


def test_the_logarithm_keeps_signs_zeros_and_missing_values():
    values = np.array([[0.0, -0.5], [1e6, np.nan], [-7.0, 3.0]], dtype=np.float32)
    expected = np.sign(values) * np.log(1 + np.abs(values.astype(np.float64)))
    data = Dataset(values, [0, 1, 2], [0, 3])
    assert np.allclose(applied(make_transform("symlog1p").fit(data), data), expected, rtol=1e-6, equal_nan=True)
    thin = Dataset(sparse.csr_array(values), [0, 1, 2], [0, 3])
    result = applied(make_transform("symlog1p").fit(thin), thin)
    assert result.nnz == thin.features.nnz
    assert np.allclose(result.toarray(), expected, rtol=1e-6, equal_nan=True)


def test_nothing_given_is_changed_and_nothing_is_infinite():
    data = Dataset(np.array([[LARGEST], [-LARGEST], [np.nan]]), [0, 1, 1], [0, 3])
    before = data.features.copy()
    tiny = Standardize(mean=np.zeros(1), scale=np.full(1, 1e-30))
    assert applied(tiny, data)[:2].ravel().tolist() == [LARGEST, -LARGEST]
    for name in ("fill", "symlog1p", "standardize", "list-minmax", "list-zscore"):
        result = applied(make_transform(name).fit(data), data)
        assert np.isfinite(result[:2]).all()
    assert np.array_equal(data.features, before, equal_nan=True)


def test_memory_mapped_features_and_no_rows(tmp_path):
    data = ragged()
    stored = np.memmap(tmp_path / "f", np.float32, "w+", shape=data.features.shape)
    stored[:] = data.features
    stored.flush()
    mapped = Dataset(np.memmap(tmp_path / "f", np.float32, "r", shape=data.features.shape), data.labels, data.offsets)
    for names in (["fill", "standardize"], ["symlog1p"], ["list-minmax"], ["list-zscore", "fill"]):
        chain = fit_transforms(names, mapped)
        expected = apply_transforms(chain, data.features, data.offsets)
        assert np.array_equal(apply_transforms(chain, mapped.features, mapped.offsets), expected, equal_nan=True)
        assert apply_transforms(chain, data.features[:0], np.array([0])).shape == (0, 5)
    none = Dataset(np.empty((0, 2)), [], [0])
    assert fit_transforms(["fill", "standardize"], none)[1].scale.tolist() == [1, 1]
    empty = sparse.csr_array((0, 2), dtype=np.float32)
    assert apply_transforms(fit_transforms(["fill"], none), empty, np.array([0])).shape == (0, 2)
    assert apply_transforms([], data.features, data.offsets) is data.features


@pytest.mark.filterwarnings("ignore:No product passes")
@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_transform_is_stored_and_restored(name):
    data = ragged(missing=0)
    (fitted,) = fit_transforms([name], data)
    state, arrays = fitted.state()
    stored = json.loads(json.dumps(state))
    again = restore_transforms([stored], {f"transform.0.{key}": array.copy() for key, array in arrays.items()})
    assert type(again[0]) is TRANSFORMS[name]
    expected = applied(fitted, data)
    assert np.array_equal(applied(again[0], data), expected, equal_nan=True)
    assert fitted.n_outputs(5) == expected.shape[1] == len(fitted.feature_names("abcde"))
    for array in arrays.values():
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    if arrays:
        with pytest.raises(OptionError, match=f"transform {name} must be fitted before it is applied"):
            make_transform(name).apply(data.features, data.offsets)
        with pytest.raises(DataError, match=rf"{name} was fitted on 5 features. Got 4"):
            fitted.apply(data.features[:, :4], data.offsets)


def test_several_transforms_are_restored_in_their_order():
    data = ragged()
    chain = fit_transforms(["standardize", "fill"], data)
    arrays = {f"transform.{i}.{key}": array for i, each in enumerate(chain) for key, array in each.state()[1].items()}
    again = restore_transforms([each.state()[0] for each in chain], arrays)
    expected = apply_transforms(chain, data.features, data.offsets)
    assert np.array_equal(apply_transforms(again, data.features, data.offsets), expected)
    with pytest.raises(DataError, match=r"Unknown stored transform: .*'melt'"):
        restore_transforms([{"transform": "melt"}], {})
    with pytest.raises(DataError, match=r"A stored fill transform is incomplete: .*colour"):
        restore_transforms([{"transform": "fill", "colour": 1}], {})
    with pytest.raises(DataError, match="values of the transform fill must be one-dimensional"):
        restore_transforms([{"transform": "fill"}], {"transform.0.values": np.zeros((2, 2))})


def test_names_and_options_are_checked():
    assert make_transform("second-order", threshold=0.2).threshold == 0.2
    assert repr(make_transform("fill").fit(ragged())) == "Fill(constant=None)"
    with pytest.raises(OptionError, match=r"no transform 'standardise'. Did you mean 'standardize'"):
        fit_transforms(["standardise"], ragged())
    with pytest.raises(OptionError, match=r"fill has no option 'value'\. Its options: constant"):
        make_transform("fill", value=1)
    with pytest.raises(OptionError, match=r"list-minmax has no option 'low'\. Its options: none"):
        make_transform("list-minmax", low=1)
    with pytest.raises(OptionError, match=r"'constant' option of fill must be a finite number. Got nan"):
        make_transform("fill", constant=np.nan)
    assert transformed_names(fit_transforms(["fill"], ragged()), None, 5) is None
    assert transformed_names([], ["a"], 1) == ("a",)


def test_fill_takes_the_mean_that_earlier_transforms_leave():
    data = Dataset([[1.0], [np.nan], [5.0]], [0, 0, 1], [0, 3])
    chain = fit_transforms(["standardize", "fill"], data)
    np.testing.assert_allclose(apply_transforms(chain, data.features, data.offsets).ravel(), [-1, 0, 1], atol=1e-6)
