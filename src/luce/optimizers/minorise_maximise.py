"""Minorise and maximise (Hunter, 2004): worths times observed over expected wins, which never lowers the likelihood."""

from collections.abc import Callable

import numpy as np

from luce.arrays import Floats


def scale_worths(expected: Callable[[Floats], Floats], wins: Floats, start: Floats, *, steps: int) -> Floats:
    """Log worths after some steps s ← s + log(wins / expected wins); an item without wins keeps its own.

    `expected(scores)` gives the expected wins. Each step costs one gradient; far from the optimum a few of them bring
    more than as many steps of Newton's method, near it they crawl.

    >>> def expected(scores):  # three comparisons of two items
    ...     return 3 / (1 + np.exp(scores[::-1] - scores))
    >>> scores = scale_worths(expected, np.array([2.0, 1.0]), np.zeros(2), steps=60)
    >>> np.exp(scores[0] - scores[1]).round(9)
    np.float64(2.0)
    """
    scores = start.copy()
    won = wins > 0
    for _ in range(steps):
        scores[won] += np.log(wins[won] / expected(scores)[won])
    return scores
