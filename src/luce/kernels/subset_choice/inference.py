"""The most likely ordered partition of a list, and exact samples of one, under successive choices of subsets.

Most likely, n ≤ 15: with V_k(R) = max_{∅ ≠ S ⊆ R} log Φ_k(S) + V_{k+1}(R \\ S) − log Σ_{S' ⊆ R} Φ_k(S'), V(∅) = 0, in
O(3^n) for each stage whose potential differs.

Arithmetic mean, n ≥ 6: all items but the lowest, then the lowest. If r items are left after S_1, then P = mean(S_1) /
mean(R) · P(rest) / (2^n − 1), where mean(S_1)/mean(R) ≤ n/(n − r) and P(rest) ≤ b_r, the highest that r items can have:
b_2 = 2/3, b_3 = 2/7, b_4 = 4/45. For r ≥ 2 this is at most 1, while r = 1 has mean(S_1)/mean(R) ≥ 1.

Geometric mean, n > 15: the best of the partitions that follow the order of the scores. Others can be more likely:
scores of 5.7 (four times), 2.8, 0, 0 have the mode {1, 2, 3, 4, 7} > {5} > {6}.
"""

import numpy as np
from scipy.special import softmax

from luce.arrays import Floats, Integers
from luce.compiled import compiled
from luce.kernels.label_order import longest_list
from luce.kernels.subset_choice.geometric import fill_nest
from luce.kernels.subset_choice.open_choice import Chain, State, random_subset
from luce.kernels.subset_choice.potentials import LONGEST, Potential, arithmetic_mean, geometric_mean, log_table
from luce.kernels.subset_choice.symmetric import make_nest, make_sums, sum_subsets
from luce.randomness import uniform


def most_likely(scores: Floats, potential: Potential) -> Integers:
    """The stage (n,), from 0, at which each item is chosen in the most likely ordered partition.

    More than 15 items need one of the two means.

    >>> most_likely(np.array([50.0, 0.0, 90.0]), geometric_mean), most_likely(np.arange(20.0), arithmetic_mean)
    (array([1, 2, 0]), array([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]))
    """
    n = len(scores)
    stages = np.zeros(n, np.int64)
    if n <= 1:
        return stages
    if n <= LONGEST:
        differing = 1 if potential in (arithmetic_mean, geometric_mean) else n
        return _best_of_subsets(np.array([log_table(potential, scores, k + 1) for k in range(differing)]), n)
    if potential is arithmetic_mean:
        stages[scores.argmin()] = 1
    else:
        order = np.argsort(-scores, kind="stable")
        stages[order] = _best_of_order(scores, order)
    return stages


@compiled
def _best_of_subsets(tables, n):
    """By the recursion over subsets; a single table is that of every stage."""
    stages, size = tables.shape
    best, choice = np.zeros((stages, size)), np.zeros((stages, size), np.int64)
    for k in range(stages - 1, -1, -1):
        after, sums = min(k + 1, stages - 1), tables[k].copy()
        for i in range(n):
            bit = 1 << i
            for left in range(size):
                if left & bit:
                    low, high = sums[left], sums[left ^ bit]
                    low, high = min(low, high), max(low, high)
                    sums[left] = high + np.log1p(np.exp(low - high)) if low > -np.inf else high
        for left in range(1, size):
            highest, chosen = -np.inf, left
            while chosen:
                value = tables[k, chosen] + best[after, left ^ chosen]
                if value > highest:
                    highest, choice[k, left] = value, chosen
                chosen = (chosen - 1) & left
            best[k, left] = highest - sums[left]
    result, left, k = np.empty(n, np.int64), size - 1, 0
    while left:
        chosen = choice[min(k, stages - 1), left]
        for i in range(n):
            if chosen >> i & 1:
                result[i] = k
        left, k = left ^ chosen, k + 1
    return result


@compiled
def _best_of_order(scores, order):
    """Where to cut the items, ordered by score, for the geometric mean."""
    n = len(order)
    nest, sums = make_nest(n), make_sums(n)
    fill_nest(scores, order, np.arange(1, n + 1), n, nest)
    sum_subsets(nest, n, sums, False)
    best, end = np.zeros(n + 1), np.zeros(n, np.int64)
    for i in range(n - 1, -1, -1):
        highest, total = -np.inf, 0.0
        for j in range(i, n):
            total += scores[order[j]] - scores[order[0]]
            value = total / (j + 1 - i) + best[j + 1]
            if value > highest:
                highest, end[i] = value, j + 1
        best[i] = highest - sums.log_sum[n - 1 - i]
    result, i, k = np.empty(n, np.int64), 0, 0
    while i < n:
        result[i : end[i]] = k
        i, k = end[i], k + 1
    return result


