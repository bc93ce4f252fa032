"""Second derivatives of the partition likelihood: the whole matrix summed over rankings, or times a direction.

For sets S_1 > … > S_M and R the items below a set, log P(S > R) = F(u), u_i = s_i − lse(R). With the weights p of the
integral over log time, f_i = ∂F/∂u_i = E_p[q_i], and ∂²F/∂u_i ∂u_j = Cov_p(q_i, q_j) + δ_ij E_p[q_i (1 − x_i − q_i)].
"""

import numpy as np

from luce.arrays import Floats, Integers
from luce.kernels.partition_curvature import cpu
from luce.threads import over_lists, sum_over_lists

TOLERANCE = 1e-9


def partition_product(
    scores: Floats,
    places: Integers,
    offsets: Integers,
    weights: Floats,
    direction: Floats,
    *,
    n_jobs: int | None = None,
) -> Floats:
    """The second derivative of −Σ w log P in the scores of the rows, times a direction (N,).

    places (N,): the set of each row, 0, 0, 1, …, not falling inside a ranking; weights (Q,).

    >>> rows = np.zeros(2), np.array([0, 1]), np.array([0, 2]), np.ones(1)
    >>> partition_product(*rows, np.array([1.0, 0.0]))
    array([ 0.25, -0.25])
    """
    result = np.zeros(len(scores))
    inputs = places, weights, scores, direction, TOLERANCE
    over_lists(cpu.product, offsets, *inputs, results=[result], n_jobs=n_jobs)
    return result


def partition_hessian(
    scores: Floats,
    places: Integers,
    offsets: Integers,
    weights: Floats,
    coordinates: Integers,
    rest: Floats,
    worths: Floats,
    size: int,
    *,
    n_jobs: int | None = None,
) -> Floats:
    """The second derivative of −Σ w log P as a matrix over `size` coordinates: row r of a ranking is coordinates[r].

    Where rest[q] > 0 the last row stands for the rest of a pool, of this worth: the sum over the pool, which is its
    coordinate, less the other rows; worths (N,) are those of the rows in the same unit.
    """
    inputs = places, weights, scores, coordinates, rest, worths, TOLERANCE
    (matrix,) = sum_over_lists(cpu.hessian, offsets, [(size, size)], *inputs, n_jobs=n_jobs)
    return matrix
