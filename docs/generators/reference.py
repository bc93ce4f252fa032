"""The API reference: the names of `luce.__all__` and `luce.torch.__all__`, with their docstrings."""

import inspect
import re
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

SECTION = re.compile(r"(Args|Parameters|Attributes|Returns|Raises)\b[^:]*:$")
"""The heading of a list of names in a docstring."""
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


def as_rst(app: object, what: str, name: str, value: object, options: object, lines: list[str]) -> None:
    """Docstrings are plain text with `code` in back quotes; here they become reStructuredText.

    What that would read as marks is escaped, and a section such as "Attributes:" becomes a list of its names.
    """
    result: list[str] = []
    indent = None  # of the entries of a section, while in one
    for each in lines:
        depth = len(each) - len(each.lstrip())
        if SECTION.match(each):
            result += ["", f"**{_escaped(each[:-1])}**", ""]
            indent = 4
        elif each.lstrip().startswith((">>>", "...")) or not each.strip():
            result.append(each)
        elif indent is None or depth < indent:
            result.append(_escaped(each))
            indent = None
        elif depth == indent:
            term, colon, rest = each.strip().partition(": ")
            result.append(f"- **{_escaped(term.rstrip(':'))}**: {_escaped(rest)}" if colon else f"- {_escaped(term)}")
        else:
            result.append(f"  {_escaped(each.strip())}")
    lines[:] = result


def _escaped(text: str) -> str:
    parts = re.split(r"(`[^`]+`)", text)
    return "".join(
        f"`{part}`" if part.startswith("`") else re.sub(r"([*|_@\\])", r"\\\1", part) for part in parts if part
    )
