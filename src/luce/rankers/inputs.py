"""The data that a ranker is given, converted to a dataset and checked."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from luce.data import Dataset, from_arrays
from luce.errors import DataError, OptionError

FROM_FRAME = ", which luce.from_table makes from a data frame that has them as columns"

BLOCK = 65_536
"""Rows looked at together: no copy of all features is made."""


def as_dataset(X: Any, y: Any, qid: Any, group: Any, wanted_by: str) -> Dataset:
    """The dataset that was given, or that of features, labels and either queries or list sizes."""
    if isinstance(X, Dataset):
        return X
    if y is None:
        raise DataError(
            f"{wanted_by} requires y to be passed, but the target y is None: give features with labels y and the query "
            f"qid of each row or the sizes group of the lists, or a Dataset{FROM_FRAME}."
        )
    if qid is None and group is None:
        raise DataError(
            f"{wanted_by} needs features with labels y and the query qid of each row or the sizes group of the lists, "
            f"or a Dataset{FROM_FRAME}."
        )
    return from_arrays(X, y, qid, group=group)


def as_held_out(validation: Any, kind: type, make: Callable[..., Any], parts: str) -> Any:
    """The validation data, of this kind or made from a tuple of these parts."""
    if isinstance(validation, kind):
        return validation
    if not isinstance(validation, tuple | list) or len(validation) != len(parts.split(", ")):
        raise OptionError(
            f"validation must be a {kind.__name__} or a tuple ({parts}). Got {type(validation).__name__}."
        )
    return make(*validation)


def check_features(dataset: Dataset, count: int, ranker: str) -> None:
    """An error unless the features are as many as a ranker knows."""
    if dataset.n_features != count:
        raise DataError(
            f"X has {dataset.n_features} features, but {ranker} is expecting {count} features as input, as many as it "
            "was trained on. For text files that end before the last, read with n_features=."
        )


def refuse_missing(features: Any) -> None:
    """An error for a feature that is NaN."""
    values = features.data[:, None] if sparse.issparse(features) else features
    for start in range(0, len(values), BLOCK):
        if np.isnan(values[start : start + BLOCK]).any():
            raise DataError(
                "Some features are missing (NaN), and this ranker needs all of them: add 'fill' to the transforms."
            )


def finite(scores: NDArray[Any]) -> Any:
    """The scores, one or several a row; an error where one is not finite."""
    if not np.isfinite(scores).all():
        row = int(np.argwhere(~np.isfinite(scores))[0, 0])
        raise DataError(f"The score of row {row + 1} is not finite: its features are too large for the ranker.")
    return scores
