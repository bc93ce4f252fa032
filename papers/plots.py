"""Pictures of several methods over a logarithmic axis, as the papers draw them."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from luce.report.formatting import decimal, number, plain
from luce.report.svg import INK, MUTED, SERIES, Picture, picture

LOOKS = tuple(zip((*SERIES, INK, MUTED), "os^Dvx", ("-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1))), strict=True))
"""Colour, marker and dashes of the first, second, … method: told apart in grey as well."""


class Line(NamedTuple):
    """Values of a method along the axis, with standard errors where there are some."""

    along: Sequence[float]
    values: Sequence[float]
    errors: Sequence[float] | None = None


def log_lines(name: str, title: str, along: str, lines: Mapping[str, Line], *, log_values: bool = True) -> Picture:
    """One line for each of at most six methods; both axes logarithmic unless `log_values` is false."""

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        for (method, line), (colour, marker, dashes) in zip(lines.items(), LOOKS, strict=False):
            looks = {"color": colour, "marker": marker, "linestyle": dashes, "label": plain(method, 30)}
            axes.errorbar(line.along, line.values, line.errors, **looks, linewidth=1.5, markersize=4.5, elinewidth=1)
        axes.set_xscale("log")
        axes.set_yscale("log" if log_values else "linear")
        axes.minorticks_off()
        for axis in (axes.xaxis, axes.yaxis) if log_values else (axes.xaxis,):
            axis.set_major_formatter(lambda value, _: power(value))
        axes.set_title(plain(title), weight="bold")
        axes.set_xlabel(along)
        axes.grid(axis="y")
        canvas.legend(loc="outside lower left", frameon=False, fontsize=10, ncols=2, handlelength=3)

    spoken = "; ".join(
        f"{method} {', '.join(f'{decimal(y)} at {number(x)}' for x, y in zip(line.along, line.values, strict=True))}"
        for method, line in lines.items()
    )
    return picture(name, f"{title}, by {along}: {spoken}.", 310, draw)


def power(value: float) -> str:
    """A tick of a logarithmic axis.

    >>> power(1e-5), power(0.01), power(1000), power(1e6)
    ('10⁻⁵', '0.01', '1,000', '10⁶')
    """
    exponent = round(math.log10(value))
    if -3 < exponent < 5:
        return number(value)
    return "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
