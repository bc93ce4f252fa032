"""The distances of ragged lists."""

import numpy as np

from luce.compiled import compiled


@compiled
def squared(first, last, offsets, scores, targets, weights, loss, gradient):
    for q in range(first, last):
        for row in range(offsets[q], offsets[q + 1]):
            gap = scores[row] - targets[row]
            if not np.isnan(gap):
                w = weights[row] if weights.size else 1.0
                loss[q] += w * gap * gap
                gradient[row] = 2.0 * w * gap


@compiled
def cosine(first, last, offsets, scores, targets, loss, gradient):
    for q in range(first, last):
        n, scale = 0, 0.0
        for row in range(offsets[q], offsets[q + 1]):
            if not np.isnan(targets[row]):
                n += 1
                scale = max(scale, abs(scores[row]))
        if n < 2:
            continue
        inner, square = 0.0, 0.0
        for row in range(offsets[q], offsets[q + 1]):
            if not np.isnan(targets[row]) and scale > 0.0:
                s = scores[row] / scale
                inner += targets[row] * s
                square += s * s
        length = np.sqrt(square) if scale > 0.0 else 1.0
        loss[q] = 0.5 * (1.0 - inner / length)
        for row in range(offsets[q], offsets[q + 1]):
            if not np.isnan(targets[row]):
                along = inner * (scores[row] / scale) / (length * length) if scale > 0.0 else 0.0
                gradient[row] = -0.5 * (targets[row] - along) / (length * scale if scale > 0.0 else 1.0)
