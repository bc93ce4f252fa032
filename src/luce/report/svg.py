"""A Matplotlib figure as SVG inside the page: real text, no ids that clash, colors that follow light and dark."""

import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple
from xml.etree import ElementTree

from luce.errors import load_package
from luce.report.formatting import plain, short

# Matplotlib draws in stand-in colors; the page's style sheet owns the real ones, one set for light, one for dark.
INK, MUTED, LINE, ACCENT, LOSS = "#010101", "#010102", "#010103", "#010104", "#010105"
SERIES = (ACCENT, LOSS, "#010106", "#010107")
"""Colors for things side by side, distinct to people who do not see red, green or blue; markers differ as well."""

_NAMES = "--ink", "--muted", "--line", "--accent", "--loss", "--third", "--fourth"
_VARIABLES = dict(zip((INK, MUTED, LINE, *SERIES), _NAMES, strict=True))

WIDTH, SMALL, FULL = 360, 172, 720
"""Units across a picture, one of many, one as wide as the page: a phone's pixels, or half, to keep the size of text."""

_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "luce",
    "text.parse_math": False,
    "axes.formatter.useoffset": False,
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "axes.titlepad": 8,
    "axes.labelsize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.linewidth": 0.8,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    **dict.fromkeys(("text.color", "axes.titlecolor"), INK),
    **dict.fromkeys(("axes.edgecolor", "grid.color", "xtick.color", "ytick.color"), LINE),
    **dict.fromkeys(("axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor"), MUTED),
}


class Picture(NamedTuple):
    """SVG for the page, and the sentence that stands in for it where it cannot be seen."""

    svg: str
    description: str


def picture(
    name: str,
    description: str,
    height: float,
    draw: Callable[[Any], None],
    *,
    title: str = "",
    xlabel: str = "",
    grid: str = "y",
    rows: Sequence[str] = (),
    width: int = WIDTH,
) -> Picture:
    """What `draw` puts on a pair of axes; `name` differs for each picture of a page, `rows` are names down the side."""
    description, small = plain(description, 5_000), width == SMALL
    Figure = load_package("matplotlib.figure", "report").Figure
    drawn = io.BytesIO()
    with _house_style():
        figure = Figure(figsize=(width / 72, height / 72), layout="constrained")
        axes = figure.subplots()
        if rows:
            axes.set_yticks(range(len(rows)), rows, fontsize=9)
            axes.set_ylim(len(rows) - 0.4, -0.6)
        if grid:
            axes.grid(axis=grid)
            axes.locator_params(axis="y" if grid == "both" else grid, nbins=4 if small else 5)
        looks = {"fontsize": 10.5, "pad": 5} if small else {}
        axes.set_title(short(title, 22) if small else plain(title), weight="bold", **looks)
        axes.set_xlabel(xlabel, fontsize=9.5 if small else None)
        axes.tick_params(labelsize=9.5 if small else None)
        draw(axes)
        figure.savefig(drawn, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")))
    return Picture(_inline(drawn.getvalue(), name, description), description)


@contextmanager
def _house_style() -> Iterator[None]:
    """Our style alone, whatever the user's own settings; theirs are back afterwards."""
    matplotlib = load_package("matplotlib", "report")
    with matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        # The reader's browser chooses the font, so a letter that Matplotlib's own font lacks does no harm.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def _inline(svg: bytes, name: str, description: str) -> str:
    root = ElementTree.fromstring(svg)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        attributes = {key.rpartition("}")[2]: _attribute(key, value, name) for key, value in element.attrib.items()}
        if element.tag == "g":
            attributes.pop("id", None)  # never pointed at
        element.attrib = attributes
        element.tail = None  # indentation
        if element.tag != "text":
            element.text = None
    root.remove(root[0])  # a style rule that would reach the whole page; our style sheet holds it for pictures
    root.attrib = {"viewBox": root.attrib["viewBox"], "role": "img", "aria-label": description}
    return ElementTree.tostring(root, encoding="unicode")


def _attribute(key: str, value: str, name: str) -> str:
    if key == "id":
        return f"{name}-{value}"
    if key.endswith("href"):
        return value.replace("#", f"#{name}-")
    if key == "style":
        value = re.sub("'DejaVu Sans'[^;]*", "system-ui, sans-serif", value)
        return re.sub(r"#[0-9a-f]{6}", lambda color: f"var({_VARIABLES[color[0]]})", value)
    return " ".join(value.replace("url(#", f"url(#{name}-").split())
