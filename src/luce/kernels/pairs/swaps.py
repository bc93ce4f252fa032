"""log(1 + e^{−δ}) weighted by what swapping the two items does to NDCG at the present ranks (LambdaRank, LambdaLoss).

Two items beyond the cutoff change nothing, so the items within it, the head, are kept apart from the tail, each from
the highest label down and followed by padding. The loops are head over head, head over tail and tail over head.
"""

import numpy as np

from luce.compiled import compiled, summing
from luce.kernels.exponential import exp
from luce.kernels.label_order import longest_list, sort_by_label
from luce.kernels.pairs import loops
from luce.kernels.pairs.layout import PAD, padded
from luce.kernels.pairs.parts import belongs, left_out
from luce.kernels.pairs.places import discounts_to, gap_changes, share_places

NEAR = 600.0
"""Scores this near each other may all be exponentials on one scale."""

SCORE, LABEL, WEIGHT, GAIN, DISCOUNT, TIED_CHANGE, TIED_GAP, UP, DOWN, SLOPE, BEND, CLOSE, PAIR, ROWS = range(14)
"""What is known of each item, and then what is found; UP is e^{s − middle}, DOWN its inverse."""


@compiled
def pair_swaps(
    first, last, offsets, scores, labels, gains, weights, part, cutoff, change_share, gap_share, loss, gradient, second
):
    longest = longest_list(first, last, offsets)
    order, spot, twice_place = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(longest, np.int64)
    ordered, shared = np.empty(longest), np.empty((3, longest))
    items, places = np.empty((ROWS, longest + 2 * PAD)), np.empty(longest + 2 * PAD, np.int64)
    discounts, table = discounts_to(longest, cutoff), gap_changes(longest if gap_share > 0.0 else 0)
    for q in range(first, last):
        if left_out(part, offsets[q + 1] - offsets[q]):
            continue
        n = sort_by_label(labels, offsets[q], offsets[q + 1], order)
        ideal = 0.0
        for k in range(n):
            ordered[k] = scores[order[k]]
            ideal += gains[order[k]] * discounts[k]
        if n == 0 or labels[order[0]] == labels[order[n - 1]] or not ideal > 0.0:
            continue  # no order is better than another
        share_places(ordered, n, discounts, shared, twice_place)
        head, tail, end = _find_spots(n, shared[0], spot)
        _fill(n, order, spot, end, labels, gains, weights, ideal, ordered, shared, twice_place, items, places)
        near = _powers(items[SCORE][: end + PAD], items[UP], items[DOWN])
        for i0, i1, j0, j1 in ((0, head, 0, head), (0, head, tail, end), (tail, end, 0, head)):
            loss[q] += _meet(i0, i1, j0, j1, part, near, change_share, gap_share, table, items, places)
        for k in range(n):
            gradient[order[k]] = items[SLOPE, spot[k]]
        if second.size:
            for k in range(n):
                second[order[k]] = items[BEND, spot[k]]


@compiled
def _find_spots(n, discount, spot):
    """Where each item goes, label order kept; returns the end of the head and the begin and end of the tail."""
    head = 0
    for k in range(n):
        if discount[k] > 0.0:
            spot[k] = head
            head += 1
    end = head + PAD
    for k in range(n):
        if discount[k] == 0.0:
            spot[k] = end
            end += 1
    return head, head + PAD, end


@compiled
def _fill(n, order, spot, end, labels, gains, weights, ideal, ordered, shared, twice_place, items, places):
    items[:, : end + PAD] = 0.0
    items[SCORE, : end + PAD] = -np.inf
    places[: end + PAD] = 0
    for k in range(n):
        row, here = order[k], spot[k]
        items[SCORE, here] = ordered[k]
        items[LABEL, here] = labels[row]
        items[WEIGHT, here] = weights[row] if weights.size else 1.0
        items[GAIN, here] = gains[row] / ideal
        items[DISCOUNT, here] = shared[0, k]
        items[TIED_CHANGE, here] = shared[1, k]
        items[TIED_GAP, here] = shared[2, k]
        places[here] = twice_place[k]


@summing
def _powers(scores, up, down):
    """e^{s − middle} and its inverse of each item; returns whether the scores are near enough for them."""
    highest, lowest = -np.inf, np.inf
    for k in range(len(scores)):
        highest = max(highest, scores[k])
        lowest = min(lowest, scores[k] if scores[k] > -np.inf else np.inf)
    if highest - lowest > NEAR:
        return False
    middle = 0.5 * (highest + lowest)
    for k in range(len(scores)):
        up[k] = exp(scores[k] - middle)
        down[k] = 1.0 / up[k]
    return True


@compiled
def _meet(i0, i1, j0, j1, part, near, change_share, gap_share, table, items, places):
    """The loss of the items i0 … i1 − 1 over the lower labels among j0 … j1 − 1; adds to their slopes and bends."""
    loss, begin = 0.0, j0
    for i in range(i0, i1):
        while begin < j1 and items[LABEL, begin] >= items[LABEL, i]:
            begin += 1
        if begin == j1:
            break
        if belongs(part, i):
            here = slice(begin, padded(begin, j1))
            score, scores, close = items[SCORE, i], items[SCORE][here], items[CLOSE][here]
            if near:
                loops.near_closeness(items[UP, i], items[DOWN, i], items[UP][here], items[DOWN][here], close)
            else:
                loops.closeness(score, 1.0, scores, close)
            _change_weights(i, here, change_share, items)
            if gap_share > 0.0:
                _add_gap_weights(i, here, gap_share, table, items, places)
            found = loops.logistic(score, scores, close, items[PAIR][here], items[SLOPE][here], items[BEND][here])
            loss += found[0]
            items[SLOPE, i] -= found[1]
            items[BEND, i] += found[2]
    return loss


@summing
def _change_weights(i, here, share, items):
    """The weight of each pair from its change of discount."""
    scores, discounts, gains = items[SCORE][here], items[DISCOUNT][here], items[GAIN][here]
    weights, pair = items[WEIGHT][here], items[PAIR][here]
    score, discount, tied, gain = items[SCORE, i], items[DISCOUNT, i], items[TIED_CHANGE, i], items[GAIN, i]
    share *= items[WEIGHT, i]
    for j in range(len(pair)):
        change = abs(discount - discounts[j]) + (tied if score == scores[j] else 0.0)
        pair[j] = share * weights[j] * (gain - gains[j]) * change


@summing
def _add_gap_weights(i, here, share, table, items, places):
    """… and from its gap in ranks, doubled to find it in the table."""
    scores, partners, gains = items[SCORE][here], places[here], items[GAIN][here]
    weights, pair = items[WEIGHT][here], items[PAIR][here]
    score, place, tied, gain = items[SCORE, i], places[i], items[TIED_GAP, i], items[GAIN, i]
    share *= items[WEIGHT, i]
    for j in range(len(pair)):
        change = table[np.uint64(abs(place - partners[j]))] + (tied if score == scores[j] else 0.0)
        pair[j] += share * weights[j] * (gain - gains[j]) * change
