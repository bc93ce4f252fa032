"""Rankers as the command line makes them: by kind or preset, with settings checked before any data is read."""

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from luce.cli.options import pairs
from luce.cli.output import progress
from luce.errors import OptionError

Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Setting of the ranker, e.g. reg_lambda=10, hidden_layer_sizes=64,32, num_leaves=63.",
    ),
]


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
    goal = objective_of(objective or RANKERS[kind]().objective, **pairs(options, "--option"))
    return _made(kind, {"objective": goal}, settings, seed, threads)


def make_preset(
    name: str, settings: dict[str, Any], seed: int, threads: int | None, options: list[str] | None = None
) -> Any:
    """The ranker of a preset, with settings and options of its objective changed."""
    from luce.objectives import objective as objective_of
    from luce.rankers.presets import preset_of

    chosen = preset_of(name).parameters()
    goal = objective_of(chosen["objective"], **pairs(options, "--option"))
    return _made(preset_of(name).model, {**chosen, "objective": goal}, settings, seed, threads)


def _made(kind: str, base: dict[str, Any], settings: dict[str, Any], seed: int, threads: int | None) -> Any:
    from luce.errors import unknown_name
    from luce.rankers import RANKERS

    known = known_settings(kind)
    for name in settings:
        if name not in known:
            raise unknown_name(f"setting of the {kind} ranker", name, known)
    several = {
        name: [value]
        for name, value in settings.items()
        if isinstance(known[name], tuple) and not isinstance(value, list)
    }
    return RANKERS[kind](**{**base, **settings, **several, "random_state": seed, "n_jobs": threads})


def known_settings(kind: str) -> dict[str, Any]:
    """What `--set` may change of a kind of ranker, with the default values."""
    from luce.rankers import RANKERS

    others = ("objective", "random_state", "n_jobs", "module")
    return {name: value for name, value in RANKERS[kind]().get_params().items() if name not in others}


def settings_of(
    given: list[str] | None, kinds: list[str], others: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, dict[str, Any]]:
    """Of each kind the settings that it knows, and of others than ours; one that none of them knows is an error."""
    from luce.errors import unknown_name

    settings = pairs(given, "--set")
    known: dict[str, Mapping[str, Any]] = {kind: known_settings(kind) for kind in kinds} | dict(others or {})
    for name in settings:
        if not any(name in table for table in known.values()):
            raise unknown_name("setting of these rankers", name, {name for table in known.values() for name in table})
    return {kind: {k: v for k, v in settings.items() if k in table} for kind, table in known.items()}


def fit(ranker: Any, dataset: Any, validation: Any, title: str, checkpoint: Any = None, **more: Any) -> None:
    """Fit with a bar that tells iteration, loss, the validation figure and the time left."""
    with progress(title) as report:
        figure = ""

        def after(step: dict[str, float]) -> None:
            nonlocal figure
            if "validation" in step:
                figure = f", {ranker.metric} {step['validation']:.4f}"
            words = f"{ranker.iteration_name} {step['iteration']:.4g}, loss {step['loss']:.4g}{figure}"
            report(step["iteration"] / ranker.iteration_limit, words)

        ranker.fit(dataset, validation=validation, callback=after, checkpoint=checkpoint, **more)


def names_in(given: str, option: str) -> list[str]:
    """Names with commas between them."""
    names = [name.strip() for name in given.split(",") if name.strip()]
    if not names or len(set(names)) < len(names):
        raise OptionError(f"{option} takes names with commas between them, each once. Got {given!r}.")
    return names
