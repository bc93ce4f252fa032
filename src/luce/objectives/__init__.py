"""OBJECTIVES, the table of objectives: each is one function and one record, and trains every kind of ranker."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from itertools import chain
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
    "smooth_metrics",
    "stochastic",
    "fair_policy",
)
"""The modules of this package that define objectives."""


@cache
def _of_family(family: str) -> dict[str, Objective]:
    entries = vars(import_module(f"luce.objectives.{family}")).values()
    return {entry.name: entry for entry in entries if isinstance(entry, Objective)}


class _Objectives(Mapping[str, Objective]):
    """The objectives by name; looking one up imports the families up to its own, so that loading a model is quick."""

    def __getitem__(self, name: str) -> Objective:
        for family in map(_of_family, _FAMILIES):
            if name in family:
                return family[name]
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(chain.from_iterable(map(_of_family, _FAMILIES))))  # families use each other's

    def __len__(self) -> int:
        return sum(1 for _ in self)


OBJECTIVES: Mapping[str, Objective] = _Objectives()


@cache
def synonyms() -> dict[str, str]:
    """Other names of objectives, as papers have them."""
    return {synonym: entry.name for entry in OBJECTIVES.values() for synonym in entry.synonyms}


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
        main = name if name in OBJECTIVES else synonyms().get(name)
        if main is None:
            raise unknown_name("objective", name, [*OBJECTIVES, *synonyms()])
        name = OBJECTIVES[main]
    if not isinstance(name, Objective):
        raise OptionError(f"An objective is a name such as 'listmle', or luce.objective(…). Got {name!r}.")
    return name.with_options(**options)


__all__ = ["OBJECTIVES", "Draw", "Evaluation", "Lists", "Objective", "objective", "record", "synonyms"]
