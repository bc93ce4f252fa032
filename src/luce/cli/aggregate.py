"""`luce aggregate`: from rankings without features to a leaderboard of their items."""

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from luce.cli.aggregate_output import check_fit, print_leaderboard, show_facts, with_categories
from luce.cli.categories import fit_categories, read_categories
from luce.cli.options import PATIENCE, Csv, Json, Overwrite, Page, Threads, pairs
from luce.cli.output import check_new, check_written, replacing, say, write_csv, write_optional_page
from luce.errors import DataError, OptionError, did_you_mean, nearest_names, unknown_name

Files = Annotated[
    list[Path], typer.Argument(metavar="FILE", help="Rankings: PrefLib, or tables (CSV, Parquet, Arrow).")
]
Format = Annotated[
    str | None,
    typer.Option(help="Format: preflib, long, pairs, orders or ranks. (default: by extension or column names)"),
]
Reading = Annotated[
    list[str] | None,
    typer.Option(
        "--read",
        metavar="KEY=VALUE",
        help="How to read the files: columns, such as left=model_a, outcome=winner, ranker=judge; unlisted=below, "
        "missing=last, repeated=best for what rankings leave out or name twice.",
    ),
]
Ties = Annotated[
    str,
    typer.Option(
        help="Model of ties: exact (order unknown), davidson, rao-kupper, half-wins or none; auto is davidson for "
        "comparisons of two, else exact."
    ),
]
Prior = Annotated[
    str,
    typer.Option(
        help="Prior: auto (only where the data need one), none, normal (its standard deviation is estimated), or a "
        "number of wins and losses against a hypothetical item, e.g. 0.5."
    ),
]
Errors = Annotated[
    str, typer.Option(help="Standard errors: observed, expected or sandwich; auto is sandwich if there are rankers.")
]
By = Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of categories: a leaderboard for each as well.")]
Names = Annotated[
    Path | None,
    typer.Option(
        help="CSV file with the names to show: columns item (or id, code) and name (or label), else the first two."
    ),
]
Elo = Annotated[bool, typer.Option("--elo", help="Elo ratings as well.")]
Scale = Annotated[
    float | None,
    typer.Option(help="Points of Elo ratings that are odds of ten to one. (default: 400)", show_default=False),
]
Anchor = Annotated[
    str | None, typer.Option(metavar="RATING|ITEM=RATING", help="Mean rating, or that of an item. (default: 1500)")
]
Top = Annotated[int, typer.Option(min=1, help="Number of items in the plot, the best ones.")]
Title = Annotated[str | None, typer.Option(help="Title of the report. (default: by the name of the file)")]
Save = Annotated[
    Path | None,
    typer.Option(metavar="MODEL", help="Model file to write, for luce.load; --overwrite replaces an existing one."),
]

ITEM, NAME = ("item", "id", "code"), ("name", "label")
"""Columns of a file of names."""


def aggregate(
    files: Files,
    format: Format = None,
    read: Reading = None,
    ties: Ties = "auto",
    prior: Prior = "auto",
    errors: Errors = "auto",
    by: By = None,
    names: Names = None,
    elo: Elo = False,
    scale: Scale = None,
    anchor: Anchor = None,
    top: Top = 30,
    title: Title = None,
    csv: Csv = None,
    save: Save = None,
    report: Page = Path("aggregation.html"),
    overwrite: Overwrite = False,
    threads: Threads = None,
    json: Json = False,
) -> None:
    """Estimate the worth of each item from rankings: a leaderboard with standard errors, ranks and tiers, and a page.

    The model of ties, the prior, the kind of standard errors, and what was left out are printed below the table, with
    a test of whether the model describes the rankings.

    Started by torchrun, each process reads some of the files, and the first one fits all rankings.

    Example: luce aggregate votes.soc

    Example: luce aggregate battles.csv --elo --anchor gpt-2=1000 --by language

    Example: luce aggregate 2023.csv 2024.csv --format orders --read unlisted=below --names drivers.csv

    Example: luce aggregate battles.csv --read left=a --read right=b --read outcome=who --read ranker=judge
    """
    from luce.aggregation.over_ranks import read_on_ranks
    from luce.aggregation.readers import READ_OPTIONS
    from luce.distributed import launched
    from luce.report.aggregation import write_aggregation
    from luce.report.leaderboard import leaderboard

    check_written([report, csv, save], [*files, names])
    check_new(save, overwrite)
    model = _model(ties, prior, threads)
    kind = _kind(errors)
    with launched(PATIENCE) as group:
        if group is not None and by is not None:
            raise OptionError("--by reads all files in one process: leave out torchrun.")
        options = pairs(read, "--read", texts=READ_OPTIONS)
        if group is None:
            rankings, parts = read_categories(files, by, format, options)
        else:
            rankings, parts = read_on_ranks(files, group, format, options), {}
    if group is not None and group.rank > 0:
        return
    shown = shown_names(rankings.names, names)
    ratings = _ratings(elo, scale, anchor, shown)
    rankings, parts = rankings.with_names(shown), {name: _renamed(part, shown) for name, part in parts.items()}
    model.fit(rankings)
    table = leaderboard(model, kind=kind, elo=ratings)
    fit = check_fit(model)
    categories, boards = fit_categories(model, parts, kind, ratings)
    write_csv(with_categories(table, boards), csv)
    if save:
        name = replacing(save)
        model.save(save)
        say(name, "Model")
    title = title or f"Rank aggregation: {', '.join(file.name for file in files)}"
    if json:
        show_facts(model, kind, fit, table, categories, boards)
    else:
        print_leaderboard(model, fit, table, title, categories, boards)
    write_optional_page(
        write_aggregation,
        report,
        model,
        kind=kind,
        elo=ratings,
        categories=categories,
        goodness_of_fit=fit,
        n_items=top,
        title=title,
        settings={"ties": ties, "prior": prior, "errors": errors},
    )


