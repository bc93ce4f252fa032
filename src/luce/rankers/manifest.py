"""What a model file says of a ranker beside its arrays, checked: a file may come from anywhere."""

from typing import Any, NamedTuple

from luce.optimizers.learning_curve import Record, checked_history
from luce.options import is_integer, is_number


class Facts(NamedTuple):
    """What a fit found out about its data and itself."""

    n_features: int
    feature_names: list[str] | None
    max_grade: float
    history: list[Record]
    best_iteration: int


def facts_of(manifest: dict[str, Any]) -> Facts:
    """The facts of a manifest; a KeyError, TypeError or ValueError tells what is not there or not what it must be."""
    count, names, grade = manifest["features"]["count"], manifest["features"]["names"], manifest["max_grade"]
    best = manifest["best_iteration"]
    if not (is_integer(count) and count >= 1):
        raise ValueError("the number of features must be an integer ≥ 1")
    if names is not None and not (_are_texts(names) and len(names) == len(set(names)) == count):
        raise ValueError(f"the names of the features must be {count} different strings")
    if not is_number(grade):
        raise ValueError("max_grade must be a number")
    if not (is_integer(best) and best >= 0):
        raise ValueError("best_iteration must be an integer ≥ 0")
    return Facts(count, names, float(grade), checked_history(manifest["history"]), best)


def _are_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)
