"""`luce tune`: hyperparameters searched with Optuna, and the model of the best."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from luce.cli.features import warn_of_leakage
from luce.cli.options import (
    Data,
    Json,
    Objective,
    ObjectiveOptions,
    Overwrite,
    Page,
    Reading,
    Seed,
    Threads,
    objective_options,
    pairs,
)
from luce.cli.output import (
    beside,
    check_new,
    check_written,
    command_line,
    progress,
    replacing,
    say,
    show_json,
    show_page_table,
)
from luce.cli.rankers import defaults, exit_if_useless, learned_something, make_ranker
from luce.cli.reading import read_for
from luce.errors import OptionError, load_package
from luce.files import exclusive_lock

Output = Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="Model file to write.")]
Validation = Annotated[
    Path | None,
    typer.Option(help="Judged lists for early stopping and for the score of each trial. (default: folds of DATA)"),
]
Folds = Annotated[int, typer.Option(min=2, help="Number of folds; lists are not split.")]
Model = Annotated[str, typer.Option(help="Kind of ranker: linear, neural, trees or labels.")]
Fixed = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Fixed parameter of the ranker, e.g. n_estimators=500."),
]
Vary = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=RANGE",
        help="Range to search instead of the default one: num_leaves=4:64:log, hidden_layer_sizes=64/64,32.",
    ),
]
Metric = Annotated[
    str | None, typer.Option(help="Metric to optimize. (default: ndcg@10; for label rankers precision@5)")
]
Trials = Annotated[int, typer.Option(min=1, help="Total number of trials, including those of earlier runs.")]
Minutes = Annotated[float | None, typer.Option(help="Stop the search after this many minutes.")]
Pruning = Annotated[bool, typer.Option(help="Stop trials early that are in the worst quarter.")]
Storage = Annotated[
    Path | None, typer.Option(metavar="FILE", help="SQLite file for the trials. (default: MODEL.study)")
]

SHOWN = 5


def tune(
    data: Data,
    output: Output = Path("best.luce"),
    validation: Validation = None,
    folds: Folds = 3,
    model: Model = "trees",
    objective: Objective = None,
    option: ObjectiveOptions = None,
    setting: Fixed = None,
    vary: Vary = None,
    metric: Metric = None,
    trials: Trials = 50,
    minutes: Minutes = None,
    pruning: Pruning = True,
    storage: Storage = None,
    report: Page = Path("tuning.html"),
    overwrite: Overwrite = False,
    seed: Seed = 0,
    threads: Threads = None,
    read: Reading = None,
    json: Json = False,
) -> None:
    """Tune the hyperparameters of a ranker by cross-validation, and write the best model.

    The first trial has the default settings. A trial is a fit for each fold, on the others, with early stopping on it.

    The best settings are then fitted on all lists, for the mean of the best iterations of the folds.
    With --validation they are fitted on DATA, with early stopping on the validation lists.

    Trials are saved in MODEL.study, an Optuna database: after a crash, or to add trials, the same command resumes.
    Ctrl-C or SIGTERM writes the best model so far.

    Example: luce tune judged.txt --minutes 10

    Example: luce tune judged.txt --objective pl-partition --set num_leaves=15 --vary learning-rate=0.01:0.3:log

    Example: luce tune train.txt --validation vali.txt --model neural --metric ndcg@5 --trials 30 -o neural.luce
    """
    from luce.experiments.tuning import tune as search
    from luce.experiments.tuning_space import space_of
    from luce.report.formatting import count

    fixed = pairs(setting, "--set") | ({} if metric is None else {"metric": metric})
    ranker = make_ranker(model, objective, option, fixed, seed, threads)
    stays = [name for name in [*fixed, *objective_options(option)] if name != "metric"]
    ranges, study = _ranges(vary, ranker), storage or beside(output, ".study", "best.luce")
    space_of(ranker, ranges, stays)  # an error comes before any data is read
    load_package("jinja2", "report")
    check_written([output, report, study], [data, validation])
    check_new(output, overwrite or study.exists())  # the model of these trials gives way to that of more of them
    dataset = read_for(ranker, data, read)
    held_out = None if validation is None else read_for(ranker, validation, read, like=dataset)
    warn_of_leakage(dataset, data, read)
    if study.exists():
        say(f"Resuming with the trials in {study}.")
    with exclusive_lock(output):
        try:
            with progress("Tuning") as bar:
                found = search(
                    ranker, dataset, validation=held_out, folds=folds, trials=trials, minutes=minutes, vary=ranges,
                    fixed=stays, pruning=pruning, storage=study, seed=seed, callback=partial(_show_progress, bar),
                )  # fmt: skip
        except KeyboardInterrupt:
            say(f"Interrupted before there was a model to save. Run the same command to resume with {study}.")
            raise
        found.best_ranker.save(output)
    learned = learned_something(found.best_ranker, dataset)
    _print_result(found, output, study, json, learned)
    _write(report, found, data, ranker, output)
    if found.interrupted:
        say(f"Interrupted after {count(len(found.trials), 'trial')}. Run the same command to resume with {study}.")
        raise KeyboardInterrupt
    exit_if_useless(found.best_ranker, output, learned)


def _show_progress(bar: Any, step: Any) -> None:
    bar(step.fraction, step.message)
    if step.trial is not None and step.trial.error:
        say(f"trial {step.trial.number} failed: {step.trial.error}", "Note")


def _ranges(given: list[str] | None, ranker: Any) -> dict[str, Any]:
    """What `--vary` says: KEY=LOW:HIGH, KEY=LOW:HIGH:log, or KEY=A/B/… with choices."""
    from luce.options import Choice, Range

    ranges: dict[str, Any] = {}
    for word in given or []:
        key, equals, text = word.partition("=")
        name = key.strip().replace("-", "_")
        several = isinstance(ranker.get_params(deep=False).get(name), tuple)
        if "/" in text:
            values = [pairs([f"{name}={part}"], "--vary")[name] for part in text.split("/")]
            ranges[name] = Choice(tuple(_sequence(value) if several else value for value in values))
            continue
        low, high, log = (*text.split(":"), "", "")[:3]
        ends = pairs([f"low={low}", f"high={high}"], "--vary")
        numbers = all(type(end) in (int, float) for end in ends.values())
        if not (equals and name and numbers and log in ("", "log") and text.count(":") <= 2):
            raise OptionError(f"--vary must be KEY=LOW:HIGH, KEY=LOW:HIGH:log or KEY=A/B/C. Got {word!r}.")
        ranges[name] = Range(**ends, log=log == "log")
    return ranges


def _sequence(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list) else (value,)


def _print_result(found: Any, output: Path, study: Path, json: bool, learned: bool) -> None:
    from luce.report.tuning import summary_of, trials_table

    if json:
        summary = {"model": str(output), "storage": str(study), "metric": found.metric, "learned": learned}
        best = {"trial": found.best.number, "value": found.best.value, "params": found.best.params}
        name = found.best_ranker.max_iter_param
        rounds = {name: found.best_ranker.get_params(deep=False)[name]}
        trials = [trial._asdict() for trial in found.trials]
        show_json({**summary, "best": best | rounds, "importance": found.importance, "trials": trials})
        return
    show_page_table(trials_table(found, SHOWN), "Best trials")
    say(f"{output}: {summary_of(found)}")


def _write(path: Path, found: Any, data: Path, ranker: Any, output: Path) -> None:
    from luce.options import text_of
    from luce.report.tuning import write_tuning

    usual, own = defaults(type(ranker)), found.best_ranker.get_params(deep=False)
    others = {name: text_of(value) for name, value in own.items() if name not in found.space and value != usual[name]}
    name = replacing(path)
    write_tuning(
        path,
        found,
        title=f"Tuning: {ranker.kind} with {ranker.get_objective().name} on {data.name}",
        command=command_line(),
        settings={"model": str(output)} | others | {"objective": str(found.best_ranker.get_objective())},
    )
    say(name, "Report")
