"""A section for each metric: its formula, its properties, and a plot over the position of the only relevant item."""

from collections.abc import Mapping

import numpy as np

from generators.drawing import Frame, axes, figure, path, svg, text, ticks_between
from generators.formulas import typeset
from luce.metrics import METRICS, Metric, measure
from luce.metrics.parameters import PARAMETERS

LENGTH, CUTOFF = 10, 5


def metric_sections(metrics: Mapping[str, Metric]) -> str:
    """All metrics of a table in its order."""
    return "\n\n".join(section(one) for one in metrics.values())


def parameter_table() -> str:
    """The parameters of metrics, with the metrics that read them."""
    lines = ["| parameter | meaning |", "| --- | --- |"]
    for name, spec in PARAMETERS.items():
        readers = ", ".join(f"`{one.name}`" for one in METRICS.values() if name in one.options)
        default = "" if spec.default is None else f", default {spec.default}"
        meaning = spec.summary.replace("^", "\\^")
        lines.append(
            f"| `{name}` | {meaning[0].upper()}{meaning[1:]}. Values: {spec.allowed}{default}. Read by {readers}. |"
        )
    return "\n".join(lines)


def section(one: Metric) -> str:
    """The definition of a metric, a plot where it has a value of its own for one order, and its properties."""
    facts = one.facts()
    better = "Higher is better" if one.higher_is_better else "Lower is better"
    cutoff = "takes a cutoff" if one.takes_cutoff else "takes no cutoff"
    properties = [
        f"{better}; {cutoff}; parameters: {facts['parameters']}.",
        f"Measured on {facts['measured on']}. Lists left out: {facts['lists left out']}.",
    ]
    plot = metric_plot(one.name) if one.kernel is not None else ""
    parts = [f"### {one.name}", one.summary, typeset(one.formula), plot, "\n".join(f"- {each}" for each in properties)]
    return "\n\n".join(part for part in parts if part)


def metric_plot(name: str) -> str:
    """Dots for the metric without a cutoff, and squares with one, if it takes one."""
    full = values_by_position(name)
    cut = values_by_position(f"{name}@{CUTOFF}") if METRICS[name].takes_cutoff else None
    top, bottom = max(full.max(), 0 if cut is None else cut.max()), min(full.min(), 0)
    frame = Frame(46, 30, 330, 170, (0.5, LENGTH + 0.5), (bottom, top * 1.05))
    ticks = range(1, LENGTH + 1)
    parts = axes(frame, ticks, ticks_between(bottom, top * 1.05), "position of the relevant item")
    dots = [(frame.x(position), frame.y(value)) for position, value in zip(ticks, full, strict=True)]
    parts.append(path(dots, "thread"))
    parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" class="dot"/>' for x, y in dots]
    parts += [*_legend(46, "dot", name)]
    if cut is not None:
        marks = [(frame.x(position), frame.y(value)) for position, value in zip(ticks, cut, strict=True)]
        parts += [_square(x, y) for x, y in marks]
        parts += [*_legend(190, "square", f"{name}@{CUTOFF}")]
    values = ", ".join(f"{position}: {value:.3g}" for position, value in zip(ticks, full, strict=True))
    plot = svg(340, 210, f"{name} by the position of the relevant item. {values}.", parts)
    caption = (
        f"{name} of a list of ten items, one with grade 1 and the others with grade 0, by the position of that one."
    )
    return figure([plot], caption)


def values_by_position(name: str) -> np.ndarray:
    """The metric of ten lists: in the first the relevant item is first, in the last it is last."""
    labels = np.eye(LENGTH).ravel()
    scores = np.tile(-np.arange(LENGTH, dtype=float), LENGTH)
    options = {"max_grade": 1} if "max_grade" in METRICS[name.partition("@")[0]].options else {}
    return measure(scores, labels, np.arange(LENGTH + 1) * LENGTH, name, **options)[name]


def _square(x: float, y: float) -> str:
    return f'<rect x="{x - 6:.1f}" y="{y - 6:.1f}" width="12" height="12" class="square"/>'


def _legend(x: float, kind: str, name: str) -> list[str]:
    """An entry of the legend above the chart."""
    mark = f'<circle cx="{x}" cy="12" r="4" class="dot"/>' if kind == "dot" else _square(x, 12)
    return [mark, text(x + 12, 16, name)]
