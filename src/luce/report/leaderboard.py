"""A fitted `PlackettLuce` as a leaderboard: its table, a plot of the best items, who beats whom, and categories."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from luce.report.formatting import count, decimal, isolated, number, plain, short
from luce.report.layout import Cell, FullPicture, PageTable, sortable
from luce.report.svg import ACCENT, FULL, INK, MUTED, WIDTH, Picture, picture

LEVEL = 0.95
MATRIX = 15
"""Items of the win matrix, the best ones, so that every probability can be written."""
LISTED = 1_000
"""Items of a table, the best ones, so that a page stays small."""
SEARCHED = 25
"""A table with more rows gets a field to filter them."""
NAME = 60
"""Letters of a name in a plot."""
COLORS = {"point": INK, "best": ACCENT, "other": MUTED}

Rows = Sequence[Mapping[str, Any]]


def leaderboard(model: Any, *, kind: str | None = None, elo: Mapping[str, Any] | None = None) -> pa.Table:
    """The `summary` of a model, with `elo`, parameters of `to_elo`, also ratings and their comparison intervals."""
    table: pa.Table = model.summary(level=LEVEL, kind=kind)
    if elo is None:
        return table
    ratings = model.to_elo(**elo, level=LEVEL, kind=kind)
    missing = [None] * (table.num_rows - ratings.num_rows)  # items that cannot be estimated, the last ones
    for at, name in enumerate(("rating", "lower", "upper"), 1):
        column = pa.array([*ratings.column(name).to_pylist(), *missing], pa.float64())
        table = table.add_column(at, name if name == "rating" else f"rating_{name}", column)
    return table


def headline(rows: Rows, rankings: Any, fit: Any = None) -> str:
    """Who is first, above how many others that is significant, and whether the model does not fit."""
    rated = [row for row in rows if row["log_worth"] is not None]
    first, others = rated[0], len(rated) - 1
    level = first["rank_upper"] - 1
    said = f"{isolated(str(first['item']))} has the highest estimated worth of {count(len(rated), 'item')}"
    if level == 0:
        said += ", significantly above all others (95 %)"
    elif level == others:
        said += ", but is not significantly above any other (95 %)"
    else:
        said += f", significantly above {others - level:,} of the other {others:,} (95 %)"
    unknown = len(rows) - len(rated)
    without = f" {count(unknown, 'more item')} could not be estimated." if unknown else ""
    misfit = " One worth per item does not describe these rankings well." if fit and fit.describes_data is False else ""
    return f"{said}. From {weighted_count(rankings.weights.sum())}.{without}{misfit}"


def weighted_count(total: float) -> str:
    """A number of rankings, by weight.

    >>> weighted_count(1.0), weighted_count(2500.0), weighted_count(2.5)
    ('1 ranking', '2,500 rankings', '2.5 rankings')
    """
    return f"{number(total)} {'ranking' if total == 1 else 'rankings'}"


def items_table(rows: Rows) -> PageTable:
    """A row for each item of `leaderboard`, the best first."""
    rated = "rating" in rows[0]
    columns = ["Rank", "Item", *(["Rating"] if rated else []), "Log worth", "Rankings", "Worth"]
    columns += ["Rank range (95 %)", "Tier"]
    cells = [_item(row, rated) for row in rows[:LISTED]]
    return PageTable("Items", columns, cells, sortable=True, searchable=len(cells) > SEARCHED, head=1)


def _item(row: Mapping[str, Any], rated: bool) -> list[Any]:
    rankings = sortable(row["n_rankings"], number)
    if row["log_worth"] is None:
        empty = Cell("–", value=math.nan)
        why = Cell("–", row["note"], math.nan, wrap=True)
        return [empty, str(row["item"]), *([empty] if rated else []), why, rankings, empty, empty, empty]
    bounds = "{rating_lower:,.0f} to {rating_upper:,.0f}"
    rating = [sortable(row["rating"], "{:,.0f}".format, bounds.format_map(row))] if rated else []
    ranks = Cell(f"{row['rank_lower']:,}–{row['rank_upper']:,}", value=row["rank_lower"])
    return [
        sortable(row["rank"], number),
        str(row["item"]),
        *rating,
        sortable(row["log_worth"], decimal, f"± {decimal(row['standard_error'])}"),
        rankings,
        sortable(row["worth"], decimal),
        ranks,
        sortable(row["tier"], number),
    ]


def items_picture(rows: Rows, model: Any, kind: str | None, n_items: int) -> FullPicture:
    """The best items of `leaderboard` with comparison intervals, of ratings if it has them, else of log worths."""
    from luce.aggregation.plots import PlottedItem, draw_items, plotted_items  # loads scikit-learn

    rated = "rating" in rows[0]
    what = "rating" if rated else "log worth"
    items = plotted_items(rows[:n_items], model, LEVEL, kind)
    if rated:
        bounds = [(row["rating"], row["rating_lower"], row["rating_upper"]) for row in rows]
        items = [PlottedItem(each.name, *own, each.best) for each, own in zip(items, bounds, strict=False)]
    items = [each._replace(name=short(str(each.name), NAME)) for each in items]
    description = f"The {what} of {count(len(items), 'item')}, best first: "
    description += "; ".join(f"{each.name} {each.estimate:.{0 if rated else 2}f}" for each in items)
    xlabel = f"{what}, 95 % comparison intervals"

    def drawn(name: str, width: int, row_height: int, names_above: bool) -> Picture:
        def draw(axes: Any) -> None:
            draw_items(axes, items, COLORS, names_above=names_above, fontsize=9.5, color=INK)

        height = 40 + row_height * len(items)
        return picture(name, description, height, draw, xlabel=xlabel, grid="x", width=width)

    return FullPicture(drawn("items", FULL, 17, False), drawn("items-narrow", WIDTH, 30, True))


def win_matrix(model: Any, rows: Rows) -> PageTable:
    """The probability that the item of the row is ranked above that of the column, of the best items.

    A cell is shaded by the difference from the probability of the reverse, as the rest may be ties.
    """
    names = {str(name): name for name in model.names_}  # a table has text where names are of several kinds
    items = [names[str(row["item"])] for row in rows if row["log_worth"] is not None][:MATRIX]
    wins = model.win_matrix(items)
    ahead = 0.5 + 0.5 * (wins - wins.T)
    cells = [
        [str(name), *(Cell(whole_percent(wins[i, j]), shade=ahead[i, j]) if i != j else "" for j in range(len(items)))]
        for i, name in enumerate(items)
    ]
    return PageTable("Win probabilities", ["", *(isolated(str(name)) for name in items)], cells, matrix=True)


def whole_percent(probability: float) -> str:
    """A probability in a cell, in whole percent; neither 0 nor 100.

    >>> whole_percent(0.634), whole_percent(0.9999), whole_percent(0.0001)
    ('63', '>99', '<1')
    """
    return "<1" if probability < 0.005 else ">99" if probability > 0.995 else f"{100 * probability:.0f}"


def ranks_by_category(rows: Rows, categories: Mapping[str, Rows]) -> PageTable:
    """The rank of each item overall and in each category; below it the rank range and the number of rankings."""
    known = [{row["item"]: row for row in own} for own in categories.values()]
    cells = [[str(row["item"]), _rank(row), *(_rank(own.get(row["item"])) for own in known)] for row in rows[:LISTED]]
    columns = ["Item", "Overall", *(isolated(plain(name)) for name in categories)]
    return PageTable("Ranks by category", columns, cells, sortable=True, searchable=len(cells) > SEARCHED)


def _rank(row: Mapping[str, Any] | None) -> Cell:
    if row is None or row["log_worth"] is None:
        return Cell("–", value=math.nan)
    ranks = f"{row['rank_lower']:,}–{row['rank_upper']:,}"
    return Cell(f"{row['rank']:,}", f"{ranks}, n = {number(row['n_rankings'])}", row["rank"])
