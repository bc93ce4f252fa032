"""Transforms within a list: each feature of each list on its own scale, so that queries can be compared."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from luce.arrays import Integers
from luce.compiled import compiled
from luce.data.transforms.base import Features, Transform, contiguous, dense_only
from luce.threads import over_lists


@dataclass(frozen=True, eq=False)
class ListMinMax(Transform):
    """Scale each feature to the range 0 to 1 within each list; 0 if it is constant there. Missing values stay missing.

    Examples
    --------
    >>> features = np.array([[1], [3], [2], [8], [8]], dtype=np.float32)
    >>> ListMinMax().apply(features, np.array([0, 3, 5])).ravel()
    array([0. , 1. , 0.5, 0. , 0. ], dtype=float32)
    """

    name: ClassVar[str] = "list-minmax"
    summary: ClassVar[str] = "scales each feature to the range 0 to 1 within each list"
    within_lists: ClassVar[bool] = True

    def apply(self, features: Features, offsets: Integers) -> Features:
        dense_only(self, features)
        result = np.empty(features.shape, dtype=np.float32)
        over_lists(_min_max, offsets, contiguous(features), results=[result])
        return result


@dataclass(frozen=True, eq=False)
class ListZScore(Transform):
    """Scale each feature to mean 0 and standard deviation 1 within each list; 0 if constant. Missing stays missing.

    Examples
    --------
    >>> features = np.array([[1], [3], [8], [8]], dtype=np.float32)
    >>> ListZScore().apply(features, np.array([0, 2, 4])).ravel()
    array([-1.,  1.,  0.,  0.], dtype=float32)
    """

    name: ClassVar[str] = "list-zscore"
    summary: ClassVar[str] = "scales each feature to mean 0 and standard deviation 1 within each list"
    within_lists: ClassVar[bool] = True

    def apply(self, features: Features, offsets: Integers) -> Features:
        dense_only(self, features)
        result = np.empty(features.shape, dtype=np.float32)
        over_lists(_z_score, offsets, contiguous(features), results=[result])
        return result


@compiled
def _min_max(first, last, offsets, features, result):
    n_features = features.shape[1]
    low, high = np.empty(n_features), np.empty(n_features)
    for q in range(first, last):
        low[:], high[:] = np.inf, -np.inf
        for i in range(offsets[q], offsets[q + 1]):
            for j in range(n_features):
                value = np.float64(features[i, j])
                if value < low[j]:  # false for a missing value
                    low[j] = value
                if value > high[j]:
                    high[j] = value
        for i in range(offsets[q], offsets[q + 1]):
            for j in range(n_features):
                value = np.float64(features[i, j]) - low[j]
                result[i, j] = value / (high[j] - low[j]) if high[j] > low[j] else value


@compiled
def _z_score(first, last, offsets, features, result):
    n_features = features.shape[1]
    count, mean, scale = np.empty(n_features), np.empty(n_features), np.empty(n_features)
    for q in range(first, last):
        count[:], mean[:], scale[:] = 0, 0, 0
        for i in range(offsets[q], offsets[q + 1]):
            for j in range(n_features):
                if not np.isnan(features[i, j]):
                    count[j] += 1
                    mean[j] += features[i, j]
        for j in range(n_features):
            mean[j] /= count[j]
        for i in range(offsets[q], offsets[q + 1]):
            for j in range(n_features):
                if not np.isnan(features[i, j]):
                    scale[j] += (features[i, j] - mean[j]) ** 2
        for j in range(n_features):  # the mean of equal float32 values is exact, so a constant has exactly 0 here
            scale[j] = np.sqrt(scale[j] / count[j]) if scale[j] > 0 else 1.0
        for i in range(offsets[q], offsets[q + 1]):
            for j in range(n_features):
                result[i, j] = (features[i, j] - mean[j]) / scale[j]
