"""The likelihood of comparisons from probabilities, and derivatives by finite differences: a reference for `cpu`."""

import numpy as np

from luce.arrays import Floats
from luce.kernels.pair_counts import PairCounts

STEP = 1e-5


def probabilities(delta: float, outcome: str, parameter: float) -> Floats:
    """Of a win, a loss and a tie of the first."""
    if outcome == "davidson":
        worths = np.exp([delta / 2, -delta / 2, parameter])
        return worths / worths.sum()
    margin = parameter if outcome == "rao-kupper" else 0.0
    win, loss = 1 / (1 + np.exp(margin - delta)), 1 / (1 + np.exp(margin + delta))
    return np.array([win, loss, (np.exp(2 * margin) - 1) * win * loss])


def log_likelihood(counts: PairCounts, scores: Floats, outcome: str, parameter: float) -> float:
    """Σ of the counts times the logarithms of the probabilities."""
    total = 0.0
    for i in range(len(counts.starts) - 1):
        for pair in range(counts.starts[i], counts.starts[i + 1]):
            chances = probabilities(scores[i] - scores[counts.second[pair]], outcome, parameter)
            seen = np.array([counts.wins[pair], counts.losses[pair], counts.ties[pair]])
            total += float(seen[seen > 0] @ np.log(chances[seen > 0]))
    return total


def derivatives(counts: PairCounts, scores: Floats, outcome: str, parameter: float) -> tuple[Floats, Floats]:
    """The gradient in the scores and then the parameter, and minus the second derivative, by differences."""
    point, units = np.append(scores, parameter), np.eye(len(scores) + 1) * STEP

    def value(where: Floats) -> float:
        return log_likelihood(counts, where[:-1], outcome, float(where[-1]))

    gradient = np.array([(value(point + u) - value(point - u)) / (2 * STEP) for u in units])
    wide = 30 * units  # second differences lose twice the digits
    second = [
        [
            (value(point + u + v) - value(point + u - v) - value(point - u + v) + value(point - u - v))
            / (4 * (30 * STEP) ** 2)
            for u in wide
        ]
        for v in wide
    ]
    return gradient, -np.array(second)
