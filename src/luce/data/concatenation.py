"""The lists of several datasets as one dataset."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from luce.arrays import offsets_of_sizes, read_only
from luce.data.alignment import aligned
from luce.data.categories import Categories
from luce.data.ragged import Dataset
from luce.errors import DataError


def concatenate(datasets: Sequence[Dataset]) -> Dataset:
    """One dataset of the lists of several, in order; they must have the same features.

    A list stays a list: two datasets that hold the same query id give two lists. What not all of them have, such as
    weights, is left out. A feature that is a category has the values of all of them.

    Parameters
    ----------
    datasets : sequence of Dataset
        At least one.

    Returns
    -------
    Dataset
    """
    first = datasets[0]
    for other in datasets[1:]:
        if (other.n_features, other.feature_names) != (first.n_features, first.feature_names):
            raise DataError(f"Datasets to put together must have the same features. Got {first!r} and {other!r}.")
    categories = _union([dataset.categories for dataset in datasets], first.n_features)
    datasets = [aligned(dataset, None, categories) for dataset in datasets]

    def joined(name: str) -> Any:
        values = [getattr(dataset, name) for dataset in datasets]
        if any(value is None for value in values):
            return None
        return read_only(np.concatenate(values)) if isinstance(values[0], np.ndarray) else _concatenate_ids(values)

    if any(dataset.is_sparse for dataset in datasets):
        features: Any = sparse.vstack([sparse.csr_array(d.features) for d in datasets], format="csr")
    else:
        features = joined("features")
    return Dataset.unchecked(
        features=features,
        offsets=read_only(offsets_of_sizes(np.concatenate([dataset.sizes for dataset in datasets]))),
        feature_names=first.feature_names,
        categories=categories,
        **{
            name: joined(name)
            for name in ("labels", "query_ids", "document_ids", "item_weights", "list_weights", "item_groups")
        },
    )


def _concatenate_ids(values: list[pa.Array]) -> pa.Array:
    if len({value.type for value in values}) > 1:
        values = [value.cast(pa.large_string()) for value in values]
    return pa.concat_arrays(values)


def _union(given: Sequence[Categories | None], n_features: int) -> Categories | None:
    """All values of each feature, sorted where the datasets do not agree on them."""
    if all(categories == given[0] for categories in given):
        return given[0]
    none = (None,) * n_features
    columns = (set(values) for values in zip(*(categories or none for categories in given), strict=True))
    return tuple(
        next(iter(values)) if len(values) == 1 else tuple(sorted({value for each in values for value in each or ()}))
        for values in columns
    )
