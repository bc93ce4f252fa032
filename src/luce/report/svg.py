"""A Matplotlib figure as SVG inside the page: real text, no ids that clash, colours that follow light and dark."""

import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from xml.etree import ElementTree

from luce.errors import load_package
from luce.report.formatting import plain

# Matplotlib draws in stand-in colours; the page's style sheet owns the real ones, one set for light, one for dark.
INK, MUTED, LINE, ACCENT, LOSS = "#010101", "#010102", "#010103", "#010104", "#010105"
SERIES = (ACCENT, LOSS, "#010106", "#010107")
"""Colours for things side by side, distinct to people who do not see red, green or blue; markers differ as well."""

_VARIABLES = dict(
    zip(
        (INK, MUTED, LINE, *SERIES),
        ("--ink", "--muted", "--line", "--accent", "--loss", "--third", "--fourth"),
        strict=True,
    )
)

WIDTH, SMALL = 360, 172
"""Units across a picture, and across one of many: the pixels of a phone, or half, so that text there keeps its size."""

_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "luce",
    "text.parse_math": False,
    "font.size": 11,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "axes.titlepad": 8,
    "axes.labelsize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "grid.linewidth": 0.8,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "text.color": INK,
    "axes.titlecolor": INK,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": LINE,
    "grid.color": LINE,
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": MUTED,
}


class Picture(NamedTuple):
    """SVG for the page, and the sentence that stands in for it where it cannot be seen."""

    svg: str
    description: str


def picture(name: str, description: str, height: float, draw: Callable[[Any], None], width: float = WIDTH) -> Picture:
    """What `draw` puts on an empty figure of so many units; `name` differs for each picture of a page."""
    description = plain(description, 5_000)
    Figure = load_package("matplotlib.figure", "report").Figure
    drawn = io.BytesIO()
    with _house_style():
        figure = Figure(figsize=(width / 72, height / 72), layout="constrained")
        draw(figure)
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
        return re.sub(r"#[0-9a-f]{6}", lambda colour: f"var({_VARIABLES[colour[0]]})", value)
    return " ".join(value.replace("url(#", f"url(#{name}-").split())
