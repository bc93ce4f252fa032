"""TRANSFORMS, the one table of feature transforms, and the chain of them that a ranker fits and stores."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Integers, is_sparse
from luce.data.allocation import Zeros
from luce.data.transforms.base import Features, Transform, blocks, width_after
from luce.data.transforms.feature_products import SecondOrder
from luce.data.transforms.list_scaling import ListMinMax, ListZScore
from luce.data.transforms.scaling import Fill, Standardize, SymLog1p
from luce.errors import DataError, OptionError, unknown_name

if TYPE_CHECKING:
    from luce.data.ragged import Dataset

TRANSFORMS: dict[str, type[Transform]] = {
    kind.name: kind for kind in (Fill, SymLog1p, Standardize, ListMinMax, ListZScore, SecondOrder)
}


def make_transform(name: str, **options: Any) -> Transform:
    """A transform by its name and options, not fitted yet.

    Parameters
    ----------
    name : str
        A key of `luce.data.TRANSFORMS`.
    **options
        The options of that transform.

    Returns
    -------
    Transform

    Examples
    --------
    >>> make_transform("second-order", threshold=0.2)
    SecondOrder(threshold=0.2)
    """
    if name not in TRANSFORMS:
        raise unknown_name("transform", name, TRANSFORMS)
    allowed = TRANSFORMS[name].option_names()
    for option in options:
        if option not in allowed:
            takes = ", ".join(allowed) or "none"
            raise OptionError(f"The transform {name} has no option {option!r}. Its options: {takes}.")
    return TRANSFORMS[name](**options)


def fit_transforms(transforms: Sequence[str | Transform], dataset: "Dataset") -> list[Transform]:
    """Fit transforms one after the other, each on the output of the previous ones.

    Parameters
    ----------
    transforms : sequence of str or Transform
        Names or transforms with options of their own.
    dataset : Dataset
        The training data.

    Returns
    -------
    list of Transform

    Examples
    --------
    >>> from luce.data import Dataset
    >>> data = Dataset([[1.0], [np.nan], [5.0]], [0, 0, 1], [0, 3])
    >>> chain = fit_transforms(["fill", "standardize"], data)
    >>> apply_transforms(chain, data.features, data.offsets).ravel()
    array([-1.2247449,  0.       ,  1.2247449], dtype=float32)
    """
    fitted: list[Transform] = []
    for each in transforms:
        unfitted = each if isinstance(each, Transform) else make_transform(each)
        fitted.append(unfitted.fit(dataset, fitted))
    return fitted


def apply_transforms(
    transforms: Sequence[Transform], features: Features, offsets: Integers, allocate: Zeros = np.empty
) -> Features:
    """The features after all the transforms; what lies between two of them exists only for a block of rows.

    Parameters
    ----------
    transforms : sequence of Transform
        Fitted transforms.
    features : array or CSR array of shape (N, F)
        The features of a dataset.
    offsets : ndarray of shape (Q + 1,)
        Its offsets.
    allocate : callable, optional
        Allocates the result, unless it is sparse, from its shape and type.

    Returns
    -------
    array or CSR array of float32
    """
    if not transforms:
        return features
    shape = (features.shape[0], width_after(transforms, features.shape[1]))
    parts = blocks(features, offsets, transforms)
    if is_sparse(features):
        from scipy import sparse

        none = sparse.csr_array((0, shape[1]), dtype=np.float32)
        return sparse.csr_array(sparse.vstack([none, *(part.features for part in parts)], format="csr"))
    result = allocate(shape, np.float32)
    for part in parts:
        result[part.rows] = part.features
    return result


def transformed_names(
    transforms: Sequence[Transform], names: Sequence[str] | None, n_features: int
) -> tuple[str, ...] | None:
    """The names of the features after all the transforms; None where they are still just numbered."""
    result = tuple(map(str, range(1, n_features + 1)) if names is None else names)
    for each in transforms:
        result = each.feature_names(result)
    return None if names is None and len(result) == n_features else result


def unfitted(transforms: Sequence[Transform]) -> list[str | Transform]:
    """What fitted transforms were created from: their names, or where they have options of their own, those.

    >>> unfitted([make_transform("fill"), make_transform("second-order", threshold=0.2)])
    ['fill', SecondOrder(threshold=0.2)]
    """
    fresh = (make_transform(t.name, **{name: getattr(t, name) for name in t.option_names()}) for t in transforms)
    return [t.name if repr(t) == repr(make_transform(t.name)) else t for t in fresh]


def restore_transforms(states: Sequence[Mapping[str, Any]], arrays: Mapping[str, NDArray[Any]]) -> list[Transform]:
    """Transforms from what their `state` gave; the arrays of the i-th are named transform.i.name."""
    restored = []
    for i, state in enumerate(states):
        prefix = f"transform.{i}."
        own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        values = dict(state)
        kind = TRANSFORMS.get(str(values.pop("transform", None)))
        if kind is None:
            raise DataError(f"Unknown stored transform: {dict(state)}. Known transforms: {', '.join(TRANSFORMS)}.")
        try:
            if not all(isinstance(value, int | float | None) for value in values.values()):
                raise TypeError(f"numbers must be in {values}")
            restored.append(kind(**values, **own))
        except TypeError as error:
            raise DataError(f"A stored {kind.name} transform is incomplete: {error}") from error
    return restored
