"""Expectations over pairs: i ranks above j with probability 1 / (1 + e^{s_j − s_i}) in a list of any length."""

import numpy as np

from luce.compiled import compiled
from luce.kernels.place_sums import PAIRS


@compiled
def falls_evenly(discounts, n):
    """Whether each of the first n places is worth less than the one before by the same amount."""
    even = True
    for k in range(2, n):
        even &= discounts[k - 1] - discounts[k] == discounts[0] - discounts[1]
    return even


@compiled
def pair_sum(scores, kind, worths, discounts):
    """The expected sum over places whose discounts fall evenly, or the expected number of PAIRS with the higher above.

    Discounts that fall by c make of the n places of a list   Σ_d worth_d (θ_n + c · number of items below d).
    """
    total, live = 0.0, 0
    for i in range(len(scores)):
        if scores[i] == -np.inf:
            continue
        live += 1
        for j in range(i):
            if scores[j] > -np.inf:
                above = 1.0 / (1.0 + np.exp(scores[j] - scores[i]))
                if kind == PAIRS:
                    total += above if worths[i] > worths[j] else 1.0 - above if worths[i] < worths[j] else 0.0
                else:
                    total += (discounts[0] - discounts[1]) * (above * worths[i] + (1.0 - above) * worths[j])
    if kind != PAIRS:
        for i in range(len(scores)):
            total += worths[i] * discounts[live - 1] if scores[i] > -np.inf else 0.0
    return total
