"""What a ranker is trained on: lists with their transformed features, and lists to validate on."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from luce.arrays import Integers, rows_of_lists
from luce.data import Dataset


class TrainingData(NamedTuple):
    """The lists to learn from and those to validate on, if any, each with its transformed features."""

    dataset: Any
    features: Any
    validation: Any
    validation_features: Any

    def take(self, lists: Integers, held_out: Integers | None = None) -> "TrainingData":
        """Some of the lists to learn from; the held-out ones replace those to validate on."""
        judged = (self.validation, self.validation_features) if held_out is None else self._some(held_out)
        return TrainingData(*self._some(lists), *judged)

    def _some(self, lists: Integers) -> tuple[Any, Any]:
        some = self.dataset.take(lists)
        if self.features is self.dataset.features:
            return some, some.features
        rows = rows_of_lists(self.dataset.offsets, lists) if isinstance(self.dataset, Dataset) else lists
        return some, self.features[rows]

    def masked(self, mask: NDArray[np.bool_]) -> "TrainingData":
        """The same lists, with the transformed features outside the mask set to 0."""
        if mask.all():
            return self
        judged = None if self.validation is None else masked(self.validation_features, mask)
        return self._replace(features=masked(self.features, mask), validation_features=judged)


def masked(features: Any, mask: NDArray[np.bool_]) -> Any:
    """A copy of the features with 0 in the columns outside the mask.

    >>> masked(np.array([[1.0, np.nan, 3.0]]), np.array([True, False, True]))
    array([[1., 0., 3.]])
    """
    if not sparse.issparse(features):
        return np.where(mask, features, features.dtype.type(0))
    copy = features.copy()
    copy.data[~mask[copy.indices]] = 0  # a product with 0 would leave missing values
    copy.eliminate_zeros()
    return copy
