"""Rankers by number of random features: which features are drawn, and that all is as in a comparison."""

import numpy as np
import pytest
from scipy import sparse

import luce
from luce.data.synthetic import web_search
from luce.errors import DataError, OptionError

RANKERS = {"listmle": luce.LinearRanker("listmle", n_jobs=1), "c-kl": luce.LinearRanker("c-kl", n_jobs=1)}


@pytest.fixture(scope="module")
def folds():
    parts = [web_search(20, n_features=6, mean_length=8, seed=seed).dataset for seed in (1, 2)]
    flat = [each.with_features(np.hstack([np.ones((each.n_rows, 3), np.float32), each.features])) for each in parts]
    return [(flat[0], None, flat[1])]


def test_subsets_are_nested_and_of_features_that_vary(folds):
    study = luce.feature_study(RANKERS, folds, [2, 4, 50], "ndcg@5", seeds=2)
    assert study.counts == [2, 4, 6]
    assert all(columns.min() >= 3 and len(columns) == count for (count, _), columns in study.columns.items())
    for seed in (0, 1):
        assert set(study.columns[2, seed]) < set(study.columns[4, seed]) < set(study.columns[6, seed])
    assert not np.array_equal(study.columns[4, 0], study.columns[4, 1])
    assert study.failures == {place: {} for place in study.columns}


def test_results_are_those_of_a_comparison_on_these_features(folds):
    study = luce.feature_study(RANKERS, folds, [4, 2], "ndcg@5, err", seeds=2)
    (train, _, test), columns = folds[0], study.columns[2, 1]
    some = [each.with_features(each.features[:, columns].copy()) for each in (train, test)]
    found = luce.compare_rankers(RANKERS, [(some[0], None, some[1])], "ndcg@5, err", seed=1)
    for name in RANKERS:
        np.testing.assert_array_equal(study.results[2, 1][name].values["err"], found.results[name].values["err"])
    means = [study.results[2, seed]["c-kl"].means["err"] for seed in (0, 1)]
    assert study.means("err")["c-kl"][0] == pytest.approx(np.mean(means))
    assert study.table().num_rows == 2 * 2 * 2 * 2
    assert str(study).split()[:3] == ["ndcg@5", "listmle", "c-kl"] and repr(study).endswith("2, 4 features)")
    axes = study.plot(metric="err")
    assert [line.get_label() for line in axes.lines] == list(RANKERS)
    np.testing.assert_allclose(axes.lines[1].get_ydata(), study.means("err")["c-kl"])


def test_sparse_and_dense_features_are_studied_alike(folds):
    (train, _, test) = folds[0]
    thin = [each.with_features(sparse.csr_array(np.nan_to_num(each.features))) for each in (train, test)]
    dense = [each.with_features(np.nan_to_num(each.features)) for each in (train, test)]
    one, other = (luce.feature_study(RANKERS, [(a, None, b)], [3], "ndcg@5") for a, b in (thin, dense))
    np.testing.assert_array_equal(one.columns[3, 0], other.columns[3, 0])
    assert one.means()["c-kl"] == pytest.approx(other.means()["c-kl"], abs=0.02)


def test_what_cannot_be_studied(folds):
    for counts in ([], [0], [2.5]):
        with pytest.raises(OptionError, match="counts must be integers ≥ 1"):
            luce.feature_study(RANKERS, folds, counts)
    flat = folds[0][0].with_features(np.ones((folds[0][0].n_rows, 2)))
    with pytest.raises(DataError, match="No feature varies"):
        luce.feature_study(RANKERS, [(flat, None, flat)], [1])
