"""`luce compare`: rankers, objectives, presets and peers against each other on the same lists."""

from math import isnan
from pathlib import Path
from typing import Annotated, Any

import typer

from luce.cli.compare_folds import folds_of
from luce.cli.compare_methods import methods_of
from luce.cli.compare_output import is_results, print_comparison, summary_of, write_comparison, write_results
from luce.cli.options import Empty, Gain, Json, Metrics, Page, Reading, Seed, Settings, Threads, empty_value
from luce.cli.output import beside, check_written, progress, replacing, say, show_json
from luce.errors import DataError, OptionError, load_package
from luce.files import exclusive_lock

Parts = Annotated[
    list[Path],
    typer.Argument(
        metavar="DATA...",
        help="A file to cut into folds; parts, or their folder; a folder with train, vali and test; or with Fold1, …",
    ),
]
Held = Annotated[Path | None, typer.Option(help="With --test: lists for early stopping (default: a fifth of DATA).")]
Tested = Annotated[Path | None, typer.Option(help="Lists to test on; DATA is then the file of training lists.")]
Folds = Annotated[int | None, typer.Option(min=2, help="How many folds a file is cut into (default: 5).")]
Models = Annotated[
    str | None, typer.Option(help="Kinds of ranker, with commas: linear, neural, trees; each with each objective.")
]
Objectives = Annotated[
    str | None,
    typer.Option(help="Objectives, with commas, e.g. 'listnet,listmle(depth=10)'; `luce objectives` lists them."),
]
Presets = Annotated[str | None, typer.Option(help="Systems of the papers, with commas; `luce presets` lists them.")]
Peers = Annotated[
    str | None,
    typer.Option(
        help="Rankers of other libraries, with commas: lightgbm-lambdarank, lightgbm-xendcg, xgboost, "
        "catboost-yetirank, catboost-softmax; or 'installed' for all that are."
    ),
]
Seeds = Annotated[int, typer.Option(min=1, help="How many seeds; the values of a list are averaged over them.")]
Baseline = Annotated[
    str | None, typer.Option(metavar="METHOD", help="Row that the others are tested against (default: the first).")
]
Table = Annotated[
    Path | None,
    typer.Option(
        "--results",
        metavar="FILE",
        help="Every value of every list, as .parquet or .json (default: beside the report, as .parquet).",
    ),
]
Together = Annotated[
    bool,
    typer.Option("--one-process", help="Run all methods in this process: starts faster, but memory is not measured."),
]


def compare(
    data: Parts,
    models: Models = None,
    objectives: Objectives = None,
    presets: Presets = None,
    peers: Peers = None,
    folds: Folds = None,
    validation: Held = None,
    test: Tested = None,
    seeds: Seeds = 1,
    metrics: Metrics = "ndcg@10,ndcg@5,ndcg@1,err",
    baseline: Baseline = None,
    setting: Settings = None,
    report: Page = Path("comparison.html"),
    results: Table = None,
    one_process: Together = False,
    empty: Empty = "skip",
    gain: Gain = "exponential",
    seed: Seed = 0,
    threads: Threads = None,
    read: Reading = None,
    json: Json = False,
) -> None:
    """Compare methods on the same folds: one table with intervals, tests, time and memory, and a page to open.

    With no methods named: linear and tree rankers of Luce beside LightGBM's lambdarank.

    Of parts, each fold trains on all but two, stops by the next and is tested on the last, as LETOR's folds are.

    All keep the iteration that is best on the validation lists by one metric.

    A setting given with --set holds for all that know it, e.g. metric=ndcg@5 or num_leaves=15 (peers: 31, trees: 7).

    Finished fits are cached beside the report: after an interruption, or a change, the same command resumes.

    Example: luce compare train.txt

    Example: luce compare MQ2008/ --models linear,trees --objectives listmle,pl-partition --peers installed

    Example: luce compare MSLR-WEB10K/Fold1 --models trees,neural --peers lightgbm-lambdarank,xgboost --seeds 5

    Example: luce compare train.txt --validation vali.txt --test test.txt --presets listmle-trees,lambdamart

    Example: luce compare MQ2008/ --presets coordinate-ascent,l-listmle --set transforms=fill,standardize,second-order
    """
    from luce.experiments.comparison import compare_rankers

    methods = methods_of(models, objectives, presets, peers, setting, threads)
    results = results or beside(report.with_suffix(""), ".parquet", "comparison")
    _check(methods, baseline, results)
    check_written([report, results], [*data, validation, test])
    splits, description = folds_of(data, validation, test, folds, seed, read)
    scale: dict[str, Any] = {"empty": empty_value(empty), "gain": gain, "n_jobs": threads}
    cache = beside(report.with_suffix(""), ".cache", "comparison")
    shown = _Progress()
    with exclusive_lock(report):
        try:
            with progress("Comparing", timed=False) as shown.bar:
                found = compare_rankers(
                    methods, splits, metrics, seeds=seeds, seed=seed, baseline=baseline, cache_dir=cache,
                    isolate=not one_process, callback=shown, **scale,
                )  # fmt: skip
        except KeyboardInterrupt:
            if shown.last is not None:
                done = f"{shown.last.done} of {shown.last.total} fits are done and cached in {cache}."
                say(f"Interrupted: {done} Run the same command to resume.")
            raise
        title = f"{description}, {found.test_data.n_lists:,} lists" + (f", {seeds} seeds" if seeds > 1 else "")
        written = {"Report": replacing(report), "Results": replacing(results), "Cached fits": cache}
        write_results(found.table, results)
        page = write_comparison(report, title, found, methods)
    if json:
        show_json(summary_of(found) | {"report": str(page), "results_file": str(results), "cache": str(cache)})
    else:
        print_comparison(found, title)
    for name, reason in found.failures.items():
        say(reason, f"{name} failed")
    for name, path in written.items():
        say(path, name)
    if found.failures:
        raise typer.Exit(1)


def _check(methods: dict[str, Any], baseline: str | None, results: Path) -> None:
    """What can be checked before the work."""
    load_package("jinja2", "report")
    if results.suffix not in (".parquet", ".json"):
        raise OptionError(f"--results must end in .parquet or .json. Got {results}.")
    if results.suffix == ".parquet" and results.is_file() and not is_results(results):
        raise DataError(f"{results} exists and holds no results of a comparison: name another file with --results.")
    if baseline is not None and baseline not in methods:
        raise OptionError(f"--baseline must be one of the rows: {', '.join(methods)}. Got {baseline!r}.")


class _Progress:
    """Shows the progress of a comparison on a bar, and remembers it."""

    bar: Any
    last: Any = None

    def __call__(self, progress: Any) -> None:
        from luce.report.formatting import duration

        self.last = progress
        left = "" if isnan(progress.seconds_left) else f"about {duration(progress.seconds_left)} left, "
        message = f"fit {progress.done + 1} of {progress.total}, {left}{progress.ranker}"
        self.bar(progress.done / progress.total, message)
