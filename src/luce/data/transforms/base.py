"""What every feature transform does: learn from training data, change features, store itself as JSON and arrays."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats, Integers, is_sparse, list_blocks, read_only
from luce.errors import DataError, OptionError

if TYPE_CHECKING:
    from luce.data.ragged import Dataset

CELLS = 2**22
"""Values worked on together: what lies between two transforms is never larger than this (or than one list)."""

SPARSE_ROWS = 8_192
"""Sparse rows processed together: few enough to make some of their columns dense."""

Features = Any
"""float32 (N, F): a C-contiguous array or a SciPy CSR array."""


@dataclass(frozen=True, eq=False)
class Transform:
    """A frozen record of options and of what was learnt, which are the fields that `repr` leaves out.

    A kind says its `name`, a one-line `summary`, and `within_lists` where other rows of a list change a row.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    within_lists: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name, array in self.state()[1].items():
            if array.ndim != 1 or array.dtype.kind not in "fi" or not np.isfinite(array).all():
                raise DataError(
                    f"{name} of the transform {self.name} must be one-dimensional, of finite numbers. "
                    f"Got {array.dtype} of shape {array.shape}."
                )
            object.__setattr__(self, name, read_only(np.ascontiguousarray(array)))

    @classmethod
    def option_names(cls) -> list[str]:
        """The options it takes."""
        return [each.name for each in fields(cls) if each.repr]

    def fit(self, dataset: "Dataset", before: Sequence["Transform"] = ()) -> Self:
        """This transform with what it learns from the dataset as the transforms `before` leave it."""
        return self

    def apply(self, features: Features, offsets: Integers) -> Features:
        """The transformed features; the given ones stay as they are. Lists matter only where `within_lists`."""
        raise NotImplementedError

    def n_outputs(self, n_features: int) -> int:
        """The number of features after it; an error where it was fitted on others."""
        return n_features

    def feature_names(self, names: Sequence[str]) -> tuple[str, ...]:
        """The names of the features after it."""
        return tuple(names)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Everything needed to make it again: what JSON can hold, and the arrays."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
        return {"transform": self.name} | {name: value for name, value in values.items() if name not in arrays}, arrays

    def for_features(self, array: NDArray[Any] | None, n_features: int) -> NDArray[Any]:
        """A learnt array, one entry a feature; an error where there is none or the features are others."""
        if array is None:
            raise OptionError(f"The transform {self.name} must be fitted before it is applied.")
        if len(array) != n_features:
            raise DataError(f"The transform {self.name} was fitted on {len(array)} features. Got {n_features}.")
        return array


def contiguous(features: Any) -> NDArray[np.float32]:
    """Dense features as kernels expect them: read-only, row after row."""
    return read_only(np.ascontiguousarray(features, dtype=np.float32))


def width_after(transforms: Sequence[Transform], n_features: int) -> int:
    """The number of features after all the transforms."""
    for transform in transforms:
        n_features = transform.n_outputs(n_features)
    return n_features


class Block(NamedTuple):
    """Transformed features of some rows, with the offsets of their lists within the block."""

    rows: slice
    features: Features
    offsets: Integers


def blocks(
    features: Features, offsets: Integers, transforms: Sequence[Transform], *, complete_lists: bool = False
) -> Iterator[Block]:
    """The features as the transforms leave them, block after block of rows: memory does not grow with their number.

    A list may be cut in two, unless `complete_lists` or a transform looks at complete lists; then a list that is longer
    than a block is a block of its own.
    """
    width = width_after(transforms, features.shape[1])
    step = SPARSE_ROWS if is_sparse(features) else max(1, CELLS // max(1, width))
    if not (complete_lists or any(transform.within_lists for transform in transforms)):
        offsets = np.append(np.arange(0, features.shape[0], step), features.shape[0])
    for lists in list_blocks(offsets, step):
        bounds = offsets[lists.start : lists.stop + 1]
        rows, bounds = slice(bounds[0], bounds[-1]), bounds - bounds[0]
        block = features[rows] if is_sparse(features) else contiguous(features[rows])
        for transform in transforms:
            block = transform.apply(block, bounds)
        yield Block(rows, block, bounds)


def saturated(values: Floats) -> NDArray[np.float32]:
    """Float64 as float32; what lies beyond its range becomes its largest number, never infinite."""
    largest = float(np.finfo(np.float32).max)
    return np.clip(values, -largest, largest).astype(np.float32)


def dense_only(transform: Transform, features: Features) -> None:
    """Refuse sparse features where zeros would not stay zeros."""
    if is_sparse(features):
        raise DataError(
            f"The transform {transform.name} needs dense features, because it changes zeros. Got sparse features. "
            "Use standardize, which only scales sparse features, or read with sparse=False."
        )
