"""Rankers: what is fitted to judged lists and then scores items; RANKERS is the one table of their kinds."""

import os

from luce.rankers.linear import LinearRanker
from luce.rankers.ranker import Ranker
from luce.rankers.storage import open_model

RANKERS: dict[str, type[Ranker]] = {LinearRanker.kind: LinearRanker}


def load(path: str | os.PathLike[str]) -> Ranker:
    """The ranker that `ranker.save(path)` stored.

    >>> import tempfile, luce, numpy as np
    >>> from pathlib import Path
    >>> ranker = LinearRanker().fit(luce.from_arrays([[1.0], [0.0]], [1, 0], ["q", "q"]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ranker.save(Path(folder) / "model.luce")
    ...     bool(np.array_equal(luce.load(Path(folder) / "model.luce").weights_, ranker.weights_))
    True
    """
    manifest, arrays = open_model(path, RANKERS)
    return RANKERS[manifest["kind"]]._restored(manifest, arrays)


__all__ = ["RANKERS", "LinearRanker", "Ranker", "load"]
