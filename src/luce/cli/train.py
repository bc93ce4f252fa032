"""`luce train`: from judged lists to a model file."""

from pathlib import Path
from typing import Annotated, Any

import typer

from luce.cli.options import Data, Json, Reading, Seed, Threads, pairs
from luce.cli.output import progress, say, show_json
from luce.cli.reading import read_data

Output = Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="Model file to write.")]
Validation = Annotated[Path | None, typer.Option(help="Judged lists that decide when to stop.")]
Model = Annotated[str, typer.Option(help="Kind of ranker: linear.")]
Goal = Annotated[str, typer.Option("--objective", help="Objective; `luce objectives` lists them.")]
Options = Annotated[
    list[str] | None, typer.Option("--option", metavar="KEY=VALUE", help="Option of the objective, e.g. depth=10.")
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Setting of the ranker, e.g. l2=10, patience=5.")
]


def train(
    data: Data,
    output: Output = Path("model.luce"),
    validation: Validation = None,
    model: Model = "linear",
    objective: Goal = "listmle",
    option: Options = None,
    setting: Settings = None,
    seed: Seed = 0,
    threads: Threads = None,
    read: Reading = None,
    json: Json = False,
) -> None:
    """Fit a ranker and write its model file.

    Example: luce train train.txt --validation vali.txt --objective listmle --option depth=10 -o model.luce
    """
    ranker = make_ranker(model, objective, option, setting, seed, threads)
    dataset = read_data(data, read)
    held_out = None if validation is None else read_data(validation, read, dataset.n_features, dataset.feature_names)
    fit(ranker, dataset, held_out, f"Training {objective}")
    ranker.save(output)
    last = ranker.history_[-1] if ranker.history_ else {}
    best = next((step for step in ranker.history_ if step["iteration"] == ranker.best_iteration_), last)
    summary = {"model": str(output), "iterations": len(ranker.history_), "best_iteration": ranker.best_iteration_}
    summary |= {"loss": best.get("loss"), "validation": best.get("validation"), "metric": ranker.metric}
    if json:
        show_json(summary)
        return
    figure = "" if held_out is None else f", {ranker.metric} {summary['validation']:.4f} on {validation}"
    say(f"{output}: {len(ranker.history_)} iterations, best {ranker.best_iteration_}{figure}")


def make_ranker(
    model: str, objective: str, option: list[str] | None, setting: list[str] | None, seed: int, threads: int | None
) -> Any:
    """A ranker with its objective and settings, all names checked before any data is read."""
    from luce.errors import unknown_name
    from luce.objectives import objective as objective_of
    from luce.rankers import RANKERS

    goal = objective_of(objective, **pairs(option, "--option"))
    if model not in RANKERS:
        raise unknown_name("model", model, RANKERS)
    settings = pairs(setting, "--set")
    known = set(RANKERS[model]().get_params()) - {"objective", "random_state", "n_jobs"}
    for name in settings:
        if name not in known:
            raise unknown_name(f"setting of the {model} ranker", name, known)
    if isinstance(settings.get("transforms"), str):
        settings["transforms"] = [settings["transforms"]]
    return RANKERS[model](objective=goal, random_state=seed, n_jobs=threads, **settings)


def fit(ranker: Any, dataset: Any, validation: Any, title: str) -> None:
    """Fit with a bar that tells iteration, loss and the validation figure."""
    with progress(title) as report:

        def after(step: dict[str, float]) -> None:
            words = f"iteration {step['iteration']:.0f}, loss {step['loss']:.4g}"
            if "validation" in step:
                words += f", {ranker.metric} {step['validation']:.4f}"
            report(step["iteration"] / ranker.max_iterations, words)

        ranker.fit(dataset, validation=validation, callback=after)
