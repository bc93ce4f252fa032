"""What every export format declares: what it can express, how it is written, and by which rule its engine scores."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats, Integers


def in_float32(leaves: NDArray[Any]) -> Floats:
    """The sum of the leaves of each row, tree after tree, as an engine adds them up that has float32 numbers only."""
    return np.add.accumulate(leaves.astype(np.float32), axis=1, dtype=np.float32)[:, -1].astype(np.float64)


def in_float64(leaves: Floats) -> Floats:
    """The sum of the leaves of each row, tree after tree."""
    return np.asarray(np.add.accumulate(leaves, axis=1)[:, -1])


class Rows(NamedTuple):
    """What an oracle scores: float32 features (N, F), the names of their columns, and the offsets of the lists."""

    features: NDArray[Any]
    names: Sequence[str]
    offsets: Integers

    def column(self, name: str) -> int:
        """The column of a feature."""
        return self.names.index(name)


@dataclass(frozen=True)
class Export:
    """One format of EXPORTS.

    `write` turns a fitted ranker into the content of the model file, or raises an OptionError that says what the format
    cannot express and what to do. `oracle` scores rows from that content alone, by the rule of the engine; its
    docstring names the source file of the engine that it follows.
    """

    name: str
    engine: str
    """What reads the file, in words."""
    extension: str
    """The usual end of the file name, such as ".json"."""
    kinds: tuple[str, ...]
    """The kinds of RANKERS it can express, all or some of their models."""
    write: Callable[[Any, str], bytes]
    """ranker, name of the model → content of the file"""
    oracle: Callable[[bytes, Rows], Floats]
    """content, rows → scores (N,), or (N, labels) of a ranker of labels"""
    sum_leaves: Callable[[Floats], Floats] = in_float64
    """the values of the leaves that each row reaches (N, trees) → the score, as the engine rounds them and their sum"""
    precision: type = np.float32
    """The NumPy type in which the engine computes linear scores and networks."""
    one_hot: bool = True
    """Whether each value of a category is a feature of its own here, 0 or 1; else the features are those of the ranker,
    with the number of the category."""
    companions: Callable[[Any, str], dict[str, str]] = lambda ranker, name: {}
    """ranker, name of the model → templates to fill in that are written beside the file: ends of file names, texts"""
