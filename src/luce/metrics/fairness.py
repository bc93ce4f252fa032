"""Metrics of fairness: how far the exposure of items is from what they deserve, with the gradient in the exposures.

Each function is called as function(exposures (N,), merits (N,), item_groups (N,) or None, offsets (Q+1,)) and returns
the value (Q,) of each list and its gradient (N,). 0 is fair. Where it is undefined for a list, such as shares of a
merit that no item has, value and gradient are 0.
"""

import math

import numpy as np

from luce.arrays import Floats, Integers, list_of_row
from luce.metrics.base import Metric

ValueAndGradient = tuple[Floats, Floats]
EXPOSURE = "E_d = E[1 / log2(1 + r)] up to r = k, from 1,000 rankings sampled from the scores"


def disparity(exposures: Floats, merits: Floats, item_groups: Integers | None, offsets: Integers) -> ValueAndGradient:
    """The mean of (E_d ρ_e − E_e ρ_d)² over the pairs of a list (Oosterhuis 2021, Eq. 29 and 30), in O(n).

    2/(n(n−1)) · (ΣE² Σρ² − (ΣEρ)²), as 2/(n(n−1)) · Σρ² Σ(E − cρ)², c = ΣEρ/Σρ², which loses no digits. The gradient
    is 4/(n(n−1)) · (E Σρ² − ρ ΣEρ); Eq. 31 has it with the wrong sign. It grows with the squares of
    merits and exposures.

    >>> disparity(np.array([1.0, 0.5]), np.array([3.0, 1.0]), None, np.array([0, 2]))
    (array([0.25]), array([-1.,  3.]))
    """
    lists, sizes = list_of_row(offsets), np.diff(offsets)
    squares, products = (sums(lists, merits * each, len(sizes)) for each in (merits, exposures))
    common = np.divide(products, squares, out=np.zeros(len(sizes)), where=squares > 0)
    off = exposures - common[lists] * merits
    factors = np.where(sizes > 1, 2 * squares / np.maximum(sizes * (sizes - 1), 1), 0.0)
    return factors * sums(lists, off * off, len(sizes)), 2 * factors[lists] * off


def parity_gap(exposures: Floats, merits: Floats, item_groups: Integers | None, offsets: Integers) -> ValueAndGradient:
    """Σ_g (share of the exposure − share of the items)² over the groups of a list: 0 is demographic parity.

    >>> parity_gap(np.array([1.0, 0.5, 0.5]), np.zeros(3), np.array([0, 1, 1]), np.array([0, 3]))[0].round(4)
    array([0.0556])
    """
    return _gap(exposures, np.ones(len(exposures)), item_groups, offsets)


def merit_gap(exposures: Floats, merits: Floats, item_groups: Integers | None, offsets: Integers) -> ValueAndGradient:
    """Σ_g (share of the exposure − share of the merit)² over the groups of a list.

    >>> merit_gap(np.array([1.0, 0.5, 0.5]), np.array([1.0, 1.0, 0.0]), np.array([0, 1, 1]), np.array([0, 3]))
    (array([0.]), array([0., 0., 0.]))
    """
    return _gap(exposures, merits, item_groups, offsets)


def _gap(exposures: Floats, deserts: Floats, item_groups: Integers | None, offsets: Integers) -> ValueAndGradient:
    """Σ_g (x_g − t_g)², x and t the shares of exposure and of what is deserved, and its gradient."""
    assert item_groups is not None
    lists, n_lists = list_of_row(offsets), len(offsets) - 1
    cells, cell = np.unique(np.stack([lists, item_groups]), axis=1, return_inverse=True)
    seen, deserved = sums(lists, exposures, n_lists), sums(lists, deserts, n_lists)
    counts = (seen > 0) & (deserved > 0)
    seen, deserved = np.where(counts, seen, 1.0), np.where(counts, deserved, 1.0)
    owner = cells[0]
    shares = sums(cell, exposures, len(owner)) / seen[owner]
    off = np.where(counts[owner], shares - sums(cell, deserts, len(owner)) / deserved[owner], 0.0)
    drift = sums(owner, off * shares, n_lists)
    return sums(owner, off * off, n_lists), 2 * (off[cell] - drift[lists]) / seen[lists] * counts[lists]


def sums(cells: Integers, values: Floats, n_cells: int) -> Floats:
    """The sums (n_cells,) of the values (N,) of each cell, which is a list or a group in a list."""
    return np.bincount(cells, values, n_cells).astype(np.float64, copy=False)  # integers where there are no values


RECORDS = (
    Metric(
        name="disparity",
        summary="Disparity of treatment: how far exposure is from proportional to merit, over pairs of items.",
        formula=f"Σ_{{d, e}} (E_d ρ_e − E_e ρ_d)² / (n(n − 1)), {EXPOSURE}, ρ = Gain(y)",
        bounds=(0, math.inf),
        empty_when="no label is above 0, or there is one item",
        exposure_function=disparity,
        needs_merit=True,
        higher_is_better=False,
        options=("gain",),
    ),
    Metric(
        name="parity-gap",
        summary="Distance from demographic parity: exposure of each group in proportion to its number of items.",
        formula=f"Σ_g (share of exposure of g − share of items of g)², {EXPOSURE}",
        bounds=(0, 2),
        empty_when="there are not two groups",
        exposure_function=parity_gap,
        needs_item_groups=True,
        higher_is_better=False,
    ),
    Metric(
        name="merit-gap",
        summary="Distance from meritocratic exposure: exposure of each group in proportion to its merit.",
        formula=f"Σ_g (share of exposure of g − share of merit of g)², {EXPOSURE}, merit Gain(y)",
        bounds=(0, 2),
        empty_when="no label is above 0, or there are not two groups",
        exposure_function=merit_gap,
        needs_item_groups=True,
        needs_merit=True,
        higher_is_better=False,
        options=("gain",),
    ),
)
