"""The page of a rank aggregation: a leaderboard, who beats whom, categories, and what the data are and the fit did."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from luce.report.formatting import count, decimal, isolated, number, share
from luce.report.layout import Facts, PageTable, Section, Text, note, sortable, write_page
from luce.report.leaderboard import (
    LISTED,
    MATRIX,
    Rows,
    headline,
    items_picture,
    items_table,
    leaderboard,
    ranks_by_category,
    weighted_count,
    win_matrix,
)

INTERVALS = (
    "Two items whose lines do not overlap differ significantly (95 %); items with lines in color are in the best tier: "
    "no item is significantly above them. An item with a dot but no line has no comparison interval."
)
COLUMNS = (
    "± standard error of the log worth relative to the mean of all items. Rankings: how many name the item, by weight. "
    "Rank range: from simultaneous tests of the differences from all other items. Tier: 1 if no item is significantly "
    "above, else one below those that are."
)
NEEDED = ", estimated: without a prior the rankings do not determine the worths of all items"
RATINGS = " Ratings: {:g} points are odds of ten to one; below them 95 % comparison intervals."
WINS = "Percent of comparisons in which the item of the row is expected to be ranked above the item of the column"
CATEGORIES = (
    "Each category is estimated from its rankings alone. Below a rank: the rank range (95 %), and n, the number of "
    "rankings that name the item."
)
DEVIATIONS = 8
"""First choices, and pairs, that are shown, those that deviate most."""
HEADS = {
    "item": "Item",
    "other": "Above",
    "observed": "Observed",
    "expected": "Expected",
    "z": "Standard deviations",
    "n_rankings": "Rankings",
    "n_comparisons": "Comparisons",
}
TIES = {
    "exact": "the order inside a tie is unknown",
    "davidson": "a tie is an outcome of its own, more likely for similar worths",
    "rao-kupper": "a tie is a difference below a threshold",
    "half-wins": "a tie is half a win of each",
}
CHOSEN = {"davidson": ", chosen as all rankings compare two items", "exact": ", chosen as some rank more than two"}
"""Why "auto" is this model of ties."""


def write_aggregation(
    path: str | os.PathLike[str],
    model: Any,
    *,
    kind: str | None = None,
    elo: Mapping[str, Any] | None = None,
    categories: Mapping[str, Any] | None = None,
    goodness_of_fit: Any = None,
    n_items: int = 30,
    title: str = "Rank aggregation",
    summary: str | None = None,
    command: str = "",
    settings: Mapping[str, Any] | None = None,
) -> Path:
    """Write a page about a fitted `PlackettLuce`.

    Parameters
    ----------
    path : str or path
        The HTML file to write.
    model : PlackettLuce
        A fitted model.
    kind : {"observed", "expected", "sandwich"}, optional
        What the standard errors are based on, see `PlackettLuce.standard_errors`.
    elo : mapping, optional
        Shows Elo ratings: parameters of `PlackettLuce.to_elo`, such as {"anchor": 1500, "scale": 400}.
    categories : mapping of str to PlackettLuce, optional
        Models fitted to parts of the rankings, by name.
    goodness_of_fit : GoodnessOfFit, optional
        Of the model, as `PlackettLuce.goodness_of_fit` returns it.
    n_items : int, default 30
        Items of the plot, the best ones.
    title : str, default "Rank aggregation"
        Title of the page.
    summary : str, optional
        The sentence below the title; by default, which item is first, and above how many others that is significant.
    command : str, default ""
        The command that writes the page again, as its last section shows it.
    settings : mapping of str to object, optional
        Shown there as well.

    Returns
    -------
    Path
        Of the page.
    """
    table = leaderboard(model, kind=kind, elo=elo)
    rows = table.to_pylist()
    sections = {"leaderboard": _leaderboard(rows, model, kind, n_items, elo), "wins": _wins(model, rows)}
    if categories:
        tables = {name: leaderboard(each, kind=kind) for name, each in categories.items()}
        sections["categories"] = _categories(rows, tables, categories)
    sections["data"] = _data(model, table)
    if goodness_of_fit is not None:
        sections["fit"] = _fit(goodness_of_fit)
    contents = {name: section.heading for name, section in sections.items()} | {"repeat": "Reproduce"}
    summary = summary or headline(rows, model.rankings_, goodness_of_fit)
    return write_page(
        path, sections, title=title, summary=summary, command=command, settings=settings or {}, contents=contents
    )


def _leaderboard(rows: Rows, model: Any, kind: str | None, n_items: int, elo: Mapping[str, Any] | None) -> Section:
    notes = COLUMNS + (RATINGS.format(elo.get("scale", 400)) if elo is not None else "")
    if len(rows) > LISTED:
        notes += f" The first {LISTED:,} of {len(rows):,} items; luce aggregate --csv writes all of them."
    plot = items_picture(rows, model, kind, n_items)
    return Section("Leaderboard", [plot, note(INTERVALS), items_table(rows), note(notes)])


def _wins(model: Any, rows: Rows) -> Section:
    best = f" The {MATRIX} best items." if len(rows) > MATRIX else ""
    rest = "; the two percentages of a pair and its ties add up to 100." if model.tie_parameters_ else "."
    return Section("Who beats whom", [win_matrix(model, rows), note(f"{WINS}{rest}{best}")])


def _categories(rows: Rows, tables: Mapping[str, pa.Table], models: Mapping[str, Any]) -> Section:
    own = {name: table.to_pylist() for name, table in tables.items()}
    return Section("Categories", [ranks_by_category(rows, own), note(CATEGORIES), categories_table(tables, models)])


def categories_table(tables: Mapping[str, pa.Table], models: Mapping[str, Any]) -> PageTable:
    """The rankings, the best items and the model of each category."""
    cells = []
    for name, model in models.items():
        leaders = [str(row["item"]) for row in tables[name].to_pylist() if row["tier"] == 1]
        first = isolated(leaders[0]) + (f" and {count(len(leaders) - 1, 'other')}" if leaders[1:] else "")
        counts = sortable(float(model.rankings_.weights.sum()), number), sortable(model.rankings_.n_items, number)
        said = choices(model, tables[name])
        kind = said["Standard errors"].partition(",")[0]
        cells.append([name, *counts, first, model.ties_ or "none", said["Prior"], kind, said["Not used"]])
    columns = ["Category", "Rankings", "Items", "Best tier", "Ties", "Prior", "Standard errors", "Not used"]
    return PageTable("Categories", columns, cells, "Rankings and models of the categories", sortable=True)


def _data(model: Any, table: pa.Table) -> Section:
    rankings = model.rankings_
    facts = {"Rankings": number(rankings.weights.sum()), "Items": f"{rankings.n_items:,}"}
    if rankings.rankers is not None:
        facts["Rankers"] = f"{len(rankings.ranker_names):,}"
    facts |= {"Rankings with ties": number(rankings.weights[rankings.tied].sum()), **choices(model, table)}
    facts |= {f"Tie parameter {name}": decimal(value) for name, value in model.tie_parameters_.items()}
    facts |= {"Log-likelihood": decimal(model.log_likelihood_), "AIC": decimal(model.aic_), "BIC": decimal(model.bic_)}
    facts["Search"] = str(model.convergence_)
    lines = [Text(line) for line in str(model.connectivity_).splitlines()]
    return Section("Data and model", [Facts(facts), *lines])


def _fit(fit: Any) -> Section:
    """The verdict, and what deviates most."""
    tables = []
    for name, found in (("First choices", fit.first_choices), ("Pairs", fit.pairs)):
        rows = found.slice(0, DEVIATIONS).to_pylist()
        if rows:
            heads = [HEADS[column] for column in found.column_names]
            cells = [[_deviation(column, value) for column, value in row.items()] for row in rows]
            tables.append(PageTable(name, heads, cells, f"{name} that deviate most", sortable=True))
    return Section("Goodness of fit", [*map(Text, str(fit).splitlines()), *tables])


def _deviation(column: str, value: Any) -> Any:
    if column in ("item", "other"):
        return isolated(str(value)) if column == "other" else str(value)
    form = {"z": "{:.1f}".format, "observed": share, "expected": share}.get(column, number)
    return sortable(value, form)


def choices(model: Any, table: pa.Table) -> dict[str, str]:
    """What was chosen, or left out, that changes the estimates or the errors of a leaderboard, in words."""
    errors = table.schema.metadata[b"errors"].decode()
    if errors in ("observed", "expected"):
        alone = ", rankings taken as independent: no rankers are given (--read ranker=COLUMN)"
        errors += " information" + (alone if model.rankings_.rankers is None else "")
    said = {
        "Ties": tie_words(model),
        "Prior": prior_words(model.prior_) + (NEEDED if model.prior == "auto" and model.prior_ is not None else ""),
        "Standard errors": errors,
        "Not used": unused_words(model.unused_),
    }
    rankings = model.rankings_
    if rankings.open_end.any():
        said["Last places"] = f"in unknown order in {weighted_count(rankings.weights[rankings.open_end].sum())}"
    unlisted = unlisted_words(rankings)
    return said | ({"Unlisted items": unlisted} if unlisted else {})


def tie_words(model: Any) -> str:
    """The model of ties, what a tie is in it, and why it was chosen."""
    if not model.rankings_.tied.any():
        return "no ranking has any"
    return f"{model.ties_}: {TIES[model.ties_]}{CHOSEN[model.ties_] if model.ties == 'auto' else ''}"


def unlisted_words(rankings: Any) -> str:
    """What it means that rankings do not list all items; nothing for comparisons of two, or where all list all.

    >>> from luce.aggregation import Rankings
    >>> unlisted_words(Rankings.from_orderings([["a", "b", "c"], ["b", "a"]]))
    'not compared in 1 ranking'
    """
    below = rankings.pool >= 0
    absent = ~below & (rankings.sizes < rankings.n_items)
    if not below.any() and (rankings.sizes == 2).all():
        return ""
    totals = {"below the others": rankings.weights[below].sum(), "not compared": rankings.weights[absent].sum()}
    return ", ".join(f"{what} in {weighted_count(total)}" for what, total in totals.items() if total)


def prior_words(prior: Any) -> str:
    """A prior with its numbers.

    >>> from luce.aggregation import NormalPrior, PseudoRankings
    >>> prior_words(PseudoRankings(0.5)), prior_words(NormalPrior(sd=1.234567)), prior_words(None)
    ('0.5 wins and 0.5 losses of each item against a hypothetical one', 'normal, standard deviation 1.235', 'none')
    """
    from luce.aggregation.priors import NormalPrior, PseudoRankings  # rank aggregation loads scikit-learn

    match prior:
        case None:
            return "none"
        case PseudoRankings(npseudo):
            return f"{npseudo:g} wins and {npseudo:g} losses of each item against a hypothetical one"
        case NormalPrior(_, sd) if np.ndim(sd) == 0 and not isinstance(sd, Mapping):
            return f"normal, standard deviation {number(sd)}"
    return "normal, with a standard deviation for each item"


def unused_words(unused: Mapping[str, float]) -> str:
    """What was not used, by reason.

    >>> unused_words({"rankings of fewer than two items": 1200, "repeated items": 3}), unused_words({})
    ('1,200 (rankings of fewer than two items), 3 (repeated items)', 'nothing')
    """
    return ", ".join(f"{number(n)} ({reason})" for reason, n in unused.items()) or "nothing"
