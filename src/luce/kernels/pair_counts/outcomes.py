"""The three models of a comparison, of one item with several others.

Each writes ∂/∂δ of the log-likelihood to `delta_gradient`, −∂²/∂δ² to `curvature`, −∂²/∂δ ∂parameter to `mixed`, and
returns the log-likelihood, its derivative in the parameter and minus its second derivative. Exponentials and logarithms
come first, in loops over few arrays, which compile to vector instructions; `workspace` (7, n) holds their results.
"""

import numpy as np

from luce.compiled import compiled, summing
from luce.kernels.elementary import exp, log1p_and_inverse


@compiled
def bradley_terry(delta, wins, losses, delta_gradient, curvature, workspace):
    below, log_one, likely = workspace[0], workspace[1], workspace[2]
    _sigmoid(delta, below, log_one, likely)
    value = 0.0
    for k in range(len(delta)):
        rare = below[k] * likely[k]
        won = likely[k] if delta[k] >= 0.0 else rare
        n = wins[k] + losses[k]
        value += min(delta[k], 0.0) * wins[k] - max(delta[k], 0.0) * losses[k] - n * log_one[k]
        delta_gradient[k] = wins[k] - n * won
        curvature[k] = n * likely[k] * rare
    return value


@compiled
def davidson(delta, wins, losses, ties, log_nu, delta_gradient, curvature, mixed, workspace):
    half, log_one, inverse = workspace[0], workspace[1], workspace[2]
    nu = np.exp(log_nu)
    _halves(delta, nu, half, log_one, inverse)
    value = derivative = hessian = 0.0
    for k in range(len(delta)):
        ahead, behind, tie = inverse[k], half[k] * half[k] * inverse[k], nu * half[k] * inverse[k]
        apart = ahead - behind if delta[k] >= 0.0 else behind - ahead
        n, lead = wins[k] + losses[k] + ties[k], 0.5 * (wins[k] - losses[k])
        value += lead * delta[k] + ties[k] * log_nu - n * (0.5 * abs(delta[k]) + log_one[k])
        delta_gradient[k] = lead - 0.5 * n * apart
        curvature[k] = 0.25 * n * (ahead + behind - apart * apart)
        mixed[k] = -0.5 * n * tie * apart
        derivative += ties[k] - n * tie
        hessian += n * tie * (1.0 - tie)
    return value, derivative, hessian


@compiled
def rao_kupper(delta, wins, losses, ties, margin, delta_gradient, curvature, mixed, workspace):
    x = workspace[6]  # P(win) = σ(x), P(loss) = σ(y)
    for k in range(len(delta)):
        x[k] = delta[k] - margin
    _sigmoid(x[: len(delta)], workspace[0], workspace[1], workspace[2])
    for k in range(len(delta)):
        x[k] = -delta[k] - margin
    _sigmoid(x[: len(delta)], workspace[3], workspace[4], workspace[5])
    gap = -np.expm1(-2.0 * margin)
    log_gap = 2.0 * margin + np.log(gap)
    value = derivative = hessian = 0.0
    for k in range(len(delta)):
        w, lost, t = wins[k] + ties[k], losses[k] + ties[k], ties[k]
        ahead, behind = delta[k] - margin, -delta[k] - margin
        rare, rare_behind = workspace[0, k] * workspace[2, k], workspace[3, k] * workspace[5, k]
        not_won = rare if ahead >= 0.0 else workspace[2, k]
        not_lost = rare_behind if behind >= 0.0 else workspace[5, k]
        value += w * (min(ahead, 0.0) - workspace[1, k]) + lost * (min(behind, 0.0) - workspace[4, k]) + t * log_gap
        delta_gradient[k] = w * not_won - lost * not_lost
        up, down = w * workspace[2, k] * rare, lost * workspace[5, k] * rare_behind
        curvature[k] = up + down
        mixed[k] = down - up
        derivative += 2.0 * t / gap - w * not_won - lost * not_lost
        hessian += up + down + 4.0 * t * (1.0 - gap) / (gap * gap)
    return value, derivative, hessian


@summing
def _sigmoid(x, below, log_one, likely):
    """u = e^{−|x|}, log(1 + u) and 1 / (1 + u), the chance of the one ahead."""
    for k in range(len(x)):
        below[k] = exp(-abs(x[k]))
        log_one[k], likely[k] = log1p_and_inverse(below[k])


@summing
def _halves(delta, nu, half, log_one, inverse):
    """h = e^{−|δ|/2}, and of D e^{−|δ|/2} = 1 + h² + ν h the logarithm and one over it."""
    for k in range(len(delta)):
        half[k] = exp(-0.5 * abs(delta[k]))
        log_one[k], inverse[k] = log1p_and_inverse(half[k] * half[k] + nu * half[k])
