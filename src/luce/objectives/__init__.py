"""OBJECTIVES, the table of objectives: each is one function and one record, and trains every kind of ranker."""

from importlib import import_module
from typing import Any

from luce.errors import OptionError, unknown_name
from luce.lists import Evaluation, Lists
from luce.objectives.base import Objective, record
from luce.randomness import Draw

_FAMILIES = (
    "likelihood",
    "ordered_partitions",
    "softmax",
    "distances",
    "pointwise",
    "pairwise",
    "expected",
    "fair_policy",
)
"""The modules of this package that define objectives."""

OBJECTIVES: dict[str, Objective] = {
    entry.name: entry
    for family in _FAMILIES
    for entry in vars(import_module(f"luce.objectives.{family}")).values()
    if isinstance(entry, Objective)
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
    if not isinstance(name, Objective):
        raise OptionError(f"An objective is a name such as 'listmle', or luce.objective(…). Got {name!r}.")
    return name.with_options(**options)


__all__ = ["OBJECTIVES", "SYNONYMS", "Draw", "Evaluation", "Lists", "Objective", "objective", "record"]
