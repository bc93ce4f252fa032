"""Rankers: what is fitted to judged lists and then scores items; RANKERS is the one table of their kinds."""

import os
from typing import Any

from luce.errors import DataError, OptionError
from luce.rankers.checkpoint import Checkpoint
from luce.rankers.labels import LabelRanker
from luce.rankers.linear import LinearRanker
from luce.rankers.neural import NeuralRanker
from luce.rankers.presets import PRESETS, preset_of
from luce.rankers.ranker import Ranker
from luce.rankers.storage import open_model
from luce.rankers.trees import TreeRanker

RANKERS: dict[str, type[Ranker]] = {kind.kind: kind for kind in (LinearRanker, NeuralRanker, TreeRanker, LabelRanker)}


def preset(name: str, **changes: Any) -> Ranker:
    """The ranker of a paper's system, by its name in PRESETS, with settings changed where you say so.

    >>> preset("l-listmle", n_jobs=1)
    LinearRanker(max_iter=100, n_jobs=1, objective=<objective listmle(depth=10)>,
                 optimizer='lbfgs')
    """
    chosen = preset_of(name)
    return RANKERS[chosen.model](**{**chosen.parameters(), **changes})


def load(path: str | os.PathLike[str], *, module: Any = None) -> Ranker:
    """The ranker that `ranker.save(path)` stored; `module` is the network of a ranker that was given its own.

    >>> import tempfile, luce, numpy as np
    >>> from pathlib import Path
    >>> ranker = LinearRanker().fit(luce.from_arrays([[1.0], [0.0]], [1, 0], ["q", "q"]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ranker.save(Path(folder) / "model.luce")
    ...     bool(np.array_equal(luce.load(Path(folder) / "model.luce").coef_, ranker.coef_))
    True
    """
    manifest, arrays = open_model(path, RANKERS)
    own = manifest.get("module")
    if own is not None and module is None:
        raise DataError(f"{path} holds the weights of a module {own!r} of your own: load(path, module=…) needs it.")
    if own is None and module is not None:
        raise OptionError(f"{path} holds a whole ranker; it takes no module.")
    return RANKERS[manifest["kind"]]._restored(manifest, arrays, **({} if module is None else {"module": module}))


__all__ = [
    "PRESETS",
    "RANKERS",
    "Checkpoint",
    "LabelRanker",
    "LinearRanker",
    "NeuralRanker",
    "Ranker",
    "TreeRanker",
    "load",
    "preset",
]
