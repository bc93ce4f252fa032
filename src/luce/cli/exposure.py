"""`luce exposure`: who gets how much attention from a model, against merit."""

from math import isnan
from pathlib import Path
from typing import Annotated, Any

import typer

from luce.cli.evaluate import ranker_of, scored
from luce.cli.options import Data, Gain, Json, Page, Reading, Threads
from luce.cli.output import check_written, command_line, optional_page, say, show, show_json, show_table, write_csv
from luce.cli.reading import read_for

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file that `luce train` wrote, or a TREC run.")]
Places = Annotated[int, typer.Option(min=1, help="Places that are seen; the first most.")]
Csv = Annotated[Path | None, typer.Option("--csv", help="CSV file to write the tables to.")]


def exposure(
    model: Model,
    data: Data,
    places: Places = 10,
    gain: Gain = "exponential",
    csv: Csv = None,
    report: Page = Path("exposure.html"),
    threads: Threads = None,
    read: Reading = None,
    json: Json = False,
) -> None:
    """Show who gets how much attention, against merit: by grade and, where the data name groups, by group.

    The scores are read as a Plackett-Luce policy: rankings are drawn from them, and a place is seen 1 / log2(1 + rank).

    Example: luce exposure model.luce test.parquet --read item_group=seller

    Example: luce exposure model.luce test.txt --places 5
    """
    from luce.metrics import evaluate
    from luce.report.exposure import attention, write_exposure

    check_written([path for path in (report, csv) if path is not None], [model, data])
    ranker = ranker_of(model)
    scores, dataset, _ = scored(model, ranker, read_for(ranker, data, read))
    metrics = [f"disparity@{places}"]
    if dataset.item_groups is not None:
        metrics += [f"parity-gap@{places}", f"merit-gap@{places}"]
    found = attention(scores, dataset, places, gain, threads)
    results = evaluate(scores, dataset, metrics, gain=gain, n_jobs=threads)
    tables = {"grade": found.by_grade, "group": found.by_group}
    rows = [{"by": by, **share._asdict()} for by, shares in tables.items() for share in shares]
    if csv is not None:
        write_csv(rows, csv)
    if json:
        show_json({"lists": found.n_lists, "attention": rows, **results.to_dict()})
    else:
        _print(tables, results)
    with optional_page():
        page = write_exposure(
            report,
            found,
            results,
            title=f"Attention: {model.name} on {data.name}",
            summary=_finding(found.by_group or found.by_grade, "group" if found.by_group else "grade"),
            command=command_line(),
            settings={"places": str(places), "gain": gain},
        )
        say(page, "Report")


def _print(tables: dict[str, Any], results: Any) -> None:
    from luce.report.formatting import decimal, number, share

    columns = "items", "share of items", "of merit", "of attention", "± error", "attention / merit", "exposure an item"
    for by, shares in tables.items():
        rows = [
            [
                row.name,
                f"{row.items:,}",
                *map(share, row[2:5]),
                "–" if isnan(row.error) else share(row.error),
                number(row.ratio),
                decimal(row.per_item),
            ]
            for row in shares
        ]
        if rows:
            show_table(None, [by, *columns], rows)
            show("")
    show(results)


def _finding(shares: list[Any], by: str) -> str:
    """The row whose attention is farthest from its merit, in a sentence."""
    from luce.report.formatting import share

    worst = max(shares, key=lambda row: abs(row.of_attention - row.of_merit))
    less = "less" if worst.of_attention < worst.of_merit else "more"
    return (
        f"The items of {by} {worst.name} get {share(worst.of_attention)} of the attention, {less} than their "
        f"{share(worst.of_merit)} of the merit: no other {by} is farther from its share."
    )
