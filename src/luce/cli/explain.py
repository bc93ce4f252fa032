"""`luce explain`: the importance of features to a model, and why the items of a list, or one item, are ranked there."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from luce.cli.options import Csv, Data, Json, ModelFile, Page, Reading, Seed, Threads
from luce.cli.output import (
    check_written,
    plain_text,
    progress,
    show,
    show_json,
    show_page_table,
    write_csv,
    write_optional_page,
)
from luce.cli.reading import read_data
from luce.errors import DataError, OptionError

Query = Annotated[str | None, typer.Option(help="Explain the ranking of this query, by its id.")]
Item = Annotated[
    str | None,
    typer.Option(
        help="Explain the rank of this item of the query, by its document id or, without ids, its number from 1."
    ),
]
Top = Annotated[
    int | None, typer.Option(min=1, help="Number of items or features to show. (default: 10 items, 20 features)")
]
Chosen = Annotated[str, typer.Option("--metric", help="Metric for the feature importance; `luce metrics` lists them.")]
Repeats = Annotated[int, typer.Option(min=1, help="Number of times each feature is shuffled.")]

COLUMNS = 5
"""Features that get a column in the terminal."""


class Answer(NamedTuple):
    """What was found: for the page, for CSV, for JSON, as titled tables for the terminal, and in a sentence."""

    write: Callable[..., Path]
    found: Any
    rows: list[dict[str, Any]]
    facts: dict[str, Any]
    tables: Sequence[tuple[str | None, Any]]
    summary: str
    settings: dict[str, str]


def explain(
    model: ModelFile,
    data: Data,
    query: Query = None,
    item: Item = None,
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
    """Show how important each feature is, or why the items of a query, or one of them, are ranked as they are.

    The importance of a feature is what the metric loses when its values are shuffled; for trees also the gain and the
    number of its splits.

    With --query, the contributions of the features to each score: they add up to its distance from the mean score of
    the list. They are known for trees, linear models and ensembles of these.

    With --item, what sets this item apart from the items above it, and its rank if one feature had their median value.

    Example: luce explain model.luce test.txt

    Example: luce explain model.luce test.txt --query 17 --top 5 --report why.html

    Example: luce explain model.luce test.txt --query 17 --item D42
    """
    from luce.rankers import Ranker, load_ranker

    if item is not None and query is None:
        raise OptionError(f"--item {item} needs --query, the query of its list.")
    check_written([report, csv], [model, data])
    ranker = load_ranker(model)
    if not isinstance(ranker, Ranker):
        raise OptionError(f"luce explain needs a ranker of lists, and {model} ranks the labels of rows.")
    if threads is not None:
        ranker.set_params(n_jobs=threads)
    dataset = read_data(data, read, ranker)
    if query is None:
        answer = _importance(ranker, dataset, metric, repeats, seed, top or 20)
    elif item is None:
        answer = _contributions(ranker, dataset, query, top or 10)
    else:
        answer = _item(ranker, dataset, query, item, top or 5)
    write_csv(answer.rows, csv)
    if json:
        show_json(answer.facts)
    else:
        if query is not None:
            show(plain_text(answer.summary))
        for title, table in answer.tables:
            show_page_table(table, title)
    about = {
        "title": f"Explanation: {model.name} on {data.name}",
        "summary": answer.summary,
        "settings": answer.settings,
    }
    write_optional_page(answer.write, report, answer.found, **about)


def _importance(ranker: Any, dataset: Any, metric: str, repeats: int, seed: int, top: int) -> Answer:
    from luce.rankers import TreeRanker
    from luce.rankers.importance import permutation_importance
    from luce.report.explanation import importance_rows, importance_table, write_explanation
    from luce.report.formatting import feature_words

    with progress("Shuffling features") as report_progress:
        lost = permutation_importance(ranker, dataset, metric, repeats=repeats, seed=seed, callback=report_progress)
    splits = map(ranker.importance, ("gain", "split")) if isinstance(ranker, TreeRanker) else ()
    found = [lost, *splits]
    rows, best = importance_rows(found), lost.order[0]
    summary = f"{lost.measure} does not get worse when the values of any one feature are shuffled."
    if lost.values[best] > 0:
        name, loss = feature_words(lost.names[best]), f"{lost.measure} gets worse by {lost.values[best]:.4f}"
        summary = f"{loss} when {name} is shuffled, the most important of {len(lost.names):,} features."
    settings = {"metric": lost.measure, "repeats": str(repeats), "seed": str(seed)}
    facts = {"metric": lost.measure, "repeats": repeats, "features": rows}
    return Answer(write_explanation, found, rows, facts, [(None, importance_table(found, top))], summary, settings)


def _contributions(ranker: Any, dataset: Any, query: str, top: int) -> Answer:
    from luce.rankers.explanation import Explainable
    from luce.rankers.item_explanation import list_of_query
    from luce.report.explanation import explained_list, write_explanation
    from luce.report.formatting import count, feature_words, isolated, signed

    if not isinstance(ranker, Explainable):
        raise OptionError(
            f"The scores of a {ranker.kind} model are not sums of contributions of features; those of trees and linear "
            "models are. Add --item to see which features would move an item, or leave out --query to see which are "
            "important."
        )
    number = list_of_query(dataset, query)
    if not dataset.sizes[number]:
        raise DataError(f"Query {query} has no items.")
    found = explained_list(ranker, dataset, number, top)
    items = [(item._asdict(), item.contributions) for item in found.items]
    rows = [
        {k: v for k, v in item.items() if k != "contributions"} | each._asdict()
        for item, contributions in items
        for each in contributions
    ]
    listed = [item | {"contributions": [each._asdict() for each in contributions]} for item, contributions in items]
    first = found.items[0]
    reasons = [
        each for each in sorted(first.contributions, key=lambda each: -each.contribution)[:2] if each.contribution > 0
    ]
    words = " and ".join(f"{feature_words(each.feature)} ({signed(each.contribution)})" for each in reasons)
    name = isolated(first.document.removeprefix("item "))
    summary = f"Item {name} is ranked first of the {count(found.size, 'item')} of query {isolated(found.query)}"
    summary += f", mostly because of {words}." if words else "; no feature distinguishes it from the others."
    title = f"Contributions to the scores, relative to their mean {found.mean:.4f}"
    facts = found._asdict() | {"items": listed}
    return Answer(write_explanation, found, rows, facts, [(title, _list_table(found))], summary, {})


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


def _item(ranker: Any, dataset: Any, query: str, item: str, top: int) -> Answer:
    from luce.rankers.item_explanation import explain_item
    from luce.report.item_explanation import gap_table, item_summary, move_table, write_item_explanation

    found = explain_item(ranker, dataset, query, item)
    rows = [each._asdict() for each in found.features]
    tables = [(table.heading, table) for table in (gap_table(found, top), move_table(found, top)) if table.rows]
    facts = found._asdict() | {"features": rows}
    return Answer(write_item_explanation, found, rows, facts, tables, item_summary(found), {})
