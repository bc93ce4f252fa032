"""Exact sums Σ_{S ⊆ R} e^{mean of s over S} over the subsets of nested sets, and inclusion probabilities of items.

The subsets of size m add up to the elementary symmetric polynomial e_m(e^{s/m}): the coefficient of y^m in
Π (1 + e^{s_i/m} y). Sets that lie inside each other share the product, which takes up four items at a time from the
smallest set to the largest; going back, what each coefficient adds to the sums gives the derivatives. No term is ever
negative, so nothing cancels.

Scale: with x_i = (s_i − centre)/m + log-odds of m in n, the factors are c_i + d_i y, d_i/c_i = e^{x_i}, the greater of
the two 1. The coefficients lie below 2^n then, and that of y^m far above the least float64: where it does not, the
centre is moved until a subset drawn with these odds has m items on average, and a set that is out of reach of its
superset's scale gets a scale of its own.
"""

from typing import NamedTuple

import numpy as np

from luce.arrays import Floats, Integers
from luce.compiled import compiled, summing
from luce.kernels.elementary import exp
from luce.kernels.subset_choice.product import BLOCK, add_gradient, factors, multiply

LONGEST = 500
"""Items up to which no coefficient and no derivative overflows, and the cubic cost stays at milliseconds."""

LEAST = 1e-120
"""A coefficient of y^m above it is exact to rounding: what underflows on the way is below 1e-30 of it."""

FORGOTTEN = -50.0
"""A size whose subsets have less than e^−50 of the probability of every set adds nothing to the derivatives."""


class Nest(NamedTuple):
    """Sets of items, each inside the next: set k is the first `blocks[k]` blocks of four places.

    scores: of each place, −inf where a set was filled up to whole blocks. seen: items in the first b blocks.
    items, centre: how many items each set has, and their mean score.
    """

    scores: Floats
    seen: Integers
    blocks: Integers
    items: Integers
    centre: Floats


class SubsetSums(NamedTuple):
    """Results: log_sum (sets,) = log Σ_S e^{mean}, share (places,) = Σ_sets E[1{i ∈ S} / |S|]; the rest is scratch."""

    log_sum: Floats
    share: Floats
    by_size: Floats
    without: Floats
    within: Floats
    rows: Floats
    reach: Floats
    weight: Floats
    waiting: Integers


@compiled
def make_nest(longest):
    """Workspace for the sets of a list of up to `longest` items."""
    return Nest(
        np.empty(BLOCK * longest),
        np.zeros(longest + 1, np.int64),
        np.empty(longest, np.int64),
        np.empty(longest, np.int64),
        np.empty(longest),
    )


@compiled
def make_sums(longest):
    """Workspace for the results and intermediate values."""
    places = BLOCK * longest
    rows = np.zeros((longest + 1, longest + 3 * BLOCK))
    rows[0, BLOCK] = 1.0
    return SubsetSums(
        np.empty(longest),
        np.empty(places),
        np.empty((longest, longest + 1)),
        np.empty(places),
        np.empty(places),
        rows,
        np.empty(longest + 2 * BLOCK),
        np.empty(longest),
        np.empty(longest, np.int64),
    )


@compiled
def sum_subsets(nest, sets, sums, shares):
    """Write `sums.log_sum` of each set and, if asked for, `sums.share` of each place."""
    n = nest.items[sets - 1]
    for m in range(1, n + 1):
        _one_size(m, nest, sets, sums, False)
    for k in range(sets):
        sums.log_sum[k] = _log_sum_exp(sums.by_size[k, 1 : nest.items[k] + 1])
    if shares:
        sums.share[: BLOCK * nest.blocks[sets - 1]] = 0.0
        for m in range(1, n + 1):
            largest = -np.inf
            for k in range(sets):
                if nest.items[k] >= m:
                    largest = max(largest, sums.by_size[k, m] - sums.log_sum[k])
            if largest > FORGOTTEN:
                _one_size(m, nest, sets, sums, True)


@compiled
def _log_sum_exp(values):
    highest, total = values.max(), 0.0
    for value in values:
        total += np.exp(value - highest)
    return highest + np.log(total)


@compiled
def _one_size(m, nest, sets, sums, shares):
    """Write the logarithms of the sums over subsets of size m; or add the shares that come from them."""
    sums.waiting[:sets] = 1
    base = sets - 1
    while base >= 0:
        centre, log_odds = _scaled_product(m, base, nest, sums)
        next_base, begin, raised, total = -1, 0, 0, 0.0
        for k in range(base + 1):
            end = BLOCK * nest.blocks[k]
            more, more_total = _raised(nest.scores[begin:end], sums.within[begin:end])
            begin, raised, total = end, raised + more, total + more_total
            sums.weight[k] = 0.0
            if nest.items[k] < m or not sums.waiting[k]:
                continue
            value = sums.rows[nest.blocks[k], m + BLOCK]
            if value < LEAST and k < base:
                next_base = k
                continue
            sums.waiting[k] = 0
            if not shares:
                factored_out = (total + (m - raised) * centre) / m + (raised - m) * log_odds
                sums.by_size[k, m] = np.log(value) + factored_out
            elif sums.by_size[k, m] - sums.log_sum[k] > FORGOTTEN:
                sums.weight[k] = np.exp(sums.by_size[k, m] - sums.log_sum[k]) / (m * value)
        if shares:
            _add_shares(m, base, nest, sums)
        base = next_base


@compiled
def _add_shares(m, base, nest, sums):
    """Go back through the product over the items of set `base`."""
    n, product = nest.items[base], (sums.without, sums.within, nest.seen, sums.rows)
    add_gradient(m, n, base + 1, nest.blocks, sums.weight, *product, sums.reach, sums.share)


@summing
def _raised(scores, within):
    """How many items have had their e^x factored out, and the sum of their scores."""
    raised, total = 0, 0.0
    for i in range(len(scores)):
        out = within[i] == 1.0
        raised += 1 if out else 0
        total += scores[i] if out else 0.0
    return raised, total


@compiled
def _scaled_product(m, base, nest, sums):
    """The product over the items of set `base`, in a scale in which its coefficient of y^m is not small."""
    n, blocks = nest.items[base], nest.blocks[base]
    scores = nest.scores[: BLOCK * blocks]
    target = min(m, n - 0.5)
    log_odds = np.log(target / (n - target))
    centre = nest.centre[base]
    for attempt in range(2):
        if attempt:
            centre = _balanced_centre(scores, m, log_odds, target)
        factors(scores, centre, m, log_odds, sums.without, sums.within)
        multiply(m, n, blocks, sums.without, sums.within, nest.seen, sums.rows)
        if sums.rows[blocks, m + BLOCK] >= LEAST:
            break
    return centre, log_odds


@summing
def _balanced_centre(scores, m, log_odds, target):
    """The centre for which Σ_i e^{x_i} / (1 + e^{x_i}) is the target, to a quarter of an item, by bisection."""
    low, high = np.inf, -np.inf
    for s in scores:
        if s > -np.inf:
            low, high = min(low, s), max(high, s)
    centre = low
    for _ in range(200):
        centre = 0.5 * (low + high)
        expected = 0.0
        for s in scores:
            x = (s - centre) / m + log_odds
            e = exp(-abs(x))
            expected += (1.0 if x > 0.0 else e) / (1.0 + e)
        if abs(expected - target) <= 0.25:
            break
        if expected > target:
            low = centre
        else:
            high = centre
    return centre
