"""log(1 + e^{−δ}) weighted by the change of DCG if the two items were swapped (LambdaRank, LambdaLoss).

Items stand by falling score, equal scores by falling gain. Every block of equal scores that begins within the
truncation level meets itself and all items below it: item by item, or a large block at once by sums over its gains.
"""

import numpy as np

from luce.compiled import compiled, summing
from luce.kernels.elementary import exp, log1p_and_inverse
from luce.kernels.label_order import longest_list, sort_by_label
from luce.kernels.pairs.layout import PAD, padded
from luce.kernels.pairs.parts import number_of_parts
from luce.kernels.pairs.places import ends_of_blocks, places_of, swap_values

NEAR = 600.0
"""Scores this near each other may all be exponentials on one scale."""

LARGE = 32
"""Items from which a block of equal scores is taken at once."""

SCORE, GAIN, WEIGHT, VALUE, POWER, CLOSE, DERIVATIVE, HESSIAN, ROWS = range(9)
"""What is known of each item, and then what is found; VALUE is what a swap is worth, POWER is e^{s − middle}."""


@compiled
def pair_swaps(
    first,
    last,
    offsets,
    scores,
    labels,
    gains,
    weights,
    part,
    parts,
    level,
    change,
    gap,
    discounts,
    normalized,
    loss,
    gradient,
    second,
):
    longest = longest_list(first, last, offsets)
    order, places, ends = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(longest, np.int64)
    items = np.empty((ROWS, longest + PAD))
    for q in range(first, last):
        if parts < number_of_parts(offsets[q + 1] - offsets[q], level):
            continue
        n = sort_by_label(labels, offsets[q], offsets[q + 1], order)
        if n < 2 or not gains[order[0]] > gains[order[n - 1]]:
            continue  # no order is better than another
        ideal = 0.0 if normalized else 1.0
        for k in range(min(n, level) if normalized else 0):
            ideal += gains[order[k]] * discounts[k]
        if not ideal > 0.0:
            continue
        places_of(scores[order[:n]], places[:n])
        _fill(order, places[:n], scores, gains, weights, ideal, items)
        blocks = ends_of_blocks(items[SCORE][:n], ends)
        near = _powers(items[SCORE][: n + PAD], items[POWER])
        begin, number = 0, 0
        while begin < min(n, level):
            if number % parts == part:
                counted = min(ends[begin], level)
                swap_values(begin, counted, blocks, change, gap, discounts, ends[:n], items[VALUE])
                loss[q] += _meet(begin, ends[begin], n, near, items)
            begin, number = ends[begin], number + 1
        for k in range(n):
            gradient[order[k]] = items[DERIVATIVE, places[k]]
        if second.size:
            for k in range(n):
                second[order[k]] = items[HESSIAN, places[k]]


@compiled
def _fill(order, places, scores, gains, weights, ideal, items):
    n = len(places)
    for k in range(n):
        row, here = order[k], places[k]
        items[SCORE, here] = scores[row]
        items[GAIN, here] = gains[row] / ideal
        items[WEIGHT, here] = weights[row] if weights.size else 1.0
    items[:, n : n + PAD] = 0.0  # items without weight: pairs with them add nothing
    items[SCORE, n : n + PAD] = items[SCORE, n - 1]
    items[DERIVATIVE, : n + PAD] = 0.0
    items[HESSIAN, : n + PAD] = 0.0


@summing
def _powers(scores, power):
    """e^{s − middle} of each item; returns whether the scores are near enough for them."""
    if scores[0] - scores[-1] > NEAR:
        return False
    middle = 0.5 * (scores[0] + scores[-1])
    for k in range(len(scores)):
        power[k] = exp(scores[k] - middle)
    return True


@compiled
def _meet(begin, end, n, near, items):
    """The loss of the block against itself and the items below; adds to their derivatives and hessians."""
    loss = 0.0
    here = slice(begin, padded(begin, n))
    if near:
        _near_closeness(1.0 / items[POWER, begin], items[POWER][here], items[CLOSE][here])
    else:
        _closeness(items[SCORE, begin], items[SCORE][here], items[CLOSE][here])
    if end - begin >= LARGE:
        return _block(begin, end, n, items)
    for i in range(begin, end):
        found = _item(
            items[SCORE, i],
            items[GAIN, i],
            items[WEIGHT, i],
            items[SCORE][here],
            items[GAIN][here],
            items[WEIGHT][here],
            items[VALUE][here],
            items[CLOSE][here],
            items[DERIVATIVE][here],
            items[HESSIAN][here],
        )
        loss += found[0]
        items[DERIVATIVE, i] -= found[1]
        items[HESSIAN, i] += found[2]
    return loss


