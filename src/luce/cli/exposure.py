"""`luce exposure`: who gets how much attention from a model, against merit."""

from pathlib import Path
from typing import Annotated, Any

import typer

from luce.cli.evaluate import ranker_of, scored
from luce.cli.options import Csv, Data, Gain, Json, Page, Reading, Threads
from luce.cli.output import check_written, show, show_json, show_page_table, write_csv, write_optional_page
from luce.cli.reading import read_for

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file that `luce train` wrote, or a TREC run.")]
Places = Annotated[int, typer.Option(min=1, help="Places that are seen; the first most.")]


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
    from luce.report.exposure import attention, shares_table, write_exposure

    check_written([report, csv], [model, data])
    ranker = ranker_of(model)
    scores, dataset, _ = scored(model, ranker, read_for(ranker, data, read))
    metrics = [f"disparity@{places}"]
    if dataset.item_groups is not None:
        metrics += [f"parity-gap@{places}", f"merit-gap@{places}"]
    found = attention(scores, dataset, places, gain, threads)
    results = evaluate(scores, dataset, metrics, gain=gain, n_jobs=threads)
    tables = {"grade": found.by_grade, "group": found.by_group}
    rows = [{"by": by, **share._asdict()} for by, shares in tables.items() for share in shares]
    write_csv(rows, csv)
    if json:
        show_json({"lists": found.n_lists, "attention": rows, **results.to_dict()})
    else:
        for by, shares in tables.items():
            if shares:
                show_page_table(shares_table(by, shares))
                show("")
        show(results)
    summary = _finding(found.by_group or found.by_grade, "group" if found.by_group else "grade")
    about = {"title": f"Attention: {model.name} on {data.name}", "summary": summary}
    write_optional_page(write_exposure, report, found, results, **about, settings={"places": places, "gain": gain})


def _finding(shares: list[Any], by: str) -> str:
    """The row whose attention is farthest from its merit, in a sentence."""
    from luce.report.formatting import share

    worst = max(shares, key=lambda row: abs(row.of_attention - row.of_merit))
    less = "less" if worst.of_attention < worst.of_merit else "more"
    return (
        f"The items of {by} {worst.name} get {share(worst.of_attention)} of the attention, {less} than their "
        f"{share(worst.of_merit)} of the merit: no other {by} is farther from its share."
    )
