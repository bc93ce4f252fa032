"""The places of the items of a list under the current scores, and the change of NDCG by a swap of two places.

Equal scores form a block and share its places: what a pair is worth is the mean over the orders of equal scores.
"""

import numpy as np

from luce.compiled import compiled, summing

FEW = 256
"""Items up to which counting the scores above each is quicker than sorting."""


@compiled
def places_of(ordered, places):
    """Write the place of each item, the highest score first; equal scores keep their order."""
    n = len(ordered)
    if n <= FEW:
        for k in range(n):
            places[k] = _count_above(ordered[k], ordered[:k], ordered[k:])
    else:
        places[np.argsort(-ordered, kind="mergesort")] = np.arange(n)


@summing
def _count_above(score, before, after):
    count = 0.0
    for k in range(len(before)):
        count += 1.0 if before[k] >= score else 0.0
    for k in range(len(after)):
        count += 1.0 if after[k] > score else 0.0
    return int(count)


@compiled
def ends_of_blocks(scores, ends):
    """Write for each of some sorted scores where its block ends; return the number of blocks."""
    n, blocks = len(scores), 0
    for k in range(n - 1, -1, -1):
        last = k == n - 1 or scores[k] != scores[k + 1]
        ends[k] = k + 1 if last else ends[k + 1]
        blocks += last
    return blocks


@compiled
def swap_values(begin, counted, blocks, change, gap, discounts, ends, values):
    """Write what swapping an item of the block from `begin` with each item from there on is worth.

    Places a < b are worth change·(D_a − D_b) + gap·(D_{b−a−1} − D_{b−a}) where a < `counted`, else nothing, with
    discounts D that do not rise. Of two items within the block it is half of that: they meet twice.
    """
    end, n = ends[begin], len(ends)
    size = end - begin
    upper, share = change * discounts[begin:counted].sum() / size, change * (counted - begin) / size
    far, near = discounts[end - begin : n - begin], discounts[end - counted : n - counted]
    _values_below(upper, share, gap / size, discounts[end:n], near, far, values[end:n])
    top = end
    while blocks < n and top < n:
        if ends[top] > top + 1:
            values[top : ends[top]] = values[top : ends[top]].mean()
        top = ends[top]
    inside, below = 0.0, 0.0
    for a in range(end - 1, begin - 1, -1):
        if a < counted:
            inside += change * ((end - 1 - a) * discounts[a] - below) + gap * (discounts[0] - discounts[end - a - 1])
        below += discounts[a]
    values[begin:end] = inside / (size * (size - 1)) if size > 1 else 0.0


@summing
def _values_below(upper, share, gap, discounts, near, far, values):
    """Those of the items below the block: of the gaps to its places only the smallest and the largest remain."""
    for b in range(len(values)):
        values[b] = upper - share * discounts[b] + gap * (near[b] - far[b])