def _model(ties: str, prior: str, threads: int | None) -> Any:
    from luce.aggregation import PlackettLuce
    from luce.aggregation.likelihood import TIES

    models = {model or "none": model for model in TIES}
    if ties not in models:
        raise unknown_name("model of ties", ties, models)
    return PlackettLuce(models[ties], prior=_prior(prior), n_jobs=threads)


def _prior(given: str) -> Any:
    from luce.aggregation import NormalPrior, PseudoRankings

    if given in ("auto", "none"):
        return None if given == "none" else given
    if given == "normal":
        return NormalPrior(sd="estimate")
    try:
        return PseudoRankings(float(given))
    except ValueError as error:
        raise OptionError(
            f"--prior must be auto, none, normal or a number of wins above 0, such as 0.5. Got {given!r}."
        ) from error


def _kind(errors: str) -> str | None:
    from luce.aggregation.covariance import KINDS

    kinds = {"auto": None} | {kind: kind for kind in KINDS}
    if errors not in kinds:
        raise unknown_name("kind of standard errors", errors, kinds)
    return kinds[errors]


def _renamed(part: Any, shown: Mapping[Hashable, Hashable]) -> Any:
    """The rankings of a category with the names to show; its items may be numbers where those of all files are text."""
    by_text = {str(item): name for item, name in shown.items()}
    return part.with_names({item: by_text[str(item)] for item in part.names})


def _ratings(
    elo: bool, scale: float | None, anchor: str | None, shown: Mapping[Hashable, Hashable]
) -> dict[str, Any] | None:
    """The parameters of `to_elo`; None without --elo."""
    if not elo:
        for option, given in {"--scale": scale, "--anchor": anchor}.items():
            if given is not None:
                raise OptionError(f"{option} is for Elo ratings. Add --elo, or leave out {option}.")
        return None
    if scale is not None and not 0 < scale < float("inf"):
        raise OptionError(f"--scale must be above 0 and finite. Got {scale:g}.")
    return {"anchor": _anchor(anchor, shown), "scale": scale or 400.0}


def _anchor(given: str | None, shown: Mapping[Hashable, Hashable]) -> Any:
    """The anchor of `to_elo`, a rating or an item and its rating, by its name in the files or the one to show."""
    name, _, rating = (given or "1500").rpartition("=")
    try:
        value = float(rating)
    except ValueError:
        allowed = "RATING or ITEM=RATING, such as 1500 or gpt-2=1000"
        raise OptionError(f"--anchor must be {allowed}. Got {given!r}.") from None
    if not name:
        return value
    known = {str(name): name for name in shown.values()} | {str(item): name for item, name in shown.items()}
    if name not in known:
        raise OptionError(f"There is no item {name!r} for --anchor.{did_you_mean(nearest_names(name, known))}")
    return known[name], value


def shown_names(items: Sequence[Hashable], path: Path | None) -> dict[Hashable, Hashable]:
    """The names of the items to show: those that a CSV file gives them, else their own."""
    if path is None:
        return {item: item for item in items}
    from luce.aggregation.names import listed
    from luce.data.table_files import read_table

    table = read_table(path, format="csv")
    if table.num_columns < 2:
        raise DataError(f"{path} must have two columns, item and name. Got {table.num_columns}.")
    lower = [name.lower() for name in table.column_names]
    found = [next((lower.index(name) for name in usual if name in lower), None) for usual in (ITEM, NAME)]
    keys, values = (table.column(at).to_pylist() for at in ((0, 1) if None in found else found))
    shown: dict[str, str] = {}
    for row, (key, value) in enumerate(zip(keys, values, strict=True), 2):
        if str(key) in shown:
            raise DataError(f"{path} names item {str(key)!r} twice, again in row {row}. (Row 1 is the header.)")
        shown[str(key)] = "" if value is None else str(value)
    if not any(str(item) in shown for item in items):
        raise DataError(f"No item of the rankings is in {path}: items are {listed(items)}, there {listed([*shown])}.")
    return {item: shown.get(str(item)) or item for item in items}
