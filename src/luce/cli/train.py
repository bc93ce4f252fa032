"""`luce train`: from judged lists to a model file."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from luce.cli.choosing import choose, described, same_command
from luce.cli.features import feature_names, feature_summary, warn_of_leakage
from luce.cli.options import (
    Data,
    Json,
    Objective,
    ObjectiveOptions,
    Overwrite,
    Reading,
    Seed,
    Settings,
    Threads,
    Validation,
    pairs,
)
from luce.cli.output import beside, check_new, check_written, say, show_json
from luce.cli.rankers import exit_if_useless, fit, learned_something, make_preset, make_ranker
from luce.cli.ranks import Timeout, all_ranks, restarts
from luce.cli.reading import read_for
from luce.distributed import current_group, failing_together, highest, is_first_rank
from luce.errors import OptionError
from luce.files import exclusive_lock

Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="MODEL",
        help="Model file to write. (default: model.luce)",
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        help="Kind of ranker: auto, linear, neural, trees, ensemble or labels. (default: auto; with --objective, "
        "--option or --set linear)"
    ),
]
Budget = Annotated[float, typer.Option(min=0, help="Seconds that --model auto may spend on choosing.")]
Presets = Annotated[
    str | None,
    typer.Option(
        "--preset",
        help="Train a published system: listmle-trees, lambdamart, l-listmle, …; `luce presets` lists them.",
    ),
]
InitModel = Annotated[
    Path | None,
    typer.Option("--init-model", metavar="MODEL", help="Model that trees start from: its trees or scores are kept."),
]
Minutes = Annotated[float, typer.Option("--checkpoint-minutes", help="Minutes between two checkpoints.")]
Steps = Annotated[int | None, typer.Option("--checkpoint-steps", min=1, help="Steps between two checkpoints.")]
Resume = Annotated[bool, typer.Option("--resume", help="Resume from the checkpoint of an interrupted training.")]


def train(
    data: Data,
    output: Output = None,
    validation: Validation = None,
    model: Model = None,
    objective: Objective = None,
    option: ObjectiveOptions = None,
    preset: Presets = None,
    setting: Settings = None,
    budget: Budget = 60.0,
    init: InitModel = None,
    checkpoint_minutes: Minutes = 10.0,
    checkpoint_steps: Steps = None,
    resume: Resume = False,
    overwrite: Overwrite = False,
    timeout: Timeout = 300.0,
    seed: Seed = 0,
    threads: Threads = None,
    read: Reading = None,
    json: Json = False,
) -> None:
    """Fit a ranker to judged lists, or the labels model to tagged rows, and write its model file.

    Without --model it tries a linear model, trees, bagged trees and the ensemble of a linear model and trees by
    cross-validation, says what it found, and fits the simplest within one standard error of the best NDCG@10.

    Long work is saved in MODEL.checkpoint: after a crash, --resume ends in the same model as an unbroken run.

    Ctrl-C or SIGTERM writes the best model so far.

    With torchrun several processes, on one machine or more, train one model, each on its share of the lists; rank 0
    writes it. With --max-restarts they resume from the checkpoint by themselves after one of them was lost.

    Example: luce train train.txt --validation vali.txt -o model.luce

    Example: luce train train.txt --validation vali.txt --objective listmle --option depth=10 -o model.luce

    Example: luce train train.txt --validation vali.txt --model trees --preset listmle-trees --option permutations=6

    Example: luce train train.txt --model neural --set hidden_layer_sizes=128,64 --set learning-rate=1e-3

    Example: luce train shop.csv --read query=session --read label=bought --read 'exclude=click*,position'

    Example: luce train tagged.txt --validation vali.txt --model labels --objective pl-partition

    Example: torchrun --nproc-per-node 2 --max-restarts 3 -m luce train train.txt --model trees --checkpoint-minutes 5
    """
    with all_ranks(timeout):
        ranker, choice = None, None
        if not _is_auto(model, objective, option, preset, setting, init, resume):
            ranker = _ranker(model, objective, option, preset, setting, seed, threads)
        target = (output or Path("model.luce")) if is_first_rank() else None
        check_written([target], [data, validation])
        checkpoint = _checkpoint(target, checkpoint_minutes, checkpoint_steps, resume or restarts())
        # An interrupted training leaves its best model so far, which the resumed one replaces.
        check_new(target, overwrite or (checkpoint.resume and bool(checkpoint.files())))
        with nullcontext() if target is None else exclusive_lock(target):
            try:
                more = _init_model(ranker, init)
                dataset = read_for(ranker, data, read)
                held_out = None if validation is None else read_for(ranker, validation, read, like=dataset)
                features = _features(dataset, data, read) if is_first_rank() else {}
                if ranker is None:
                    choice = choose(dataset, held_out, budget, seed, threads)
                    ranker = choice.ranker
                fit(ranker, dataset, held_out, f"Training {preset or ranker.objective}", checkpoint, **more)
            except KeyboardInterrupt:
                if not restarts():
                    _save_interrupted(ranker, target, checkpoint, same_command(choice))
                raise
            with failing_together():
                if target is not None:
                    ranker.save(target)
                    checkpoint.remove()
        learned = bool(highest(learned_something(ranker, dataset)))
        _print_summary(ranker, target, validation, choice, features, json, learned)
        exit_if_useless(ranker, target, learned)


def _checkpoint(output: Path | None, minutes: float, steps: int | None, resume: bool) -> Any:
    """The checkpoint beside the model file; in a group that of rank 0, which alone writes both."""
    from luce.rankers import Checkpoint

    path = beside(output or Path("model.luce"), ".checkpoint", "model.luce")
    return Checkpoint(path, minutes=minutes, steps=steps, resume=resume)


def _features(dataset: Any, data: Path, read: list[str] | None) -> dict[str, Any]:
    """Say which features of lists there are and which may give the label away; the same as JSON has it."""
    from luce.data import Dataset

    if not isinstance(dataset, Dataset):
        return {}
    say(feature_summary(dataset), "Features")
    suspicious = [each._asdict() for each in warn_of_leakage(dataset, data, read)]
    return {"feature_names": feature_names(dataset), "suspicious_features": suspicious}


def _is_auto(model: str | None, *others: Any) -> bool:
    """Whether the ranker is to be chosen; `others` are the options that only make sense for one that is known."""
    names = ("--objective", "--option", "--preset", "--set", "--init-model", "--resume")
    given = [
        name for name, value in zip(names, others, strict=True) if not (value is None or value is False or value == [])
    ]
    if model == "auto" and given:
        raise OptionError(f"--model auto chooses the ranker itself. Name a model to use {given[0]}.")
    if model is None and given == ["--resume"]:
        raise OptionError(
            "--resume needs the --model of the interrupted training, which it printed if it chose the model itself."
        )
    is_auto = model == "auto" or (model is None and not given)
    if is_auto and current_group() is not None:
        raise OptionError("The choice of a ranker is made by one process. Name a --model to train it on several ranks.")
    return is_auto


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
        return make_ranker(model or "linear", objective, option, settings, seed, threads)
    from luce.rankers.presets import preset_of

    if objective is not None or (model is not None and model != preset_of(preset).model):
        given = f"--objective {objective}" if objective is not None else f"--model {model}"
        raise OptionError(f"--preset {preset} sets the model and the objective and cannot be combined with {given}.")
    return make_preset(preset, settings, seed, threads, option)


def _init_model(ranker: Any, init: Path | None) -> dict[str, Any]:
    """The model to start from, where one was named."""
    if init is None:
        return {}
    from luce.rankers import TreeRanker, load_ranker

    if not isinstance(ranker, TreeRanker):
        raise OptionError(f"Only trees can start from another model: --init-model {init} needs --model trees.")
    return {"init_model": load_ranker(init)}


def _save_interrupted(ranker: Any, output: Path | None, checkpoint: Any, again: str) -> None:
    from sklearn.exceptions import NotFittedError

    if output is None:
        return
    try:
        if ranker is None:
            raise NotFittedError
        ranker.save(output)
        unit = "bag" if ranker.n_bags > 1 else ranker.iteration_name
        say(f"Interrupted. The best model so far, {unit} {ranker.best_iteration_}, is in {output}.")
    except NotFittedError:
        say("Interrupted before there was a model to save.")
    if checkpoint.files():
        say(f"To resume from {checkpoint.path}, run the same command with {again}--resume.")


def _print_summary(
    ranker: Any,
    output: Path | None,
    validation: Path | None,
    choice: Any,
    features: dict[str, Any],
    json: bool,
    learned: bool,
) -> None:
    last = ranker.history_[-1] if ranker.history_ else {}
    best = next((step for step in ranker.history_ if step["iteration"] == ranker.best_iteration_), last)
    name = None if output is None else str(output)
    summary = {"model": name, "iterations": len(ranker.history_), "best_iteration": ranker.best_iteration_}
    summary |= {"loss": best.get("loss"), "validation": best.get("validation"), "metric": ranker.metric}
    summary |= {"baseline": ranker.baseline_score_, "learned": learned}
    summary["validated_on"] = _validated_on(ranker, validation) if "validation" in best else None
    if choice is not None:
        summary["choice"] = described(choice)
    if json:
        show_json(summary | features)
        return
    from luce.report.formatting import count

    bagged = ranker.n_bags > 1
    length = count(len(ranker.history_), "bag" if bagged else ranker.iteration_name)
    length += "" if bagged else f", best {ranker.best_iteration_}"
    score = f", {ranker.metric} {best['validation']:.4f} on {summary['validated_on']}" if "validation" in best else ""
    say(f"{name or 'Trained'}: {length}{score}")


def _validated_on(ranker: Any, validation: Path | None) -> str:
    """What the validation score is measured on."""
    if validation is not None:
        return str(validation)
    if ranker.n_bags > 1:
        return "the lists outside each bag"
    return f"{ranker.validation_fraction:.0%} of the training data, held out; then trained on all"
