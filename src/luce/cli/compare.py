"""`luce compare`: objectives against each other on the same folds."""

from pathlib import Path
from typing import Annotated, Any

import typer

from luce.cli.options import Empty, Gain, Json, Metrics, Reading, Seed, Threads, empty_value
from luce.cli.output import progress, say, show_json, show_table
from luce.cli.reading import read_data
from luce.cli.train import Model, Settings, make_ranker
from luce.errors import DataError

Parts = Annotated[
    list[Path], typer.Argument(metavar="DATA...", help="One file to cut into folds; or the parts, or their folder.")
]
Folds = Annotated[int, typer.Option(min=2, help="How many folds; given parts are the folds themselves.")]
Objectives = Annotated[str, typer.Option(help="Objectives, with commas; `luce objectives` lists them.")]


def compare(
    data: Parts,
    folds: Folds = 5,
    objectives: Objectives = "listmle,listnet",
    model: Model = "linear",
    metrics: Metrics = "ndcg@1,ndcg@5,ndcg@10,err",
    setting: Settings = None,
    empty: Empty = "skip",
    gain: Gain = "exponential",
    seed: Seed = 0,
    threads: Threads = None,
    read: Reading = None,
    json: Json = False,
) -> None:
    """Cross-validate objectives on the same folds: one table with intervals and paired tests.

    Each fold trains on all parts but two, stops by the next and is tested on the last, as LETOR's folds are.

    Example: luce compare MQ2008/ --folds 5 --objectives listmle,listnet
    """
    import numpy as np
    from sklearn.base import clone

    from luce.data import concatenate, rotations
    from luce.metrics import evaluate, significance

    names = [name.strip() for name in objectives.split(",")]
    rankers = {name: make_ranker(model, name, None, setting, seed, threads) for name in names}
    turns = list(rotations(_parts(data, folds, seed, read)))
    judged = concatenate([fold.test.with_features(np.empty((fold.test.n_rows, 0))) for fold in turns])
    settings: dict[str, Any] = {"empty": empty_value(empty), "gain": gain, "random_state": seed, "n_jobs": threads}
    results = {}
    with progress("Comparing") as report:
        for i, (name, ranker) in enumerate(rankers.items()):
            scores = []
            for j, fold in enumerate(turns):
                report((i + j / len(turns)) / len(rankers), name)
                scores.append(clone(ranker).fit(fold.train, validation=fold.validation).predict(fold.test))
            results[name] = evaluate(np.concatenate(scores), judged, metrics, **settings)
    first = next(iter(results[names[0]].means))
    tests = significance.compare(results, first) if len(results) > 1 else ()
    if json:
        show_json({"results": {n: r.to_dict() for n, r in results.items()}, "tests": [t._asdict() for t in tests]})
        return
    _print(results, tests, first, f"{len(turns)} folds, {judged.n_lists:,} lists, {model} ranker")


def _parts(data: list[Path], folds: int, seed: int, reading: list[str] | None) -> list[Any]:
    """The parts that take turns: files as given, the files of a folder, or one file cut by list."""
    from luce.data import parts

    if len(data) == 1 and data[0].is_dir():
        data = sorted(path for path in data[0].iterdir() if path.is_file() and not path.name.startswith("."))
        if len(data) < 2:
            raise DataError("A folder to compare on must hold at least two files, one for each part.")
    if len(data) == 1:
        return list(parts(read_data(data[0], reading), folds, seed))
    if len(data) != folds:
        raise DataError(f"There are {len(data)} parts and --folds {folds}; given parts are the folds themselves.")
    first = read_data(data[0], reading)
    return [first, *(read_data(path, reading, first.n_features, first.feature_names) for path in data[1:])]


def _print(results: dict[str, Any], tests: Any, first: str, title: str) -> None:
    from luce.metrics import metric as metric_of

    one = next(iter(results.values()))
    rows = []
    for name, result in results.items():
        cells = [name]
        for metric, mean in result.means.items():
            low, high = result.intervals[metric]
            best = metric_of(metric).best(other.means[metric] for other in results.values())
            mark = "*" if mean == best and len(results) > 1 else " "
            cells.append(f"{mark}{mean:.4f} [dim]{low:.4f}–{high:.4f}[/]")
        rows.append(cells)
    show_table(title, ["objective", *one.means], rows)
    if one.max_grade is not None:
        say(f"[dim]err with max_grade {one.max_grade:g}[/]")
    empty = {count for count in one.n_empty.values() if count}
    if empty:
        fate = "left out" if one.empty == "skip" else f"counted as {one.empty}"
        say(f"[dim]{max(empty)} of {one.n_lists} lists have nothing relevant and are {fate}.[/]")
    for test in tests:
        say(
            f"[dim]{test.name} − {test.baseline}: {first} {test.difference:+.4f}, p = {test.randomisation_holm:.3g} "
            f"(randomisation test, Holm), {test.t_test_holm:.3g} (t-test, Holm)[/]"
        )
