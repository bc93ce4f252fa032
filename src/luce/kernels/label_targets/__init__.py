"""Targets that listwise objectives make of the labels: a value of each label, divided by a norm of its list.

value: `label` y, `gain` 2^y − 1 (0 below 0), `exponential` e^y, `attention` e^y where y > 0, else 0.
norm: `one` for none, `sum`, `length` (Euclidean), `dcg` (the ideal DCG of gains, of all ranks or to a depth).
Exponentials take the sum alone.
"""

import numpy as np

from luce.arrays import Floats, Integers
from luce.kernels.label_targets import cpu
from luce.lists import NO_ROWS
from luce.threads import over_lists

VALUES = {"label": cpu.LABEL, "gain": cpu.GAIN, "exponential": cpu.EXPONENTIAL, "attention": cpu.ATTENTION}
NORMS = {"one": cpu.ONE, "sum": cpu.SUM, "length": cpu.LENGTH, "dcg": cpu.DCG}


def target_arguments(offsets: Integers, value: str, norm: str, depth: int | None = None) -> tuple[int, int, Floats]:
    """The targets as kernels take them: two numbers, and the discounts of as many places as there may be."""
    if norm != "dcg":
        return VALUES[value], NORMS[norm], NO_ROWS
    discounts = 1.0 / np.log2(np.arange(2.0, np.diff(offsets).max(initial=0) + 2.0))
    if depth is not None:
        discounts[depth:] = 0.0
    return VALUES[value], NORMS[norm], discounts


def label_targets(
    labels: Floats, offsets: Integers, value: str, norm: str, depth: int | None = None, *, n_jobs: int | None = None
) -> Floats:
    """The target of each row (N,): NaN where the label is, and throughout a list whose labels are worth nothing.

    >>> label_targets(np.array([2.0, 1.0, 0.0, 0.0]), np.array([0, 3, 4]), "gain", "sum")
    array([0.75, 0.25, 0.  ,  nan])
    """
    result, arguments = np.empty(len(labels)), target_arguments(offsets, value, norm, depth)
    over_lists(cpu.label_targets, offsets, labels, *arguments, results=[result], n_jobs=n_jobs)
    return result
