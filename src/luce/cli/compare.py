"""`luce compare`: rankers of Luce, of other libraries and of the user's own on the same lists."""

from math import isnan
from pathlib import Path
from typing import Annotated, Any

import typer

from luce.cli.compare_folds import folds_of
from luce.cli.compare_methods import methods_of
from luce.cli.compare_output import is_results, print_comparison, summary_of, write_comparison, write_results
from luce.cli.compare_own import own_models, own_scores
from luce.cli.options import Empty, Gain, Json, Metrics, Page, Reading, Seed, Settings, Threads, empty_value
from luce.cli.output import beside, check_written, progress, replacing, say, show_json
from luce.errors import DataError, OptionError, load_package
from luce.files import exclusive_lock

Parts = Annotated[
    list[Path],
    typer.Argument(
        metavar="DATA...",
        help="A file, which is split into folds; or several files or a folder of them, one per part; or a folder with "
        "train, vali and test files, or with folders Fold1, Fold2, … of them.",
    ),
]
Held = Annotated[
    Path | None, typer.Option(help="With --test: validation lists for early stopping (default: a fifth of DATA).")
]
Tested = Annotated[Path | None, typer.Option(help="Test lists; DATA is then the file with the training lists.")]
Folds = Annotated[
    int | None, typer.Option(min=2, help="Number of folds that a single file is split into (default: 5).")
]
Models = Annotated[
    str | None,
    typer.Option(
        help="Kinds of ranker, separated by commas: linear, neural, trees; each is trained with each objective."
    ),
]
Objectives = Annotated[
    str | None,
    typer.Option(
        help="Objectives, separated by commas, e.g. 'listnet,listmle(depth=10)'; `luce objectives` lists them."
    ),
]
Presets = Annotated[str | None, typer.Option(help="Published systems, separated by commas; `luce presets` lists them.")]
Peers = Annotated[
    str | None,
    typer.Option(
        help="Rankers of other libraries, separated by commas: lightgbm-lambdarank, lightgbm-xendcg, xgboost, "
        "catboost-yetirank, catboost-softmax; or 'installed' for all that are installed."
    ),
]
With = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="NAME=FILE|COLUMN",
        help="A model of your own, scored on the --test lists: a model file of LightGBM (text), XGBoost (.json, .ubj), "
        "CatBoost (.cbm) or Luce (.luce), or a column of the test data with its scores. May be repeated.",
    ),
]
Seeds = Annotated[
    int, typer.Option(min=1, help="Number of seeds each method is trained with; metrics are averaged over them.")
]
Baseline = Annotated[
    str | None,
    typer.Option(
        metavar="METHOD",
        help="Method that the others are tested against (default: the first --with, otherwise the first method).",
    ),
]
Table = Annotated[
    Path | None,
    typer.Option(
        "--results",
        metavar="FILE",
        help="File for the metrics of every list, .parquet or .json (default: .parquet, beside the report).",
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
    with_: With = None,
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
    """Compare rankers on the same lists: metrics with intervals, significance tests, time and memory, and a report.

    By default, linear and tree rankers of Luce are compared with LightGBM's lambdarank.

    If DATA is in parts, they take turns as in LETOR: one for testing, one for validation, the others for training.

    Every ranker keeps the iteration with the best metric on the validation lists.

    --set applies to every ranker with such a parameter, e.g. metric=ndcg@5 or num_leaves=15 (peers: 31, trees: 7).

    Finished fits are cached beside the report, so the same command resumes after an interruption.

    Example: luce compare train.txt

    Example: luce compare train.csv --test test.csv --with mine=model.txt --with bm25=bm25_score

    Example: luce compare MQ2008/ --models linear,trees --objectives listmle,pl-partition --peers installed

    Example: luce compare MSLR-WEB10K/Fold1 --models trees,neural --peers lightgbm-lambdarank,xgboost --seeds 5

    Example: luce compare train.txt --validation vali.txt --test test.txt --presets listmle-trees,lambdamart

    Example: luce compare MQ2008/ --presets coordinate-ascent,l-listmle --set transforms=fill,standardize,second-order
    """
    from luce.experiments.comparison import compare_rankers

    methods = methods_of(models, objectives, presets, peers, setting, threads)
    own = own_models(with_, test, read)
    results = results or beside(report.with_suffix(""), ".parquet", "comparison")
    _check(methods, own, baseline, results)
    check_written([report, results], [*data, validation, test, *(model.file for model in own.values())])
    columns = [model.column for model in own.values() if model.column is not None]
    splits, description = folds_of(data, validation, test, folds, seed, read, columns)
    scores: dict[str, Any] = {}
    origins: dict[str, str] = {}
    if test is not None and own:
        fold = next(splits)
        splits = iter([fold])
        scores, origins = own_scores(own, test, fold.test, read, threads, isolate=not one_process)
    scale: dict[str, Any] = {"empty": empty_value(empty), "gain": gain, "n_jobs": threads}
    cache = beside(report.with_suffix(""), ".cache", "comparison")
    shown = _Progress()
    with exclusive_lock(report):
        try:
            with progress("Comparing", timed=False) as shown.bar:
                found = compare_rankers(
                    methods, splits, metrics, seeds=seeds, seed=seed, scores=scores, baseline=baseline,
                    cache_dir=cache, isolate=not one_process, callback=shown, **scale,
                )  # fmt: skip
        except KeyboardInterrupt:
            if shown.last is not None:
                done = f"{shown.last.done} of {shown.last.total} fits are finished and cached in {cache}."
                say(f"Interrupted: {done} Run the same command to resume.")
            raise
        title = f"{description}, {found.test_data.n_lists:,} lists" + (f", {seeds} seeds" if seeds > 1 else "")
        written = {"Report": replacing(report), "Results": replacing(results), "Cached fits": cache}
        write_results(found.table, results)
        page = write_comparison(report, title, found, methods, origins)
    if json:
        show_json(summary_of(found, origins) | {"report": str(page), "results_file": str(results), "cache": str(cache)})
    else:
        print_comparison(found, title, origins)
    for name, reason in found.failures.items():
        say(reason, f"{name} failed")
    for name, path in written.items():
        say(path, name)
    if found.failures:
        raise typer.Exit(1)


def _check(methods: dict[str, Any], own: dict[str, Any], baseline: str | None, results: Path) -> None:
    """What can be checked before the work."""
    load_package("jinja2", "report")
    if results.suffix not in (".parquet", ".json"):
        raise OptionError(f"--results must end in .parquet or .json. Got {results}.")
    if results.suffix == ".parquet" and results.is_file() and not is_results(results):
        raise DataError(f"{results} exists and is not the results of a comparison: choose another file with --results.")
    twice = [name for name in own if name in methods]
    if twice:
        raise OptionError(f"--with {twice[0]}=… has the name of a method that is compared too: choose another name.")
    if baseline is not None and baseline not in {*own, *methods}:
        raise OptionError(f"--baseline must be one of the methods: {', '.join([*own, *methods])}. Got {baseline!r}.")


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
