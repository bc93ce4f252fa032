"""The dataset of tagged rows: features, and the grades of the labels that are relevant to each row."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from luce.arrays import Integers, read_only, real
from luce.data.ragged import checked_features, consecutive, rows_of_csr
from luce.errors import DataError, OptionError

MOST = 2**31 - 1
"""Labels and features are numbered in 32 bits."""


@dataclass(frozen=True, eq=False, repr=False)
class TaggedData:
    """N rows, each with a few relevant labels out of L; immutable.

    A row may have no label, no feature, or all labels. A label repeated in a row counts once.

    Parameters
    ----------
    features : array-like or SciPy sparse array of shape (N, F)
        Finite numbers, stored as float32, dense or CSR.
    labels : array-like or SciPy sparse array of shape (N, L)
        1 = relevant, 0 or not stored = not relevant; higher grades rank above lower ones. Stored as a CSR array of
        grades > 0.

    Attributes
    ----------
    n_rows, n_features, n_labels : int
        N, F and L.
    sizes : ndarray of shape (N,)
        The number of relevant labels of each row.
    label_counts : ndarray of shape (L,)
        The number of rows in which each label is relevant.
    is_sparse : bool
        Whether the features are a CSR array.

    Examples
    --------
    >>> data = TaggedData([[1.0, 0], [0, 1]], [[0, 1, 1], [0, 0, 0]])
    >>> data
    TaggedData(2 rows, 2 features, 3 labels, 1 per row, 1 row without labels)
    >>> data.label_counts, data.relevant(np.array([1, 0]))
    (array([0, 1, 1]), (array([1, 2]), array([0, 0, 2]), array([1., 1.])))
    """

    features: Any
    labels: Any

    def __post_init__(self) -> None:
        features = checked_features(self.features)
        values = features.data if sparse.issparse(features) else features
        if not np.isfinite(values).all():
            raise DataError("features of tagged rows must be finite. Got NaN.")
        labels = _checked_labels(self.labels)
        if labels.shape[0] != features.shape[0]:
            raise DataError(f"labels must have {features.shape[0]:,} rows, like the features. Got {labels.shape[0]:,}.")
        for name, count in (("labels", labels.shape[1]), ("features", features.shape[1])):
            if count > MOST:
                raise DataError(f"There can be at most {MOST:,} {name}. Got {count:,}.")
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "labels", labels)

    @property
    def n_rows(self) -> int:
        return int(self.labels.shape[0])

    @property
    def n_lists(self) -> int:
        """A row is the list of all labels, the relevant ones above the others."""
        return self.n_rows

    @property
    def n_features(self) -> int:
        return int(self.features.shape[1])

    @property
    def n_labels(self) -> int:
        return int(self.labels.shape[1])

    @property
    def is_sparse(self) -> bool:
        return sparse.issparse(self.features)

    @property
    def sizes(self) -> Integers:
        """The number of relevant labels of each row."""
        return np.diff(self.labels.indptr).astype(np.int64)

    @property
    def label_counts(self) -> Integers:
        """The number of rows in which each label is relevant."""
        return np.bincount(self.labels.indices, minlength=self.n_labels)

    def relevant(self, rows: Integers) -> tuple[Integers, Integers, NDArray[np.float64]]:
        """The relevant labels of some rows, row after row, their offsets, and their grades."""
        some = self.labels[rows]
        return some.indices.astype(np.int64), some.indptr.astype(np.int64), some.data

    def take(self, lists: ArrayLike) -> "TaggedData":
        """The data of these rows, in this order; of rows that follow each other without a copy.

        Parameters
        ----------
        lists : array-like of int
            Indices of rows, from 0.

        Returns
        -------
        TaggedData
        """
        chosen = consecutive(lists)
        result = object.__new__(TaggedData)
        features = rows_of_csr(self.features, chosen) if self.is_sparse else read_only(self.features[chosen])
        object.__setattr__(result, "features", features)
        object.__setattr__(result, "labels", rows_of_csr(self.labels, chosen))
        return result

    def __repr__(self) -> str:
        without = int(np.count_nonzero(self.sizes == 0))
        words = [f"{self.n_rows:,} row{'' if self.n_rows == 1 else 's'}", f"{self.n_features:,} features"]
        words += [f"{self.n_labels:,} labels", f"{self.labels.nnz / max(self.n_rows, 1):.3g} per row"]
        words += [f"{without:,} row{'' if without == 1 else 's'} without labels"] if without else []
        return f"TaggedData({', '.join(words)}{', sparse' if self.is_sparse else ''})"


def _checked_labels(given: Any) -> Any:
    """Grades as a CSR array in canonical form: sorted, each label once with its highest grade, none of them 0."""
    matrix: Any = given if sparse.issparse(given) else _table(given)
    if matrix.dtype.kind not in "biuf":
        raise DataError(f"labels must be numbers, 0 or 1 or grades. Got {matrix.dtype}.")
    if matrix.ndim != 2:
        raise DataError(f"labels must be two-dimensional, rows by labels. Got shape {matrix.shape}.")
    if matrix.shape[0] and sparse.issparse(matrix) and matrix.format == "csr" and matrix.has_canonical_format:
        given = sparse.csr_array(matrix).astype(np.float64)
        if given.nnz == 0 or (given.data.min() > 0 and given.data.max() < np.inf):
            return given
    entries = sparse.coo_array(matrix)
    values = entries.data.astype(np.float64)
    if not (np.isfinite(values).all() and values.min(initial=0.0) >= 0):
        raise DataError("labels must be grades: finite and not negative, 0 for a label that is not relevant.")
    rows, columns = (each[values > 0].astype(np.int64) for each in entries.coords)
    values = values[values > 0]
    order = np.lexsort((columns, rows))
    rows, columns, values = rows[order], columns[order], values[order]
    first = np.flatnonzero(np.diff(rows, prepend=-1).astype(bool) | np.diff(columns, prepend=-1).astype(bool))
    if len(first) < len(values):
        values = np.maximum.reduceat(values, first)
        rows, columns = rows[first], columns[first]
    ends = np.searchsorted(rows, np.arange(matrix.shape[0] + 1))
    kind = np.int32 if len(values) <= MOST and matrix.shape[1] <= MOST else np.int64
    return sparse.csr_array((values, columns.astype(kind), ends.astype(kind)), shape=matrix.shape)


def _table(given: Any) -> NDArray[Any]:
    try:
        return real(given)
    except (TypeError, ValueError) as error:
        raise OptionError(f"labels must be a SciPy matrix or a table, rows by labels. {error}") from error
