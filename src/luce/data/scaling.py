"""Transforms of one feature at a time: missing values filled, mean 0 and standard deviation 1."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from luce.arrays import Integers
from luce.data.moments import Moments, moments_of, no_moments
from luce.data.ragged import Dataset
from luce.data.transform import Features, Transform, blocks, saturated, width_after
from luce.errors import DataError, OptionError

ROWS_CELLS = 2**17
"""Values turned into float64 together: they stay in the processor's cache."""


@dataclass(frozen=True, eq=False)
class Fill(Transform):
    """Missing values become the feature's mean over the training rows, or a constant; 0 where no row has a value.

    >>> data = Dataset([[1.0], [np.nan], [3.0]], [0, 0, 1], [0, 3])
    >>> Fill().fit(data).apply(data.features, data.offsets).ravel()
    array([1., 2., 3.], dtype=float32)
    """

    constant: float | None = None
    values: NDArray[np.float64] | None = field(default=None, repr=False)

    name: ClassVar[str] = "fill"
    summary: ClassVar[str] = "missing values become the training mean of the feature, or a constant"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.constant is not None and not abs(self.constant) <= float(np.finfo(np.float32).max):
            raise OptionError(f"The 'constant' option of fill must be a finite number. Got {self.constant}.")

    def fit(self, dataset: Dataset, before: Sequence[Transform] = ()) -> Self:
        if self.constant is not None:
            return replace(self, values=np.full(width_after(before, dataset.n_features), float(self.constant)))
        return replace(self, values=_training_moments(dataset, before).mean)

    def n_outputs(self, n_features: int) -> int:
        return len(self.for_features(self.values, n_features))

    def apply(self, features: Features, offsets: Integers) -> Features:
        values = saturated(self.for_features(self.values, features.shape[1]))
        if sparse.issparse(features):
            missing = np.isnan(features.data)
            return _with_data(features, np.where(missing, values[features.indices], features.data))
        missing = np.isnan(features)
        return np.where(missing, values, features) if missing.any() else features


@dataclass(frozen=True, eq=False)
class Standardize(Transform):
    """Mean 0 and standard deviation 1 over the training rows; a constant feature becomes 0, missing stays missing.

    Sparse features are only divided by their standard deviation: moving their zeros would fill the matrix.

    >>> data = Dataset([[1.0, 7.0], [3.0, 7.0]], [0, 1], [0, 2])
    >>> Standardize().fit(data).apply(data.features, data.offsets).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """

    mean: NDArray[np.float64] | None = field(default=None, repr=False)
    scale: NDArray[np.float64] | None = field(default=None, repr=False)

    name: ClassVar[str] = "standardize"
    summary: ClassVar[str] = "mean 0 and standard deviation 1 over the training rows"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scale is not None and np.any(self.scale <= 0):
            raise DataError("The scale of the transform standardize must be above 0.")

    def fit(self, dataset: Dataset, before: Sequence[Transform] = ()) -> Self:
        moments = _training_moments(dataset, before)
        return replace(self, mean=moments.mean, scale=moments.scale)

    def n_outputs(self, n_features: int) -> int:
        return min(len(self.for_features(values, n_features)) for values in (self.mean, self.scale))

    def apply(self, features: Features, offsets: Integers) -> Features:
        mean, scale = (self.for_features(values, features.shape[1]) for values in (self.mean, self.scale))
        if sparse.issparse(features):
            return _with_data(features, saturated(features.data / scale[features.indices]))
        result = np.empty(features.shape, dtype=np.float32)
        step = max(1, ROWS_CELLS // max(1, features.shape[1]))
        for first in range(0, len(features), step):
            rows = slice(first, first + step)
            result[rows] = saturated((features[rows] - mean) / scale)
        return result


def _training_moments(dataset: Dataset, before: Sequence[Transform]) -> Moments:
    moments = no_moments(width_after(before, dataset.n_features))
    for block in blocks(dataset.features, dataset.offsets, before):
        moments = moments.merged(moments_of(block.features))
    return moments


def _with_data(features: Any, data: NDArray[np.float32]) -> Any:
    return sparse.csr_array((data, features.indices, features.indptr), shape=features.shape)
