"""The mean and covariance of q over log time for one set and the items below it, on the nodes of the integral."""

import numpy as np

from luce.compiled import compiled, inlined
from luce.kernels.partition_likelihood.integral import grid

TINY, HUGE = -37.0, 4.0
"""log x below TINY: q = 1 to rounding; above HUGE: q = 0."""


@inlined
def set_product(log_a, direction, tol, result):
    """∂²F times a direction to `result`; returns Σ f and the sum of the result."""
    n = len(log_a)
    if n == 1:
        f = _win_of_the_rest(log_a[0])
        result[0] = -f * (1.0 - f) * direction[0]
        return f, result[0]
    weight, q, mean, own = _nodes(log_a, tol)
    along = 0.0
    for i in range(n):
        along += mean[i] * direction[i]
        result[i] = own[i] * direction[i]
    for t in range(len(weight)):
        here = 0.0
        for i in range(n):
            here += q[t, i] * direction[i]
        for i in range(n):
            result[i] += weight[t] * q[t, i] * here
    total = force = 0.0
    for i in range(n):
        result[i] -= mean[i] * along
        total += result[i]
        force += mean[i]
    return force, total


@inlined
def set_matrix(log_a, tol, block):
    """∂²F to `block`; returns Σ f and the sum of the block."""
    n = len(log_a)
    if n == 1:
        f = _win_of_the_rest(log_a[0])
        block[0, 0] = -f * (1.0 - f)
        return f, block[0, 0]
    weight, q, mean, own = _nodes(log_a, tol)
    total = 0.0
    for i in range(n):
        for j in range(i + 1):
            covariance = 0.0
            for t in range(len(weight)):
                covariance += weight[t] * (q[t, i] - mean[i]) * (q[t, j] - mean[j])
            block[i, j] = block[j, i] = covariance
            total += covariance * (1.0 if i == j else 2.0)
        block[i, i] += own[i]
        total += own[i]
    return mean.sum(), total


@compiled
def _win_of_the_rest(log_a):
    below = np.exp(-abs(log_a))
    return below / (1.0 + below) if log_a > 0.0 else 1.0 / (1.0 + below)


@compiled
def _nodes(log_a, tol):
    """Weights of the nodes (T,), summing to one, q (T, n), and the means over the nodes of q and of q (1 − x − q)."""
    n = len(log_a)
    low, high, chains, peak = grid(log_a, tol)
    step = np.log(2.0) / chains
    count = np.int64((high - low) / step) + 1
    weight, q, own = np.empty(count), np.empty((count, n)), np.zeros((count, n))
    for t in range(count):
        z = low + t * step
        g = z - np.exp(z)
        for i in range(n):
            log_x = log_a[i] + z
            if log_x < TINY:
                g += log_x
                q[t, i] = 1.0
            elif log_x > HUGE:
                q[t, i] = 0.0
            else:
                x = np.exp(log_x)
                g += np.log(-np.expm1(-x))
                q[t, i] = x / np.expm1(x)
                own[t, i] = q[t, i] * (1.0 - x - q[t, i])
        weight[t] = np.exp(g - peak)
    weight /= weight.sum()
    mean, own_mean = np.zeros(n), np.zeros(n)
    for t in range(count):
        for i in range(n):
            mean[i] += weight[t] * q[t, i]
            own_mean[i] += weight[t] * own[t, i]
    return weight, q, mean, own_mean
