"""log P(S > R) and its derivatives on a GPU: the trapezoidal rule of `grid` and `integral`, many nodes at a time.

Each item's part is computed in float32, and so that it stays small: of log w, w = 1 − e^{−x}, the logarithm of x is
computed apart for items with a small x at the mode. Sums over items are float64, since those of a large set need it.
"""

import triton
import triton.language as tl

from luce.kernels.partition_likelihood.plain import TOLERANCE, grid_settings

CUT, FINER = (tl.constexpr(value) for value in grid_settings(TOLERANCE))
"""Where the integrand ends, and its step."""

SMALL = tl.constexpr(0.5)
"""x below which w / x is a polynomial."""

HUGE = tl.constexpr(6.5)
"""log x from which on w = 1 and q = 0."""


@triton.jit
def _factors(log_x, apart):
    """log w, less log x where that is kept apart, and q = x / (e^x − 1)."""
    x = tl.exp(tl.minimum(log_x, HUGE))
    fall = tl.exp(-x)
    small = x < SMALL
    series = 1.0 - x / 2 * (1.0 - x / 3 * (1.0 - x / 4 * (1.0 - x / 5 * (1.0 - x / 6 * (1.0 - x / 7 * (1.0 - x / 8))))))
    w = tl.where(small, series, 1.0 - fall)
    log_w = tl.log(w) + tl.where(small, (1.0 - apart) * log_x, -apart * log_x)
    return log_w, tl.where(small, fall, x * fall) / w


@triton.jit
def _mode(log_a, chosen, n):
    """Near enough to the mode: z, the standard deviation of the integrand there, and the log-integrand nearby."""
    nothing = tl.zeros_like(log_a)
    low, high = n * 0.0, tl.log(n + 1.0)
    weight = tl.sum(tl.where(chosen, tl.exp(tl.minimum(log_a, 80.0)), nothing), 0)
    z = tl.log(1.0 + n / (1.0 + 0.5 * weight))
    move, sd, height = n * 0.0, n * 0.0, n * 0.0
    left = 30
    while left > 0:
        log_x = log_a + z
        logs, q = _factors(log_x, 0.0)
        x = tl.exp(tl.minimum(log_x, HUGE))
        total = tl.sum(tl.where(chosen, q, nothing), 0)
        derivative = tl.sum(tl.where(chosen, q * (1.0 - x - q), nothing), 0)
        height = z - tl.exp(z) + tl.sum(tl.where(chosen, logs, nothing), 0)
        sd = 1.0 / tl.sqrt(tl.exp(z) - derivative)
        distance = tl.log(1.0 + total) - z  # e^z = 1 + Σ q at the mode
        move = distance / (1.0 - derivative / (1.0 + total))
        near = tl.abs(move) < 0.1 * sd
        low = tl.where(distance > 0.0, z, low)
        high = tl.where(distance > 0.0, high, z)
        inside = (z + move > low) & (z + move < high)
        z = tl.where(near, z, tl.where(inside, z + move, 0.5 * (low + high)))
        left = tl.where(near, 0, left - 1)
    return z + move, sd, height


@triton.jit
def _ends(log_a, chosen, mode, sd, peak):
    """Where the log-integrand has fallen by CUT: left of the mode by its tangent, right of it by e^δ − 1 − δ."""
    nothing = tl.zeros_like(log_a)
    z = mode - 6.0 * sd
    logs, q = _factors(log_a + z, 0.0)
    height = z - tl.exp(z) + tl.sum(tl.where(chosen, logs, nothing), 0)
    derivative = 1.0 - tl.exp(z) + tl.sum(tl.where(chosen, q, nothing), 0)
    fall = tl.exp(-mode) * CUT
    delta = tl.minimum(tl.sqrt(2.0 * fall), 1.0 + tl.log(1.0 + fall))
    return z - tl.maximum(height - peak + CUT, 0.0) / derivative, mode + delta


@triton.jit
def set_log_probability(log_a, chosen, count, nodes: tl.constexpr):
    """log P of the set of `count` chosen items, float64, and E[q] of each; log_a = s − lse(R), float32.

    nodes: how many are taken at a time.
    """
    n, nothing = count.to(tl.float32), tl.zeros_like(log_a)
    rates, log_p = nothing, count.to(tl.float64) * 0.0
    if count == 1:
        own = tl.sum(tl.where(chosen, log_a, nothing), 0)
        log_one = tl.minimum(own, 0.0) - tl.log(1.0 + tl.exp(-tl.abs(own)))
        rates = tl.where(chosen, tl.exp(log_one - own), nothing)
        log_p = log_one.to(tl.float64)
    else:
        mode, sd, peak = _mode(log_a, chosen, n)
        begin, end = _ends(log_a, chosen, mode, sd, peak)
        step = (tl.minimum(tl.minimum(0.7 * sd, 0.24), 0.5 / tl.log(n + 1.0)) * FINER).to(tl.float64)
        apart = tl.where(chosen & (log_a + mode < 0.0), 1.0, 0.0)
        fixed = tl.sum((apart * log_a).to(tl.float64), 0) - peak
        power = 1.0 + tl.sum(apart.to(tl.float64), 0)
        total, z = log_p, begin.to(tl.float64)
        while z < end:
            at = z + tl.arange(0, nodes).to(tl.float64) * step
            logs, q = _factors(log_a[None, :] + at.to(tl.float32)[:, None], apart[None, :])
            logs = tl.where(chosen[None, :], logs, nothing[None, :]).to(tl.float64)
            weight = tl.exp(power * at - tl.exp(at) + fixed + tl.sum(logs, 1))
            weight = tl.where(at < end, weight, 0.0)
            total += tl.sum(weight, 0)
            rates += tl.sum(weight.to(tl.float32)[:, None] * q, 0)
            z += nodes * step
        rates = tl.where(chosen, rates / total.to(tl.float32), nothing)
        log_p = peak + tl.log(total * step)
    return log_p, rates
