"""Cross-entropy and softmax of ragged lists, shifted by the highest value so that nothing overflows."""

import numpy as np

from luce.compiled import compiled


@compiled
def cross_entropy(first, last, offsets, scores, targets, loss, gradient, second):
    for q in range(first, last):
        highest, total = -np.inf, 0.0
        for row in range(offsets[q], offsets[q + 1]):
            if not np.isnan(targets[row]):
                highest = max(highest, scores[row])
                total += targets[row]
        z, below = 0.0, 0.0
        for row in range(offsets[q], offsets[q + 1]):
            if not np.isnan(targets[row]):
                gradient[row] = np.exp(scores[row] - highest)
                z += gradient[row]
                below += targets[row] * (highest - scores[row])
        if z == 0.0:  # no item
            continue
        loss[q] = below + total * np.log(z)
        for row in range(offsets[q], offsets[q + 1]):
            if not np.isnan(targets[row]):
                p = gradient[row] / z
                gradient[row] = total * p - targets[row]
                if second.size:
                    second[row] = total * p * (1.0 - p)


@compiled
def softmax(first, last, offsets, values, result):
    for q in range(first, last):
        highest, z = -np.inf, 0.0
        for row in range(offsets[q], offsets[q + 1]):
            if values[row] > highest:
                highest = values[row]
        for row in range(offsets[q], offsets[q + 1]):
            result[row] = np.exp(values[row] - highest)
            if not np.isnan(result[row]):
                z += result[row]
        for row in range(offsets[q], offsets[q + 1]):
            result[row] /= z
