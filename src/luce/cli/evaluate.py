"""`luce evaluate`: how good models or run files are on judged lists."""

from pathlib import Path
from typing import Annotated, Any

import typer

from luce.cli.options import PATIENCE, Empty, Gain, Json, Reading, Seed, Threads, empty_value
from luce.cli.output import check_written, command_line, replacing, say, show, show_json, write_csv
from luce.cli.reading import read_for
from luce.errors import OptionError

LIST_METRICS = "ndcg@10,ndcg@5,ndcg@1,err"
Files = Annotated[list[Path], typer.Argument(metavar="MODEL... DATA", help="Model files or TREC runs, then the data.")]
Highest = Annotated[
    float | None,
    typer.Option(help="Highest grade of the scale, for err. (default: the highest in the training data of the model)"),
]
Chosen = Annotated[
    str | None,
    typer.Option(
        help="Metrics, separated by commas, such as 'ndcg@10,rbp(p=0.95)'; `luce metrics` lists them. "
        f"(default: {LIST_METRICS}; for label rankers precision and psp @1, @3 and @5)"
    ),
]
Ranking = Annotated[
    str, typer.Option(help="For metrics of fairness: rankings sampled from the scores, or sorted by score.")
]
Propensity = Annotated[
    str, typer.Option(metavar="A,B", help="Parameters of the propensity model, for psp and psndcg of label rankers.")
]
PerList = Annotated[Path | None, typer.Option(help="CSV file for the values of each list.")]
Page = Annotated[
    Path | None, typer.Option("--report", metavar="HTML", help="Report page to write: results, curves, example lists.")
]


def evaluate(
    files: Files,
    metrics: Chosen = None,
    empty: Empty = "skip",
    gain: Gain = "exponential",
    max_grade: Highest = None,
    ranking: Ranking = "sampled",
    propensity: Propensity = "0.55,1.5",
    per_list: PerList = None,
    report: Page = None,
    seed: Seed = 0,
    threads: Threads = None,
    read: Reading = None,
    json: Json = False,
) -> None:
    """Evaluate models (.luce) or rankings (TREC .run) on judged lists, with 95 % confidence intervals.

    Started by torchrun, each process evaluates models on its share of the lists, and the first one prints the results.

    Example: luce evaluate model.luce test.txt --metrics ndcg@10,err

    Example: luce evaluate old.luce new.luce test.txt --report page.html

    Example: luce evaluate bm25.run judged.qrels

    Example: luce evaluate model.luce test.csv --read item_group=seller --metrics ndcg@10,merit-gap@10 --ranking sorted

    Example: luce evaluate labels.luce tagged.txt --metrics precision@5,psp@5

    Example: torchrun --nproc-per-node 2 -m luce evaluate model.luce 'parts/*.parquet'
    """
    from luce.distributed import launched
    from luce.metrics import evaluate as evaluate_scores
    from luce.rankers import Ranker

    if len(files) < 2:
        raise OptionError("luce evaluate needs a model or a run file, followed by the data.")
    *sources, data = files
    check_written([report, per_list], files)
    settings: dict[str, Any] = {"empty": empty_value(empty), "gain": gain, "ranking": ranking}
    settings |= {"random_state": seed, "n_jobs": threads}
    results: dict[str, Any] = {}
    shown: dict[str, Any] = {}
    datasets: dict[Any, Any] = {}
    with launched(PATIENCE) as group:
        if group is not None and (report is not None or any(source.suffix == ".run" for source in sources)):
            raise OptionError("torchrun is for models, without --report: evaluate TREC runs in one process.")
        for source in sources:
            ranker = ranker_of(source)
            ranks_labels = ranker is not None and not isinstance(ranker, Ranker)
            features = None if ranker is None else (ranks_labels, *ranker.features, ranker.categories_)
            if features not in datasets:
                datasets[features] = read_for(ranker, data, read)
            if ranks_labels:
                results[str(source)] = _of_labels(ranker, datasets[features], metrics, propensity, seed)
                continue
            scores, dataset, grade = scored(source, ranker, datasets[features])
            highest = grade if max_grade is None else max_grade
            results[str(source)] = evaluate_scores(
                scores, dataset, metrics or LIST_METRICS, max_grade=highest, **settings
            )
            shown[str(source)] = scores, dataset
    if group is not None and group.rank > 0:
        return
    if report is not None:
        _write_page(report, results, shown, data)
    if per_list is not None:
        _write_lists(per_list, results)
    if json:
        show_json({name: result.to_dict() for name, result in results.items()})
        return
    for name, result in results.items():
        show(f"{name} on {data}\n{result}")


def _of_labels(ranker: Any, data: Any, metrics: str | None, propensity: str, seed: int) -> Any:
    try:
        a, b = map(float, propensity.split(","))
    except ValueError:
        raise OptionError(f"--propensity must be two numbers A,B, such as 0.55,1.5. Got {propensity!r}.") from None
    chosen = {} if metrics is None else {"metrics": metrics}
    return ranker.evaluate(data, a=a, b=b, random_state=seed, **chosen)


def ranker_of(source: Path) -> Any | None:
    """The model in a file; None for a TREC run."""
    from luce.rankers import load_ranker

    return None if source.suffix == ".run" else load_ranker(source)


def scored(source: Path, ranker: Any | None, dataset: Any) -> tuple[Any, Any, float | None]:
    """The scores that a model, or a run without one, gives; the lists they are of; the highest grade it knows of."""
    from luce.data import read_run

    if ranker is None:
        return (*read_run(source, dataset), None)
    return ranker.predict(dataset), dataset, ranker.max_grade_


def _write_page(path: Path, results: dict[str, Any], shown: dict[str, Any], data: Path) -> None:
    import numpy as np

    from luce.metrics import compare_results
    from luce.report import write_report
    from luce.report.formatting import count
    from luce.report.results import headline

    if len(shown) < len(results):
        raise OptionError(
            "--report supports rankers of lists only, and one of these models ranks labels. Leave out --report."
        )
    first_lists, *others = (dataset for _, dataset in shown.values())
    for each in others:  # a run brings its own rows, in its own order
        if each.document_ids != first_lists.document_ids or not np.array_equal(each.offsets, first_lists.offsets):
            raise OptionError(
                "One report needs rankings of the same items in the same row order, and these differ: write one "
                "report each."
            )
    first = next(iter(next(iter(results.values())).means))
    tests = compare_results(results, first) if len(results) > 1 else ()
    name = replacing(path)
    write_report(
        path,
        title=f"{', '.join(results)} on {data.name}",
        summary=f"{headline(results, first, tests)} Evaluated on {count(first_lists.n_lists, 'list')}.",
        command=command_line(),
        dataset=first_lists,
        results=results,
        comparisons={first: tests} if tests else {},
        scores={name: scores for name, (scores, _) in shown.items()},
    )
    say(name, "Report")


def _write_lists(path: Path, results: dict[str, Any]) -> None:
    import pyarrow as pa

    tables = [
        result.table().add_column(0, "source", pa.array([name] * result.n_lists)) for name, result in results.items()
    ]
    write_csv(pa.concat_tables(tables), path)
