"""The rankings of all ranks of a group, so that each of them has the same model of all rankings."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from luce.aggregation.model_files import parameters_to_text, rankings_of_arrays, rankings_to_arrays
from luce.aggregation.rankings import Rankings
from luce.aggregation.readers import read_named, refuse_doubled, same_kind_of_names
from luce.distributed import Group, current_group
from luce.errors import OptionError


def of_all_ranks(own: Rankings, model: BaseEstimator, **by_position: Any) -> Rankings:
    """The rankings of each rank, in the order of ranks; items and rankers of the same name are one.

    The parameters of the model must be the same on all ranks, and what is `by_position` of the items cannot be given:
    only their names are common to the ranks.
    """
    group = current_group()
    if group is None:
        return own
    for name, value in by_position.items():
        if isinstance(value, np.ndarray | list | tuple):
            raise OptionError(
                f"{name} cannot be in the order of the items inside a group of processes, whose items are matched by "
                f"name. Give {name} by name, or leave it out."
            )
    parameters = parameters_to_text(model, without=("n_jobs", "objective")).tobytes().decode()
    group.agree({"the model": parameters, "the objective": str(getattr(model, "objective", None))})
    return Rankings.concat(_gathered(own, group))


def read_on_ranks(files: Sequence[Path], group: Group, format: str | None, options: Mapping[str, Any]) -> Rankings:
    """The rankings in all files, of which each rank reads some that follow each other."""
    group.agree({"the files": [str(file) for file in files]})
    refuse_doubled(files)
    cuts = np.linspace(0, len(files), group.size + 1).astype(int)
    mine = files[cuts[group.rank] : cuts[group.rank + 1]]
    own = read_named([str(file) for file in mine], mine, format, options) if mine else None
    return Rankings.concat(same_kind_of_names(_gathered(own, group)))


def _gathered(own: Rankings | None, group: Group) -> list[Rankings]:
    """The rankings of each rank that has some."""
    from safetensors.numpy import load, save

    arrays = {} if own is None else rankings_to_arrays(own)
    written = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    parts = group.gather(np.frombuffer(written if arrays else b"", np.uint8))
    return [rankings_of_arrays(load(part.tobytes())) for part in parts if part.size]
