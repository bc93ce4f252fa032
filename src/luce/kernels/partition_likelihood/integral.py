"""log P(S > R) and its derivatives by the trapezoidal rule in log time.

With x_i = a_i e^z and w_i = 1 − e^{−x_i} the integrand is e^{z − e^z} Π w_i. The step is h = log 2 / m, so that x
doubles every m nodes and w is carried by w ← w (2 − w): m chains of nodes, each started by one exponential per item
and continued by multiplications, serve all nodes.
"""

import numpy as np

from luce.compiled import compiled, inlined, summing
from luce.kernels.elementary import exp, expm1, span, sum_of_logarithms
from luce.kernels.partition_likelihood.grid import grid

ROWS = 7
"""Scratch rows: log a on entry; then x, w, the running sums of q, q² and q(1 − x − q), and x at a chain's start."""

TINY, HUGE = -37.0, 4.0
"""log x below TINY at every node: log w = log x and q = 1; above HUGE at every node: log w = 0 and q = 0."""

VECTOR = 4
"""Items are taken by so many at a time; rows of scratch are longer by as many."""

LARGE = 64.0
"""x stops here: 1 − w is then nothing but rounding, which a larger x would blow up in q = x (1 − w) / w."""


@compiled
def integrate(n, tol, rate, scratch, hessian):
    """log P for the n items whose log a are in scratch[0]; writes E[q_i], ∂²log P/∂s_i² and, at [2, 0], Σ_ij H_ij."""
    low, high, chains, peak = grid(scratch[0, :n], tol)
    step = np.log(2.0) / chains
    n_active, tiny, tiny_sum = classify(n, low, high, rate, scratch)
    log_a, x, w, first = scratch[0, :n_active], scratch[1, :n_active], scratch[2, :n_active], scratch[3, :n_active]
    squares, own, begin = scratch[4, :n_active], scratch[5, :n_active], scratch[6, :n_active]
    # Where Π w cannot underflow it may be formed as it is: w ≥ x / (1 + x), so that −log w ≤ log 2 + max(0, −log x).
    direct = n_active * (0.7 + max(0.0, -span(log_a)[0] - low)) < 600.0
    outer = np.empty(np.int64((high - low) / step) + 2)
    outer_part(low, step, tiny, tiny_sum - peak, direct, outer)
    begin_chains(log_a, low, begin, first, squares, own)
    total = total_q = total_square = total_own = 0.0
    for chain in range(chains):
        node, z = chain, low + chain * step
        product = start_chain(np.exp(step), begin, x, w)
        while z < high:
            weight = outer[node] * product if direct else np.exp(outer[node] + sum_of_logarithms(w))
            total += weight
            if hessian:
                product, q, d = _advance_twice(weight, x, w, first, squares, own)
                total_q += weight * (q + tiny)
                total_square += weight * (q + tiny) ** 2
                total_own += weight * d
            else:
                product = _advance(weight, x, w, first)
            node, z = node + chains, z + chains * step
    rate[2, 0] = total_square / total - (total_q / total) ** 2 + total_own / total
    _scatter(n, total, first, squares, own, rate, hessian)
    return peak + np.log(total * step)


@compiled
def classify(n, low, high, rate, scratch):
    """Items that need nodes go to the front, the rest get their rate; returns their number, the tiny and Σ log a.

    Items that change nothing, w = 1 and q = 0, fill the last vector.
    """
    log_a, n_active, tiny, tiny_sum = scratch[0], 0, 0, 0.0
    for i in range(n):
        rate[0, i] = -1.0  # an item that waits for its rate
        if log_a[i] + high < TINY:
            rate[0, i], rate[1, i] = 1.0, 0.0
            tiny += 1
            tiny_sum += log_a[i]
        elif log_a[i] + low > HUGE:
            rate[0, i], rate[1, i] = 0.0, 0.0
        else:
            log_a[n_active] = log_a[i]
            n_active += 1
    while n_active % VECTOR:
        log_a[n_active] = HUGE - low
        n_active += 1
    return n_active, tiny, tiny_sum


@summing
def outer_part(low, step, tiny, shift, direct, outer):
    """What the integrand is beside the product of w, at every node, divided by its peak; or the logarithm of that."""
    for node in range(len(outer)):
        z = low + node * step
        outer[node] = (1 + tiny) * z - exp(z) + shift
    if direct:
        for node in range(len(outer)):
            outer[node] = exp(min(outer[node], 700.0))


@summing
def begin_chains(log_a, z, begin, first, squares, own):
    """a e^z of every item at the first node of all; no node has been added."""
    for i in range(len(log_a)):
        begin[i] = exp(log_a[i] + z)
        first[i] = squares[i] = own[i] = 0.0


@summing
def start_chain(factor, begin, x, w):
    """x and w of a chain's first node, and what the next chain begins with; returns Π w."""
    product = 1.0
    for i in range(len(w)):
        x[i] = min(begin[i], LARGE)
        w[i] = -expm1(-begin[i])
        product *= w[i]
        begin[i] *= factor
    return product


@summing
def _advance(weight, x, w, first):
    """Add this node to E[q], q = x (1 − w) / w, and go to the next node of the chain; returns Π w there."""
    product = 1.0
    for i in range(len(w)):
        first[i] += weight * (x[i] * (1.0 - w[i]) / w[i])
        w[i] *= 2.0 - w[i]
        x[i] = min(2.0 * x[i], LARGE)
        product *= w[i]
    return product


@summing
def _advance_twice(weight, x, w, first, squares, own):
    """The same with E[q²] and E[q(1 − x − q)]; returns Σ q and Σ q(1 − x − q) of this node too."""
    product, total, total_own = 1.0, 0.0, 0.0
    for i in range(len(w)):
        q = x[i] * (1.0 - w[i]) / w[i]
        d = q * (1.0 - x[i] - q)
        first[i] += weight * q
        squares[i] += weight * q * q
        own[i] += weight * d
        total += q
        total_own += d
        w[i] *= 2.0 - w[i]
        x[i] = min(2.0 * x[i], LARGE)
        product *= w[i]
    return product, total, total_own


@inlined
def _scatter(n, total, first, squares, own, rate, hessian):
    """Give the items that had nodes their rates, in the order in which `classify` met them."""
    k = 0
    for i in range(n):
        if rate[0, i] == -1.0:
            mean = first[k] / total
            rate[0, i] = mean
            if hessian:
                rate[1, i] = squares[k] / total - mean * mean + own[k] / total
            k += 1
