"""`luce explain`: the importance of features to a model, and their contributions to the scores of one list."""

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from luce.cli.options import Csv, Data, Json, ModelFile, Page, Reading, Seed, Threads
from luce.cli.output import check_written, progress, show_json, show_page_table, write_csv, write_optional_page
from luce.cli.reading import read_data
from luce.errors import DataError, OptionError

Number = Annotated[int | None, typer.Option("--list", help="Explain this list, by number from 0; --query takes an id.")]
Query = Annotated[str | None, typer.Option(help="Explain the list of this query instead, by its id.")]
Top = Annotated[int | None, typer.Option(min=1, help="How many to show. (default: 10 items, 20 features)")]
Chosen = Annotated[str, typer.Option("--metric", help="Metric of the importance; `luce metrics` lists them.")]
Repeats = Annotated[int, typer.Option(min=1, help="How often the values of each feature are shuffled.")]

COLUMNS = 5
"""Features that get a column in the terminal."""


class Answer(NamedTuple):
    """What was found: for the page, for CSV, for JSON, for the terminal, and in a sentence."""

    found: Any
    rows: list[dict[str, Any]]
    facts: dict[str, Any]
    table: Any
    summary: str
    settings: dict[str, str]
    title: str | None = None


def explain(
    model: ModelFile,
    data: Data,
    list_number: Number = None,
    query: Query = None,
    top: Top = None,
    metric: Chosen = "ndcg@10",
    repeats: Repeats = 5,
    csv: Csv = None,
    report: Page = Path("explain.html"),
    seed: Seed = 0,
    threads: Threads = None,
    read: Reading = None,
    json: Json = False,
) -> None:
    """Show how important each feature is, or with --list why the items of one list are where they are.

    The importance of a feature is what the metric loses when its values are shuffled; for trees the gain and number of
    its splits are shown too. In a list, the contributions of the features add up to the distance of an item from the
    mean score; they are known for trees and linear models.

    Example: luce explain model.luce test.txt

    Example: luce explain model.luce test.txt --list 17 --top 5 --report why.html
    """
    from luce.rankers import Ranker, load
    from luce.report.explanation import write_explanation

    if list_number is not None and query is not None:
        raise OptionError("--list and --query both name a list: give one of them.")
    check_written([report, csv], [model, data])
    ranker = load(model)
    if not isinstance(ranker, Ranker):
        raise OptionError(f"{model} ranks the labels of rows; luce explain is about rankings of lists.")
    if threads is not None:
        ranker.set_params(n_jobs=threads)
    dataset = read_data(data, read, ranker)
    if list_number is None and query is None:
        answer = _importance(ranker, dataset, metric, repeats, seed, top or 20)
    else:
        answer = _contributions(ranker, dataset, _number(dataset, list_number, query, data), top or 10)
    write_csv(answer.rows, csv)
    if json:
        show_json(answer.facts)
    else:
        show_page_table(answer.table, answer.title)
    about = {"title": f"Explained: {model.name} on {data.name}", "summary": answer.summary, "settings": answer.settings}
    write_optional_page(write_explanation, report, answer.found, **about)


def _number(dataset: Any, number: int | None, query: str | None, data: Path) -> int:
    """The number of the list that was asked for."""
    if number is None:
        found = [place for place, known in enumerate(dataset.query_ids.to_pylist()) if str(known) == query]
        if not found:
            some = ", ".join(str(known) for known in dataset.query_ids[:5].to_pylist())
            raise OptionError(f"There is no query {query!r} in {data}. Its {dataset.n_lists:,} queries begin: {some}.")
        number = found[0]
    if not 0 <= number < dataset.n_lists:
        raise OptionError(f"There is no list {number} in {data}: its lists are 0 to {dataset.n_lists - 1:,}.")
    if not dataset.sizes[number]:
        raise DataError(f"List {number} of {data} has no items.")
    return number


def _importance(ranker: Any, dataset: Any, metric: str, repeats: int, seed: int, top: int) -> Answer:
    from luce.rankers import TreeRanker
    from luce.rankers.importance import permutation_importance
    from luce.report.explanation import importance_rows, importance_table

    with progress("Shuffling features") as report_progress:
        lost = permutation_importance(ranker, dataset, metric, repeats=repeats, seed=seed, callback=report_progress)
    splits = map(ranker.importance, ("gain", "split")) if isinstance(ranker, TreeRanker) else ()
    found = [lost, *splits]
    rows, best = importance_rows(found), lost.order[0]
    summary = f"Shuffling the values of a feature lowers {lost.measure} for none of them."
    if lost.values[best] > 0:
        loss = f"{lost.measure} is worse by {lost.values[best]:.4f} when {lost.names[best]} is shuffled"
        summary = f"{loss}: the most important of {len(lost.names):,} features."
    settings = {"metric": lost.measure, "repeats": str(repeats), "seed": str(seed)}
    facts = {"metric": lost.measure, "repeats": repeats, "features": rows}
    return Answer(found, rows, facts, importance_table(found, top), summary, settings)


def _contributions(ranker: Any, dataset: Any, list_number: int, top: int) -> Answer:
    from luce.rankers.explanation import Explainable
    from luce.report.explanation import explained_list

    if not isinstance(ranker, Explainable):
        raise OptionError(
            f"A {ranker.kind} model cannot be explained item by item; trees and linear models can. "
            "Without --list, luce explain shows the importance of its features."
        )
    found = explained_list(ranker, dataset, list_number, top)
    items = [(item._asdict(), item.contributions) for item in found.items]
    rows = [
        {k: v for k, v in item.items() if k != "contributions"} | each._asdict()
        for item, contributions in items
        for each in contributions
    ]
    if any(isinstance(row["value"], str) for row in rows):  # a column of a CSV file has one type
        rows = [row | {"value": "" if row["value"] != row["value"] else str(row["value"])} for row in rows]
    listed = [item | {"contributions": [each._asdict() for each in contributions]} for item, contributions in items]
    first = found.items[0]
    reasons = [
        each for each in sorted(first.contributions, key=lambda each: -each.contribution)[:2] if each.contribution > 0
    ]
    words = " and ".join(f"{each.feature} ({each.contribution:+.4f})" for each in reasons)
    summary = f"{first.document} is the first of {found.size:,} items of query {found.query}"
    summary += f", mostly by {words}." if words else "; no feature sets it apart."
    title = f"Query {found.query} (list {found.number}), {found.size:,} items, mean score {found.mean:.4f}"
    return Answer(found, rows, found._asdict() | {"items": listed}, _list_table(found), summary, {}, title)


def _list_table(found: Any) -> Any:
    """Items down, the features that move them most across."""
    from luce.report.formatting import decimal, number, short
    from luce.report.layout import PageTable

    columns = found.by_feature(COLUMNS)
    rows = [
        [f"{item.rank}. {item.document}", decimal(item.score), number(item.label)]
        + [decimal(contributions[place].contribution) for _, contributions in columns]
        for place, item in enumerate(found.items)
    ]
    return PageTable("Items", ["item", "score", "grade", *(short(name) for name, _ in columns)], rows)
