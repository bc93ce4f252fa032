"""The exact Plackett-Luce likelihood of ordered partitions: equal labels are one set whose inner order is unknown.

For the sets S_1 > … > S_M of a list, R_m = S_m ∪ … ∪ S_M: loss = −Σ_{m<M} log P(S_m > R_{m+1}), and with
a_i = e^{s_i − lse(R)}: P(S > R) = ∫_0^∞ e^{−t} Π_{i∈S} (1 − e^{−t a_i}) dt, by the trapezoidal rule in z = log t.
The lower bound is P(S_m > R_{m+1}) ≥ n_m! Π_{i∈S_m} e^{s_i − lse(R_m)}; item weights multiply an item's term.
"""

import numpy as np

from luce.arrays import Floats, Integers
from luce.kernels.partition_likelihood import cpu
from luce.lists import Evaluation, Lists, evaluate_kernel
from luce.threads import over_lists

PARTITION, BOUND, ATTENTION, SOFTMAX, IDEAL, LOGISTIC, SQUARED = range(7)
"""Losses of a row of N labels, n of them relevant.

The exact likelihood; its lower bound but for log n!; cross-entropies with the softmax, Σ (lse − s) over the relevant
labels, divided by n, by 1, or by the ideal DCG of n: that of SOFTMAX is the bound, also where n = N. Then sums over all
labels: log(1 + e^s), or log(1 + e^{−s}) where relevant; s², or (s − 1)² where relevant.
"""

ALL_RANKS = 2**31 - 1
"""As many as the ideal DCG can count."""

LONGEST_ON_GPU = 16_384
"""Items of a list that a program holds; longer lists run in plain PyTorch."""


def partition_likelihood(lists: Lists, tol: float = 1e-9) -> Evaluation:
    """The exact likelihood; `tol` bounds the error of each log-probability.

    >>> import numpy as np
    >>> found = partition_likelihood(Lists(np.zeros(4), np.array([1.0, 1, 0, 0]), np.array([0, 4])))
    >>> np.exp(-found.loss).round(12), found.gradient.round(12)  # two of four equal items: 1 in 6
    (array([0.16666667]), array([-0.58333333, -0.58333333, 0.58333333, 0.58333333]))
    """
    return evaluate_kernel(cpu.partition_likelihood, lists, float(tol))


def level_likelihood(
    scores: Floats, places: Integers, offsets: Integers, tol: float, *, n_jobs: int | None = None
) -> tuple[Floats, Floats]:
    """The loss of each list (Q,), and its gradient (N,), of rows that are sorted by place: 0, 0, 1, 2 … in each list.

    >>> import numpy as np
    >>> loss, _ = level_likelihood(np.zeros(4), np.array([0, 0, 1, 1]), np.array([0, 4]), 1e-9)
    >>> np.exp(-loss).round(12)
    array([0.16666667])
    """
    loss, gradient = np.zeros(len(offsets) - 1), np.zeros(len(scores))
    given = offsets, scores, places, float(tol)
    over_lists(cpu.level_likelihood, *given, results=[loss, gradient], n_jobs=n_jobs)
    return loss, gradient
