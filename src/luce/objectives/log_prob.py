"""Log-probabilities of what was observed, under the models that have them; always normalized."""

from typing import Any, cast

from numpy.typing import ArrayLike

from luce.arrays import Floats
from luce.errors import OptionError
from luce.lists import Lists
from luce.objectives import OBJECTIVES, objective
from luce.objectives.base import check_finite


def log_prob(
    scores: ArrayLike, labels: ArrayLike, offsets: ArrayLike | None = None, model: str = "pl-partition", **options: Any
) -> Floats:
    """log P of each list under a likelihood objective.

    Parameters
    ----------
    scores, labels : array-like of shape (N,)
    offsets : array-like of shape (Q + 1,), optional
        List q owns the rows offsets[q]:offsets[q + 1]; all rows are one list by default.
    model : str, default="pl-partition"
        An objective with a probability. `listmle` is that of a full order, or of its first `depth` ranks; `pl-topk` of
        a known order above the lowest label; `pl-partition` of ordered grades.
    **options
        Options of the objective.

    Returns
    -------
    ndarray of shape (Q,)

    Raises
    ------
    DataError
        If the labels have ties where a full order is needed.

    Examples
    --------
    >>> import numpy as np
    >>> np.exp(log_prob([0.0, 0.0, 0.0], [1, 1, 0]))  # which of three equal items is last: 1 in 3
    array([0.33333333])
    """
    chosen, given = objective(model, **options), cast(Any, (scores, labels, offsets))
    if chosen.log_probability is not None:
        lists = chosen.check(Lists(*given))
        check_finite(lists.scores)
        return chosen.log_probability(lists, **chosen.options)
    if chosen.loss_is_log_probability:
        return -chosen.evaluate(chosen.check(Lists(*given))).loss
    names = ", ".join(
        name for name, entry in OBJECTIVES.items() if entry.loss_is_log_probability or entry.log_probability
    )
    raise OptionError(f"{chosen.name} does not define a probability. These do: {names}.")
