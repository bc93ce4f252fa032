"""Log-probabilities of what was observed, under the models that have them; always normalised."""

from typing import Any

from numpy.typing import ArrayLike

from luce.arrays import Floats
from luce.errors import OptionError
from luce.objectives import OBJECTIVES, objective


def log_prob(
    scores: ArrayLike, labels: ArrayLike, offsets: ArrayLike | None = None, model: str = "pl-partition", **options: Any
) -> Floats:
    """log P of each list (Q,) under a likelihood objective; without offsets all rows are one list.

    `listmle` is the probability of a full order, or of its first `depth` places; `pl-topk` of a known order above the
    lowest label; `pl-partition` of ordered grades. What the labels leave out of a probability they must not hold: ties
    in a full order are an error.

    >>> import numpy as np
    >>> np.exp(log_prob([0.0, 0.0, 0.0], [1, 1, 0]))  # which of three equal items is last: 1 in 3
    array([0.33333333])
    """
    goal = objective(model, **options)
    lists = goal.lists(scores, labels, offsets)
    if goal.log_probability is not None:
        return goal.log_probability(lists, **goal.options)
    if goal.loss_is_log_probability:
        return -goal.compute(lists, **goal.options).loss
    names = ", ".join(
        name for name, entry in OBJECTIVES.items() if entry.loss_is_log_probability or entry.log_probability
    )
    raise OptionError(f"{model} gives no probability. These do: {names}.")
