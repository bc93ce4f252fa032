"""The memory layout of a list for loops over pairs: from the highest label down, padded with items of no effect.

The inner loop of every kernel here runs over a stretch of partners that lie side by side. The stretch is lengthened to
a multiple of PAD with items of score −∞, whose pairs add nothing, so that no loop has an odd end.
"""

import numpy as np

from luce.compiled import compiled

PAD = 8


@compiled
def padded(begin, end):
    """Where a stretch from `begin` that holds the items before `end` stops."""
    return begin + (end - begin + PAD - 1) // PAD * PAD


@compiled
def lay_out(scores, weights, order, n, ordered, weight):
    """Scores and item weights (1 where there are none) in order, padded; returns the highest and the lowest score."""
    highest, lowest = -np.inf, np.inf
    for k in range(n):
        s = scores[order[k]]
        ordered[k] = s
        weight[k] = weights[order[k]] if weights.size else 1.0
        highest, lowest = max(highest, s), min(lowest, s)
    for k in range(n, n + PAD):
        ordered[k], weight[k] = -np.inf, 0.0
    return highest, lowest


@compiled
def ends_of_grades(labels, order, n, ends):
    """Write for each place of the order where its run of equal labels ends; return the number of runs."""
    grades = 0
    end = n
    for k in range(n - 1, -1, -1):
        if k == n - 1 or labels[order[k]] != labels[order[k + 1]]:
            end = k + 1
            grades += 1
        ends[k] = end
    return grades
