"""FAIRNESS, the one table of how unfairly exposure is given out: functions of the exposures of lists, with slopes.

Each is called as measure(exposures (N,), merits (N,), groups (N,) or None, offsets (Q+1,)) and gives the value (Q,) of
each list and its slope (N,) in the exposures. 0 is fair. What has no meaning for a list, such as shares of a merit that
no item has, is 0 there with slope 0.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from luce.arrays import Floats, Integers, list_of_row

Sloped = tuple[Floats, Floats]


@dataclass(frozen=True)
class Fairness:
    """One entry: what it is called, how it is measured, and what it needs beside exposures."""

    name: str
    measure: Callable[[Floats, Floats, Integers | None, Integers], Sloped]
    needs_merit: bool = True
    needs_groups: bool = True


def disparity(exposures: Floats, merits: Floats, groups: Integers | None, offsets: Integers) -> Sloped:
    """The mean of (E_d ρ_e − E_e ρ_d)² over the pairs of a list (Oosterhuis 2021, Eq. 29 and 30), in O(n).

    2/(n(n−1)) · (ΣE² Σρ² − (ΣEρ)²), as 2/(n(n−1)) · Σρ² Σ(E − cρ)², c = ΣEρ/Σρ², which loses no digits. The slope is
    4/(n(n−1)) · (E Σρ² − ρ ΣEρ); Eq. 31 has it with the wrong sign. It grows with the squares of merits and exposures.

    >>> disparity(np.array([1.0, 0.5]), np.array([3.0, 1.0]), None, np.array([0, 2]))
    (array([0.25]), array([-1.,  3.]))
    """
    lists, sizes = list_of_row(offsets), np.diff(offsets)
    squares, products = (sums(lists, merits * each, len(sizes)) for each in (merits, exposures))
    common = np.divide(products, squares, out=np.zeros(len(sizes)), where=squares > 0)
    off = exposures - common[lists] * merits
    factors = np.where(sizes > 1, 2 * squares / np.maximum(sizes * (sizes - 1), 1), 0.0)
    return factors * sums(lists, off * off, len(sizes)), 2 * factors[lists] * off


def parity_gap(exposures: Floats, merits: Floats, groups: Integers | None, offsets: Integers) -> Sloped:
    """Σ_g (share of the exposure − share of the items)² over the groups of a list: 0 is demographic parity.

    >>> parity_gap(np.array([1.0, 0.5, 0.5]), np.zeros(3), np.array([0, 1, 1]), np.array([0, 3]))[0].round(4)
    array([0.0556])
    """
    return _gap(exposures, np.ones(len(exposures)), groups, offsets)


def merit_gap(exposures: Floats, merits: Floats, groups: Integers | None, offsets: Integers) -> Sloped:
    """Σ_g (share of the exposure − share of the merit)² over the groups of a list.

    >>> merit_gap(np.array([1.0, 0.5, 0.5]), np.array([1.0, 1.0, 0.0]), np.array([0, 1, 1]), np.array([0, 3]))
    (array([0.]), array([0., 0., 0.]))
    """
    return _gap(exposures, merits, groups, offsets)


def _gap(exposures: Floats, deserts: Floats, groups: Integers | None, offsets: Integers) -> Sloped:
    """Σ_g (x_g − t_g)², x and t the shares of exposure and of what is deserved; the slope is of the shares whole."""
    assert groups is not None
    lists, n_lists = list_of_row(offsets), len(offsets) - 1
    cells, cell = np.unique(np.stack([lists, groups]), axis=1, return_inverse=True)
    seen, deserved = sums(lists, exposures, n_lists), sums(lists, deserts, n_lists)
    counts = (seen > 0) & (deserved > 0)
    seen, deserved = np.where(counts, seen, 1.0), np.where(counts, deserved, 1.0)
    owner = cells[0]
    shares = sums(cell, exposures, len(owner)) / seen[owner]
    off = np.where(counts[owner], shares - sums(cell, deserts, len(owner)) / deserved[owner], 0.0)
    drift = sums(owner, off * shares, n_lists)
    return sums(owner, off * off, n_lists), 2 * (off[cell] - drift[lists]) / seen[lists] * counts[lists]


def sums(cells: Integers, values: Floats, n_cells: int) -> Floats:
    """The sum of the values (N,) of each cell, a list or a group in a list: (n_cells,)."""
    return np.bincount(cells, values, n_cells).astype(np.float64, copy=False)  # integers where there are no values


FAIRNESS = {
    entry.name: entry
    for entry in (
        Fairness("disparity", disparity, needs_groups=False),
        Fairness("parity-gap", parity_gap, needs_merit=False),
        Fairness("merit-gap", merit_gap),
    )
}
