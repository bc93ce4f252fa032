"""Row-wise products that widen each float32 as it is read; sums may be reassociated to use vector registers."""

import numpy as np

from luce.compiled import summing


@summing
def scores_of(features, weights, result):
    for row in range(features.shape[0]):
        total = 0.0
        for column in range(features.shape[1]):
            total += np.float64(features[row, column]) * weights[column]
        result[row] = total


@summing
def weights_of(features, row_gradient):
    total = np.zeros(features.shape[1])
    for row in range(features.shape[0]):
        g = row_gradient[row]
        if g != 0.0:
            for column in range(features.shape[1]):
                total[column] += np.float64(features[row, column]) * g
    return total
