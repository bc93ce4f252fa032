"""The polynomial Π (c_i + d_i y), four factors at a time, and the derivatives of one of its coefficients.

The coefficient of y^j after b blocks of four places is at rows[b, j + 4]; the four columns before are 0. Only those j
are kept from which y^m can still be reached, which leaves a third of the work.
"""

from numba import uint64

from luce.compiled import compiled, summing
from luce.kernels.elementary import exp

BLOCK = 4


@summing
def factors(scores, centre, m, log_odds, without, within):
    """c_i and d_i of each place; a place that holds no item gets 1 and 0."""
    for i in range(len(scores)):
        x = (scores[i] - centre) / m + log_odds
        e = exp(-abs(x))
        without[i] = e if x > 0.0 else 1.0
        within[i] = 1.0 if x > 0.0 else e


@compiled
def _pair(without, within, i):
    """(c + d y)(c' + d' y) of the places i and i + 1: three coefficients."""
    c, cc, d, dd = without[i], without[i + 1], within[i], within[i + 1]
    return c * cc, c * dd + d * cc, d * dd


@compiled
def _block(without, within, b):
    """The product of four factors: five coefficients."""
    p0, p1, p2 = _pair(without, within, BLOCK * b)
    q0, q1, q2 = _pair(without, within, BLOCK * b + 2)
    return p0 * q0, p0 * q1 + p1 * q0, p0 * q2 + p1 * q1 + p2 * q0, p1 * q2 + p2 * q1, p2 * q2


@summing
def multiply(m, n, blocks, without, within, seen, rows):
    """Coefficients after each block, of those y^j from which y^m can still be reached."""
    for b in range(blocks):
        k0, k1, k2, k3, k4 = _block(without, within, b)
        low, high = max(0, m - (n - seen[b + 1])), min(seen[b + 1], m)
        here, above = uint64(b), uint64(b + 1)
        # Unsigned places need no check for a negative one, which would keep the loop out of vector registers.
        for j in range(uint64(low), uint64(high + 1)):
            rows[above, j + uint64(4)] = (
                k0 * rows[here, j + uint64(4)]
                + k1 * rows[here, j + uint64(3)]
                + k2 * rows[here, j + uint64(2)]
                + k3 * rows[here, j + uint64(1)]
                + k4 * rows[here, j]
            )
        rows[b + 1, high + BLOCK + 1 : high + 2 * BLOCK + 1] = 0.0


@summing
def add_gradient(m, n, sets, blocks, weight, without, within, seen, rows, reach, share):
    """Add Σ_k weight_k ∂(coefficient of y^m after blocks[k])/∂x_i to the share of each place, from its `rows`.

    reach[j] is what one more in the coefficient of y^j adds to Σ_k weight_k (coefficient of y^m after blocks[k]).
    """
    reach[: m + BLOCK + 1] = 0.0
    k = sets - 1
    for b in range(blocks[k] - 1, -1, -1):
        if k >= 0 and blocks[k] == b + 1:
            reach[m] += weight[k]
            k -= 1
        k0, k1, k2, k3, k4 = _block(without, within, b)
        low, high = max(0, m - (n - seen[b])), min(seen[b], m)
        here = uint64(b)
        t1, t2, t3, t4 = 0.0, 0.0, 0.0, 0.0  # what taking up one, two, three, four of these items adds
        for j in range(uint64(low), uint64(high + 1)):
            value = rows[here, j + uint64(4)]
            r1, r2, r3, r4 = reach[j + uint64(1)], reach[j + uint64(2)], reach[j + uint64(3)], reach[j + uint64(4)]
            t1 += value * r1
            t2 += value * r2
            t3 += value * r3
            t4 += value * r4
            reach[j] = k0 * reach[j] + k1 * r1 + k2 * r2 + k3 * r3 + k4 * r4
        _share_of_pair(BLOCK * b, without, within, _pair(without, within, BLOCK * b + 2), t1, t2, t3, t4, share)
        _share_of_pair(BLOCK * b + 2, without, within, _pair(without, within, BLOCK * b), t1, t2, t3, t4, share)


@compiled
def _share_of_pair(i, without, within, other, t1, t2, t3, t4, share):
    """Add the shares of the places i and i + 1, whose block has this other pair."""
    o0, o1, o2 = other
    alone = o0 * t1 + o1 * t2 + o2 * t3
    both = o0 * t2 + o1 * t3 + o2 * t4
    share[i] += within[i] * (without[i + 1] * alone + within[i + 1] * both)
    share[i + 1] += within[i + 1] * (without[i] * alone + within[i] * both)
