"""OBJECTIVES, the one table: every objective is one function and one record, and trains every kind of scorer."""

from typing import Any

from luce.errors import unknown_name
from luce.objectives.distances import c_cosine, c_squared, cosine, rankcosine, squared_gain, squared_label
from luce.objectives.expected import (
    pl_rank_1,
    pl_rank_2,
    pl_rank_3,
    placement_policy_gradient,
    policy_gradient,
    stochastic_lambdaloss,
)
from luce.objectives.fair_policy import fair_policy
from luce.objectives.grades import mcrank
from luce.objectives.likelihood import listmle, p_listmle, pl_lb, pl_partition, pl_topk
from luce.objectives.logistic import bce
from luce.objectives.objective import Evaluation, Objective
from luce.objectives.options import Option
from luce.objectives.ordered_partitions import pmop_exact, pmop_fd, pmop_gibbs, pmop_mh
from luce.objectives.pairwise import (
    lambdaloss,
    lambdarank,
    pairties_davidson,
    pairties_rao_kupper,
    ranknet,
    rankregress,
    ranksvm,
)
from luce.objectives.softmax import attrank, c_kl, kl, listnet, softmax
from luce.randomness import Draw

_TABLE = (
    *(listmle, p_listmle, pl_partition, pl_lb, pl_topk),
    *(pmop_fd, pmop_exact, pmop_gibbs, pmop_mh),
    *(listnet, attrank, kl, c_kl, softmax),
    *(rankcosine, cosine, c_cosine),
    *(squared_gain, squared_label, c_squared, mcrank, bce),
    *(ranknet, ranksvm, rankregress, pairties_davidson, pairties_rao_kupper, lambdarank, lambdaloss),
    *(policy_gradient, placement_policy_gradient, pl_rank_1, pl_rank_2, pl_rank_3, stochastic_lambdaloss),
    *(fair_policy,),
)
OBJECTIVES: dict[str, Objective] = {entry.name: entry for entry in _TABLE}


def objective(name: str | Objective, **options: Any) -> Objective:
    """An objective of the table with options set.

    >>> print(objective("listmle", depth=10))
    listmle(depth=10)
    """
    if isinstance(name, str) and name not in OBJECTIVES:
        raise unknown_name("objective", name, OBJECTIVES)
    return (OBJECTIVES[name] if isinstance(name, str) else name).with_options(**options)


__all__ = ["OBJECTIVES", "Draw", "Evaluation", "Objective", "Option", "objective"]
