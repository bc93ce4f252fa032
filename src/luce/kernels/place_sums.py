"""A sum over the places of a list: its terms, the worth of an item, and what the sum is divided by.

With r the place from 1 and u the worth of the item there, the value of a list is scale · Σ_r discount_r · term_r:

    SUM      term = u                                        gains: dcg, precision, …
    CASCADE  term = u · Π (1 − u of the items above)         a reader who stops with probability u: err, mrr, hit
    COUNT    term = u · (1 + Σ u of the items above)         map

and for PAIRS it is scale times the number of pairs with the higher worth above.
"""

from typing import NamedTuple

from luce.arrays import Floats

SUM, CASCADE, COUNT, PAIRS = range(4)
"""The terms."""

EXPONENTIAL, LINEAR, BINARY, STOP, LABEL = range(5)
"""The worth of an item with label y: 2^y − 1; y; 1 if y > 0; the probability (2^y − 1) / 2^max_grade of stopping at it,
all four 0 for y ≤ 0; or y itself."""

CONSTANT, IDEAL, TOTAL, LENGTH = range(4)
"""The divisor of a list: a constant, the highest value of the sum, the sum of the worths, the number of items."""


class Places(NamedTuple):
    """What the order is worth: the kind of sum, worths (N,), scales (Q,), discounts (1 + the longest list).

    Discounts from place `depth` on are all the same; swaps there change nothing and are not looked for.
    """

    kind: int
    worths: Floats
    scales: Floats
    discounts: Floats
    depth: int
