"""Line plots of several methods over a logarithmic axis, as in the papers."""

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from luce.report import layout
from luce.report.formatting import decimal, number, plain
from luce.report.svg import INK, MUTED, SERIES, WIDTH, Picture, picture

STYLES = tuple(zip((*SERIES, INK, MUTED), "os^Dvx", ("-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1))), strict=True))
"""Color, marker and line style of the first, second, … method; they differ in grayscale too."""

GAP = 20
"""Units between the pictures of a file."""

STYLE_SHEET = Path(layout.__file__).parent / "templates" / "page.css"


class Line(NamedTuple):
    """The points of a method, with standard errors if they are known."""

    x: Sequence[float]
    y: Sequence[float]
    errors: Sequence[float] | None = None


def log_lines(name: str, title: str, xlabel: str, lines: Mapping[str, Line], *, log_values: bool = True) -> Picture:
    """One line for each of at most six methods; both axes logarithmic unless `log_values` is false."""

    def draw(axes: Any) -> None:
        for (method, line), (color, marker, linestyle) in zip(lines.items(), STYLES, strict=False):
            style = {"color": color, "marker": marker, "linestyle": linestyle, "label": plain(method, 30)}
            axes.errorbar(line.x, line.y, line.errors, **style, linewidth=1.5, markersize=4.5, elinewidth=1)
        axes.set_xscale("log")
        axes.set_yscale("log" if log_values else "linear")
        axes.minorticks_off()
        for axis in (axes.xaxis, axes.yaxis) if log_values else (axes.xaxis,):
            axis.set_major_formatter(lambda value, _: tick_label(value))
        axes.figure.legend(loc="outside lower left", frameon=False, fontsize=10, ncols=2, handlelength=3)

    points = "; ".join(
        f"{method} {', '.join(f'{decimal(y)} at {number(x)}' for x, y in zip(line.x, line.y, strict=True))}"
        for method, line in lines.items()
    )
    return picture(name, f"{title}, by {xlabel}: {points}.", 310, draw, title=title, xlabel=xlabel)


def tick_label(value: float) -> str:
    """The label of a tick on a logarithmic axis.

    >>> tick_label(1e-5), tick_label(0.01), tick_label(1000), tick_label(1e6)
    ('10⁻⁵', '0.01', '1,000', '10⁶')
    """
    exponent = round(math.log10(value))
    if -3 < exponent < 5:
        return number(value)
    return "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def panels(pictures: Sequence[Picture]) -> str:
    """Pictures in two columns as one SVG file, in the colors of a light page on white."""
    placed, top = [], 0.0
    for left, one in enumerate(pictures):
        _, _, width, height = one.svg.partition('viewBox="')[2].partition('"')[0].split()
        box = f'<svg x="{left % 2 * (WIDTH + GAP)}" y="{top:g}" width="{width}" height="{height}" '
        placed.append(one.svg.replace("<svg ", box, 1))
        top += float(height) + GAP if left % 2 or one is pictures[-1] else 0.0
    colors = dict(re.findall(r"(--\w+): (#\w+)", STYLE_SHEET.read_text(encoding="utf-8").partition("@media")[0]))
    drawn = re.sub(r"var\((--\w+)\)", lambda found: colors[found[1]], "\n".join(placed))
    width = str(WIDTH if len(pictures) == 1 else 2 * WIDTH + GAP)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top:g}" width="{width}" height="{top:g}">\n'
        "<style>* { stroke-linejoin: round; stroke-linecap: butt }</style>\n"
        f'<rect width="100%" height="100%" fill="white"/>\n{drawn}\n</svg>'
    )
