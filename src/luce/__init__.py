"""Luce: Plackett-Luce learning to rank, from likelihood to a ranker in production.

The public names load on first use, so that `import luce` is quick and pulls in nothing heavy.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from luce.aggregation import ItemScores as ItemScores
    from luce.aggregation import PlackettLuce as PlackettLuce
    from luce.aggregation import Rankings as Rankings
    from luce.aggregation import read_rankings as read_rankings
    from luce.data import Dataset as Dataset
    from luce.data import from_arrays as from_arrays
    from luce.data import from_table as from_table
    from luce.data import read as read
    from luce.data import read_run as read_run
    from luce.data import read_share as read_share
    from luce.data import split as split
    from luce.data import write as write
    from luce.data import write_run as write_run
    from luce.data.extreme import TaggedData as TaggedData
    from luce.data.extreme import read_tagged as read_tagged
    from luce.data.extreme import write_tagged as write_tagged
    from luce.errors import DataError as DataError
    from luce.errors import LuceError as LuceError
    from luce.errors import LuceWarning as LuceWarning
    from luce.errors import MachineError as MachineError
    from luce.errors import MissingPackageError as MissingPackageError
    from luce.errors import OptionError as OptionError
    from luce.experiments.auto import choose_ranker as choose_ranker
    from luce.experiments.comparison import compare_rankers as compare_rankers
    from luce.experiments.feature_study import feature_study as feature_study
    from luce.experiments.peers import peer as peer
    from luce.experiments.tuning import tune as tune
    from luce.exports import export as export
    from luce.metrics import METRICS as METRICS
    from luce.metrics import Results as Results
    from luce.metrics import compare as compare
    from luce.metrics import evaluate as evaluate
    from luce.models import load as load
    from luce.models import load_scorer as load_scorer
    from luce.objectives import OBJECTIVES as OBJECTIVES
    from luce.objectives import objective as objective
    from luce.objectives.gbdt_bridge import lightgbm_objective as lightgbm_objective
    from luce.objectives.gbdt_bridge import xgboost_objective as xgboost_objective
    from luce.objectives.log_prob import log_prob as log_prob
    from luce.options import Choice as Choice
    from luce.options import Range as Range
    from luce.policy import Policy as Policy
    from luce.policy import most_likely_partition as most_likely_partition
    from luce.policy import sample_partitions as sample_partitions
    from luce.randomness import Draw as Draw
    from luce.rankers import Checkpoint as Checkpoint
    from luce.rankers import EnsembleRanker as EnsembleRanker
    from luce.rankers import LabelRanker as LabelRanker
    from luce.rankers import LinearRanker as LinearRanker
    from luce.rankers import NeuralRanker as NeuralRanker
    from luce.rankers import TreeRanker as TreeRanker
    from luce.rankers import preset as preset
    from luce.rankers.bulk import rank_batches as rank_batches
    from luce.rankers.importance import permutation_importance as permutation_importance
    from luce.rankers.item_explanation import explain_item as explain_item
    from luce.rankers.search_space import search_space as search_space
    from luce.scoring import Scorer as Scorer

_HOMES = {
    "luce.aggregation": ("ItemScores", "PlackettLuce", "Rankings", "read_rankings"),
    "luce.data": (
        "Dataset",
        "from_arrays",
        "from_table",
        "read",
        "read_run",
        "read_share",
        "split",
        "write",
        "write_run",
    ),
    "luce.data.extreme": ("TaggedData", "read_tagged", "write_tagged"),
    "luce.errors": ("DataError", "LuceError", "LuceWarning", "MachineError", "MissingPackageError", "OptionError"),
    "luce.experiments.auto": ("choose_ranker",),
    "luce.experiments.tuning": ("tune",),
    "luce.experiments.comparison": ("compare_rankers",),
    "luce.experiments.feature_study": ("feature_study",),
    "luce.experiments.peers": ("peer",),
    "luce.exports": ("export",),
    "luce.metrics": ("METRICS", "Results", "compare", "evaluate"),
    "luce.models": ("load", "load_scorer"),
    "luce.objectives": ("OBJECTIVES", "objective"),
    "luce.objectives.log_prob": ("log_prob",),
    "luce.options": ("Choice", "Range"),
    "luce.objectives.gbdt_bridge": ("lightgbm_objective", "xgboost_objective"),
    "luce.policy": ("Policy", "most_likely_partition", "sample_partitions"),
    "luce.randomness": ("Draw",),
    "luce.rankers": (
        "Checkpoint",
        "EnsembleRanker",
        "LabelRanker",
        "LinearRanker",
        "NeuralRanker",
        "TreeRanker",
        "preset",
    ),
    "luce.rankers.bulk": ("rank_batches",),
    "luce.rankers.importance": ("permutation_importance",),
    "luce.rankers.item_explanation": ("explain_item",),
    "luce.rankers.search_space": ("search_space",),
    "luce.scoring": ("Scorer",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}
__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("luce")
    if name in ("aggregation", "data", "mlflow", "torch"):
        return importlib.import_module(f"luce.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'luce' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
