"""Fingerprints of data: short texts that differ where anything does that a ranker learns from."""

import hashlib
import json
from typing import Any

import numpy as np
from scipy import sparse

from luce.data.extreme import TaggedData
from luce.data.ragged import Dataset


def fingerprint(data: Dataset | TaggedData) -> str:
    """The start of a SHA-256 hash of the arrays; ids of queries and documents, which nothing learns from, are left out.

    >>> a, b = (Dataset([[0.5], [x]], [1, 0], [0, 2]) for x in (0.1, 0.2))
    >>> fingerprint(a) == fingerprint(a.take([0])), fingerprint(a) == fingerprint(b)
    (True, False)
    """
    arrays: list[Any] = [data.features, data.labels]
    names: Any = None
    if isinstance(data, Dataset):
        arrays += [data.offsets, data.item_weights, data.list_weights, data.item_group_numbers()]
        names = data.feature_names if data.categories is None else (data.feature_names, data.categories)
    digest = hashlib.sha256(json.dumps(names).encode())
    for array in arrays:
        for part in (array.data, array.indices, array.indptr) if sparse.issparse(array) else (array,):
            digest.update(b"none" if part is None else f"{array.shape}{part.dtype}{part.shape}".encode())
            if part is not None:
                digest.update(np.ascontiguousarray(part).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()[:24]
