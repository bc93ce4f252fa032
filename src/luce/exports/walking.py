"""The leaf that each row reaches in nested trees, for the oracles: which child is taken is the rule of the engine."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats

Split = tuple[NDArray[np.bool_], Any, Any]
"""Which rows take the first child, and the two children."""


def reached_leaves(
    roots: Iterable[Any], features: NDArray[Any], step: Callable[[Any, NDArray[Any]], float | Split]
) -> Floats:
    """The value of the leaf of each tree that each row reaches, (N, trees).

    `step` gives the value of a node that is a leaf; of a split, given the features of the rows that are there, which of
    them take the first child, and the children.

    >>> tree = (0, 1.5, -1.0, 2.0)
    >>> def step(node, rows):
    ...     return node if isinstance(node, float) else (rows[:, node[0]] <= node[1], node[2], node[3])
    >>> reached_leaves([tree], np.array([[1.0], [2.0]]), step)
    array([[-1.],
           [ 2.]])
    """
    columns = []
    for root in roots:
        values = np.empty(len(features))
        waiting = [(root, np.arange(len(features)))]
        while waiting:
            node, rows = waiting.pop()
            found = step(node, features[rows])
            if isinstance(found, float):
                values[rows] = found
            else:
                first, yes, no = found
                waiting += [(yes, rows[first]), (no, rows[~first])]
        columns.append(values)
    return np.column_stack(columns)


def float32(number: float | str) -> np.float32:
    """A number as Java and C++ round it to float32: what is too large for it is infinite."""
    with np.errstate(over="ignore"):
        return np.float32(float(number))
