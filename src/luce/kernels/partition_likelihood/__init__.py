"""The exact Plackett-Luce likelihood of ordered partitions: equal labels are one set whose inner order is unknown.

For the sets S_1 > … > S_M of a list, R_m = S_m ∪ … ∪ S_M: loss = −Σ_{m<M} log P(S_m > R_{m+1}), and with
a_i = e^{s_i − lse(R)}: P(S > R) = ∫_0^∞ e^{−t} Π_{i∈S} (1 − e^{−t a_i}) dt, by the trapezoidal rule in z = log t.
"""

import numpy as np

from luce.arrays import Floats, Integers, frozen
from luce.kernels.partition_likelihood import cpu
from luce.threads import over_lists


def partition_likelihood(
    scores: Floats,
    labels: Floats,
    offsets: Integers,
    *,
    tol: float = 1e-9,
    curvature: bool = False,
    n_jobs: int | None = None,
) -> tuple[Floats, Floats, Floats | None]:
    """Loss (Q,), gradient (N,) and, if asked for, the diagonal of the second derivative (N,).

    `tol` bounds the error of each log-probability.

    >>> loss, gradient, _ = partition_likelihood(np.zeros(4), np.array([1.0, 1, 0, 0]), np.array([0, 4]))
    >>> np.exp(-loss).round(12), gradient.round(12)  # two of four equal items: 1 in 6
    (array([0.16666667]), array([-0.58333333, -0.58333333, 0.58333333, 0.58333333]))
    """
    loss, gradient = np.zeros(len(offsets) - 1), np.zeros(len(scores))
    second = np.zeros(len(scores) if curvature else 0)
    inputs = frozen(offsets), frozen(scores), frozen(labels)
    over_lists(cpu.partition_likelihood, *inputs, float(tol), loss, gradient, second, n_jobs=n_jobs)
    return loss, gradient, second if curvature else None


def partition_lower_bound(
    scores: Floats,
    labels: Floats,
    offsets: Integers,
    *,
    item_weights: Floats | None = None,
    curvature: bool = False,
    n_jobs: int | None = None,
) -> tuple[Floats, Floats, Floats | None]:
    """The same for the bound P(S_m > R_{m+1}) ≥ n_m! Π_{i∈S_m} e^{s_i − lse(R_m)}; weights multiply an item's term.

    >>> loss, *_ = partition_lower_bound(np.zeros(4), np.array([1.0, 1, 0, 0]), np.array([0, 4]))
    >>> np.exp(-loss)  # 2! / 4²
    array([0.125])
    """
    loss, gradient = np.zeros(len(offsets) - 1), np.zeros(len(scores))
    second = np.zeros(len(scores) if curvature else 0)
    weights = np.empty(0) if item_weights is None else item_weights
    inputs = frozen(offsets), frozen(scores), frozen(labels), frozen(weights)
    over_lists(cpu.partition_lower_bound, *inputs, loss, gradient, second, n_jobs=n_jobs)
    return loss, gradient, second if curvature else None
