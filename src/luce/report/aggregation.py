"""The page of a rank aggregation: worths with their uncertainty, who beats whom, and how the data are connected."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from luce.report.formatting import decimal, plain
from luce.report.layout import Facts, PageTable, Pictures, Section, Text, note, write_page
from luce.report.svg import ACCENT, INK, MUTED, Picture, picture

SHOWN = 20
"""Items of the win matrix, the best ones."""
INTERVALS = (
    "Two items with lines that do not overlap differ significantly (95 %); the best tier is in color. An item with a "
    "dot but no line has no comparison interval."
)
WINS = (
    "The larger the dot, the more likely it is that the item of the row is ranked above the item of the column; dots "
    "for "
    "50 % or more are in color."
)


def write_aggregation(path: str | os.PathLike[str], model: Any, **about: Any) -> Path:
    """Write a page about a fitted `PlackettLuce`; `about` is as for `write_page`."""
    table = model.summary().to_pylist()
    rated = [row for row in table if row["log_worth"] is not None]
    rankings = [*(Text(line) for line in str(model.connectivity_).splitlines()), Facts(_facts(model))]
    sections = {
        "worths": Section("Worths", [Pictures([worths_picture(rated, model)]), note(INTERVALS), worths_table(table)]),
        "wins": Section("Wins", [Pictures([wins_picture(model, [row["item"] for row in rated[:SHOWN]])]), note(WINS)]),
        "connectivity": Section("Rankings", rankings),
    }
    return write_page(path, sections, **about)


def worths_table(rows: list[dict[str, Any]]) -> PageTable:
    """A row for each item, of `PlackettLuce.summary`."""
    columns = ["Item", "Rank", "Log worth", "Standard error", "95 % interval", "Worth", "Rank range (95 %)", "Tier"]
    cells = []
    for row in rows:
        if row["log_worth"] is None:
            cells.append([str(row["item"]), "", row["note"], "", "", "", "", ""])
            continue
        worth, low, high = (f"{row[name]:.4f}".replace("-", "−") for name in ("log_worth", "lower", "upper"))
        ranks = f"{row['rank_lower']}–{row['rank_upper']}"
        errors = [decimal(row["standard_error"]), f"{low} to {high}", decimal(row["worth"])]
        cells.append([str(row["item"]), str(row["rank"]), worth, *errors, ranks, str(row["tier"])])
    return PageTable("Worths", columns, cells)


def _facts(model: Any) -> dict[str, str]:
    rankings = model.rankings_
    facts = {"Rankings": f"{len(rankings):,}", "Items": f"{rankings.n_items:,}"}
    facts |= {"Rankings with ties": f"{int(rankings.tied.sum()):,}"}
    facts |= {f"Tie parameter {name}": decimal(value) for name, value in model.tie_parameters_.items()}
    facts |= {"Log-likelihood": decimal(model.log_likelihood_), "AIC": decimal(model.aic_), "BIC": decimal(model.bic_)}
    return facts


def worths_picture(rows: list[dict[str, Any]], model: Any) -> Picture:
    """A dot for each log worth and a line for its comparison interval, best first."""
    bounds = dict(zip(model.names_, model.comparison_intervals(), strict=True))

    def draw(axes: Any) -> None:
        for place, row in enumerate(rows):
            axes.hlines(place, *bounds[row["item"]], color=ACCENT if row["tier"] == 1 else MUTED, linewidth=1.6)
            axes.plot(row["log_worth"], place, "o", color=INK, markersize=3.5)

    description = f"Log worths, best first: {', '.join(str(row['item']) for row in rows[:3])} …"
    names, xlabel = [plain(str(row["item"]), 26) for row in rows], "log worth, 95 % comparison intervals"
    return picture("worths", description, 60 + 14 * len(rows), draw, xlabel=xlabel, grid="x", rows=names)


def wins_picture(model: Any, items: list[Any]) -> Picture:
    """The probability that the item of the row is ranked above that of the column."""
    probabilities = model.win_matrix(items)

    def draw(axes: Any) -> None:
        for i, j in np.argwhere(np.isfinite(probabilities)):
            # Area shows the probability too, so that color is not needed to read it.
            value = probabilities[i, j]
            axes.scatter(j, i, s=90 * value, color=ACCENT if value >= 0.5 else MUTED, linewidths=0)
        axes.set_xticks(range(len(items)), [plain(str(item), 12) for item in items], rotation=90, fontsize=8)

    description = "The probability that the item of the row is ranked above the item of the column."
    looks: Any = {"title": "Who is ranked above whom", "grid": "", "rows": [plain(str(item), 18) for item in items]}
    return picture("wins", description, 110 + 16 * len(items), draw, **looks)
