"""The softmax over grades in three passes over each list, with all exponentials in one vector loop."""

import numpy as np

from luce.compiled import compiled, summing
from luce.kernels.elementary import exp


@compiled
def grade_choice(first, last, offsets, scores, labels, weights, grades, loss, gradient, second):
    """Scores, gradient and second derivative are flat."""
    for q in range(first, last):
        a, b = offsets[q], offsets[q + 1]
        begin, end = a * grades, b * grades
        if not _are_grades(labels[a:b], grades):
            loss[q], gradient[begin:end], second[begin:end] = np.nan, 0.0, 0.0
            continue
        loss[q] = _shift(scores[begin:end], labels[a:b], weights[a:b], grades, gradient[begin:end])
        _exponentials(gradient[begin:end])
        loss[q] += _share(labels[a:b], weights[a:b], grades, gradient[begin:end], second[begin:end])


@compiled
def _are_grades(labels, grades):
    right = 0
    for label in labels:
        right += np.isnan(label) or (0.0 <= label < grades and label == np.floor(label))
    return right == labels.size


@compiled
def _shift(scores, labels, weights, grades, gradient):
    """Write each score less the highest of its item, −∞ if not observed; return Σ w (highest − score of the grade)."""
    total = 0.0
    for j in range(labels.size):
        row = j * grades
        if np.isnan(labels[j]):
            gradient[row : row + grades] = -np.inf
            continue
        top = -np.inf
        for k in range(row, row + grades):
            top = max(top, scores[k])
        for k in range(row, row + grades):
            gradient[k] = scores[k] - top
        total -= (weights[j] if weights.size else 1.0) * gradient[row + int(labels[j])]
    return total


@summing
def _exponentials(values):
    for j in range(values.size):
        values[j] = exp(values[j])


@compiled
def _share(labels, weights, grades, gradient, second):
    """Make the derivatives of the exponentials, whose sums over the grades are z; return Σ w log z."""
    total = 0.0
    for j in range(labels.size):
        row = j * grades
        if np.isnan(labels[j]):
            second[row : row + grades] = 0.0
            continue
        weight, z = weights[j] if weights.size else 1.0, 0.0
        for k in range(row, row + grades):
            z += gradient[k]
        share = 1.0 / z
        for k in range(row, row + grades):
            p = gradient[k] * share
            gradient[k] = weight * p
            if second.size:
                second[k] = weight * p * (1.0 - p)
        gradient[row + int(labels[j])] -= weight
        total += weight * np.log(z)
    return total
