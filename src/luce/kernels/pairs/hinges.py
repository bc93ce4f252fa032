"""The hinge loss max(0, 1 − δ) over all pairs: directly where they are few, else in O(n log n) by one sort."""

import numpy as np

from luce.compiled import compiled
from luce.kernels.label_order import longest_list, sort_by_label
from luce.kernels.pairs import loops
from luce.kernels.pairs.layout import PAD, ends_of_grades, lay_out, padded

FEW = 1_000
"""Pairs an item up to which going through them is quicker than sorting."""


@compiled
def pair_hinges(first, last, offsets, scores, labels, weights, loss, gradient):
    longest = longest_list(first, last, offsets)
    order, ends = np.empty(longest, np.int64), np.empty(longest, np.int64)
    work = np.empty((3, longest + PAD))
    for q in range(first, last):
        n = sort_by_label(labels, offsets[q], offsets[q + 1], order)
        if n == 0 or labels[order[0]] == labels[order[n - 1]]:
            continue
        grades = ends_of_grades(labels, order, n, ends)
        ordered, weight, derivative = work[0][: n + PAD], work[1][: n + PAD], work[2][: n + PAD]
        highest, lowest = lay_out(scores, weights, order, n, ordered, weight)
        derivative[:] = 0.0
        if _pairs(n, ends) <= FEW * n:
            loss[q] = _directly(n, ends, ordered, weight, derivative)
        else:
            loss[q] = _sorted(n, grades, ends, 0.5 * (highest + lowest), ordered, weight, derivative)
        for k in range(n):
            gradient[order[k]] = derivative[k]


@compiled
def _pairs(n, ends):
    pairs = 0
    for k in range(n):
        pairs += n - ends[k]
    return pairs


@compiled
def _directly(n, ends, ordered, weight, derivative):
    loss = 0.0
    for i in range(n):
        begin, stop = ends[i], padded(ends[i], n)
        if begin == n:
            break
        value, wrong = loops.hinge(
            ordered[i], weight[i], ordered[begin:stop], weight[begin:stop], derivative[begin:stop]
        )
        loss += value
        derivative[i] -= wrong
    return loss


@compiled
def _sorted(n, grades, ends, middle, ordered, weight, derivative):
    """Go down the scores with each item as the upper of its pairs, then up with each as the lower.

    The partners within the margin only ever become more; their weights and Σ w s are kept by grade in a tree of partial
    sums (Fenwick's), which gives those of all lower, or all higher, grades in log(grades) steps.
    """
    by_score = np.argsort(ordered[:n])
    grade = np.empty(n, np.int64)  # 1 = lowest
    for k in range(n):
        grade[k] = grades if k == 0 else grade[k - 1] - (ends[k] != ends[k - 1])
    tree = np.zeros((grades + 1, 2))
    loss, added = 0.0, n - 1
    for place in range(n - 1, -1, -1):
        i = by_score[place]
        while added >= 0 and 1.0 - (ordered[i] - ordered[by_score[added]]) > 0.0:
            j = by_score[added]
            _add(tree, grade[j], weight[j], weight[j] * (ordered[j] - middle))
            added -= 1
        lower, their_scores = _total(tree, grade[i] - 1)
        loss += weight[i] * (lower * (1.0 - (ordered[i] - middle)) + their_scores)
        derivative[i] -= weight[i] * lower
    tree[:] = 0.0
    added = 0
    for place in range(n):
        j = by_score[place]
        while added < n and 1.0 - (ordered[by_score[added]] - ordered[j]) > 0.0:
            i = by_score[added]
            _add(tree, grades + 1 - grade[i], weight[i], 0.0)
            added += 1
        derivative[j] += weight[j] * _total(tree, grades - grade[j])[0]
    return loss


@compiled
def _add(tree, place, weight, score):
    while place < len(tree):
        tree[place, 0] += weight
        tree[place, 1] += score
        place += place & -place


@compiled
def _total(tree, place):
    """The sums over places 1 … place."""
    weight, score = 0.0, 0.0
    while place > 0:
        weight += tree[place, 0]
        score += tree[place, 1]
        place -= place & -place
    return weight, score
