"""Sampling from the Davidson-Luce model: at each level first the size of the set, then its items one by one."""

import numpy as np

from luce.compiled import compiled
from luce.kernels.davidson_ties.subsets import chances_of_subsets, log_sum_of_subsets
from luce.kernels.label_order import longest_list
from luce.randomness import uniform


@compiled
def draw(first, last, offsets, items, scores, orders, log_delta, levels, seed, drawn_items, drawn_places, is_open):
    """Draw up to `levels` sets of each ranking's items; what is left is an open end."""
    longest = longest_list(first, last, offsets)
    share, odds = np.empty(longest), np.empty(len(orders))
    chances = np.empty((longest + 2, min(longest, orders[-1]) + 2))
    left, own, inside = np.empty(longest, np.int64), np.empty(longest), np.empty(longest, np.bool_)
    for q in range(first, last):
        n, place, at, number = offsets[q + 1] - offsets[q], 0, offsets[q], 0
        for i in range(n):
            left[i] = offsets[q] + i
        while n > 0 and place < levels[q]:
            for i in range(n):
                own[i] = scores[left[i]]
            size = 1 if n == 1 else _drawn_size(own[:n], orders, log_delta, odds, share, chances, seed, q, number)
            _draw_subset(own[:n], size, chances, inside, seed, q, number + 1)
            number += n + 1
            remaining = 0
            for i in range(n):
                if inside[i]:
                    drawn_items[at], drawn_places[at] = items[left[i]], place
                    at += 1
                else:
                    left[remaining] = left[i]
                    remaining += 1
            n, place = remaining, place + 1
        is_open[q] = n > 0
        for i in range(n):
            drawn_items[at], drawn_places[at] = items[left[i]], place
            at += 1


@compiled
def _drawn_size(own, orders, log_delta, odds, share, chances, seed, q, number):
    highest, total = -np.inf, 0.0
    for j in range(len(orders)):
        odds[j] = -np.inf
        if orders[j] <= len(own):
            odds[j] = log_delta[j] + log_sum_of_subsets(own, orders[j], share, chances)
            highest = max(highest, odds[j])
    for j in range(len(orders)):
        odds[j] = np.exp(odds[j] - highest)
        total += odds[j]
    point, j = uniform(seed, 0, q, 0, number) * total, 0
    while j < len(orders) - 1 and point >= odds[j]:
        point -= odds[j]
        j += 1
    while orders[j] > len(own):
        j -= 1
    return orders[j]


@compiled
def _draw_subset(own, size, chances, inside, seed, q, number):
    """Items from the last to the first, each with its chance given how many are still to come."""
    n, wanted = len(own), size
    if size == n:
        inside[:n] = True
        return
    inclusion = chances_of_subsets(own, size, chances)
    for a in range(n - 1, -1, -1):
        chance = inclusion[a] * chances[a, wanted - 1] / chances[a + 1, wanted] if wanted > 0 else 0.0
        inside[a] = uniform(seed, 0, q, 0, number + a) < chance
        wanted -= inside[a]
