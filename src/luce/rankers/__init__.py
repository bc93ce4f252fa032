"""Rankers: fitted to judged lists, they score and rank items; each kind is imported on first use."""

import importlib
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from luce.errors import DataError, OptionError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from luce.rankers.checkpoint import Checkpoint as Checkpoint
    from luce.rankers.ensemble import EnsembleRanker as EnsembleRanker
    from luce.rankers.labels import LabelRanker as LabelRanker
    from luce.rankers.linear import LinearRanker as LinearRanker
    from luce.rankers.neural import NeuralRanker as NeuralRanker
    from luce.rankers.presets import PRESETS as PRESETS
    from luce.rankers.ranker import Ranker as Ranker
    from luce.rankers.trees import TreeRanker as TreeRanker

_HOMES = {
    "Checkpoint": "luce.rankers.checkpoint",
    "EnsembleRanker": "luce.rankers.ensemble",
    "LabelRanker": "luce.rankers.labels",
    "LinearRanker": "luce.rankers.linear",
    "NeuralRanker": "luce.rankers.neural",
    "PRESETS": "luce.rankers.presets",
    "Ranker": "luce.rankers.ranker",
    "TreeRanker": "luce.rankers.trees",
}
_KINDS = {
    "linear": "LinearRanker",
    "neural": "NeuralRanker",
    "trees": "TreeRanker",
    "ensemble": "EnsembleRanker",
    "labels": "LabelRanker",
}


class _Rankers(Mapping[str, "type[Ranker] | type[LabelRanker]"]):
    """The classes by kind; to list the kinds imports none of them."""

    def __getitem__(self, kind: str) -> "type[Ranker] | type[LabelRanker]":
        return __getattr__(_KINDS[kind])

    def __contains__(self, kind: object) -> bool:
        return kind in _KINDS

    def __iter__(self) -> Iterator[str]:
        return iter(_KINDS)

    def __len__(self) -> int:
        return len(_KINDS)


RANKERS: Mapping[str, "type[Ranker] | type[LabelRanker]"] = _Rankers()
"""The one table of the kinds of rankers."""


def preset(name: str, **params: Any) -> "Ranker | LabelRanker":
    """Make the ranker of a paper's system.

    Parameters
    ----------
    name : str
        A name of PRESETS; `luce presets` lists them.
    **params
        Parameters of the ranker that are to differ from the paper's.

    Returns
    -------
    Ranker or LabelRanker
        The ranker, not fitted.

    Examples
    --------
    >>> preset("l-listmle", n_jobs=1)
    LinearRanker(max_iter=100, n_jobs=1, objective=<objective listmle(depth=10)>,
                 optimizer='lbfgs', reg_lambda=1.0,
                 transforms=('fill', 'standardize'))
    """
    from luce.rankers.presets import preset_of

    chosen = preset_of(name)
    return RANKERS[chosen.model](**{**chosen.parameters(), **params})


def load_ranker(path: str | os.PathLike[str], *, module: Any = None) -> "Ranker | LabelRanker":
    """The ranker in a model file, as `luce.load`; any other model is an error."""
    from luce.storage import open_model

    return restore_ranker(path, *open_model(path, RANKERS), module)


def restore_ranker(
    path: str | os.PathLike[str], manifest: dict[str, Any], arrays: "dict[str, NDArray[Any]]", module: Any
) -> "Ranker | LabelRanker":
    """The ranker of a manifest and arrays; `module` is the network of a NeuralRanker that was given its own."""
    own = manifest.get("module")
    if own is not None and module is None:
        raise DataError(f"{path} contains the weights of a custom module {own!r}: pass it as load(path, module=…).")
    if own is None and module is not None:
        raise OptionError(f"{path} is a complete ranker: leave out module=.")
    return RANKERS[manifest["kind"]].from_manifest(manifest, arrays, **({} if module is None else {"module": module}))


__all__ = [*_HOMES, "RANKERS", "load_ranker", "preset"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'luce.rankers' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
