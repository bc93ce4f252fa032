"""Rankers from the words of the command line: by kind or preset, with settings checked before any data is read."""

from collections.abc import Mapping
from inspect import signature
from typing import Any

import typer

from luce.cli.options import objective_options, pairs
from luce.cli.output import progress, say
from luce.errors import OptionError


def make_ranker(
    kind: str,
    objective: str | None,
    options: list[str] | None,
    settings: dict[str, Any],
    seed: int,
    threads: int | None,
) -> Any:
    """A ranker of a kind, with its objective, the kind's own by default, and settings, all names checked."""
    from luce.errors import unknown_name
    from luce.objectives import objective as objective_of
    from luce.rankers import RANKERS

    if kind not in RANKERS:
        raise unknown_name("model", kind, RANKERS)
    chosen = objective_of(objective or defaults(RANKERS[kind])["objective"], **objective_options(options))
    return _build(kind, {"objective": chosen}, settings, seed, threads)


def make_preset(
    name: str, settings: dict[str, Any], seed: int, threads: int | None, options: list[str] | None = None
) -> Any:
    """The ranker of a preset, with settings and options of its objective changed."""
    from luce.objectives import objective as objective_of
    from luce.rankers.presets import preset_of

    params = preset_of(name).parameters()
    objective = objective_of(params["objective"], **objective_options(options))
    return _build(preset_of(name).model, {**params, "objective": objective}, settings, seed, threads)


def _build(kind: str, base: dict[str, Any], settings: dict[str, Any], seed: int, threads: int | None) -> Any:
    from luce.errors import unknown_name
    from luce.rankers import RANKERS

    known = known_settings(RANKERS[kind])
    for name in settings:
        if name not in known:
            raise unknown_name(f"setting of the {kind} ranker", name, known)
    several = {
        name: [value]
        for name, value in settings.items()
        if isinstance(known[name], tuple) and not isinstance(value, list)
    }
    return RANKERS[kind](**{**base, **settings, **several, "random_state": seed, "n_jobs": threads})


def defaults(estimator: type) -> dict[str, Any]:
    """The parameters of a kind of ranker with their default values."""
    return {name: parameter.default for name, parameter in signature(estimator).parameters.items()}


def known_settings(estimator: type) -> dict[str, Any]:
    """The parameters that `--set` may change, with their default values."""
    others = ("objective", "random_state", "n_jobs", "module", "estimators")
    return {name: value for name, value in defaults(estimator).items() if name not in others}


def settings_of(given: list[str] | None, estimators: Mapping[str, type]) -> dict[str, dict[str, Any]]:
    """Of each kind of ranker or peer the settings that it knows; one that none of them knows is an error."""
    from luce.errors import unknown_name

    settings, known = pairs(given, "--set"), {kind: known_settings(each) for kind, each in estimators.items()}
    for name in settings:
        if not any(name in table for table in known.values()):
            raise unknown_name("setting of these rankers", name, {name for table in known.values() for name in table})
    return {kind: {k: v for k, v in settings.items() if k in table} for kind, table in known.items()}


def fit(ranker: Any, dataset: Any, validation: Any, title: str, checkpoint: Any = None, **more: Any) -> None:
    """Fit with a progress bar that shows the iteration, the loss and the validation score."""
    with progress(title) as report:
        score = ""

        def callback(step: dict[str, float]) -> None:
            nonlocal score
            if "validation" in step:
                score = f", {ranker.metric} {step['validation']:.4f}"
            message = f"{ranker.iteration_name} {step['iteration']:.4g}, loss {step['loss']:.4g}{score}"
            report(step["iteration"] / ranker.iteration_limit, message)

        ranker.fit(dataset, validation=validation, callback=callback, checkpoint=checkpoint, **more)


def learned_something(ranker: Any, dataset: Any) -> bool:
    """Whether a fitted ranker of lists learned to put an item above another; one of labels is taken to have."""
    from luce.rankers import Ranker

    return not (isinstance(ranker, Ranker) and ranker.why_nothing_learned(dataset))


def exit_if_useless(ranker: Any, output: Any, learned: bool) -> None:
    """Exit status 1 for a model that learned nothing, and a note for one that equal scores would match."""
    if not learned:
        say(
            f"{'The model' if output is None else f'{output} was written, but the model'} learned nothing. Check that "
            "the labels are in the right column (--read label=NAME), that lists have items with different labels, and "
            "that features differ within lists; luce inspect describes the data.",
            "Error",
        )
        raise typer.Exit(1)
    best, baseline = ranker.best_score_, ranker.baseline_score_
    if None not in (best, baseline) and ranker.get_metric().best([best, baseline]) == baseline:
        say(
            f"The validation score is no better than that of equal scores for all items, {ranker.metric} "
            f"{baseline:.4f}. Check the labels, or try another --model or --objective.",
            "Note",
        )


def names_in(given: str, option: str) -> list[str]:
    """Names with commas between them."""
    names = [name.strip() for name in given.split(",") if name.strip()]
    if not names or len(set(names)) < len(names):
        raise OptionError(f"{option} must be names separated by commas, each once. Got {given!r}.")
    return names
