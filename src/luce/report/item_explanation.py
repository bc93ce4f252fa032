"""Why one item is ranked where it is, in a sentence, tables and pictures."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from luce.report.formatting import (
    LETTERS,
    count,
    decimal,
    feature_words,
    isolated,
    number,
    ordinal,
    plain,
    short,
    signed,
)
from luce.report.layout import Folded, PageTable, Pictures, Section, note, write_page
from luce.report.svg import ACCENT, INK, LINE, MUTED, Picture, picture

if TYPE_CHECKING:  # a ranker loads scikit-learn, and a page needs none
    from luce.rankers.item_explanation import ItemExplanation

SHOWN = 10
"""Features of a picture; of the gaps, the others are summed."""


def item_summary(found: "ItemExplanation") -> str:
    """The rank of the item, what sets it apart, and what would move it."""
    item, query = isolated(found.item), isolated(found.query)
    text = f"Item {item} is ranked {ordinal(found.rank)} of the {count(found.size, 'item')} of query {query}"
    text += f", with score {decimal(found.score)}."
    sign = 1 if found.rank == 1 else -1
    reasons = [each for each in found.gaps()[:2] if sign * each.gap > 0]
    if reasons:
        words = " and ".join(f"{feature_words(each.feature)} ({signed(each.gap)})" for each in reasons)
        several = len(reasons) > 1
        does = ("help" if several else "helps") if found.rank == 1 else ("cost" if several else "costs")
        text += f" Compared with {_compared(found)}, {words} {does} it most."
    moves = found.moves()
    if moves:
        best = moves[0]
        changed = f"{number(best.typical)} instead of {number(best.value)}"
        text += f" With {feature_words(best.feature)} at {changed}, it would be {ordinal(best.new_rank or 0)}."
    elif found.n_compared:
        text += f" No single feature moves it {'down' if found.rank == 1 else 'up'} when set to their median."
    return text


def gap_table(found: "ItemExplanation", most: int | None = None) -> PageTable:
    """The features that set the item apart, what matters most first."""
    rows = [
        [plain(each.feature), number(each.value), number(each.typical), signed(each.gap)]
        for each in found.gaps()[:most]
    ]
    title = f"Compared with {_compared(found)}"
    return PageTable(title, ["Feature", "Value", f"Median {_where(found)}", "Difference in contribution"], rows, title)


def move_table(found: "ItemExplanation", most: int | None = None) -> PageTable:
    """The features that would move the item, furthest first."""
    rows = [
        [
            plain(each.feature),
            number(each.value),
            number(each.typical),
            decimal(each.new_score),
            f"{each.new_rank:,}",
        ]
        for each in found.moves()[:most]
    ]
    title = f"Its rank with one feature set to the median {_where(found)}"
    return PageTable(title, ["Feature", "Value", "Changed to", "New score", "New rank"], rows, title)


def write_item_explanation(path: str | os.PathLike[str], found: "ItemExplanation", **about: Any) -> Path:
    """Write a page about the rank of one item; `about` is as for `write_page`."""
    return write_page(path, {"item": item_section(found)}, **about)


def item_section(found: "ItemExplanation") -> Section:
    """Two pictures, and all numbers on demand."""
    gaps, moves = found.gaps(), found.moves()
    pictures = [*([gap_picture(found)] if gaps else []), *([move_picture(found)] if moves else [])]
    tables = [*([gap_table(found)] if gaps else []), *([move_table(found)] if moves else [])]
    said = (
        "A contribution is what a feature adds to the score. A bar is the contribution to this item minus the mean "
        f"contribution to {_compared(found)}. The bars add up to {decimal(found.score - found.compared_score)}, the "
        f"score of the item ({decimal(found.score)}) minus their mean score ({decimal(found.compared_score)}). "
        if gaps
        else "The score of this model is not a sum of contributions of features. "
    )
    said += (
        "For a new rank the list is ranked again with one value changed: it says what the model would do, not what the "
        "changed item would be worth."
    )
    heading = f"Why it is ranked {ordinal(found.rank)} of {found.size:,}"
    folded = [Folded("All numbers", tables)] if tables else []
    return Section(heading, [*([Pictures(pictures)] if pictures else []), note(said), *folded])


def gap_picture(found: "ItemExplanation") -> Picture:
    """A bar for each feature: to the left what costs the item, to the right what helps it."""
    largest = sorted(found.gaps(), key=lambda each: -abs(each.gap))
    kept = largest if len(largest) <= SHOWN + 1 else largest[:SHOWN]
    names = [_labelled(each.feature, "" if np.isnan(each.value) else f" = {number(each.value)}") for each in kept]
    values = [each.gap for each in kept]
    if len(largest) > len(kept):
        names.append(f"{len(largest) - len(kept):,} others")
        values.append(sum(each.gap for each in largest[len(kept) :]))

    def draw(axes: Any) -> None:
        axes.barh(range(len(values)), values, height=0.62, color=[ACCENT if value > 0 else MUTED for value in values])
        axes.axvline(0, color=INK, linewidth=0.8)

    title = "What costs it and what helps it"
    spoken = "; ".join(f"{name}: {signed(value)}" for name, value in zip(names, values, strict=True))
    return _drawn("gaps", title, f"compared with {_compared(found)}", spoken, names, draw)


def move_picture(found: "ItemExplanation") -> Picture:
    """A line for each feature, from the rank of the item to the rank that it would have."""
    moves = found.moves()[:SHOWN]
    names = [_labelled(each.feature, f" → {number(each.typical)}") for each in moves]
    ranks = [each.new_rank or 0 for each in moves]

    def draw(axes: Any) -> None:
        places = range(len(ranks))
        axes.hlines(places, ranks, found.rank, color=LINE, linewidth=3)
        axes.plot(ranks, places, "o", color=ACCENT, markersize=7)
        axes.axvline(found.rank, color=INK, linewidth=0.8)
        low, high = min(1, *ranks), max(found.rank, *ranks)
        axes.set_xlim(high + 0.5, low - 0.5)  # the better, the further to the right
        axes.xaxis.get_major_locator().set_params(integer=True)

    title = "Its rank with one feature changed"
    spoken = "; ".join(f"{name}: {ordinal(rank)}" for name, rank in zip(names, ranks, strict=True))
    caption = f"rank, now {ordinal(found.rank)}; changed to the median {_where(found)}"
    return _drawn("moves", title, caption, spoken, names, draw)


def _drawn(name: str, title: str, caption: str, spoken: str, rows: Sequence[str], draw: Any) -> Picture:
    looks: Any = {"title": title, "xlabel": caption, "grid": "x", "rows": rows}
    return picture(name, f"{title}, {caption}. {spoken}.", 84 + 17 * len(rows), draw, **looks)


def _labelled(name: str, value: str) -> str:
    return short(name, LETTERS - len(value)) + value


def _compared(found: "ItemExplanation") -> str:
    if found.rank == 1:
        return f"the other {count(found.n_compared, 'item')}"
    return "the item above it" if found.n_compared == 1 else f"the {found.n_compared:,} items above it"


def _where(found: "ItemExplanation") -> str:
    return "of the others" if found.rank == 1 else "above"
