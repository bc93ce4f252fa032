"""The targets in NumPy, for labels that do not overflow, as a reference for `cpu`."""

import numpy as np
from numpy.typing import ArrayLike

from luce.arrays import Floats


def label_targets(labels: ArrayLike, value: str, norm: str, depth: int | None = None) -> Floats:
    """Targets of one list; NaN where the label is, and throughout if they are worth nothing."""
    y = np.asarray(labels, dtype=np.float64)
    values = {
        "label": y,
        "gain": np.exp2(np.fmax(y, 0)) - 1,
        "exponential": np.exp(y),
        "attention": np.where(y > 0, np.exp(y), 0),
    }[value]
    observed = values[~np.isnan(y)]
    size = {
        "one": 1.0,
        "sum": observed.sum(),
        "length": np.linalg.norm(observed),
        "dcg": (np.sort(observed)[::-1] / np.log2(np.arange(2, len(observed) + 2)))[:depth].sum(),
    }[norm]
    return np.where(np.isnan(y) | (size == 0), np.nan, values / size if size else np.nan)
