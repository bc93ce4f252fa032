"""The rankings of all ranks of a group, so that each of them fits the same model to all rankings."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from luce.aggregation.model_files import parameters_to_text, rankings_of_arrays, rankings_to_arrays
from luce.aggregation.rankings import Rankings
from luce.distributed import current_group
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
    from safetensors.numpy import load, save

    parameters = parameters_to_text(model, without=("n_jobs", "objective")).tobytes().decode()
    group.agree({"the model": parameters, "the objective": str(getattr(model, "objective", None))})
    arrays = {name: np.ascontiguousarray(array) for name, array in rankings_to_arrays(own).items()}
    parts = group.gather(np.frombuffer(save(arrays), np.uint8))
    return Rankings.concat([rankings_of_arrays(load(part.tobytes())) for part in parts])
