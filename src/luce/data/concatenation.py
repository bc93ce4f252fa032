"""The lists of several datasets as one dataset."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from scipy import sparse

from luce.arrays import offsets_of_sizes, read_only
from luce.data.alignment import aligned
from luce.data.allocation import Zeros
from luce.data.categories import Categories
from luce.data.extreme import TaggedData
from luce.data.ragged import Dataset
from luce.distributed import Group
from luce.errors import DataError

OPTIONAL = ("document_ids", "item_weights", "list_weights", "item_groups")


class Form(NamedTuple):
    """What the parts of a dataset must agree on: its features, and which optional arrays it has."""

    n_features: int
    feature_names: tuple[str, ...] | None
    categories: Categories | None
    optional: tuple[str, ...]

    @classmethod
    def of(cls, dataset: Dataset) -> "Form":
        given = tuple(name for name in OPTIONAL if getattr(dataset, name) is not None)
        return cls(dataset.n_features, dataset.feature_names, dataset.categories, given)


def common_form(forms: Sequence[Form], *, widen: bool = False) -> Form:
    """The form that datasets can all be given; an error where their features are not the same.

    What not all have, such as weights, is left out. A feature that is a category has the values of all of them. Of text
    that numbers its features not every part may have the last ones: with `widen` they are 0 there.
    """
    longest = max(forms, key=lambda form: form.n_features)
    for other in forms:
        names = longest.feature_names and longest.feature_names[: other.n_features]
        if other.feature_names != names or not (widen or other.n_features == longest.n_features):
            zero = " Where only some have a feature 0: first_index=0, on the command line --read first_index=0."
            raise DataError(
                f"Datasets to put together must have the same features. Got {_features(longest)} and "
                f"{_features(other)}.{zero if widen else ''}"
            )
    categories = [
        form.categories and form.categories + (None,) * (longest.n_features - form.n_features) for form in forms
    ]
    optional = tuple(name for name in OPTIONAL if all(name in form.optional for form in forms))
    return Form(longest.n_features, longest.feature_names, _union(categories, longest.n_features), optional)


def with_form(dataset: Dataset, form: Form) -> Dataset:
    """The dataset in this form, which has at least its features."""
    if form == Form.of(dataset):
        return dataset
    missing = form.n_features - dataset.n_features
    if missing:
        dataset = dataset.with_features(_widened(dataset.features, missing), form.feature_names)
    dataset = aligned(dataset, None, form.categories)
    left_out = dict.fromkeys(name for name in OPTIONAL if name not in form.optional)
    names = ("features", "labels", "offsets", "query_ids", *OPTIONAL, "feature_names", "categories")
    return Dataset.unchecked(**{name: getattr(dataset, name) for name in names} | left_out)


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
    return join(list(datasets))


def join(parts: list[Dataset], zeros: Zeros = np.zeros, *, widen: bool = False) -> Dataset:
    """The lists of all parts, their features in memory from `zeros`, perhaps widened; empties `parts`.

    A part is dropped as soon as it is copied, so that the whole grows as the parts shrink.
    """
    form = common_form([Form.of(part) for part in parts], widen=widen)

    def joined(name: str) -> Any:
        values = [getattr(part, name) for part in parts]
        return read_only(np.concatenate(values)) if isinstance(values[0], np.ndarray) else _concatenate_ids(values)

    return Dataset.unchecked(
        offsets=read_only(offsets_of_sizes(np.concatenate([part.sizes for part in parts]))),
        feature_names=form.feature_names,
        categories=form.categories,
        **{name: joined(name) for name in ("labels", "query_ids", *form.optional)},
        features=_sparse(parts, form, zeros) if any(part.is_sparse for part in parts) else _dense(parts, form, zeros),
    )


def join_tagged(parts: Sequence[TaggedData]) -> TaggedData:
    """The rows of all parts, whose features and labels must be the same."""
    shapes = {(part.n_features, part.n_labels): part for part in parts}
    if len(shapes) > 1:
        first, second, *_ = shapes.values()
        raise DataError(f"Parts must have the same features and labels. Got {first!r} and {second!r}.")
    stack = sparse.vstack if any(part.is_sparse for part in parts) else np.vstack
    features: Any = stack([part.features for part in parts])
    return TaggedData(features, sparse.vstack([part.labels for part in parts], format="csr"))


def same_on_ranks(own: Any, group: Group, *, widen: bool) -> Any:
    """The data of this rank with the features, and the values of categories, that those of all ranks have."""
    if isinstance(own, TaggedData):
        group.agree({"the number of features": own.n_features, "the number of labels": own.n_labels})
        return own
    return with_form(own, common_form([_read_form(form) for form in group.gather_json(Form.of(own))], widen=widen))


def _read_form(given: list[Any]) -> Form:
    n_features, names, categories, optional = given
    values = None if categories is None else tuple(None if each is None else tuple(each) for each in categories)
    return Form(n_features, None if names is None else tuple(names), values, tuple(optional))


def _dense(parts: list[Dataset], form: Form, zeros: Zeros) -> Any:
    features = zeros((sum(part.n_rows for part in parts), form.n_features), np.float32)
    row = 0
    while parts:
        part = with_form(parts.pop(0), form)
        features[row : row + part.n_rows] = part.features
        row += part.n_rows
    return read_only(features)


def _sparse(parts: list[Dataset], form: Form, zeros: Zeros) -> Any:
    n_rows, n_entries = sum(part.n_rows for part in parts), sum(_n_entries(part.features) for part in parts)
    kind = np.int32 if n_entries < 2**31 else np.int64
    columns, values, indptr = zeros((n_entries,), kind), zeros((n_entries,), np.float32), np.zeros(n_rows + 1, kind)
    row = entry = 0
    while parts:
        matrix = sparse.csr_array(with_form(parts.pop(0), form).features)
        rows, entries = slice(row + 1, row + 1 + matrix.shape[0]), slice(entry, entry + matrix.nnz)
        columns[entries], values[entries], indptr[rows] = matrix.indices, matrix.data, matrix.indptr[1:] + entry
        row, entry = row + matrix.shape[0], entry + matrix.nnz
    joined = sparse.csr_array((values, columns, indptr), shape=(n_rows, form.n_features), copy=False)
    joined.has_canonical_format = True
    return joined


def _n_entries(features: Any) -> int:
    return int(features.nnz if sparse.issparse(features) else np.count_nonzero(features))


def _widened(features: Any, missing: int) -> Any:
    """The features with so many more that are 0."""
    if not sparse.issparse(features):
        return np.pad(features, [(0, 0), (0, missing)])
    shape = features.shape[0], features.shape[1] + missing
    return sparse.csr_array((features.data, features.indices, features.indptr), shape=shape, copy=False)


def _features(form: Form) -> str:
    names = form.feature_names
    return (
        f"{form.n_features:,} numbered features" if names is None else f"the {form.n_features:,} features {_few(names)}"
    )


def _few(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (", …" if len(names) > 5 else "")


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
