"""The facts about a fit in a model file, checked: a file may come from anywhere."""

from typing import Any, NamedTuple

from luce.data.summary import checked_summary
from luce.optimizers.learning_curve import Record, checked_history
from luce.options import is_integer
from luce.scoring.model_files import FeatureInfo, read_features, read_max_grade


class FitFacts(NamedTuple):
    """What a fit recorded of its data and of its course."""

    features: FeatureInfo
    max_grade: float
    history: list[Record]
    best_iteration: int
    provenance: dict[str, Any] | None


def read_fit_facts(manifest: dict[str, Any]) -> FitFacts:
    """The facts in a manifest; a KeyError, TypeError or ValueError says what is missing or wrong."""
    features, best = read_features(manifest), manifest["best_iteration"]
    if not (is_integer(best) and best >= 0):
        raise ValueError("best_iteration must be an integer ≥ 0")
    history, provenance = checked_history(manifest["history"]), manifest.get("data")
    if provenance is not None:
        provenance = {part: checked_summary(provenance[part]) for part in ("training", "validation")}
    return FitFacts(features, read_max_grade(manifest), history, best, provenance)
