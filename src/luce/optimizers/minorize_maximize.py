"""Minorize-maximize (Hunter, 2004): multiply each worth by observed over expected wins; the likelihood never falls."""

from collections.abc import Callable

import numpy as np

from luce.arrays import Floats


def scale_worths(expected: Callable[[Floats], Floats], wins: Floats, start: Floats, *, steps: int) -> Floats:
    """Log worths after some steps s ← s + log(wins / expected wins); an item without wins keeps its score.

    `expected(scores)` returns the expected wins. Each step costs one gradient. Far from the optimum a few steps gain
    more than as many Newton steps; near it they converge slowly.

    >>> def expected(scores):  # three comparisons of two items
    ...     return 3 / (1 + np.exp(scores[::-1] - scores))
    >>> scores = scale_worths(expected, np.array([2.0, 1.0]), np.zeros(2), steps=60)
    >>> np.exp(scores[0] - scores[1]).round(9)
    np.float64(2.0)
    """
    scores = start.copy()
    has_wins = wins > 0
    for _ in range(steps):
        scores[has_wins] += np.log(wins[has_wins] / expected(scores)[has_wins])
    return scores
