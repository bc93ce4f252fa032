"""Mean and spread of each feature, gathered block by block in float64; missing values are left out."""

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from luce.arrays import Floats, frozen
from luce.compiled import compiled


class Moments(NamedTuple):
    """Per feature: how many values, their mean, and the sum of squares about the mean."""

    counts: Floats
    mean: Floats
    squares: Floats

    def merged(self, other: "Moments") -> "Moments":
        """The moments of the rows of both (Chan, Golub and LeVeque, 1979)."""
        count = self.counts + other.counts
        share = np.divide(other.counts, count, out=np.zeros_like(count), where=count > 0)
        apart = other.mean - self.mean
        return Moments(
            count,
            self.mean + apart * share,
            self.squares + other.squares + apart * apart * self.counts * share,
        )

    @property
    def scale(self) -> Floats:
        """Standard deviation; 1 for a feature that is constant.

        No rounding blurs that: a block's sum of equal float32 values is exact in float64, so its squares are exactly 0.
        """
        deviation = np.sqrt(self.squares / np.maximum(self.counts, 1))
        return np.where(deviation > 0, deviation, 1.0)


def no_moments(n_features: int) -> Moments:
    """The moments of no rows."""
    return Moments(*np.zeros((3, n_features)))


def moments_of(features: Any) -> Moments:
    """The moments of a block; what is not stored in a sparse block is zero.

    >>> moments_of(np.array([[1, np.nan], [3, 5]], dtype=np.float32)).mean
    array([2., 5.])
    """
    result = no_moments(features.shape[1])
    if sparse.issparse(features):
        _sparse_moments(features, result)
    else:
        _dense_moments(frozen(features), *result)  # one type for numba, whoever made the block
    return result


@compiled
def _dense_moments(features, count, mean, squares):
    n_rows, n_features = features.shape
    for i in range(n_rows):
        for j in range(n_features):
            value = np.float64(features[i, j])
            if not np.isnan(value):
                count[j] += 1
                mean[j] += value
    for j in range(n_features):
        mean[j] /= max(count[j], 1.0)
    for i in range(n_rows):
        for j in range(n_features):
            apart = np.float64(features[i, j]) - mean[j]
            if not np.isnan(apart):
                squares[j] += apart * apart


def _sparse_moments(features: Any, result: Moments) -> None:
    n_rows, n_features = features.shape
    there = ~np.isnan(features.data)
    columns, values = features.indices[there], features.data[there].astype(np.float64)
    stored = np.bincount(columns, minlength=n_features)
    result.counts[:] = n_rows - np.bincount(features.indices[~there], minlength=n_features)
    result.mean[:] = np.bincount(columns, values, n_features) / np.maximum(result.counts, 1)
    about = np.bincount(columns, (values - result.mean[columns]) ** 2, n_features)
    zeros = result.counts - stored
    result.squares[:] = about + zeros * result.mean**2
