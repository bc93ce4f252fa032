"""The worked example of sections 3.1 and 4.3 of the 2014 paper: the ranking function that each loss prefers."""

from typing import NamedTuple

import numpy as np

from luce.arrays import Floats
from luce.metrics import measure
from luce.objectives import objective
from papers.position_aware_2014.consistency import position_weights

LABELS = np.arange(5.0, 0, -1)
"""Of the five documents. The paper prints z = 1 … 5, where the first is the best."""

WRONG_ABOVE = np.log([4.0, 5, 3, 2, 1])
"""f₁, which swaps the first two."""

WRONG_BELOW = np.log([5.0, 4, 1, 2, 3])
"""f₂, which reverses the last three."""


class Preference(NamedTuple):
    """The values of a loss or metric for f₁ and f₂, and whether it prefers f₂."""

    measure: str
    first: float
    second: float
    prefers_second: bool


def preferences() -> list[Preference]:
    """The preferences of ListMLE, of p-ListMLE with different weights, and of NDCG@5."""
    weights = position_weights(5)
    losses = [_of_loss("ListMLE", np.ones(5))]
    losses += [_of_loss(f"p-ListMLE, α = {name}", alpha) for name, alpha in weights.items() if np.ptp(alpha)]
    first, second = (measure(f, LABELS, [0, 5], "ndcg@5")["ndcg@5"][0] for f in (WRONG_ABOVE, WRONG_BELOW))
    return [*losses, Preference("NDCG@5", float(first), float(second), bool(second > first))]


def _of_loss(name: str, alpha: Floats) -> Preference:
    first, second = (_loss(f, alpha) for f in (WRONG_ABOVE, WRONG_BELOW))
    return Preference(name, first, second, second < first)


def _loss(scores: Floats, alpha: Floats) -> float:
    return float(objective("p-listmle", alpha=alpha).value_and_gradient(scores, LABELS).loss[0])
