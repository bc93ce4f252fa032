"""The decision diagram: the numbered questions of a page as a ladder, parsed from the page."""

import re
from textwrap import wrap

from generators.drawing import box, figure, line, svg, text

QUESTION = re.compile(r"^\d+\. \*\*(.+?)\*\* → (.+?)\.(?: |$)", flags=re.MULTILINE)
WIDTH, STEP, ASKED, ANSWER = 700, 78, 330, 270
"""The width of the diagram, the distance between questions, and the widths of the two kinds of boxes."""


def questions(page: str) -> list[tuple[str, str]]:
    """The questions of a page and the answer to each, without links.

    >>> questions("1. **Is it late?** → [`go`](home.md) or [`stay`](inn.md). It may rain.")
    [('Is it late?', 'go or stay')]
    """
    return [(asked, re.sub(r"\[`?(.+?)`?\]\([^)]*\)", r"\1", answer)) for asked, answer in QUESTION.findall(page)]


def ladder_diagram(page: str) -> str:
    """One rung per question: yes leads to the answer, no to the next question; the last answer is for the rest.

    There are two versions, for a wide and for a narrow screen; the style sheet shows one of them.
    """
    rungs = questions(page)
    description = "A ladder of questions; the first yes decides. " + " ".join(
        f"{asked} {answer}." for asked, answer in rungs
    )
    drawn = figure(
        [_wide(rungs, description), _narrow(rungs, description)], "The first yes decides. The same as text is below."
    )
    return drawn.replace("drawn", "drawn ladder", 1)


def _wide(rungs: list[tuple[str, str]], description: str) -> str:
    """Questions on the left, answers on the right."""
    parts: list[str] = []
    for rung, (asked, answer) in enumerate(rungs):
        top, last = 8 + rung * STEP, rung == len(rungs) - 1
        parts += _labeled_box(8, top, ASKED, 54, asked, "asked")
        parts += _labeled_box(WIDTH - ANSWER - 8, top, ANSWER, 54, answer, "answer")
        parts += _arrow(8 + ASKED, top + 27, WIDTH - ANSWER - 8, top + 27, "" if last else "yes")
        if not last:
            parts += _arrow(8 + ASKED / 2, top + 54, 8 + ASKED / 2, top + STEP, "no")
    return svg(WIDTH, 8 + len(rungs) * STEP - 16, description, parts).replace("<svg", '<svg class="wide"', 1)


def _narrow(rungs: list[tuple[str, str]], description: str) -> str:
    """An answer under its question."""
    parts: list[str] = []
    for rung, (asked, answer) in enumerate(rungs):
        top, last = 4 + rung * 144, rung == len(rungs) - 1
        parts += _labeled_box(2, top, 336, 46, asked, "asked")
        parts += _arrow(200, top + 46, 200, top + 68, "" if last else "yes")
        parts += _labeled_box(70, top + 68, 268, 46, answer, "answer")
        if not last:
            parts += _arrow(30, top + 46, 30, top + 144, "no")
    return svg(340, len(rungs) * 144 - 24, description, parts).replace("<svg", '<svg class="narrow"', 1)


def _labeled_box(x: float, y: float, width: float, height: float, label: str, kind: str) -> list[str]:
    """A box with at most two lines of text in its middle."""
    lines = wrap(label, int(width / 7.2))
    first = y + height / 2 + 5 - 9 * (len(lines) - 1)
    shown = [text(x + width / 2, first + 18 * i, each, kind, "middle") for i, each in enumerate(lines)]
    return [box(x, y, width, height, f"{kind} box", 8), *shown]


def _arrow(x1: float, y1: float, x2: float, y2: float, label: str) -> list[str]:
    """An arrow with a label at its middle."""
    down = x1 == x2
    head = f"M{x2 - 4:g} {y2 - 7:g}L{x2:g} {y2:g}L{x2 + 4:g} {y2 - 7:g}" if down else ""
    head = head or f"M{x2 - 7:g} {y2 - 4:g}L{x2:g} {y2:g}L{x2 - 7:g} {y2 + 4:g}"
    beside = text(x1 + 8, (y1 + y2) / 2 + 5, label, "tick") if down else ""
    beside = beside or text((x1 + x2) / 2, y1 - 6, label, "tick", "middle")
    return [line(x1, y1, x2, y2, "way"), f'<path d="{head}" class="way"/>', beside]