@summing
def _near_closeness(inverse, power, close):
    """e^{−δ} of the pairs of an item from e^s of each, where these neither overflow nor vanish."""
    for j in range(len(power)):
        close[j] = power[j] * inverse


@summing
def _closeness(score, scores, close):
    """The same for scores however far apart."""
    for j in range(len(scores)):
        close[j] = exp(scores[j] - score)


@summing
def _item(score, gain, weight, scores, gains, weights, values, close, derivative, hessian):
    """One item with all of no higher score: returns loss and derivatives, adds to the derivatives of the others.

    A pair's weight is negative where the item of lower score has the higher gain.
    """
    loss, derivative_sum, hessian_sum = 0.0, 0.0, 0.0
    for j in range(len(scores)):
        c = weight * weights[j] * values[j] * (gain - gains[j])
        logarithm, inverse = log1p_and_inverse(close[j])
        q = c * inverse * (close[j] if c > 0.0 else 1.0)
        b = abs(c) * close[j] * inverse * inverse
        loss += abs(c) * logarithm + max(-c, 0.0) * (score - scores[j])
        derivative[j] += q
        derivative_sum += q
        hessian[j] += b
        hessian_sum += b
    return loss, derivative_sum, hessian_sum


@compiled
def _block(begin, end, n, items):
    """A block of equal scores against itself and the items below: returns the loss, adds to derivatives and hessians.

    An item meets those of the block with higher gains, which should win, and those with lower gains, which should not.
    Their Σ w (G_i − G_j) come from running sums over the block; what the item asks of them is kept where they part.
    """
    scores, gains, weights, derivative, hessian = (
        items[SCORE],
        items[GAIN],
        items[WEIGHT],
        items[DERIVATIVE],
        items[HESSIAN],
    )
    size = end - begin
    above, asked = np.zeros((2, size + 1)), np.zeros((6, size + 1))
    for t in range(size):
        above[0, t + 1] = above[0, t] + weights[begin + t]
        above[1, t + 1] = above[1, t] + weights[begin + t] * gains[begin + t]
    loss = 0.0
    for j in range(begin, n):
        t = size - np.searchsorted(gains[begin:end][::-1], gains[j], side="right")
        higher = above[1, t] - gains[j] * above[0, t]
        lower = gains[j] * (above[0, size] - above[0, t]) - (above[1, size] - above[1, t])
        logarithm, inverse = log1p_and_inverse(items[CLOSE, j])
        wrong = weights[j] * items[VALUE, j] * inverse
        right = wrong * items[CLOSE, j]
        curved = right * inverse
        loss += weights[j] * items[VALUE, j] * ((higher + lower) * logarithm + lower * (scores[begin] - scores[j]))
        derivative[j] += right * higher - wrong * lower
        hessian[j] += curved * (higher + lower)
        for row, value in enumerate((right, wrong, curved)):
            asked[row, t] += value
            asked[3 + row, t] += value * gains[j]
    _answer(asked, gains[begin:end], weights[begin:end], derivative[begin:end], hessian[begin:end])
    return loss


@compiled
def _answer(asked, gains, weights, derivative, hessian):
    """Derivatives of the items of a block from their pairs with lower items, then with higher items."""
    size = len(gains)
    derivative_sum, derivative_gain, hessian_sum, hessian_gain = 0.0, 0.0, 0.0, 0.0
    for i in range(size):
        derivative_sum, derivative_gain = derivative_sum + asked[1, i], derivative_gain + asked[4, i]
        hessian_sum, hessian_gain = hessian_sum + asked[2, i], hessian_gain + asked[5, i]
        derivative[i] -= weights[i] * (gains[i] * derivative_sum - derivative_gain)
        hessian[i] += weights[i] * (hessian_gain - gains[i] * hessian_sum)
    derivative_sum, derivative_gain, hessian_sum, hessian_gain = 0.0, 0.0, 0.0, 0.0
    for i in range(size - 1, -1, -1):
        derivative_sum, derivative_gain = derivative_sum + asked[0, i + 1], derivative_gain + asked[3, i + 1]
        hessian_sum, hessian_gain = hessian_sum + asked[2, i + 1], hessian_gain + asked[5, i + 1]
        derivative[i] -= weights[i] * (gains[i] * derivative_sum - derivative_gain)
        hessian[i] += weights[i] * (gains[i] * hessian_sum - hessian_gain)
