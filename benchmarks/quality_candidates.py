"""The candidates for the default of the tree ranker: an objective, its options, and settings that differ."""

from typing import Any

Candidate = tuple[str, dict[str, Any], dict[str, Any]]

OBJECTIVES: dict[str, Candidate] = {
    "pl-partition": ("pl-partition", {}, {}),
    "listmle fixed 1": ("listmle", {}, {"resample_each_round": False}),
    "listmle redrawn 1": ("listmle", {}, {}),
    "listmle redrawn 10": ("listmle", {"permutations": 10}, {}),
    "listmle@10 fixed 1": ("listmle", {"depth": 10}, {"resample_each_round": False}),
    "listmle@10 redrawn 1": ("listmle", {"depth": 10}, {}),
    "listmle@10 fixed 3": ("listmle", {"depth": 10, "permutations": 3}, {"resample_each_round": False}),
    "listmle@10 redrawn 3": ("listmle", {"depth": 10, "permutations": 3}, {}),
    "listmle@10 fixed 6": ("listmle", {"depth": 10, "permutations": 6}, {"resample_each_round": False}),
    "listmle@10 redrawn 6": ("listmle", {"depth": 10, "permutations": 6}, {}),
    "listmle@10 whole grades": ("listmle", {"depth": 10, "whole_grades": True}, {}),
    "lambdarank": ("lambdarank", {}, {}),
    "lambdaloss": ("lambdaloss", {}, {}),
    "pl-rank-2": ("pl-rank-2", {}, {}),
}

SETTINGS: dict[str, dict[str, Any]] = {
    "leaves 15": {"num_leaves": 15},
    "leaves 10": {"num_leaves": 10},
    "leaves 7": {"num_leaves": 7},
    "leaves 5": {"num_leaves": 5},
    "rate 0.05": {"learning_rate": 0.05},
    "rows 10": {"min_child_samples": 10},
    "rows 50": {"min_child_samples": 50},
    "reg_lambda 1": {"reg_lambda": 1.0},
    "features 0.5": {"colsample_bytree": 0.5},
    "lists 0.5": {"subsample": 0.5},
    "diagonal splits": {"split_hessian": "diagonal"},
    "diagonal leaves": {"leaf_hessian": "diagonal"},
    "diagonal both": {"leaf_hessian": "diagonal", "split_hessian": "diagonal"},
}

SETTINGS["rows 10, reg_lambda 1"] = SETTINGS["rows 10"] | SETTINGS["reg_lambda 1"]

USUAL = {"num_leaves": 31, "learning_rate": 0.1, "min_child_samples": 20, "reg_lambda": 0.0}
"""The settings of every candidate unless it changes them."""

FEW = {"num_leaves": 7}

CANDIDATES: dict[str, Candidate] = {
    **OBJECTIVES,
    **{f"pl-partition, {name}": ("pl-partition", {}, settings) for name, settings in SETTINGS.items()},
    **{
        f"{name}, leaves 7": (objective, options, settings | FEW)
        for name, (objective, options, settings) in OBJECTIVES.items()
        if name in ("pl-rank-2", "listmle redrawn 1", "listmle@10 redrawn 3", "lambdarank")
    },
    **{
        f"pl-partition, leaves 7, {name}": ("pl-partition", {}, settings | FEW)
        for name, settings in SETTINGS.items()
        if "leaves" not in settings
    },
}
