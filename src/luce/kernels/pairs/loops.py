"""The inner loops over pairs: one item, or two, with all partners of a range below it.

`derivative` and `hessian` collect the first and second derivatives of the partners, signed as for the lower item;
those of the item itself are returned. A pair's outcome is that the upper item wins, that the lower one does, or a draw;
`wrong` is the probability of the second plus half of the third, which is the derivative of the loss.
"""

from luce.compiled import summing
from luce.kernels.elementary import exp, log1p_and_inverse


@summing
def two_logistic(b0, b1, a, product, derivative, hessian):
    """log(1 + a_j b) for two items at once: one division serves both, and the logarithms wait in `product`.

    An empty `hessian` asks for no second derivatives.
    """
    wrong0, wrong1, hessian_sum0, hessian_sum1 = 0.0, 0.0, 0.0, 0.0
    curved = len(hessian) > 0
    for j in range(len(a)):
        r0, r1 = a[j] * b0, a[j] * b1
        p0, p1 = 1.0 + r0, 1.0 + r1
        both = p0 * p1
        inverse = 1.0 / both
        right0, right1 = inverse * p1, inverse * p0
        q0, q1 = r0 * right0, r1 * right1
        product[j] *= both
        derivative[j] += q0 + q1
        wrong0 += q0
        wrong1 += q1
        if curved:
            c0, c1 = q0 * right0, q1 * right1
            hessian[j] += c0 + c1
            hessian_sum0 += c0
            hessian_sum1 += c1
    return wrong0, wrong1, hessian_sum0, hessian_sum1


@summing
def two_davidson(b0, b1, tie, a, product, derivative, hessian):
    """log(1 + ν x + x²), x = a_j b, for two items at once; also returns the sum of the chances of a draw."""
    wrong0, wrong1, hessian_sum0, hessian_sum1, drawn = 0.0, 0.0, 0.0, 0.0, 0.0
    curved = len(hessian) > 0
    for j in range(len(a)):
        x0, x1 = a[j] * b0, a[j] * b1
        p0, p1 = 1.0 + x0 * (x0 + tie), 1.0 + x1 * (x1 + tie)
        both = p0 * p1
        inverse = 1.0 / both
        right0, right1 = inverse * p1, inverse * p0
        draw0, draw1 = tie * x0 * right0, tie * x1 * right1
        lost0, lost1 = x0 * x0 * right0, x1 * x1 * right1
        q0, q1 = lost0 + 0.5 * draw0, lost1 + 0.5 * draw1
        product[j] *= both
        derivative[j] += q0 + q1
        wrong0 += q0
        wrong1 += q1
        drawn += draw0 + draw1
        if curved:
            c0 = right0 * lost0 + 0.25 * draw0 * (1.0 - draw0)
            c1 = right1 * lost1 + 0.25 * draw1 * (1.0 - draw1)
            hessian[j] += c0 + c1
            hessian_sum0 += c0
            hessian_sum1 += c1
    return wrong0, wrong1, hessian_sum0, hessian_sum1, drawn


@summing
def logarithms(product):
    """Σ log of products of numbers ≥ 1, which are then 1 again."""
    total = 0.0
    for j in range(len(product)):
        total += log1p_and_inverse(product[j] - 1.0)[0]
        product[j] = 1.0
    return total


@summing
def closeness(score, rate, scores, close):
    """e^{−rate·|δ|} of every pair, for scores however far apart."""
    for j in range(len(scores)):
        close[j] = exp(-rate * abs(score - scores[j]))


@summing
def logistic(score, scores, close, weight, derivative, hessian):
    """Weighted log(1 + e^{−δ}) from e^{−|δ|}: returns the loss, the derivative and the hessian of the item."""
    loss, wrong, hessian_sum = 0.0, 0.0, 0.0
    for j in range(len(scores)):
        difference = score - scores[j]
        logarithm, inverse = log1p_and_inverse(close[j])
        q = weight[j] * inverse * (close[j] if difference > 0.0 else 1.0)
        c = weight[j] * close[j] * inverse * inverse
        loss += weight[j] * (logarithm + max(-difference, 0.0))
        derivative[j] += q
        wrong += q
        hessian[j] += c
        hessian_sum += c
    return loss, wrong, hessian_sum


@summing
def davidson(score, tie, scores, close, weight, derivative, hessian):
    """Weighted log(1 + ν e^{−δ/2} + e^{−δ}) from e^{−|δ|/2}; also returns the sum of the chances of a draw."""
    loss, wrong, hessian_sum, drawn = 0.0, 0.0, 0.0, 0.0
    for j in range(len(scores)):
        difference = score - scores[j]
        x = close[j]
        logarithm, inverse = log1p_and_inverse(x * (x + tie))
        draw = tie * x * inverse
        q = weight[j] * (inverse * (x * x if difference > 0.0 else 1.0) + 0.5 * draw)
        c = weight[j] * (x * x * inverse * inverse + 0.25 * draw * (1.0 - draw))
        loss += weight[j] * (logarithm + max(-difference, 0.0))
        derivative[j] += q
        wrong += q
        hessian[j] += c
        hessian_sum += c
        drawn += weight[j] * draw
    return loss, wrong, hessian_sum, drawn


@summing
def hinge(score, own_weight, scores, weight, derivative):
    """Weighted max(0, 1 − δ): returns the loss and the derivative of the item."""
    loss, wrong = 0.0, 0.0
    for j in range(len(scores)):
        short = 1.0 - (score - scores[j])
        q = own_weight * weight[j] if short > 0.0 else 0.0
        loss += own_weight * weight[j] * max(short, 0.0)
        derivative[j] += q
        wrong += q
    return loss, wrong


@summing
def product_weights(own_weight, weight, pair):
    """The weight of every pair: the product of its items' weights."""
    for j in range(len(weight)):
        pair[j] = own_weight * weight[j]
