"""`luce aggregate`: from rankings without features to the worths of their items."""

from pathlib import Path
from typing import Annotated, Any

import typer

from luce.cli.options import Json, Threads, pairs
from luce.cli.output import check_written, command_line, optional_page, say, show_json, show_table, write_csv
from luce.errors import DataError, OptionError

File = Annotated[Path, typer.Argument(metavar="FILE", help="Rankings: PrefLib, or a table (CSV, Parquet, Arrow).")]
Format = Annotated[str | None, typer.Option(help="preflib, long, pairs, orders or ranks, where the file does not say.")]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        "--read", metavar="KEY=VALUE", help="How to read it, e.g. left=model_a, outcome=winner, ranker=judge."
    ),
]
Ties = Annotated[str, typer.Option(help="What a tie means: exact (order unknown), davidson, rao-kupper, none.")]
Prior = Annotated[str, typer.Option(help="auto, none, or wins against a hypothetical item, e.g. 0.5.")]
Names = Annotated[Path | None, typer.Option(help="CSV file with two columns: item as in FILE, name to show.")]
Csv = Annotated[Path | None, typer.Option("--csv", help="CSV file to write the table to.")]
Page = Annotated[Path, typer.Option("--report", metavar="HTML", help="Page to write.")]

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
    """Estimate the worth of each item from rankings: a table with errors, ranks and tiers, and a page with pictures.

    Without a prior some items may have no worth, since they never win or lose. Then, with --prior auto, every item
    gets half a win and half a loss against a hypothetical one, and that is said.

    Example: luce aggregate votes.soc

    Example: luce aggregate battles.csv --format pairs --read left=a --read right=b --read outcome=who
    """
    from luce.aggregation import read_rankings
    from luce.report.aggregation import write_aggregation

    check_written([path for path in (report, csv) if path is not None], [file])
    rankings = read_rankings(file, format=format, **pairs(read, "--read"))
    if names is not None:
        rankings = _renamed(rankings, names)
    model, chosen = _fit(rankings, None if ties == "none" else ties, prior, threads)
    table = model.summary()
    if csv is not None:
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
    with optional_page():
        page = write_aggregation(
            report,
            model,
            title=f"Ranks aggregated: {file.name}",
            summary=f"{best} has the highest worth of {rankings.n_items:,} items in {len(rankings):,} rankings.",
            command=command_line(),
            settings={"ties": ties, "prior": chosen},
        )
        say(page, "Report")


def _fit(rankings: Any, ties: str | None, prior: str, threads: int | None) -> tuple[Any, str]:
    """The fitted model, and the prior it has in words."""
    from luce.aggregation import PlackettLuce, PseudoRankings
    from luce.aggregation.likelihood import TIE_MODELS

    npseudo = None
    if prior == "auto":
        connectivity = rankings.connectivity(ties=ties in TIE_MODELS)
        if not connectivity.is_connected:
            npseudo = NPSEUDO
            say(f"{connectivity}\nEvery item gets {npseudo} wins and losses against a hypothetical one.", "Note")
    elif prior != "none":
        try:
            npseudo = float(prior)
        except ValueError:
            raise OptionError(f"--prior must be auto, none or a number of wins. Got {prior!r}.") from None
    chosen = None if npseudo is None else PseudoRankings(npseudo)
    model = PlackettLuce(ties, prior=chosen, n_jobs=threads).fit(rankings)
    return model, "none" if npseudo is None else f"{npseudo:g} pseudo-wins"


def _renamed(rankings: Any, path: Path) -> Any:
    from dataclasses import replace

    from luce.data.table_files import read_table

    table = read_table(path, format="csv")
    if table.num_columns != 2:
        raise DataError(f"{path} must have two columns, item and name. Got {table.num_columns}.")
    shown = {str(item): name for item, name in zip(*(column.to_pylist() for column in table.columns), strict=True)}
    return replace(rankings, names=tuple(shown.get(str(item)) or item for item in rankings.names))


def _print(table: Any, model: Any, title: str) -> None:
    columns = ["rank", "item", "log worth", "± error", "95 % interval", "worth", "ranks", "tier"]
    rows = []
    for row in table.to_pylist():
        if row["log_worth"] is None:
            rows.append(["", row["item"], "–", "", "", "", "", row["note"]])
            continue
        interval = f"{row['lower']:.3f} to {row['upper']:.3f}"
        ranks = f"{row['rank_lower']}–{row['rank_upper']}"
        figures = [f"{row['log_worth']:.4f}", f"{row['standard_error']:.4f}", interval, f"{row['worth']:.4f}"]
        rows.append([row["rank"], row["item"], *figures, ranks, row["tier"]])
    show_table(title, columns, rows, numeric=2)
    ties = "".join(f", {name} {value:.4f}" for name, value in model.tie_parameters_.items())
    fit = f"log-likelihood {model.log_likelihood_:.4f}, AIC {model.aic_:.2f}, BIC {model.bic_:.2f}{ties}"
    say(fit, style="dim")
    low, high = model.quasi_standard_errors().worst
    say(f"Quasi standard errors misstate no difference by more than {low:+.1%} or {high:+.1%}.", style="dim")
