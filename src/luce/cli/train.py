"""`luce train`: from judged lists to a model file."""

from pathlib import Path
from typing import Annotated, Any

import typer

from luce.cli.options import Data, Json, Reading, Seed, Threads, pairs
from luce.cli.output import say, show_json
from luce.cli.rankers import Settings, fit, make_preset, make_ranker
from luce.cli.reading import read_data
from luce.errors import OptionError

Output = Annotated[Path, typer.Option("--output", "-o", metavar="MODEL", help="Model file to write.")]
Validation = Annotated[Path | None, typer.Option(help="Judged lists that decide when to stop and what to keep.")]
Model = Annotated[str | None, typer.Option(help="Kind of ranker: linear (default) or neural.")]
Goal = Annotated[
    str | None, typer.Option("--objective", help="Objective; `luce objectives` lists them. [default: listmle]")
]
Options = Annotated[
    list[str] | None, typer.Option("--option", metavar="KEY=VALUE", help="Option of the objective, e.g. depth=10.")
]
Presets = Annotated[
    str | None, typer.Option("--preset", help="System of a paper instead: l-listmle, pmop-gibbs, coordinate-ascent, …")
]
Minutes = Annotated[float, typer.Option("--checkpoint-minutes", help="Minutes between two checkpoints.")]
Steps = Annotated[int | None, typer.Option("--checkpoint-steps", min=1, help="Also after so many steps.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint of an interrupted training.")]


def train(
    data: Data,
    output: Output = Path("model.luce"),
    validation: Validation = None,
    model: Model = None,
    objective: Goal = None,
    option: Options = None,
    preset: Presets = None,
    setting: Settings = None,
    checkpoint_minutes: Minutes = 10.0,
    checkpoint_steps: Steps = None,
    resume: Resume = False,
    seed: Seed = 0,
    threads: Threads = None,
    read: Reading = None,
    json: Json = False,
) -> None:
    """Fit a ranker and write its model file.

    Long work is kept in MODEL.checkpoint: after a crash, --resume ends in the same model as an unbroken run.

    Ctrl-C writes the best model so far.

    Example: luce train train.txt --validation vali.txt --objective listmle --option depth=10 -o model.luce

    Example: luce train train.txt --validation vali.txt --model neural --set hidden=128,64 --set learning-rate=1e-3,1e-2
    """
    from luce.rankers import Checkpoint

    ranker = _ranker(model, objective, option, preset, setting, seed, threads)
    kept = Path(f"{output}.checkpoint")
    checkpoint = Checkpoint(kept, minutes=checkpoint_minutes, steps=checkpoint_steps, resume=resume)
    dataset = read_data(data, read)
    held_out = None if validation is None else read_data(validation, read, dataset.n_features, dataset.feature_names)
    try:
        fit(ranker, dataset, held_out, f"Training {preset or objective or 'listmle'}", checkpoint)
    except KeyboardInterrupt:
        _interrupted(ranker, output, kept)
        raise typer.Exit(130) from None
    ranker.save(output)
    checkpoint.remove()
    _tell(ranker, output, validation, json)


def _ranker(
    model: str | None,
    objective: str | None,
    option: list[str] | None,
    preset: str | None,
    setting: list[str] | None,
    seed: int,
    threads: int | None,
) -> Any:
    settings = pairs(setting, "--set")
    if preset is None:
        return make_ranker(model or "linear", objective or "listmle", option, settings, seed, threads)
    for name, value in (("--model", model), ("--objective", objective), ("--option", option)):
        if value is not None:
            raise OptionError(f"A preset names the model and the objective: --preset {preset} goes without {name}.")
    return make_preset(preset, settings, seed, threads)


def _interrupted(ranker: Any, output: Path, kept: Path) -> None:
    from sklearn.exceptions import NotFittedError

    try:
        ranker.save(output)
        say(f"Interrupted. The best model so far, {ranker.round_name} {ranker.best_iteration_}, is in {output}.")
    except NotFittedError:
        say("Interrupted before there was a model to keep.")
    if kept.exists():
        say(f"To go on from {kept}: the same command with --resume.")


def _tell(ranker: Any, output: Path, validation: Path | None, json: bool) -> None:
    last = ranker.history_[-1] if ranker.history_ else {}
    best = next((step for step in ranker.history_ if step["iteration"] == ranker.best_iteration_), last)
    summary = {"model": str(output), "iterations": len(ranker.history_), "best_iteration": ranker.best_iteration_}
    summary |= {"loss": best.get("loss"), "validation": best.get("validation"), "metric": ranker.metric}
    if json:
        show_json(summary)
        return
    figure = "" if validation is None else f", {ranker.metric} {summary['validation']:.4f} on {validation}"
    say(f"{output}: {len(ranker.history_)} {ranker.round_name}s, best {ranker.best_iteration_}{figure}")
