"""OBJECTIVES, the one table: every objective is one function and one record, and trains every kind of scorer."""

from typing import Any

from luce.errors import unknown_name
from luce.objectives.likelihood import listmle, pl_partition
from luce.objectives.objective import Evaluation, Objective
from luce.objectives.options import Option
from luce.objectives.softmax import listnet
from luce.randomness import Draw

OBJECTIVES: dict[str, Objective] = {entry.name: entry for entry in (listmle, pl_partition, listnet)}


def objective(name: str | Objective, **options: Any) -> Objective:
    """An objective of the table with options set.

    >>> print(objective("listmle", depth=10))
    listmle(depth=10)
    """
    if isinstance(name, str) and name not in OBJECTIVES:
        raise unknown_name("objective", name, OBJECTIVES)
    return (OBJECTIVES[name] if isinstance(name, str) else name).with_options(**options)


__all__ = ["OBJECTIVES", "Draw", "Evaluation", "Objective", "Option", "objective"]
