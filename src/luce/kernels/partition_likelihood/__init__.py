"""The exact Plackett-Luce likelihood of ordered partitions: equal labels are one set whose inner order is unknown.

For the sets S_1 > … > S_M of a list, R_m = S_m ∪ … ∪ S_M: loss = −Σ_{m<M} log P(S_m > R_{m+1}), and with
a_i = e^{s_i − lse(R)}: P(S > R) = ∫_0^∞ e^{−t} Π_{i∈S} (1 − e^{−t a_i}) dt, by the trapezoidal rule in z = log t.
The lower bound is P(S_m > R_{m+1}) ≥ n_m! Π_{i∈S_m} e^{s_i − lse(R_m)}; item weights multiply an item's term.
"""

from luce.kernels.partition_likelihood import cpu
from luce.lists import Evaluation, Lists, evaluate_kernel

PARTITION, BOUND, ATTENTION = range(3)
"""Losses of a row of labels: the exact likelihood, its lower bound but for log n!, and that divided by n: attrank."""

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
