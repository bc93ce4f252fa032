"""Model files of every kind: rankers, and models of rankings without features."""

import importlib
import os
from typing import TYPE_CHECKING, Any

from luce.errors import DataError, OptionError
from luce.rankers import RANKERS, restore_ranker
from luce.scoring.model_files import is_neural, read_scorer
from luce.storage import AGGREGATIONS, open_model

if TYPE_CHECKING:
    from luce.aggregation import ItemScores, PlackettLuce
    from luce.rankers import LabelRanker, Ranker
    from luce.scoring import Scorer


def load(path: str | os.PathLike[str], *, module: Any = None) -> "Ranker | LabelRanker | PlackettLuce | ItemScores":
    """Load the model that `model.save(path)` stored.

    Parameters
    ----------
    path : str or path-like
        The model file. Nothing in it is ever executed.
    module : torch.nn.Module, optional
        The network of a NeuralRanker that was given its own `module`; its weights are replaced by the stored ones.

    Returns
    -------
    Ranker, LabelRanker, PlackettLuce or ItemScores
        The fitted model.

    Raises
    ------
    DataError
        If the file is damaged or is not a model file.

    Examples
    --------
    >>> import tempfile, luce, numpy as np
    >>> from pathlib import Path
    >>> ranker = luce.LinearRanker().fit(luce.from_arrays([[1.0], [0.0]], [1, 0], ["q", "q"]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ranker.save(Path(folder) / "model.luce")
    ...     bool(np.array_equal(luce.load(Path(folder) / "model.luce").coef_, ranker.coef_))
    True
    """
    manifest, arrays = open_model(path, {*RANKERS, *AGGREGATIONS})
    name = AGGREGATIONS.get(manifest["kind"])
    if name is None:
        return restore_ranker(path, manifest, arrays, module)
    if module is not None:
        raise OptionError(f"{path} is a complete {name} model: leave out module=.")
    return getattr(importlib.import_module("luce.aggregation"), name).from_manifest(manifest, arrays)


def load_scorer(path: str | os.PathLike[str]) -> "Scorer":
    """Load what scores rows from the model file of a ranker of lists, and nothing else.

    Linear models, trees and ensembles of them need NumPy, numba and safetensors; networks need PyTorch.

    Parameters
    ----------
    path : str or path-like
        The model file. Nothing in it is ever executed.

    Returns
    -------
    Scorer
        Its scores are those of the ranker's `predict`, bit for bit.

    Raises
    ------
    DataError
        If the file is damaged or is not the model file of a ranker of lists.

    Examples
    --------
    >>> import tempfile, luce
    >>> from pathlib import Path
    >>> data = luce.from_arrays([[1.0], [0.0]], [1, 0], ["q", "q"])
    >>> ranker = luce.LinearRanker().fit(data)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ranker.save(Path(folder) / "model.luce")
    ...     scorer = load_scorer(Path(folder) / "model.luce")
    >>> bool((scorer.score([[1.0], [0.0]]) == ranker.predict(data)).all())
    True
    """
    manifest, arrays = open_model(path, RANKERS)
    if manifest["kind"] == "labels":
        raise DataError(f"{path} contains a LabelRanker, which scores labels, not rows: load it with luce.load.")
    if is_neural(manifest):
        ranker: Any = restore_ranker(path, manifest, arrays, None)
        return ranker.scorer()
    return read_scorer(manifest, arrays)
