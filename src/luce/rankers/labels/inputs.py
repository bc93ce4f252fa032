"""The data that a label ranker is given, converted and checked."""

from typing import Any

import numpy as np

from luce.data import Dataset
from luce.data.extreme import TaggedData
from luce.errors import DataError


def as_tagged(X: Any, y: Any) -> TaggedData:
    """The data that was given, or that of features and a matrix of labels."""
    if isinstance(X, TaggedData):
        return X
    if y is None:
        raise DataError(
            "Give TaggedData, or features X with a matrix of labels y, rows by labels: the target y is None."
        )
    return TaggedData(X, y)


def feature_rows(X: Any) -> Dataset:
    """The features as one list without labels: what transforms and the check of features take."""
    if isinstance(X, Dataset):
        raise DataError("A label ranker needs TaggedData, or features. Got lists of items.")
    features = X.features if isinstance(X, TaggedData) else X
    n_rows = features.shape[0] if getattr(features, "shape", ()) else len(features)
    return Dataset(features, np.zeros(n_rows), [0, n_rows])
