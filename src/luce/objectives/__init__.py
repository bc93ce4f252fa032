"""OBJECTIVES, the one table: every objective is one function and one record, and trains every kind of scorer."""

from typing import Any

from luce.errors import unknown_name
from luce.lists import Evaluation
from luce.objectives import (
    distances,
    expected,
    fair_policy,
    grades,
    likelihood,
    logistic,
    ordered_partitions,
    pairwise,
    softmax,
)
from luce.objectives.objective import Objective, record
from luce.randomness import Draw

_FAMILIES = likelihood, ordered_partitions, softmax, distances, grades, logistic, pairwise, expected, fair_policy
OBJECTIVES: dict[str, Objective] = {
    entry.name: entry for family in _FAMILIES for entry in vars(family).values() if isinstance(entry, Objective)
}
SYNONYMS: dict[str, str] = {synonym: entry.name for entry in OBJECTIVES.values() for synonym in entry.synonyms}
"""Other names of objectives, as papers have them."""


def objective(name: str | Objective, **options: Any) -> Objective:
    """An objective of the table with options set.

    Parameters
    ----------
    name : str or Objective
        A name or synonym of the table, or an objective, whose other options stay as they are.
    **options
        Options of the objective; `luce objectives NAME` lists them.

    Returns
    -------
    Objective

    Examples
    --------
    >>> print(objective("listmle", depth=10), objective("pl-rank-3"))
    listmle(depth=10) pl-rank-2
    """
    if isinstance(name, str):
        main = SYNONYMS.get(name, name)
        if main not in OBJECTIVES:
            raise unknown_name("objective", name, [*OBJECTIVES, *SYNONYMS])
        name = OBJECTIVES[main]
    return name.with_options(**options)


__all__ = ["OBJECTIVES", "SYNONYMS", "Draw", "Evaluation", "Objective", "objective", "record"]
