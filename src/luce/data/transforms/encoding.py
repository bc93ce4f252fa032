"""Categories for a ranker: its transforms see the numbers alone, and categories become columns of 0 and 1, or stay."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Integers
from luce.data.categories import Categories, Values
from luce.data.transforms.base import Features, Transform, contiguous, width_after
from luce.data.transforms.chain import fit_transforms
from luce.errors import DataError

if TYPE_CHECKING:
    from luce.data.ragged import Dataset

MOST_COLUMNS = 256
"""A feature with more categories gets so many columns, and a hash says which value belongs to which."""


@dataclass(frozen=True, eq=False)
class Encode(Transform):
    """The numbers after a chain of transforms, and then the categories, of which a missing one is 0 in all columns.

    A ranker puts this around its transforms where its training data have categories. Columns of 0 and 1 come after the
    chain so that nothing scales them: a rare value would otherwise be a large number.
    """

    categories: Categories
    chain: tuple[Transform, ...]
    one_hot: bool

    name: ClassVar[str] = "encode"

    def __post_init__(self) -> None:
        """The chain has been checked."""

    @property
    def within_lists(self) -> bool:  # type: ignore[override]
        return any(each.within_lists for each in self.chain)

    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        states = [each.state() for each in self.chain]
        facts = {"transform": self.name, "categories": self.categories, "chain": [facts for facts, _ in states]}
        return facts, {f"{i}.{name}": array for i, (_, arrays) in enumerate(states) for name, array in arrays.items()}

    def n_outputs(self, n_features: int) -> int:
        self._check(n_features)
        return width_after(self.chain, len(self._numbers)) + sum(self._widths)

    def feature_names(self, names: Sequence[str]) -> tuple[str, ...]:
        self._check(len(names))
        return (*self._chain_names(names), *(each for own in self._category_names(names) for each in own))

    def apply(self, features: Features, offsets: Integers) -> Features:
        self._check(features.shape[1])
        numbers = contiguous(features[:, self._numbers])
        for transform in self.chain:
            numbers = transform.apply(numbers, offsets)
        if not self.one_hot:
            return contiguous(np.hstack([numbers, features[:, self._coded]]))
        result = np.zeros((len(numbers), numbers.shape[1] + sum(self._widths)), dtype=np.float32)
        result[:, : numbers.shape[1]] = numbers
        start = numbers.shape[1]
        for column, places, width in zip(self._coded, self._places, self._widths, strict=True):
            rows = np.flatnonzero(~np.isnan(features[:, column]))
            result[rows, start + places[features[rows, column].astype(np.int64)]] = 1
            start += width
        return contiguous(result)

    def by_feature(self, values: NDArray[Any]) -> NDArray[Any]:
        """A value for each output as one for each feature before it, summed over a category's columns; products after
        these."""
        n_numbers, n_products = len(self._numbers), values.shape[1] - len(self._numbers) - sum(self._widths)
        result = np.zeros((len(values), len(self.categories) + n_products))
        result[:, self._numbers] = values[:, :n_numbers]
        result[:, len(self.categories) :] = values[:, n_numbers : n_numbers + n_products]
        start = n_numbers + n_products
        for column, width in zip(self._coded, self._widths, strict=True):
            result[:, column] = values[:, start : start + width].sum(axis=1)
            start += width
        return result

    def by_feature_names(self, names: Sequence[str]) -> tuple[str, ...]:
        """The names of what `by_feature` gives."""
        return (*names, *self._chain_names(names)[len(self._numbers) :])

    def _chain_names(self, names: Sequence[str]) -> tuple[str, ...]:
        found = tuple(names[column] for column in self._numbers)
        for each in self.chain:
            found = each.feature_names(found)
        return found

    def _category_names(self, names: Sequence[str]) -> list[list[str]]:
        if not self.one_hot:
            return [[names[column]] for column in self._coded]
        return [
            [f"{names[column]}#{number}" for number in range(width)]
            if len(values) > width
            else [f"{names[column]}={value}" for value in values]
            for column, values, width in zip(self._coded, self._values, self._widths, strict=True)
        ]

    def _check(self, n_features: int) -> None:
        if n_features != len(self.categories):
            raise DataError(f"The categories are those of {len(self.categories)} features. Got {n_features}.")

    @cached_property
    def _numbers(self) -> list[int]:
        return [column for column, values in enumerate(self.categories) if values is None]

    @cached_property
    def _coded(self) -> list[int]:
        return [column for column, values in enumerate(self.categories) if values is not None]

    @cached_property
    def _values(self) -> list[Values]:
        return [values for values in self.categories if values is not None]

    @cached_property
    def _widths(self) -> list[int]:
        return [min(len(values), MOST_COLUMNS) if self.one_hot else 1 for values in self._values]

    @cached_property
    def _places(self) -> list[Integers]:
        """Of each category, the column that each of its values belongs to."""
        return [
            np.arange(len(values))
            if len(values) <= MOST_COLUMNS
            else np.array([crc32(value.encode(errors="surrogatepass")) % MOST_COLUMNS for value in values])
            for values in self._values
        ]


def encoded(chain: Sequence[Transform], categories: Categories | None, *, one_hot: bool) -> list[Transform]:
    """Fitted transforms of numbers, for features of which some are categories."""
    if categories is None or not (one_hot or chain):
        return list(chain)
    return [Encode(categories, tuple(chain), one_hot)]


def fit_encoded(transforms: Sequence[str | Transform], dataset: "Dataset", *, one_hot: bool) -> list[Transform]:
    """Transforms fitted on the features that are numbers; others become columns of 0 and 1, or stay numbered.

    >>> from luce.data import Dataset
    >>> data = Dataset([[5, 0], [7, 1]], [0, 1], [0, 2], categories=[None, ("red", "blue")])
    >>> encode, = fit_encoded(["standardize"], data, one_hot=True)
    >>> encode.feature_names(["price", "color"]), encode.apply(data.features, data.offsets).tolist()
    (('price', 'color=red', 'color=blue'), [[-1.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    """
    if dataset.categories is None:
        return fit_transforms(transforms, dataset)
    numbers = [column for column, values in enumerate(dataset.categories) if values is None]
    chain = fit_transforms(transforms, dataset.with_features(dataset.features[:, numbers]))
    return encoded(chain, dataset.categories, one_hot=one_hot)


def chain_of(transforms: Sequence[Transform]) -> Sequence[Transform]:
    """The transforms that an encoding holds, or that stand alone."""
    return transforms[0].chain if transforms and isinstance(transforms[0], Encode) else transforms
