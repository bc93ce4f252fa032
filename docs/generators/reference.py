"""The API reference: the names of `luce.__all__` and `luce.torch.__all__`, with their docstrings."""

import inspect
from importlib import import_module

import luce

SECTIONS = {
    "Data": ("luce.data", "luce.data.extreme"),
    "Rankers": ("luce.rankers", "luce.rankers.importance", "luce.rankers.trees.machines"),
    "Objectives": ("luce.objectives", "luce.objectives.log_prob", "luce.objectives.gbdt_bridge"),
    "Metrics": ("luce.metrics",),
    "Policies": ("luce.policy",),
    "Rankings without features": ("luce.aggregation",),
    "Errors": ("luce.errors",),
}
"""The headings of the page and the modules whose names are under each; other modules come at the end."""

FOREIGN = ("BaseEstimator", "Exception", "Warning", "Distribution", "tuple")
"""Classes of other packages, whose members are not documented."""


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
        parts += [f"## {title}", *(entry(name) for name in names)] if names else []
    torch = [f"luce.torch.{name}" for name in import_module("luce.torch").__all__]
    return "\n\n".join([*parts, "## PyTorch", *(entry(name) for name in torch)])


def entry(name: str) -> str:
    """The entry of a class with its methods, a function, or a table, whose records have pages of their own."""
    home, _, last = name.rpartition(".")
    value = getattr(import_module(home), last)
    if inspect.isclass(value):
        described = f".. autoclass:: {name}\n   :members:\n   :inherited-members: {', '.join(FOREIGN)}"
    elif callable(value):
        described = f".. autofunction:: {name}"
    else:
        described = f".. data:: {name}\n\n"
        described += f"   A table of {len(value)} records by name; `facts()` gives the properties of a record."
    return f"### {last}\n\n```{{eval-rst}}\n{described}\n```"
