"""The likelihood of one order with a scale for each place, for scores too far apart for a common one.

With m_j the highest score in C_j and z_j = Σ_{C_j} e^{s − m_j}: lse(C_j) = m_j + log z_j. Going down the list m_j never
rises, so Σ_{i ≤ j} w_i e^{−lse(C_i)} is kept as a_j e^{−m_j} and only ever shrinks when the scale changes.
"""

import numpy as np

from luce.compiled import compiled


@compiled
def add_order(scores, order, weight, share, mass, gradient, second):
    """Add the gradient of one order, the first len(weight) places counting; return its loss."""
    shrink = np.empty(len(weight))
    loss = _sums_from_the_end(scores, order, weight, share, mass, shrink)
    pushed, squares = 0.0, 0.0
    for j in range(len(order)):
        if j < len(weight):
            pushed += weight[j] / mass[j]
            squares += weight[j] / mass[j] / mass[j]
            gradient[order[j]] -= weight[j]
        gradient[order[j]] += share[j] * pushed
        if second.size:
            second[order[j]] += share[j] * pushed - share[j] * share[j] * squares
        if j < len(weight):
            pushed *= shrink[j]
            squares *= shrink[j] * shrink[j]
    return loss


@compiled
def _sums_from_the_end(scores, order, weight, share, mass, shrink):
    """Write e^{s_(j) − m_j}, z_j and e^{m_{j+1} − m_j} of each place; return the loss."""
    deep = len(weight)
    highest, z, loss = -np.inf, 0.0, 0.0
    for j in range(deep, len(order)):
        highest = max(highest, scores[order[j]])
    for j in range(deep, len(order)):
        share[j] = np.exp(scores[order[j]] - highest)
        z += share[j]
    for j in range(deep - 1, -1, -1):
        s = scores[order[j]]
        shrink[j] = np.exp(min(highest - s, 0.0))
        highest = max(highest, s)
        share[j] = np.exp(s - highest)
        z = z * shrink[j] + share[j]
        mass[j] = z
        loss += weight[j] * (highest - s + np.log(z))
    return loss
