"""log P(S > R) and its derivatives by the trapezoidal rule in log time, centred on the mode of the integrand.

With x_i = a_i e^z and w_i = 1 − e^{−x_i} the log-integrand is g(z) = z − e^z + Σ log w_i, concave, with its mode in
[0, log(n + 1)]. The step is h = log 2 / m, so that x doubles every m nodes and w is carried by w ← w (2 − w): m
chains of nodes, started by one exponential an item and carried on by multiplications, serve all nodes.
"""

import numpy as np
from numba import njit

from luce.compiled import compiled, summing
from luce.kernels.exponential import exp

ROWS = 7
"""Scratch rows: log a on entry; then x, w, the running sums of q, q² and q(1 − x − q), and x at a chain's start."""

TINY, HUGE = -37.0, 4.0
"""log x below TINY at every node: log w = log x and q = 1; above HUGE at every node: log w = 0 and q = 0."""

LARGE = 64.0
"""x stops here: 1 − w is then nothing but rounding, which a larger x would blow up in q = x (1 − w) / w."""


@compiled
def integrate(n, tolerance, rate, scratch, curvature):
    """log P for the n items whose log a are in scratch[0]; writes E[q_i], ∂²log P/∂s_i² and, at [2, 0], Σ_ij H_ij."""
    log_a = scratch[0]
    mode, sd, peak = _mode(log_a[:n])
    cut = 11.0 - np.log(tolerance)
    finer = 20.0 / (20.0 + min(max(np.log(1e-9 / tolerance), -6.0), 20.0))
    chains = int(np.ceil(np.log(2.0) / (finer * min(sd / 2, 0.24, 0.5 / np.log(n + 1.0)))))
    step = np.log(2.0) / chains
    low = _left_end(log_a[:n], mode, sd, peak, cut)
    high = mode + _reach(np.exp(mode), cut)
    kept, tiny, tiny_sum = _classify(log_a, n, low, high, rate, scratch)
    x, w, first, squares, own, begin = scratch[1], scratch[2], scratch[3], scratch[4], scratch[5], scratch[6]
    for i in range(kept):
        first[i] = squares[i] = own[i] = 0.0
    least = _lowest(log_a[:kept])
    total = total_q = total_square = total_own = 0.0
    # The product of all w may be taken at once where it cannot underflow; else block by block, through logarithms.
    direct = kept * -min(least + low, 0.0) < 600.0
    outer = np.empty(np.int64((high - low) / step) + 2)
    _outer(low, step, tiny, tiny_sum - peak, outer)
    for chain in range(chains):
        z = low + chain * step
        if z >= high:
            break
        if chain == 0:
            _begin(log_a[:kept], z, begin)
        else:
            _shift(begin[:kept], np.exp(step))
        _start(begin[:kept], x, w)
        node = chain
        while z < high:
            if direct:
                weight = outer[node] * _product(w[:kept])
            else:
                g = z - np.exp(z) + tiny * z + tiny_sum + _log_product(w[:kept], least + z)
                weight = np.exp(g - peak)
            node += chains
            total += weight
            if curvature:
                q, d = _advance_twice(weight, x[:kept], w, first, squares, own)
                q += tiny
                total_q += weight * q
                total_square += weight * q * q
                total_own += weight * d
            else:
                _advance(weight, x[:kept], w, first)
            z += chains * step
    rate[2, 0] = total_square / total - (total_q / total) ** 2 + total_own / total
    _scatter(n, kept, total, rate, scratch)
    return peak + np.log(total * step)


@njit(inline="always", error_model="numpy")
def _one_less(y):
    """1 − e^{−y}, by its series where the difference would cancel."""
    tail = 1 - y * (1 / 5) * (1 - y * (1 / 6) * (1 - y * (1 / 7) * (1 - y * (1 / 8))))
    small = y * (1 - y * (1 / 2) * (1 - y * (1 / 3) * (1 - y * (1 / 4) * tail)))
    return small if y < 0.03 else 1.0 - exp(-y)


@summing
def _slopes(log_a, z):
    """Σ q_i and Σ q_i (1 − x_i − q_i) at z."""
    total, slope = 0.0, 0.0
    for i in range(len(log_a)):
        x = exp(min(log_a[i] + z, 6.5))
        v = exp(-x)
        # x/(e^x − 1), by its series where the difference would cancel
        square = x * x
        near = 1.0 - x * 0.5 + square * (1 / 12 - square * (1 / 720 - square * (1 / 30240)))
        far = x * v / (1.0 - v) if x > 0.0 else 1.0
        q = near if x < 0.1 else far
        total += q
        slope += q * (1.0 - x - q)
    return total, slope


@compiled
def _mode(log_a):
    """Near enough to the mode: z, the standard deviation of the integrand there, and g(z)."""
    low, high = 0.0, np.log(len(log_a) + 1.0)
    z, sd = 0.5 * high, 1.0
    for _ in range(30):
        total, slope = _slopes(log_a, z)
        sd = 1.0 / np.sqrt(np.exp(z) - slope)
        distance = np.log1p(total) - z  # e^z = 1 + Σ q at the mode; falls with z
        if distance > 0.0:
            low = z
        else:
            high = z
        move = distance / (1.0 - slope / (1.0 + total))
        z = z + move if low < z + move < high else 0.5 * (low + high)
        if abs(move) < 0.1 * sd:
            break
    return z, sd, z - np.exp(z) + _log_sum(log_a, z)


