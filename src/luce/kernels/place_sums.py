"""Constants that name a sum over the places of a list: its terms, the worth of an item, and what it is divided by."""

SUM, CASCADE, COUNT, PAIRS = range(4)
"""The terms, see `luce.kernels.line_search`."""

EXPONENTIAL, LINEAR, BINARY, STOP, LABEL = range(5)
"""The worth of an item with label y: 2^y − 1; y; 1 if y > 0; the probability (2^y − 1) / 2^max_grade of stopping at it,
all four 0 for y ≤ 0; or y itself."""

CONSTANT, IDEAL, TOTAL, LENGTH = range(4)
"""The divisor of a list: a constant, the highest value of the sum, the sum of the worths, the number of items."""
