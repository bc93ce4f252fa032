"""The data that a ranker is given, converted to a dataset and checked."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from luce.arrays import Integers
from luce.data import Dataset, from_arrays
from luce.errors import DataError, OptionError

BLOCK = 65_536
"""Rows looked at together: no copy of all features is made."""


def as_dataset(X: Any, y: Any, qid: Any, group: Any, wanted_by: str) -> Dataset:
    """The dataset that was given, or that of features, labels and either queries or list sizes."""
    if isinstance(X, Dataset):
        return X
    if y is None:
        raise DataError(
            f"{wanted_by} requires y to be passed, but the target y is None: give features with labels y and the query "
            "qid of each row or the sizes group of the lists, or a Dataset."
        )
    if qid is None and group is None:
        raise DataError(
            f"{wanted_by} needs features with labels y and the query qid of each row or the sizes group of the lists, "
            "or a Dataset."
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


def one_list(X: Any) -> Integers:
    """Query ids that put all rows into one list."""
    n_rows = X.shape[0] if getattr(X, "shape", ()) else len(X) if hasattr(X, "__len__") else 0
    return np.zeros(n_rows, dtype=np.int64)


def check_features(dataset: Dataset, count: int, known: Sequence[str] | None, ranker: str) -> None:
    """An error unless the features are as many as a ranker knows, and where both have names, the same in this order."""
    given = dataset.feature_names
    words = "" if known is None or given is None or tuple(known) == given else _difference(known, given)
    if dataset.n_features != count:
        hint = f"Of them {words}." if words else "For text files that end before the last, read with n_features=."
        raise DataError(
            f"X has {dataset.n_features} features, but {ranker} is expecting {count} features as input, as many as it "
            f"was trained on. {hint}"
        )
    if words:
        raise DataError(f"The features are not those of the training: {words}.")


def _difference(known: Sequence[str], given: Sequence[str]) -> str:
    """In words, how names differ from those that are known."""
    missing, new = (sorted(set(a) - set(b)) for a, b in ((known, given), (given, known)))
    if not missing and not new:
        at = next(i for i, (a, b) in enumerate(zip(known, given, strict=True)) if a != b)
        return f"they come in another order, feature {at + 1} was {known[at]!r}, now it is {given[at]!r}"
    some = {
        what: ", ".join(map(repr, names[:5])) + (", …" if len(names) > 5 else "")
        for what, names in (("missing", missing), ("not known", new))
    }
    return "; ".join(f"{what} {names}" for what, names in some.items() if names)


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
