"""`luce objectives`, `luce metrics` and `luce presets`: the tables, and what each entry says of itself."""

from typing import Annotated, Any

import typer

from luce.cli.options import Json
from luce.cli.output import show_json, show_table

Name = Annotated[str | None, typer.Argument(metavar="[NAME]", help="One entry in full; without it the whole table.")]


def objectives(name: Name = None, json: Json = False) -> None:
    """List the objectives, or describe one: its formula, its options, where it comes from.

    Example: luce objectives listmle
    """
    from luce.objectives import OBJECTIVES, objective

    chosen = list(OBJECTIVES.values()) if name is None else [objective(name)]
    _show([entry.facts() for entry in chosen], name is None, json)


def metrics(name: Name = None, json: Json = False) -> None:
    """List the metrics, or describe one. A cutoff follows the name: ndcg@10.

    Example: luce metrics err
    """
    from luce.metrics import LABEL_METRICS, METRICS, metric

    table = METRICS | {key: entry for key, entry in LABEL_METRICS.items() if key not in METRICS}
    chosen = list(table.values()) if name is None else [table[metric(name, table).name]]
    _show([entry.facts() for entry in chosen], name is None, json)


def presets(name: Name = None, json: Json = False) -> None:
    """List the systems of the papers that `luce train --preset` and `luce compare --presets` take, or describe one.

    Example: luce presets l-listmle
    """
    from luce.rankers.presets import PRESETS, preset_of

    chosen = list(PRESETS.values()) if name is None else [preset_of(name)]
    _show([entry.facts() for entry in chosen], name is None, json)


def _show(facts: list[dict[str, Any]], all_of_them: bool, json: bool) -> None:
    if json:
        show_json(facts if all_of_them else facts[0])
    elif all_of_them:
        show_table(None, ["name", "what it is"], [[fact["name"], fact["summary"]] for fact in facts], numeric=2)
    else:
        options = facts[0].pop("options", {})
        rows = [[key, _word(value)] for key, value in facts[0].items()]
        rows += [
            [f"option {key}", f"{option['allowed']}, default {option['default']}: {option['meaning']}"]
            for key, option in options.items()
        ]
        show_table(None, ["", ""], rows, numeric=2)


def _word(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)
