"""The page of a rank aggregation: worths with their uncertainty, who beats whom, and what holds the data together."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from luce.report.formatting import decimal, plain
from luce.report.layout import page_of, repeat_section, write_page
from luce.report.svg import ACCENT, INK, MUTED, Picture, picture

SHOWN = 20
"""Items of the win matrix, the best ones."""


def write_aggregation(
    path: str | os.PathLike[str], model: Any, *, title: str, summary: str, command: str, settings: Mapping[str, Any]
) -> Path:
    """Write one self-contained HTML page about a fitted `PlackettLuce`.

    Parameters
    ----------
    path : str or path-like
        The file to write.
    model : PlackettLuce
        The fitted model.
    title, summary, command : str
        The heading, the main result in one sentence, and the command that reproduces the page.
    settings : mapping of str to object
        Settings of the run by name.

    Returns
    -------
    Path
        The path of the page.
    """
    table = model.summary().to_pylist()
    rated = [row for row in table if row["log_worth"] is not None]
    sections = {
        "worths": {"rows": table, "pictures": [worths_picture(rated, model)]},
        "wins": {"pictures": [wins_picture(model, [row["item"] for row in rated[:SHOWN]])]},
        "connectivity": {"text": str(model.connectivity_), "facts": _facts(model)},
        "repeat": repeat_section(command, settings),
    }
    return write_page(path, page_of(title, summary, sections))


def _facts(model: Any) -> dict[str, str]:
    rankings = model.rankings_
    facts = {"Rankings": f"{len(rankings):,}", "Items": f"{rankings.n_items:,}"}
    facts |= {"Rankings with a tie": f"{int(rankings.tied.sum()):,}"}
    facts |= {f"Tie parameter {name}": decimal(value) for name, value in model.tie_parameters_.items()}
    facts |= {"Log-likelihood": f"{model.log_likelihood_:.2f}", "AIC": f"{model.aic_:.1f}", "BIC": f"{model.bic_:.1f}"}
    return facts


def worths_picture(rows: list[dict[str, Any]], model: Any) -> Picture:
    """A dot for each log worth and a line for its comparison interval, best first."""
    bounds = dict(zip(model.names_, model.comparison_intervals(), strict=True))

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        for place, row in enumerate(rows):
            low, high = bounds[row["item"]]
            axes.hlines(place, low, high, color=ACCENT if row["tier"] == 1 else MUTED, linewidth=1.6)
            axes.plot(row["log_worth"], place, "o", color=INK, markersize=3.5)
        axes.set_yticks(range(len(rows)), [plain(str(row["item"]), 26) for row in rows], fontsize=9)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.grid(axis="x")
        axes.set_xlabel("log worth, 95 % comparison intervals")

    best = ", ".join(str(row["item"]) for row in rows[:3])
    return picture("worths", f"Log worths, best first: {best} …", 60 + 14 * len(rows), draw)


def wins_picture(model: Any, items: list[Any]) -> Picture:
    """The probability that the item of the row is placed above that of the column."""
    probabilities = model.win_matrix(items)

    def draw(canvas: Any) -> None:
        axes = canvas.subplots()
        for i, j in np.argwhere(np.isfinite(probabilities)):
            # Area shows the probability too, so that color is not needed to read it.
            value = probabilities[i, j]
            axes.scatter(j, i, s=90 * value, color=ACCENT if value >= 0.5 else MUTED, linewidths=0)
        axes.set_xticks(range(len(items)), [plain(str(item), 12) for item in items], rotation=90, fontsize=8)
        axes.set_yticks(range(len(items)), [plain(str(item), 18) for item in items], fontsize=8)
        axes.set_ylim(len(items) - 0.5, -0.5)
        axes.set_title("Who is placed above whom", weight="bold")

    return picture(
        "wins", "The probability that the row's item is placed above the column's.", 110 + 16 * len(items), draw
    )
