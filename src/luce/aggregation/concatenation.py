"""Rankings put together: their items and rankers united by name."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from luce.aggregation.names import Names
from luce.arrays import Integers, offsets_of_sizes
from luce.errors import DataError

if TYPE_CHECKING:
    from luce.aggregation.rankings import Rankings


def concatenated_fields(parts: Sequence["Rankings"]) -> dict[str, Any]:
    """The fields of all rankings, one part after another."""
    items, names = _united([part.names for part in parts])
    pools: dict[tuple[int, ...], int] = {}  # those of several parts are often the same
    pool = [_pool_numbers(part, codes, pools) for part, codes in zip(parts, items, strict=True)]
    left_out = sum((Counter(part.left_out) for part in parts), Counter[str]())
    return {
        "items": np.concatenate([codes[part.items] for part, codes in zip(parts, items, strict=True)]),
        "offsets": offsets_of_sizes(np.concatenate([part.sizes for part in parts])),
        "pool": np.concatenate(pool),
        "pools": tuple(map(np.array, pools)),
        "names": names,
        "left_out": left_out,
        **{name: np.concatenate([getattr(part, name) for part in parts]) for name in ("places", "open_end", "weights")},
        **_rankers(parts),
    }


def _united(names: Iterable[Names]) -> tuple[list[Integers], Names]:
    """The code that each name of each part has in the union, and the names of the union."""
    number: dict[Any, int] = {}
    codes = [np.array([number.setdefault(name, len(number)) for name in part], dtype=np.int64) for part in names]
    return codes, tuple(number)


def _pool_numbers(part: "Rankings", codes: Integers, pools: dict[tuple[int, ...], int]) -> Integers:
    """The pool of each ranking as its number among the pools of all parts, which get those of this one."""
    keys = [tuple(np.sort(codes[pool]).tolist()) for pool in part.pools]
    return np.array([*(pools.setdefault(key, len(pools)) for key in keys), -1])[part.pool]  # −1 reads the last


def _rankers(parts: Sequence["Rankings"]) -> dict[str, Any]:
    without = [number for number, part in enumerate(parts, 1) if part.rankers is None]
    if len(without) == len(parts):
        return {}
    if without:
        raise DataError(f"Rankers must be given for all rankings or for none. Part {without[0]} has none, others have.")
    codes, names = _united([part.ranker_names for part in parts])
    rankers = [own[part.rankers] for part, own in zip(parts, codes, strict=True)]
    return {"rankers": np.concatenate(rankers), "ranker_names": names}
