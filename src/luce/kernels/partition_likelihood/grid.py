"""The nodes of the trapezoidal rule for P(S > R): around the mode of the integrand, as far as it is not negligible.

The log-integrand is g(z) = z − e^z + Σ log w_i with w_i = 1 − e^{−x_i} and x_i = a_i e^z. Its derivative is
1 − e^z + Σ q_i with q_i = x_i / (e^{x_i} − 1). It is concave, with its mode in [0, log(n + 1)].
"""

import numpy as np

from luce.compiled import compiled, inlined, summing
from luce.kernels.elementary import exp, expm1, log

TINY, LARGE = -40.0, 6.5
"""log x below TINY: w = x and q = 1; above LARGE: w = 1 and q = 0."""


@compiled
def grid(log_a, tol):
    """Where the nodes begin and end, how many a doubling of time needs, and the greatest log-integrand, about.

    The step must resolve the peak, the strip in which the integrand is analytic, and a left edge of width 1/log n that
    appears when S outweighs R.
    """
    mode, sd, peak = _mode(log_a)
    cut = 6.0 - np.log(tol)
    finer = 20.0 / (20.0 + min(max(np.log(1e-9 / tol), -6.0), 20.0))
    chains = int(np.ceil(np.log(2.0) / (finer * min(0.7 * sd, 0.24, 0.5 / np.log(len(log_a) + 1.0)))))
    return _left_end(log_a, mode, sd, peak, cut), mode + _reach(np.exp(mode), cut), chains, peak


@inlined
def _mode(log_a):
    """Near enough to the mode: z, the standard deviation of the integrand there, and g nearby."""
    n = len(log_a)
    low, high = 0.0, np.log(n + 1.0)
    z = np.log1p(n / (1.0 + 0.5 * _sum(log_a)))  # were q = 1/(1 + x/2), and e^z = n in it
    for _ in range(30):
        height, total, derivative = _at(log_a, z)
        sd = 1.0 / np.sqrt(np.exp(z) - derivative)
        distance = np.log1p(total) - z  # e^z = 1 + Σ q at the mode; falls with z
        move = distance / (1.0 - derivative / (1.0 + total))
        if abs(move) < 0.1 * sd:
            break
        if distance > 0.0:
            low = z
        else:
            high = z
        z = z + move if low < z + move < high else 0.5 * (low + high)
    return z + move, sd, height


@summing
def _sum(log_a):
    total = 0.0
    for i in range(len(log_a)):
        total += exp(min(log_a[i], 700.0))
    return total


@summing
def _at(log_a, z):
    """g, Σ q and Σ q (1 − x − q) at z."""
    height, total, derivative = z - np.exp(z), 0.0, 0.0
    for i in range(len(log_a)):
        log_x = min(log_a[i] + z, LARGE)
        x = exp(max(log_x, TINY))
        w = -expm1(-x)
        q = x * (1.0 - w) / w
        height += log(w) + min(log_x - TINY, 0.0)
        total += q
        derivative += q * (1.0 - x - q)
    return height, total, derivative


@inlined
def _left_end(log_a, mode, sd, peak, cut):
    """A z left of the mode where g has fallen by `cut`: concave, it lies below its tangent six deviations out."""
    z = mode - 6.0 * sd
    height, total, _ = _at(log_a, z)
    return z - max(cut - (peak - height), 0.0) / (1.0 - np.exp(z) + total)


@inlined
def _reach(top, cut):
    """δ with top·(e^δ − 1 − δ) ≥ cut: right of the mode, where e^z = top, g falls at least so fast.

    Newton's steps from a δ that is too large: they come nearer and stay so.
    """
    delta = min(np.sqrt(2.0 * cut / top), 1.0 + np.log1p(cut / top))
    for _ in range(2):
        rise = np.expm1(delta)
        delta -= (rise - delta - cut / top) / rise
    return delta