@compiled
def draw_stages(first, last, offsets, scores, geometric, seed, result):
    """Fill `result` (samples, N) with the stage of each item in samples of the arithmetic or the geometric choice."""
    longest = longest_list(first, last, offsets)
    order, inside, chances = (
        np.empty(longest, np.int64),
        np.empty(longest, np.bool_),
        np.empty((longest + 1, longest + 1)),
    )
    nest, sums = make_nest(longest), make_sums(longest)
    for q in range(first, last):
        for sample in range(len(result)):
            n, k, drawn = offsets[q + 1] - offsets[q], 0, 0
            for i in range(n):
                order[i] = offsets[q] + i
            while n:
                if geometric:
                    fill_nest(scores, order, np.array([n]), 1, nest)
                    sum_subsets(nest, 1, sums, False)
                    size = 1 + _place(sums.by_size[0, 1 : n + 1], uniform(seed, 0, q, sample, drawn))
                    _draw_of_size(scores, order[:n], size, chances, inside, seed, q, sample, drawn + 1)
                    drawn += n + 1
                else:
                    drawn = _draw_with_one(scores, order[:n], inside, seed, q, sample, drawn)
                left = 0
                for i in range(n):
                    if inside[i]:
                        result[sample, order[i]] = k
                    else:
                        order[left] = order[i]
                        left += 1
                n, k = left, k + 1


@compiled
def _place(logarithms, u):
    """A place, drawn in proportion to the exponentials."""
    highest, total = logarithms.max(), 0.0
    for value in logarithms:
        total += np.exp(value - highest)
    u *= total
    for i in range(len(logarithms)):
        u -= np.exp(logarithms[i] - highest)
        if u < 0.0:
            return i
    return logarithms.argmax()  # rounding


@compiled
def _draw_with_one(scores, items, inside, seed, q, sample, drawn):
    """A subset in proportion to the mean of e^s; the next number to draw.

    An item in proportion to e^s is in it. The size is that of a subset drawn with all subsets alike, which is the
    result if the item is in it; else the item takes the place of one of its members, all alike.
    """
    n = len(items)
    own = _place(scores[items], uniform(seed, 0, q, sample, drawn))
    count = 0
    while count == 0:
        for i in range(n):
            inside[i] = uniform(seed, 0, q, sample, drawn + 1 + i) < 0.5
            count += inside[i]
        drawn += n
    if not inside[own]:
        out = int(uniform(seed, 0, q, sample, drawn + 1) * count)
        for i in range(n):
            if inside[i]:
                if out == 0:
                    inside[i] = False
                out -= 1
        inside[own] = True
    return drawn + 2


@compiled
def _draw_of_size(scores, items, size, chances, inside, seed, q, sample, drawn):
    """A subset of this size in proportion to e^{mean of s}: items from the last to the first, given those to come.

    chances[a, j] is the logarithm of the sum over subsets of j of the first a items.
    """
    n = len(items)
    chances[0, 0], chances[0, 1 : size + 1] = 0.0, -np.inf
    for a in range(n):
        x = (scores[items[a]] - scores[items[0]]) / size
        chances[a + 1, 0] = 0.0
        for j in range(1, size + 1):
            chances[a + 1, j] = np.logaddexp(chances[a, j], x + chances[a, j - 1])
    wanted = size
    for a in range(n - 1, -1, -1):
        inside[a] = False
        if wanted:
            x = (scores[items[a]] - scores[items[0]]) / size
            chance = np.exp(x + chances[a, wanted - 1] - chances[a + 1, wanted])
            inside[a] = uniform(seed, 0, q, sample, drawn + a) < chance
            wanted -= inside[a]


def draw_open(
    scores: Floats, potential: Potential, random: np.random.Generator, chain: Chain | None = None, steps: int = 0
) -> Integers:
    """The stage (n,) of each item in a sample: exact by enumeration, or by so many steps of a chain at each stage.

    >>> draw_open(np.array([50.0, 0.0, 90.0]), geometric_mean, np.random.default_rng(0))
    array([1, 2, 0])
    """
    stages, left, k = np.zeros(len(scores), np.int64), np.arange(len(scores)), 0
    while len(left):
        if chain is None:
            table = log_table(potential, scores[left], k + 1)
            number = int(random.choice(len(table), p=softmax(table)))
            chosen = (number >> np.arange(len(left)) & 1).astype(bool)
        else:
            state = State(potential, scores[left], k + 1, random_subset(len(left), random))
            for _ in range(steps):
                chain(state, random)
            chosen = state.members
        stages[left[chosen]] = k
        left, k = left[~chosen], k + 1
    return stages
