"""`luce exposure`: who gets how much exposure from a model, compared with merit."""

from pathlib import Path
from typing import Annotated, Any

import typer

from luce.cli.evaluate import ranker_of, scored
from luce.cli.options import Csv, Data, Gain, Json, Page, Reading, Threads
from luce.cli.output import check_written, show, show_json, show_page_table, write_csv, write_optional_page
from luce.cli.reading import read_for

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file, as written by `luce train`, or a TREC run.")]
Places = Annotated[int, typer.Option(min=1, help="Number of ranks that are seen, from the first.")]


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
    """Compare the exposure of items with their merit, by grade and, where the data have item groups, by group.

    The exposure of an item is 1 / log2(1 + rank). It is shown for rankings sampled from the scores, as a Plackett-Luce
    policy ranks, and for the ranking sorted by score. Groups also get impact ratios and the recall of their relevant
    items.

    Example: luce exposure model.luce test.parquet --read item_group=seller

    Example: luce exposure model.luce test.txt --places 5 --csv exposure.csv
    """
    from luce.metrics import evaluate
    from luce.metrics.exposure import RANKINGS
    from luce.report.exposure import impact_table, shares_table, unfairness_table, write_exposure
    from luce.report.exposure_shares import exposure_shares

    check_written([report, csv], [model, data])
    ranker = ranker_of(model)
    scores, dataset, _ = scored(model, ranker, read_for(ranker, data, read))
    metrics = [f"disparity@{places}"]
    if dataset.item_groups is not None:
        metrics += [f"parity-gap@{places}", f"merit-gap@{places}"]
    found = exposure_shares(scores, dataset, places, gain, threads)
    results = {
        ranking: evaluate(scores, dataset, metrics, gain=gain, ranking=ranking, n_jobs=threads) for ranking in RANKINGS
    }
    rows = found.rows()
    write_csv(rows, csv)
    if json:
        sampled, in_order = (each.to_dict() for each in results.values())
        show_json({"lists": found.n_lists, "shares": rows, **sampled, "sorted_metrics": in_order["metrics"]})
    else:
        for by, shares in (("grade", found.by_grade), ("group", found.by_group)):
            if shares:
                show_page_table(shares_table(by, shares))
                show("")
        if found.by_group:
            show_page_table(impact_table(found))
            show("")
        show_page_table(unfairness_table(results))
    summary = _finding(found.by_group or found.by_grade, "group" if found.by_group else "grade")
    about = {"title": f"Exposure: {model.name} on {data.name}", "summary": summary}
    write_optional_page(write_exposure, report, found, results, **about, settings={"places": places, "gain": gain})


def _finding(shares: list[Any], by: str) -> str:
    """The row whose exposure is farthest from its merit, in two sentences."""
    from luce.report.formatting import plain, share

    worst = max(shares, key=lambda row: abs(row.sampled.of_exposure - row.of_merit))
    given = worst.sampled.of_exposure
    less = "less" if given < worst.of_merit else "more"
    return (
        f"In rankings sampled from the scores, the items of {by} {plain(worst.name, 40)} get {share(given)} of the "
        f"exposure, {less} than their {share(worst.of_merit)} of the merit; no other {by} is farther from its share. "
        f"Sorted by score, they get {share(worst.sorted.of_exposure)}."
    )
