"""The values of the lists of all ranks of a group, so that each of them has the results of all lists."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from luce.arrays import Floats
from luce.distributed import Group, current_group


class ListValues(NamedTuple):
    """The values (Q, M) of lists by M metrics, the weights of the lists if they have any, and their ids."""

    values: Floats
    weights: Floats | None
    query_ids: pa.Array


def of_all_ranks(own: ListValues, **common: Any) -> ListValues:
    """Those of the lists of each rank, in the order of ranks; `common` is what must be the same on all of them."""
    group = current_group()
    if group is None:
        return own
    texts = group.agree({**common, "list weights": own.weights is not None}, own.query_ids.type != pa.int64())
    values = np.concatenate(group.gather(own.values)).reshape(-1, own.values.shape[1])
    weights = None if own.weights is None else np.concatenate(group.gather(own.weights))
    return ListValues(values, weights, _ids_of_all_ranks(own.query_ids, any(texts), group))


def _ids_of_all_ranks(ids: pa.Array, as_text: bool, group: Group) -> pa.Array:
    if not as_text:
        return pa.array(np.concatenate(group.gather(ids.to_numpy())))
    parts = group.gather_json(ids.cast(pa.large_string()).to_pylist())
    return pa.array([each for part in parts for each in part], pa.large_string())
