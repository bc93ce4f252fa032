"""Small pictures as SVG in the page: real text, and colours that the style sheet owns, for light and for dark."""

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple


class Frame(NamedTuple):
    """The room of a chart in its picture, and the ranges of the data that fill it."""

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
    """A picture in units of about a pixel; `description` is read where it cannot be seen."""
    inside = "".join(parts)
    return f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(description)}">{inside}</svg>'


def figure(pictures: Iterable[str], caption: str) -> str:
    """Pictures side by side, one below the other on a phone, with a caption; one line, so that Markdown leaves it."""
    return f'<figure class="drawn"><div>{"".join(pictures)}</div><figcaption>{caption}</figcaption></figure>'


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{escape(words)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str = "rule") -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def box(x: float, y: float, width: float, height: float, kind: str, corner: float = 0) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{corner:g}" class="{kind}"/>'


def path(points: Sequence[tuple[float, float]], kind: str, closed: bool = False) -> str:
    steps = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return f'<path d="M{steps}{"Z" if closed else ""}" class="{kind}"/>'


def round_steps(low: float, high: float, about: int = 4) -> list[float]:
    """Round numbers between two others, for the ticks of an axis.

    >>> round_steps(-0.3, 0.85)
    [-0.25, 0.0, 0.25, 0.5, 0.75]
    """
    rough = (high - low) / about
    size = 10 ** math.floor(math.log10(rough))
    step = next(factor * size for factor in (1, 2, 2.5, 5, 10) if factor * size >= 0.85 * rough)
    first = math.ceil(low / step - 1e-9)
    return [round(step * place, 10) for place in range(first, math.floor(high / step + 1e-9) + 1)]


def number(value: float) -> str:
    """A number for a tick, with a true minus.

    >>> number(-0.5)
    '−0.5'
    """
    return f"{value:g}".replace("-", "−")


def axes(frame: Frame, x_ticks: Sequence[float], y_ticks: Sequence[float], x_title: str) -> list[str]:
    """Rules across at the ticks, numbers beside and below them, and what goes to the right."""
    parts = []
    for tick in y_ticks:
        height = frame.y(tick)
        parts.append(line(frame.left, height, frame.right, height, "rule zero" if tick == 0 else "rule"))
        parts.append(text(frame.left - 6, height + 4, number(tick), "tick", "end"))
    parts += [text(frame.x(tick), frame.bottom + 18, number(tick), "tick", "middle") for tick in x_ticks]
    parts.append(text((frame.left + frame.right) / 2, frame.bottom + 35, x_title, "tick", "middle"))
    return parts
