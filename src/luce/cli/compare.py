"""`luce compare`: rankers and objectives against each other on the same folds."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from luce.cli.options import Empty, Gain, Json, Metrics, Reading, Seed, Threads, empty_value
from luce.cli.output import progress, say, show_json, show_table
from luce.cli.rankers import Settings, make_preset, make_ranker, names_in, settings_of
from luce.cli.reading import read_data
from luce.errors import DataError, OptionError

Parts = Annotated[
    list[Path], typer.Argument(metavar="DATA...", help="One file to cut into folds; or the parts, or their folder.")
]
Folds = Annotated[int, typer.Option(min=2, help="How many folds; given parts are the folds themselves.")]
Objectives = Annotated[
    str | None, typer.Option(help="Objectives, with commas; `luce objectives` lists them. [default: listmle,listnet]")
]
Models = Annotated[
    str, typer.Option(help="Kinds of ranker, with commas: linear, neural, trees; each with each objective.")
]
Presets = Annotated[str | None, typer.Option(help="Systems of the papers to add, with commas, e.g. coordinate-ascent.")]
Page = Annotated[Path, typer.Option("--report", metavar="HTML", help="Page to write.")]


def compare(
    data: Parts,
    folds: Folds = 5,
    objectives: Objectives = None,
    models: Models = "linear",
    presets: Presets = None,
    metrics: Metrics = "ndcg@1,ndcg@5,ndcg@10,err",
    setting: Settings = None,
    report: Page = Path("comparison.html"),
    empty: Empty = "skip",
    gain: Gain = "exponential",
    seed: Seed = 0,
    threads: Threads = None,
    read: Reading = None,
    json: Json = False,
) -> None:
    """Cross-validate rankers on the same folds: one table with intervals and paired tests, and a page to open.

    Each fold trains on all parts but two, stops by the next and is tested on the last, as LETOR's folds are.
    A setting given with --set holds for the rankers that know it.

    Example: luce compare MQ2008/ --folds 5 --objectives listmle,pl-partition --models linear,neural

    Example: luce compare MQ2008/ --presets coordinate-ascent,l-listmle --set transforms=fill,standardise,second-order
    """
    from luce.data import concatenate, rotations
    from luce.metrics import evaluate, significance

    rankers = _rankers(models, objectives, presets, setting, seed, threads)
    turns = list(rotations(_parts(data, folds, seed, read)))
    judged = concatenate([fold.test for fold in turns])
    settings: dict[str, Any] = {"empty": empty_value(empty), "gain": gain, "random_state": seed, "n_jobs": threads}
    scores = _cross_validated(rankers, turns)
    results = {name: evaluate(found, judged, metrics, **settings) for name, found in scores.items()}
    first = next(iter(results[next(iter(results))].means))
    tests = significance.compare(results, first) if len(results) > 1 else ()
    title = f"{len(turns)} folds, {judged.n_lists:,} lists"
    if json:
        show_json({"results": {n: r.to_dict() for n, r in results.items()}, "tests": [t._asdict() for t in tests]})
    else:
        _print(results, tests, first, title)
    _write(report, title, judged, results, {first: tests} if tests else {}, scores, rankers)


def _rankers(
    models: str, objectives: str | None, presets: str | None, setting: list[str] | None, seed: int, threads: int | None
) -> dict[str, Any]:
    """The rankers to compare, by the name of their row."""
    from luce.errors import unknown_name
    from luce.rankers import RANKERS
    from luce.rankers.presets import preset_of

    kinds, systems = names_in(models, "--models"), [] if presets is None else names_in(presets, "--presets")
    for kind in kinds:
        if kind not in RANKERS:
            raise unknown_name("model", kind, RANKERS)
    goals = "" if systems else "listmle,listnet"
    names = names_in(objectives or goals, "--objectives") if objectives or goals else []
    used = [*(kinds if names else []), *(preset_of(system).model for system in systems)]
    for kind in used:
        if RANKERS[kind].takes != "lists":
            takes = RANKERS[kind].takes
            raise OptionError(f"The {kind} ranker learns from {takes}; here rankers of lists are compared.")
    settings = settings_of(setting, used)
    rankers = {
        f"{kind} {name}" if len(kinds) > 1 else name: make_ranker(kind, name, None, settings[kind], seed, threads)
        for kind in kinds
        for name in names
    }
    for system in systems:
        if system in rankers:
            raise OptionError(f"{system} is among the objectives and among the presets: one of them is enough.")
        rankers[system] = make_preset(system, settings[preset_of(system).model], seed, threads)
    return rankers


def _cross_validated(rankers: dict[str, Any], turns: list[Any]) -> dict[str, Any]:
    """Of each ranker the scores of all lists, each by a fit that has not seen it."""
    import numpy as np
    from sklearn.base import clone

    scores = {}
    with progress("Comparing") as told:
        for i, (name, ranker) in enumerate(rankers.items()):
            found = []
            for j, fold in enumerate(turns):
                told((i + j / len(turns)) / len(rankers), f"{name}, fold {j + 1}")
                found.append(clone(ranker).fit(fold.train, validation=fold.validation).predict(fold.test))
            scores[name] = np.concatenate(found)
    return scores


def _write(path: Path, title: str, judged: Any, results: Any, comparisons: Any, scores: Any, rankers: Any) -> None:
    import numpy as np

    from luce.metrics import metric as metric_of
    from luce.report import Example, write_report

    one = next(iter(results.values()))
    first = next(iter(one.means))
    value = metric_of(first).best(result.means[first] for result in results.values())
    best = next(name for name, result in results.items() if result.means[first] == value)
    middle = results[best].values[first]
    example = int(np.nanargmin(np.abs(middle - np.nanmedian(middle)))) if not np.isnan(middle).all() else 0
    page = write_report(
        path,
        title=f"Rankers compared: {title}",
        summary=f"Over {title}, {best} has the best {first}: {value:.4f}.{_certainty(comparisons.get(first, ()))}",
        command="luce " + " ".join(sys.argv[1:]),
        dataset=judged,
        results=results,
        comparisons=comparisons,
        example=Example(example, scores[best], best),
        settings={name: repr(ranker) for name, ranker in rankers.items()},
    )
    say(f"[bold]Report:[/] {page}")


def _certainty(tests: Any) -> str:
    """What the paired tests allow to say, in a sentence."""
    if not tests:
        return ""
    sure = [test.name for test in tests if test.randomisation_holm < 0.05]
    if not sure:
        return f" None differs from {tests[0].baseline} by more than chance would (5 %, randomisation test, Holm)."
    verb = "differs" if len(sure) == 1 else "differ"
    return (
        f" {', '.join(sure)} {verb} from {tests[0].baseline} by more than chance would (5 %, randomisation test, Holm)."
    )


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
    show_table(title, ["ranker", *one.means], rows)
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
