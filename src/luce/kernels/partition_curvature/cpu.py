"""Second derivatives of the partition likelihood in two passes over a ranking, with one integral per tied set."""

import numpy as np

from luce.compiled import compiled, inlined
from luce.kernels.label_order import longest_list
from luce.kernels.partition_curvature.moments import set_matrix, set_product

FAR = -300.0
"""Scores further below the best of their ranking count as this far in the matrix: squares stay inside the numbers."""


@compiled
def product(first, last, offsets, places, weights, scores, direction, tol, result):
    longest = longest_list(first, last, offsets)
    below, drift = np.empty(longest + 1), np.empty(longest + 1)  # lse(R) and the mean direction of R, from each row on
    ends, turned = np.empty(longest, np.int64), np.empty(longest)
    for q in range(first, last):
        rows = slice(offsets[q], offsets[q + 1])
        s, d, w = scores[rows], direction[rows], weights[q]
        sets = _set_ends(places[rows], ends)
        _sums_from_below(s, d, below, drift)
        # Σ over the sets above, relative to lse of what is left here: of Hu's sums less f times drift, and of f.
        pushed, force, begin = 0.0, 0.0, 0
        for m in range(sets):
            end = ends[m]
            for j in range(begin, end):
                result[offsets[q] + j] += w * np.exp(s[j] - below[begin]) * (pushed + force * d[j])
            if m == sets - 1:
                break
            f, total = set_product(s[begin:end] - below[end], d[begin:end] - drift[end], tol, turned)
            for j in range(begin, end):
                result[offsets[q] + j] -= w * turned[j - begin]
            shrink = np.exp(below[end] - below[begin])
            pushed = pushed * shrink + total - f * drift[end]
            force = force * shrink + f
            begin = end


@inlined
def _set_ends(places, ends):
    sets = 0
    for j in range(len(places)):
        if j == len(places) - 1 or places[j + 1] != places[j]:
            ends[sets] = j + 1
            sets += 1
    return sets


@compiled
def _sums_from_below(s, d, below, drift):
    n = len(s)
    below[n], drift[n] = -np.inf, 0.0
    for j in range(n - 1, -1, -1):
        highest = max(below[j + 1], s[j])
        old, new = np.exp(below[j + 1] - highest), np.exp(s[j] - highest)
        below[j] = highest + np.log(old + new)
        drift[j] = (old * drift[j + 1] + new * d[j]) / (old + new)


@compiled
def hessian(first, last, offsets, places, weights, scores, coordinates, rest, worths, tol, matrix):
    longest = longest_list(first, last, offsets)
    block, ends = np.empty((longest, longest)), np.empty(longest, np.int64)
    for q in range(first, last):
        rows = slice(offsets[q], offsets[q + 1])
        n = offsets[q + 1] - offsets[q]
        sets = _set_ends(places[rows], ends)
        _block(scores[rows], ends[:sets], tol, block)
        if rest[q] > 0.0:
            _to_pool(worths[rows], rest[q], block[:n, :n])
        own = coordinates[rows]
        for j in range(n):
            row = matrix[own[j]]
            for k in range(n):
                row[own[k]] += weights[q] * block[j, k]


@inlined
def _block(s, ends, tol, block):
    """The matrix of one ranking. Rows below a set get v v' c/z² from it and, each for itself, v f/z; z: their worth."""
    n, highest = len(s), -np.inf
    for j in range(n):
        highest = max(highest, s[j])
    worth, left = np.empty(n), np.zeros(n + 1)
    for j in range(n - 1, -1, -1):
        worth[j] = np.exp(max(s[j] - highest, FAR))
        left[j] = left[j + 1] + worth[j]
    squares, alone, begin = 0.0, 0.0, 0
    for m in range(len(ends)):
        end = ends[m]
        f = curve = 0.0
        if m < len(ends) - 1:
            f, curve = set_matrix(s[begin:end] - highest - np.log(left[end]), tol, block[begin:end, begin:end])
        for j in range(begin, end):
            outward = 0.0
            for k in range(begin, end):
                own = block[j, k] if m < len(ends) - 1 else 0.0
                outward += own
                block[j, k] = -own - worth[j] * worth[k] * squares
            block[j, j] += worth[j] * alone
            for k in range(end, n):
                block[j, k] = block[k, j] = worth[k] * (outward / left[end] - worth[j] * squares)
        if m < len(ends) - 1:
            squares += (curve + f) / (left[end] * left[end])
            alone += f / left[end]
        begin = end


@inlined
def _to_pool(worths, rest, block):
    """Turn the last row, the log of the rest's worth, into the pool's worth less that of the other rows."""
    n = len(block) - 1
    corner = block[n, n] / (rest * rest)
    for j in range(n):
        for k in range(n):
            block[j, k] += worths[j] * worths[k] * corner - (block[j, n] * worths[k] + worths[j] * block[n, k]) / rest
    for j in range(n):
        block[j, n] = block[n, j] = block[j, n] / rest - worths[j] * corner
    block[n, n] = corner
