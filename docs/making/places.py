"""The picture of a metric: what it gives a list of ten items whose one relevant item stands at each place in turn."""

import numpy as np

from luce.metrics import METRICS, measure
from making.drawing import Frame, axes, figure, path, round_steps, svg, text

LENGTH, CUTOFF = 10, 5


def place_picture(name: str) -> str:
    """Dots for the metric over all places, and squares for it cut off, where it can be."""
    whole = values_by_place(name)
    cut = values_by_place(f"{name}@{CUTOFF}") if METRICS[name].takes_cutoff else None
    top, bottom = max(whole.max(), 0 if cut is None else cut.max()), min(whole.min(), 0)
    frame = Frame(46, 30, 330, 170, (0.5, LENGTH + 0.5), (bottom, top * 1.05))
    ticks = range(1, LENGTH + 1)
    parts = axes(frame, ticks, round_steps(bottom, top * 1.05), "place of the one relevant item")
    dots = [(frame.x(place), frame.y(value)) for place, value in zip(ticks, whole, strict=True)]
    parts.append(path(dots, "thread"))
    parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" class="dot"/>' for x, y in dots]
    parts += [*_sign(46, "dot", name)]
    if cut is not None:
        marks = [(frame.x(place), frame.y(value)) for place, value in zip(ticks, cut, strict=True)]
        parts += [_square(x, y) for x, y in marks]
        parts += [*_sign(190, "square", f"{name}@{CUTOFF}")]
    said = ", ".join(f"{place}: {value:.3g}" for place, value in zip(ticks, whole, strict=True))
    drawn = svg(340, 210, f"{name} by the place of the one relevant item of ten. {said}.", parts)
    caption = f"{name} of a list of ten items of which one has grade 1 and the others 0, by the place of that one."
    return figure([drawn], caption)


def values_by_place(name: str) -> np.ndarray:
    """The metric of ten lists: in the first the relevant item is first, in the last it is last."""
    labels = np.eye(LENGTH).ravel()
    scores = np.tile(-np.arange(LENGTH, dtype=float), LENGTH)
    options = {"max_grade": 1} if "max_grade" in METRICS[name.partition("@")[0]].options else {}
    return measure(scores, labels, np.arange(LENGTH + 1) * LENGTH, name, **options)[name]


def _square(x: float, y: float) -> str:
    return f'<rect x="{x - 6:.1f}" y="{y - 6:.1f}" width="12" height="12" class="square"/>'


def _sign(x: float, kind: str, name: str) -> list[str]:
    """An entry of the key above the chart."""
    mark = f'<circle cx="{x}" cy="12" r="4" class="dot"/>' if kind == "dot" else _square(x, 12)
    return [mark, text(x + 12, 16, name)]
