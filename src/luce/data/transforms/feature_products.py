"""Products of pairs of features that go with the label (Truyen et al., 2011), chosen without storing all of them."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats, Integers, is_sparse
from luce.compiled import compiled
from luce.data.transforms.base import Features, Transform, blocks, contiguous, saturated, width_after
from luce.distributed import is_first_rank, summed
from luce.errors import DataError, LuceWarning, OptionError
from luce.threads import in_parallel, one_blas_thread, over_lists, thread_count

if TYPE_CHECKING:
    from luce.data.ragged import Dataset

FEATURES_LIMIT = 16_384
PRODUCTS_LIMIT = 131_072
"""Beyond these, finding or holding the products would take days or fill the memory."""

TILE = 1_024
"""Features on each side of the pairs that one pass over the rows looks at."""

PIECE = 1_024
"""Rows multiplied together: they stay in the processor's cache."""


@dataclass(frozen=True, eq=False)
class SecondOrder(Transform):
    """All products x_i·x_j, i ≤ j, whose correlation r with the label has |r| > threshold are added to the features.

    r is Pearson's, over the training rows with an observed label and both features present. Place it after standardize,
    as the paper does. The sums of x_i x_j, (x_i x_j)² and x_i x_j y are matrix products of a block of rows, 1,024
    features on each side at a time, so memory does not grow with the rows nor with the pairs.

    Parameters
    ----------
    threshold : float
        The correlation that a product must pass, from 0 to below 1.

    Examples
    --------
    >>> from luce.data import Dataset
    >>> data = Dataset([[1, 1], [1, -1], [-1, 1], [-1, -1]], [1, 0, 0, 1], [0, 4])
    >>> product = SecondOrder(threshold=0.5).fit(data)
    >>> product.feature_names(["a", "b"]), product.apply(data.features, data.offsets)[1].tolist()
    (('a', 'b', 'a*b'), [1.0, -1.0, -1.0])
    """

    threshold: float = 0.15
    n_features: int | None = field(default=None, repr=False)
    left: NDArray[np.int64] | None = field(default=None, repr=False)
    right: NDArray[np.int64] | None = field(default=None, repr=False)
    correlations: NDArray[np.float64] | None = field(default=None, repr=False)

    name: ClassVar[str] = "second-order"
    summary: ClassVar[str] = (
        "adds the products of pairs of features if their correlation with the label exceeds a threshold"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.threshold < 1:
            raise OptionError(
                f"The 'threshold' option of second-order must be from 0 to below 1. Got {self.threshold}."
            )
        if self.left is not None and self.right is not None:  # a stored file may hold anything; the kernel trusts these
            sides = np.concatenate([self.left, self.right])
            valid = sides.dtype == np.int64 and len(self.left) == len(self.right)
            if not valid or np.any((sides < 0) | (sides >= (self.n_features or 0))):
                raise DataError("The pairs of the transform second-order must be indices of its features.")

    def fit(self, dataset: "Dataset", before: Sequence[Transform] = ()) -> Self:
        width = width_after(before, dataset.n_features)
        if width > FEATURES_LIMIT:
            raise DataError(
                f"second-order supports at most {FEATURES_LIMIT:,} features, because it examines all pairs. "
                f"Got {width:,}."
            )
        with one_blas_thread():
            tiles = [_tile(dataset, before, a, b, self.threshold) for a, b in _tiles(width)]
        left, right, correlations = (np.concatenate([np.empty(0), *column]) for column in zip(*tiles, strict=True))
        if len(left) > PRODUCTS_LIMIT:
            raise OptionError(
                f"{len(left):,} products pass the threshold {self.threshold} of second-order. "
                f"At most {PRODUCTS_LIMIT:,} are allowed: raise the threshold."
            )
        if not len(left) and is_first_rank():
            warnings.warn(
                f"No product passes the threshold {self.threshold} of second-order.", LuceWarning, stacklevel=2
            )
        order = np.lexsort((right, left))
        return replace(
            self,
            n_features=width,
            left=left[order].astype(np.int64),
            right=right[order].astype(np.int64),
            correlations=correlations[order],
        )

    def n_outputs(self, n_features: int) -> int:
        left, _ = self._pairs(n_features)
        return n_features + len(left)

    def feature_names(self, names: Sequence[str]) -> tuple[str, ...]:
        left, right = self._pairs(len(names))
        return (*names, *(f"{names[i]}*{names[j]}" for i, j in zip(left.tolist(), right.tolist(), strict=True)))

    def apply(self, features: Features, offsets: Integers) -> Features:
        left, right = self._pairs(features.shape[1])
        if is_sparse(features):
            from scipy import sparse

            columns = features.tocsc().astype(np.float64)
            products = columns[:, left].multiply(columns[:, right]).tocsr()
            products.data = saturated(products.data)
            return sparse.csr_array(sparse.hstack([features, products], format="csr"), dtype=np.float32)
        result = np.empty((len(features), features.shape[1] + len(left)), dtype=np.float32)
        pieces = np.append(np.arange(0, len(features), PIECE), len(features))  # lists do not matter here
        over_lists(_products, pieces, contiguous(features), left, right, results=[result])
        return result

    def _pairs(self, n_features: int) -> tuple[Integers, Integers]:
        if self.left is None or self.right is None:
            raise OptionError("The transform second-order must be fitted before it is applied.")
        if n_features != self.n_features:
            raise DataError(f"The transform second-order was fitted on {self.n_features} features. Got {n_features}.")
        return self.left, self.right


def _tiles(width: int) -> Iterator[tuple[slice, slice]]:
    starts = range(0, max(width, 1), TILE)
    for a in starts:
        for b in starts:
            if a <= b:
                yield slice(a, min(a + TILE, width)), slice(b, min(b + TILE, width))


def _tile(
    dataset: "Dataset", before: Sequence[Transform], a: slice, b: slice, threshold: float
) -> tuple[Integers, Integers, Floats]:
    """The pairs of one tile that pass, and their correlations, in one pass over the rows."""
    sums = np.zeros((6, a.stop - a.start, b.stop - b.start))
    observed = dataset.labels[~np.isnan(dataset.labels)]
    total, count = summed([observed.sum(), observed.size])
    middle = total / max(count, 1.0)
    threads = thread_count()
    for block in blocks(dataset.features, dataset.offsets, before):
        labels = dataset.labels[block.rows] - middle
        seen = np.flatnonzero(~np.isnan(labels))
        for part in in_parallel(
            [partial(_sums, block.features, labels, share, a, b) for share in np.array_split(seen, threads)]
        ):
            sums += part
    correlation = _correlation(*summed(sums))
    passing = np.abs(correlation) > threshold
    if a == b:
        passing = np.triu(passing)
    left, right = np.nonzero(passing)
    return left + a.start, right + b.start, correlation[left, right]


def _sums(block: Any, labels: Floats, rows: Integers, a: slice, b: slice) -> Floats:
    sums = np.zeros((6, a.stop - a.start, b.stop - b.start))
    for first in range(0, len(rows), PIECE):
        piece = rows[first : first + PIECE]
        x = _columns(block, piece, a)
        _add(sums, x, x if a == b else _columns(block, piece, b), labels[piece])
    return sums


def _columns(block: Any, rows: Integers, columns: slice) -> Floats:
    part = block[rows][:, columns]
    return np.asarray(part.toarray() if is_sparse(part) else part, dtype=np.float64)


def _add(sums: Floats, x: Floats, z: Floats, labels: Floats) -> None:
    """Add a block's Σ1, Σy, Σy², Σp, Σp², Σpy over the rows where p = x_i·z_j is not missing."""
    missing_x, missing_z = np.isnan(x), np.isnan(z)
    column = labels[:, None]
    if missing_x.any() or missing_z.any():
        there_x, there_z = (~missing_x).astype(np.float64), (~missing_z).astype(np.float64)
        sums[0] += there_x.T @ there_z
        sums[1] += (there_x * column).T @ there_z
        sums[2] += (there_x * column**2).T @ there_z
        x, z = np.where(missing_x, 0, x), np.where(missing_z, 0, z)
    else:
        sums[:3] += np.array([len(labels), labels.sum(), labels @ labels])[:, None, None]
    sums[3] += x.T @ z
    sums[4] += (x * x).T @ (z * z)
    sums[5] += (x * column).T @ z


def _correlation(n: Floats, y: Floats, yy: Floats, p: Floats, pp: Floats, py: Floats) -> Floats:
    """Pearson's correlation from sums; 0 where product or label is constant up to the rounding of the sums."""
    rounding = np.finfo(np.float64).eps * n
    n = np.maximum(n, 1)
    of_products, of_labels = pp - p * p / n, yy - y * y / n
    varies = (of_products > rounding * pp) & (of_labels > rounding * yy)
    product = np.where(varies, of_products, 1) ** 0.5 * np.where(varies, of_labels, 1) ** 0.5
    return np.where(varies, (py - p * y / n) / product, 0)


@compiled
def _products(first, last, offsets, features, left, right, result):
    n_features = features.shape[1]
    largest = np.float64(np.finfo(np.float32).max)
    for i in range(offsets[first], offsets[last]):
        for j in range(n_features):
            result[i, j] = features[i, j]
        for k in range(len(left)):
            product = np.float64(features[i, left[k]]) * np.float64(features[i, right[k]])
            # Comparisons are false for NaN, which stays.
            if product > largest:
                product = largest
            elif product < -largest:
                product = -largest
            result[i, n_features + k] = product
