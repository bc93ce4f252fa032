"""The decision picture: the numbered questions of a page as a ladder, read from the page itself, its text twin."""

import re
from textwrap import wrap

from making.drawing import box, figure, line, svg, text

QUESTION = re.compile(r"^\d+\. \*\*(.+?)\*\* → (.+?)\.(?: |$)", flags=re.MULTILINE)
WIDTH, STEP, ASKED, ANSWER = 700, 78, 330, 270
"""Of the picture, from question to question, and of the two kinds of boxes."""


def questions(page: str) -> list[tuple[str, str]]:
    """The questions of a page and the answer to each, without links.

    >>> questions("1. **Is it late?** → [`go`](home.md) or [`stay`](inn.md). It may rain.")
    [('Is it late?', 'go or stay')]
    """
    return [(asked, re.sub(r"\[`?(.+?)`?\]\([^)]*\)", r"\1", answer)) for asked, answer in QUESTION.findall(page)]


def ladder_picture(page: str) -> str:
    """A question a rung: yes leads to the answer, no to the next; the last answer is for all others.

    It is drawn twice, for a wide and for a narrow screen, and the style sheet shows one of them.
    """
    rungs = questions(page)
    said = "A ladder of questions; the first yes decides. " + " ".join(f"{asked} {answer}." for asked, answer in rungs)
    drawn = figure([_wide(rungs, said), _narrow(rungs, said)], "The first yes decides. The same in words is below.")
    return drawn.replace("drawn", "drawn ladder", 1)


def _wide(rungs: list[tuple[str, str]], said: str) -> str:
    """Questions on the left, answers on the right."""
    parts: list[str] = []
    for rung, (asked, answer) in enumerate(rungs):
        top, last = 8 + rung * STEP, rung == len(rungs) - 1
        parts += _words(8, top, ASKED, 54, asked, "asked")
        parts += _words(WIDTH - ANSWER - 8, top, ANSWER, 54, answer, "answer")
        parts += _arrow(8 + ASKED, top + 27, WIDTH - ANSWER - 8, top + 27, "" if last else "yes")
        if not last:
            parts += _arrow(8 + ASKED / 2, top + 54, 8 + ASKED / 2, top + STEP, "no")
    return svg(WIDTH, 8 + len(rungs) * STEP - 16, said, parts).replace("<svg", '<svg class="wide"', 1)


def _narrow(rungs: list[tuple[str, str]], said: str) -> str:
    """An answer under its question."""
    parts: list[str] = []
    for rung, (asked, answer) in enumerate(rungs):
        top, last = 4 + rung * 144, rung == len(rungs) - 1
        parts += _words(2, top, 336, 46, asked, "asked")
        parts += _arrow(200, top + 46, 200, top + 68, "" if last else "yes")
        parts += _words(70, top + 68, 268, 46, answer, "answer")
        if not last:
            parts += _arrow(30, top + 46, 30, top + 144, "no")
    return svg(340, len(rungs) * 144 - 24, said, parts).replace("<svg", '<svg class="narrow"', 1)


def _words(x: float, y: float, width: float, height: float, words: str, kind: str) -> list[str]:
    """A box with at most two lines of text in its middle."""
    lines = wrap(words, int(width / 7.2))
    first = y + height / 2 + 5 - 9 * (len(lines) - 1)
    shown = [text(x + width / 2, first + 18 * i, each, kind, "middle") for i, each in enumerate(lines)]
    return [box(x, y, width, height, f"{kind} box", 8), *shown]


def _arrow(x1: float, y1: float, x2: float, y2: float, word: str) -> list[str]:
    """A line with a head, and a word beside its middle."""
    down = x1 == x2
    head = f"M{x2 - 4:g} {y2 - 7:g}L{x2:g} {y2:g}L{x2 + 4:g} {y2 - 7:g}" if down else ""
    head = head or f"M{x2 - 7:g} {y2 - 4:g}L{x2:g} {y2:g}L{x2 - 7:g} {y2 + 4:g}"
    beside = text(x1 + 8, (y1 + y2) / 2 + 5, word, "tick") if down else ""
    beside = beside or text((x1 + x2) / 2, y1 - 6, word, "tick", "middle")
    return [line(x1, y1, x2, y2, "way"), f'<path d="{head}" class="way"/>', beside]