@summing
def _lowest(log_a):
    """The lowest log a."""
    lowest = np.inf
    for i in range(len(log_a)):
        lowest = min(lowest, log_a[i])
    return lowest


@summing
def _product_at(log_a, z):
    """Π w_i at z."""
    product = 1.0
    for i in range(len(log_a)):
        product *= _one_less(exp(min(log_a[i] + z, 6.5)))
    return product


@compiled
def _log_sum(log_a, z):
    """Σ log w_i at z."""
    least = _lowest(log_a) + z
    if least < -600.0:
        total = 0.0
        for i in range(len(log_a)):
            log_x = log_a[i] + z
            total += log_x if log_x < TINY else np.log(-np.expm1(-np.exp(min(log_x, HUGE))))
        return total
    block = len(log_a) if least > -1.0 else np.int64(600.0 / -least)
    total, begin = 0.0, np.int64(0)
    while begin < len(log_a):
        total += np.log(_product_at(log_a[begin : begin + block], z))
        begin += block
    return total


@compiled
def _left_end(log_a, mode, sd, peak, cut):
    """A z left of the mode where g has fallen by `cut`: concave, it lies below its tangent six deviations out."""
    z = mode - 6.0 * sd
    fallen = peak - (z - np.exp(z) + _log_sum(log_a, z))
    slope = 1.0 - np.exp(z) + _slopes(log_a, z)[0]
    return z - max(cut - fallen, 0.0) / slope


@compiled
def _reach(top, cut):
    """δ with top·(e^δ − 1 − δ) = cut: right of the mode, where e^z = top, g falls at least so fast."""
    delta = np.log1p(cut / top)
    for _ in range(8):
        delta -= (top * (np.exp(delta) - 1.0 - delta) - cut) / (top * np.expm1(delta))
    return delta


@compiled
def _classify(log_a, n, low, high, rate, scratch):
    """Items that need nodes go to the front, the rest get their rate; returns their number, the tiny and Σ log a."""
    kept, tiny, tiny_sum = 0, 0, 0.0
    for i in range(n):
        rate[0, i] = -1.0  # an item that waits for its rate
        if log_a[i] + high < TINY:
            rate[0, i], rate[1, i] = 1.0, 0.0
            tiny += 1
            tiny_sum += log_a[i]
        elif log_a[i] + low > HUGE:
            rate[0, i], rate[1, i] = 0.0, 0.0
        else:
            log_a[kept] = log_a[i]
            kept += 1
    return kept, tiny, tiny_sum


@summing
def _begin(log_a, z, begin):
    """a e^z of every item at the first node of all."""
    for i in range(len(log_a)):
        begin[i] = exp(log_a[i] + z)


@summing
def _shift(begin, factor):
    """From the first node of a chain to that of the next: one multiplication where an exponential was."""
    for i in range(len(begin)):
        begin[i] *= factor


@summing
def _start(begin, x, w):
    """x and w of a chain's first node."""
    for i in range(len(begin)):
        x[i] = min(begin[i], LARGE)
        w[i] = _one_less(begin[i])


@compiled
def _log_product(w, least):
    """Σ log w_i by the product of as many as cannot underflow together; `least` ≤ the lowest log x."""
    block = len(w) if least > -1.0 else np.int64(600.0 / -least)
    total, begin = 0.0, np.int64(0)
    while begin < len(w):
        total += np.log(_product(w[begin : begin + block]))
        begin += block
    return total


@summing
def _product(w):
    product = 1.0
    for i in range(len(w)):
        product *= w[i]
    return product


@summing
def _advance(weight, x, w, first):
    """Add this node to E[q], q = x (1 − w) / w, and go to the next node of the chain."""
    for i in range(len(x)):
        first[i] += weight * (x[i] * (1.0 - w[i]) / w[i])
        w[i] *= 2.0 - w[i]
        x[i] = min(2.0 * x[i], LARGE)


@summing
def _advance_twice(weight, x, w, first, squares, own):
    """The same with E[q²] and E[q(1 − x − q)]; returns Σ q and Σ q(1 − x − q)."""
    total, total_own = 0.0, 0.0
    for i in range(len(x)):
        q = x[i] * (1.0 - w[i]) / w[i]
        d = q * (1.0 - x[i] - q)
        first[i] += weight * q
        squares[i] += weight * q * q
        own[i] += weight * d
        total += q
        total_own += d
        w[i] *= 2.0 - w[i]
        x[i] = min(2.0 * x[i], LARGE)
    return total, total_own


@compiled
def _scatter(n, kept, total, rate, scratch):
    """Give the items that had nodes their rates, in the order in which `_classify` met them."""
    k = 0
    for i in range(n):
        if rate[0, i] == -1.0:
            mean = scratch[3, k] / total
            rate[0, i] = mean
            rate[1, i] = scratch[4, k] / total - mean * mean + scratch[5, k] / total
            k += 1


@summing
def _outer(low, step, tiny, shift, outer):
    """What the integrand is beside the product of w, at every node, divided by its peak."""
    for node in range(len(outer)):
        z = low + node * step
        outer[node] = exp(min((1 + tiny) * z - exp(z) + shift, 700.0))
