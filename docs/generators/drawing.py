"""Small inline SVG plots: real text, and colors from the style sheet, for the light and the dark theme."""

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple


class Frame(NamedTuple):
    """The area of a chart in its picture, and the ranges of the data."""

    left: float
    top: float
    right: float
    bottom: float
    x_range: tuple[float, float]
    y_range: tuple[float, float]

    def x(self, value: float) -> float:
        low, high = self.x_range
        return self.left + (value - low) / (high - low) * (self.right - self.left)

    def y(self, value: float) -> float:
        low, high = self.y_range
        return self.bottom - (value - low) / (high - low) * (self.bottom - self.top)


def svg(width: float, height: float, description: str, parts: Iterable[str]) -> str:
    """A picture in units of about a pixel; `description` is its text for screen readers."""
    inside = "".join(parts)
    return f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(description)}">{inside}</svg>'


def figure(pictures: Iterable[str], caption: str) -> str:
    """Pictures side by side, stacked on a phone, with a caption; on one line, so that Markdown does not change it."""
    return f'<figure class="drawn"><div>{"".join(pictures)}</div><figcaption>{caption}</figcaption></figure>'


def text(x: float, y: float, content: str, kind: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{escape(content)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str = "rule") -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def box(x: float, y: float, width: float, height: float, kind: str, corner: float = 0) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{corner:g}" class="{kind}"/>'


def path(points: Sequence[tuple[float, float]], kind: str, closed: bool = False) -> str:
    steps = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return f'<path d="M{steps}{"Z" if closed else ""}" class="{kind}"/>'


def ticks_between(low: float, high: float, count: int = 4) -> list[float]:
    """About `count` round numbers between two values, for the ticks of an axis.

    >>> ticks_between(-0.3, 0.85)
    [-0.25, 0.0, 0.25, 0.5, 0.75]
    """
    rough = (high - low) / count
    size = 10 ** math.floor(math.log10(rough))
    step = next(factor * size for factor in (1, 2, 2.5, 5, 10) if factor * size >= 0.85 * rough)
    first = math.ceil(low / step - 1e-9)
    return [round(step * place, 10) for place in range(first, math.floor(high / step + 1e-9) + 1)]


def number(value: float) -> str:
    """A number as a tick label, with a minus sign.

    >>> number(-0.5)
    '−0.5'
    """
    return f"{value:g}".replace("-", "−")


def axes(frame: Frame, x_ticks: Sequence[float], y_ticks: Sequence[float], x_title: str) -> list[str]:
    """Horizontal rules at the ticks, tick labels, and the title of the x axis."""
    parts = []
    for tick in y_ticks:
        height = frame.y(tick)
        parts.append(line(frame.left, height, frame.right, height, "rule zero" if tick == 0 else "rule"))
        parts.append(text(frame.left - 6, height + 4, number(tick), "tick", "end"))
    parts += [text(frame.x(tick), frame.bottom + 18, number(tick), "tick", "middle") for tick in x_ticks]
    parts.append(text((frame.left + frame.right) / 2, frame.bottom + 35, x_title, "tick", "middle"))
    return parts
