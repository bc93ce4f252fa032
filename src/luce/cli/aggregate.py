"""`luce aggregate`: from rankings without features to the worths of their items."""

from pathlib import Path
from typing import Annotated, Any

import typer

from luce.cli.options import Csv, Json, Page, Threads, pairs
from luce.cli.output import check_written, say, show_json, show_page_table, write_csv, write_optional_page
from luce.errors import DataError, OptionError, unknown_name

File = Annotated[Path, typer.Argument(metavar="FILE", help="Rankings: PrefLib, or a table (CSV, Parquet, Arrow).")]
Format = Annotated[
    str | None,
    typer.Option(help="Format: preflib, long, pairs, orders or ranks. (default: by extension or column names)"),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--read", metavar="KEY=VALUE", help="How to read the file, e.g. left=model_a, outcome=winner, ranker=judge."
    ),
]
Ties = Annotated[str, typer.Option(help="Model of ties: exact (order unknown), davidson, rao-kupper or none.")]
Prior = Annotated[
    str, typer.Option(help="Prior: auto, none, or a number of wins and losses against a hypothetical item, e.g. 0.5.")
]
Names = Annotated[
    Path | None, typer.Option(help="CSV file with two columns: the item as in FILE and the name to show.")
]

NPSEUDO = 0.5
"""Wins and losses of every item against a hypothetical one, where the data alone do not settle all worths."""


def aggregate(
    file: File,
    format: Format = None,
    read: Columns = None,
    ties: Ties = "exact",
    prior: Prior = "auto",
    names: Names = None,
    csv: Csv = None,
    report: Page = Path("aggregation.html"),
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Estimate the worth of each item from rankings: a table with standard errors, ranks and tiers, and a report page.

    An item that never wins or never loses has no worth without a prior. In that case --prior auto gives every item half
    a win and half a loss against a hypothetical item, and prints a note.

    Example: luce aggregate votes.soc

    Example: luce aggregate battles.csv --format pairs --read left=a --read right=b --read outcome=who
    """
    from luce.aggregation import read_rankings
    from luce.aggregation.likelihood import TIES
    from luce.report.aggregation import write_aggregation
    from luce.report.formatting import count

    check_written([report, csv], [file])
    rankings = read_rankings(file, format=format, **pairs(read, "--read"))
    if names is not None:
        rankings = with_names(rankings, names)
    if ties not in (known := [each or "none" for each in TIES]):
        raise unknown_name("model of ties", ties, known)
    model, chosen = _fit(rankings, None if ties == "none" else ties, prior, threads)
    table = model.summary()
    write_csv(table, csv)
    facts = {
        "log_likelihood": model.log_likelihood_,
        "aic": model.aic_,
        "bic": model.bic_,
        "tie_parameters": model.tie_parameters_,
        "prior": chosen,
        "worst_quasi_error": list(model.quasi_standard_errors().worst),
        "converged": model.convergence_.converged,
    }
    if json:
        show_json({**facts, "items": table.to_pylist()})
    else:
        _print(table, model, f"{file.name}: {len(rankings):,} rankings of {rankings.n_items:,} items, prior {chosen}")
    best = table.column("item")[0].as_py()
    summary = f"{best} has the highest estimated worth of {rankings.n_items:,} items in {len(rankings):,} rankings"
    level = table.column("tier").to_pylist().count(1) - 1
    tied = f", not significantly above {count(level, 'other item')} of its tier (95 %)" if level else ""
    about = {
        "title": f"Rank aggregation: {file.name}",
        "summary": f"{summary}{tied}.",
        "settings": {"ties": ties, "prior": chosen},
    }
    write_optional_page(write_aggregation, report, model, **about)


def _fit(rankings: Any, ties: str | None, prior: str, threads: int | None) -> tuple[Any, str]:
    """The fitted model, and the prior it has in words."""
    from luce.aggregation import PlackettLuce, PseudoRankings
    from luce.aggregation.likelihood import TIE_MODELS

    npseudo = None
    if prior == "auto":
        connectivity = rankings.connectivity(ties=ties in TIE_MODELS)
        if not connectivity.is_connected:
            npseudo = NPSEUDO
            say(
                f"{connectivity}\nEvery item gets {npseudo} wins and losses against a hypothetical item as a prior.",
                "Note",
            )
    elif prior != "none":
        try:
            npseudo = float(prior)
        except ValueError:
            raise OptionError(f"--prior must be auto, none or a number of wins, such as 0.5. Got {prior!r}.") from None
    chosen = None if npseudo is None else PseudoRankings(npseudo)
    model = PlackettLuce(ties, prior=chosen, n_jobs=threads).fit(rankings)
    return model, "none" if npseudo is None else f"{npseudo:g} pseudo-wins"


def with_names(rankings: Any, path: Path) -> Any:
    """The rankings with the names that a CSV file gives their items."""
    from dataclasses import replace

    from luce.data.table_files import read_table

    table = read_table(path, format="csv")
    if table.num_columns != 2:
        raise DataError(f"{path} must have two columns, item and name. Got {table.num_columns}.")
    shown = {str(item): name for item, name in zip(*(column.to_pylist() for column in table.columns), strict=True)}
    return replace(rankings, names=tuple(shown.get(str(item)) or item for item in rankings.names))


def _print(table: Any, model: Any, title: str) -> None:
    from luce.report.aggregation import worths_table

    show_page_table(worths_table(table.to_pylist()), title)
    ties = "".join(f", {name} {value:.4f}" for name, value in model.tie_parameters_.items())
    fit = f"log-likelihood {model.log_likelihood_:.4f}, AIC {model.aic_:.2f}, BIC {model.bic_:.2f}{ties}"
    say(fit, style="dim")
    low, high = model.quasi_standard_errors().worst
    say(
        f"Standard errors of differences from quasi standard errors are off by {low:+z.1%} to {high:+z.1%} at most.",
        style="dim",
    )
