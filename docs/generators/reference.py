"""The API reference: the public names of `luce`, `luce.aggregation`, `luce.torch`, `luce.mlflow` and `luce.report`."""

import inspect
import re
from importlib import import_module
from typing import Any

import luce
from luce.rankers.estimator import Estimator

SECTIONS = {
    "Data": ("luce.data", "luce.data.extreme"),
    "Rankers": (
        "luce.rankers",
        "luce.rankers.importance",
        "luce.rankers.item_explanation",
        "luce.rankers.search_space",
        "luce.options",
    ),
    "Objectives": ("luce.objectives", "luce.randomness", "luce.objectives.log_prob", "luce.objectives.gbdt_bridge"),
    "Metrics": ("luce.metrics",),
    "Policies": ("luce.policy",),
    "Rankings without features": ("luce.aggregation",),
    "Comparison and tuning": (
        "luce.experiments.comparison",
        "luce.experiments.feature_study",
        "luce.experiments.peers",
        "luce.experiments.auto",
        "luce.experiments.tuning",
    ),
    "Exports": ("luce.exports",),
    "Report pages": (),
    "Errors": ("luce.errors",),
}
"""The headings of the page and the modules whose names are under each; other modules come at the end."""

BESIDE = {
    "Data": (
        "luce.data.rank_breaking",
        "luce.data.leakage.suspicious_features",
        "luce.data.synthetic.web_search",
        "luce.data.synthetic.tagged_documents",
    ),
    "Objectives": ("luce.objectives.Objective", "luce.objectives.Evaluation"),
    "Metrics": tuple(f"luce.metrics.{name}" for name in ("Comparison", "Comparisons", "compare_results")),
    "Exports": ("luce.exports.Check",),
    "Report pages": tuple(
        f"luce.report.{name}"
        for name in ("write_report", "Report", "exposure_shares", "write_exposure", "write_aggregation")
    ),
}
"""Public names that are not in `luce` itself, by heading."""

FOREIGN = ("BaseEstimator", "Exception", "Warning", "Distribution", "Module", "tuple")
"""Classes of other packages, whose members are not documented."""

UNLISTED = {
    "add_note",
    "with_traceback",
    "unchecked",
    "of_finite_features",
    "ends",
    "extra_repr",
    "expand",
    "support",
    "get_metadata_routing",
}
"""Public members that users have no need of."""


def reference_sections() -> str:
    """A section for each group of modules, with an entry for each public name."""
    placed = {home for homes in SECTIONS.values() for home in homes}
    sections = SECTIONS | {"More": tuple(home for home in luce._HOMES if home not in placed)}
    parts = []
    for title, homes in sections.items():
        names = [f"luce.{name}" for home in homes for name in luce._HOMES.get(home, ())]
        if "luce.aggregation" in homes:
            own = import_module("luce.aggregation").__all__
            names += [f"luce.aggregation.{name}" for name in own if name not in luce.__all__]
        names += BESIDE.get(title, ())
        parts += [f"## {title}", *(entry(name) for name in names)] if names else []
    for title, home in (("PyTorch", "luce.torch"), ("MLflow", "luce.mlflow")):
        parts += [f"## {title}", *(entry(f"{home}.{name}") for name in import_module(home).__all__)]
    return "\n\n".join(parts)


def entry(name: str) -> str:
    """The entry of a class with its methods, a function, or a table, whose records have pages of their own."""
    home, _, last = name.rpartition(".")
    value = getattr(import_module(home), last)
    if inspect.isclass(value):
        described = f".. autoclass:: {name}\n   :members:\n   :inherited-members: {', '.join(FOREIGN)}"
        described += f"\n   :exclude-members: {', '.join(sorted(unlisted_members(value)))}"
    elif callable(value):
        described = f".. autofunction:: {name}"
    else:
        described = f".. data:: {name}\n\n"
        described += f"   A table of {len(value)} records by name; `facts()` gives the properties of a record."
    return f"### {last}\n\n```{{eval-rst}}\n{described}\n```"


def unlisted_members(value: Any) -> set[str]:
    """Members that the entry of a class leaves out: attributes its docstring describes, and the hooks of estimators."""
    described = re.search(r"^Attributes\n-+\n((?:.*\n?)*?)(?=^\w+\n-+\n|\Z)", inspect.getdoc(value) or "", re.MULTILINE)
    attributes = re.findall(r"^(\w[\w, ]*?) : ", described[1], re.MULTILINE) if described else []
    result = UNLISTED | {each for names in attributes for each in names.split(", ")}
    result |= {each for each in dir(value) if each.endswith("_request")}  # of scikit-learn's metadata routing
    if issubclass(value, Estimator | luce.Checkpoint):  # their other methods are for subclasses
        result |= {each for each in dir(value) if "\n---" not in (inspect.getdoc(getattr(value, each, None)) or "")}
    return {each for each in result if not each.startswith("_")}
