"""Transforms of one feature at a time: missing values filled, long tails shortened, mean 0 and standard deviation 1.

Means and deviations are gathered block by block in float64; missing values are left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats, Integers, is_sparse, read_only
from luce.compiled import compiled
from luce.data.transforms.base import Features, Transform, blocks, saturated, width_after
from luce.distributed import current_group
from luce.errors import DataError, OptionError

if TYPE_CHECKING:
    from luce.data.ragged import Dataset

ROWS_CELLS = 2**17
"""Values turned into float64 together: they stay in the processor's cache."""


@dataclass(frozen=True, eq=False)
class Fill(Transform):
    """Missing values become the feature's mean over the training rows, or a constant; 0 where no row has a value.

    Parameters
    ----------
    constant : float, optional
        The value that replaces missing ones; by default the mean of the feature.

    Examples
    --------
    >>> from luce.data import Dataset
    >>> data = Dataset([[1.0], [np.nan], [3.0]], [0, 0, 1], [0, 3])
    >>> Fill().fit(data).apply(data.features, data.offsets).ravel()
    array([1., 2., 3.], dtype=float32)
    """

    constant: float | None = None
    values: NDArray[np.float64] | None = field(default=None, repr=False)

    name: ClassVar[str] = "fill"
    summary: ClassVar[str] = "replaces missing values by the training mean of the feature, or by a constant"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.constant is not None and not abs(self.constant) <= float(np.finfo(np.float32).max):
            raise OptionError(f"The 'constant' option of fill must be a finite number. Got {self.constant}.")

    def fit(self, dataset: "Dataset", before: Sequence[Transform] = ()) -> Self:
        if self.constant is not None:
            return replace(self, values=np.full(width_after(before, dataset.n_features), float(self.constant)))
        return replace(self, values=_training_moments(dataset, before).mean)

    def n_outputs(self, n_features: int) -> int:
        return len(self.for_features(self.values, n_features))

    def apply(self, features: Features, offsets: Integers) -> Features:
        values = saturated(self.for_features(self.values, features.shape[1]))
        if is_sparse(features):
            missing = np.isnan(features.data)
            return _with_data(features, np.where(missing, values[features.indices], features.data))
        missing = np.isnan(features)
        return np.where(missing, values, features) if missing.any() else features


@dataclass(frozen=True, eq=False)
class SymLog1p(Transform):
    """sign(x)·log(1 + |x|): values below 1 hardly change, long tails become short; zeros stay zeros.

    Counts, lengths and the like span several orders of magnitude, and a sum of weights × features needs them on a scale
    where a difference means the same everywhere (Zhuang et al. 2020).

    Examples
    --------
    >>> from luce.data import Dataset
    >>> data = Dataset([[0.0], [np.e - 1], [-999.0]], [0, 0, 1], [0, 3])
    >>> SymLog1p().apply(data.features, data.offsets).ravel().round(2)
    array([ 0.  ,  1.  , -6.91], dtype=float32)
    """

    name: ClassVar[str] = "symlog1p"
    summary: ClassVar[str] = "applies sign(x)·log(1 + |x|), which shortens long tails"

    def apply(self, features: Features, offsets: Integers) -> Features:
        if is_sparse(features):
            return _with_data(features, _symlog1p(features.data))
        return _symlog1p(features)


def _symlog1p(values: NDArray[np.float32]) -> NDArray[np.float32]:
    # Rounded once, from float64: the logarithms of float32 differ in the last bit between processors and libraries.
    return np.copysign(np.log1p(np.abs(values), dtype=np.float64), values).astype(np.float32)


@dataclass(frozen=True, eq=False)
class Standardize(Transform):
    """Mean 0 and standard deviation 1 over the training rows; a constant feature becomes 0, missing stays missing.

    Sparse features are only divided by their standard deviation: moving their zeros would fill the matrix.

    Examples
    --------
    >>> from luce.data import Dataset
    >>> data = Dataset([[1.0, 7.0], [3.0, 7.0]], [0, 1], [0, 2])
    >>> Standardize().fit(data).apply(data.features, data.offsets).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """

    mean: NDArray[np.float64] | None = field(default=None, repr=False)
    scale: NDArray[np.float64] | None = field(default=None, repr=False)

    name: ClassVar[str] = "standardize"
    summary: ClassVar[str] = "scales each feature to mean 0 and standard deviation 1 over the training rows"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scale is not None and np.any(self.scale <= 0):
            raise DataError("The scale of the transform standardize must be above 0.")

    def fit(self, dataset: "Dataset", before: Sequence[Transform] = ()) -> Self:
        moments = _training_moments(dataset, before)
        return replace(self, mean=moments.mean, scale=moments.scale)

    def n_outputs(self, n_features: int) -> int:
        return min(len(self.for_features(values, n_features)) for values in (self.mean, self.scale))

    def apply(self, features: Features, offsets: Integers) -> Features:
        mean, scale = (self.for_features(values, features.shape[1]) for values in (self.mean, self.scale))
        if is_sparse(features):
            return _with_data(features, saturated(features.data / scale[features.indices]))
        result = np.empty(features.shape, dtype=np.float32)
        step = max(1, ROWS_CELLS // max(1, features.shape[1]))
        for first in range(0, len(features), step):
            rows = slice(first, first + step)
            result[rows] = saturated((features[rows] - mean) / scale)
        return result


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
    if is_sparse(features):
        _sparse_moments(features, result)
    else:
        _dense_moments(read_only(features), *result)  # one type for numba, whatever the block was
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
    present = ~np.isnan(features.data)
    columns, values = features.indices[present], features.data[present].astype(np.float64)
    stored = np.bincount(columns, minlength=n_features)
    result.counts[:] = n_rows - np.bincount(features.indices[~present], minlength=n_features)
    result.mean[:] = np.bincount(columns, values, n_features) / np.maximum(result.counts, 1)
    about = np.bincount(columns, (values - result.mean[columns]) ** 2, n_features)
    zeros = result.counts - stored
    result.squares[:] = about + zeros * result.mean**2


def _training_moments(dataset: "Dataset", before: Sequence[Transform]) -> Moments:
    """Those of the rows of all ranks."""
    moments = no_moments(width_after(before, dataset.n_features))
    for block in blocks(dataset.features, dataset.offsets, before):
        moments = moments.merged(moments_of(block.features))
    group = current_group()
    if group is None:
        return moments
    first, *others = (Moments(*part.reshape(3, -1)) for part in group.gather_rows(np.concatenate(moments)))
    return reduce(Moments.merged, others, first)


def _with_data(features: Any, data: NDArray[np.float32]) -> Any:
    from scipy import sparse

    return sparse.csr_array((data, features.indices, features.indptr), shape=features.shape)
