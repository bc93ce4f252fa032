"""The ideal DCG of a list within a program of a GPU."""

import triton
import triton.language as tl


@triton.jit
def ideal_sum(gains, discounts, places, depth):
    """Σ discounts · gains with the gains, at least 0, from the highest down; of `depth` places.

    One round for each gain above 0: for the few grades of a list less than a sort, and compiled in a moment.
    """
    level = tl.max(gains, 0)
    total = level * 0.0
    first = total.to(tl.int32)
    while level > 0.0:
        last = first + tl.sum((gains == level).to(tl.int32), 0)
        here = (places >= first) & (places < last) & (places < depth)
        total += level * tl.sum(tl.where(here, discounts, 0.0), 0)
        first = last
        level = tl.max(tl.where((gains < level) & (first < depth), gains, 0.0), 0)
    return total
