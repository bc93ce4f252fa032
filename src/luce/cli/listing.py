"""`luce objectives`, `luce metrics` and `luce presets`: the tables, and what each entry says of itself."""

from typing import Annotated, Any

import typer

from luce.cli.options import Json
from luce.cli.output import show_json, show_table

Name = Annotated[
    str | None, typer.Argument(metavar="[NAME]", help="Name of one entry, to describe it in full. (default: list all)")
]


def objectives(name: Name = None, json: Json = False) -> None:
    """List the objectives, or describe one: its formula, options and source.

    Example: luce objectives listmle
    """
    from luce.objectives import OBJECTIVES, objective

    chosen = list(OBJECTIVES.values()) if name is None else [objective(name)]
    _show([entry.facts() for entry in chosen], name is None, json)


def metrics(name: Name = None, json: Json = False) -> None:
    """List the metrics, or describe one. A parameter and a cutoff may follow the name: ndcg@10, rbp(p=0.95)@10.

    Metrics of predicted labels come last; where one shares its name with a metric of lists, both are described.

    Example: luce metrics err
    """
    from luce.metrics import LABEL_METRICS, METRICS, metric

    chosen: list[Any] = [*METRICS.values(), *LABEL_METRICS.values()]
    if name is not None:
        key = metric(name, {entry.name: entry for entry in chosen}).name
        chosen = [entry for entry in chosen if entry.name == key]
    _show([entry.facts() for entry in chosen], name is None, json)


def presets(name: Name = None, json: Json = False) -> None:
    """List the systems of the papers for `luce train --preset` and `luce compare --presets`, or describe one.

    Example: luce presets l-listmle
    """
    from luce.rankers.presets import PRESETS, preset_of

    chosen = list(PRESETS.values()) if name is None else [preset_of(name)]
    _show([entry.facts() for entry in chosen], name is None, json)


def _show(facts: list[dict[str, Any]], all_of_them: bool, json: bool) -> None:
    if json:
        show_json(facts if all_of_them or len(facts) > 1 else facts[0])
    elif all_of_them:
        names = [", ".join(filter(None, (fact["name"], fact.get("also called")))) for fact in facts]
        rows = [[name, fact["summary"]] for name, fact in zip(names, facts, strict=True)]
        show_table(None, ["name", "summary"], rows, numeric=2)
    else:
        for entry in facts:
            options = entry.pop("options", {})
            rows = [[key, _word(value)] for key, value in entry.items()]
            rows += [
                [f"option {key}", f"{option['allowed']}, default {option['default']}: {option['meaning']}"]
                for key, option in options.items()
            ]
            show_table(None, ["", ""], rows, numeric=2)


def _word(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
