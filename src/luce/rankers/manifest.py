"""The facts about a fit in a model file, checked: a file may come from anywhere."""

from typing import Any, NamedTuple

from luce.data.categories import Categories, checked_categories
from luce.optimizers.learning_curve import Record, checked_history
from luce.options import is_integer, is_number


class FitFacts(NamedTuple):
    """What a fit recorded of its data and of its course."""

    n_features: int
    feature_names: list[str] | None
    categories: Categories | None
    max_grade: float
    history: list[Record]
    best_iteration: int


def read_fit_facts(manifest: dict[str, Any]) -> FitFacts:
    """The facts in a manifest; a KeyError, TypeError or ValueError says what is missing or wrong."""
    count, names, grade = manifest["features"]["count"], manifest["features"]["names"], manifest["max_grade"]
    best = manifest["best_iteration"]
    if not (is_integer(count) and count >= 1):
        raise ValueError("the number of features must be an integer ≥ 1")
    if names is not None and not (_are_strings(names) and len(names) == len(set(names)) == count):
        raise ValueError(f"the names of the features must be {count} different strings")
    if not is_number(grade):
        raise ValueError("max_grade must be a number")
    if not (is_integer(best) and best >= 0):
        raise ValueError("best_iteration must be an integer ≥ 0")
    categories = checked_categories(manifest["features"].get("categories"), count)
    return FitFacts(count, names, categories, float(grade), checked_history(manifest["history"]), best)


def _are_strings(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)
