"""What was probably meant by an option that a command does not have."""

from typing import Any

from luce.cli.reading import COLUMNS
from luce.errors import did_you_mean, nearest_names


def unknown_option(error: Any) -> str:
    """The message for an unknown option, with what was probably meant; nothing for another error.

    That may be another option, a parameter of a ranker, `--set KEY=…`, or a column of a table, `--read KEY=…`.
    """
    if type(error).__name__ != "NoSuchOption" or error.ctx is None:
        return ""
    given = error.option_name
    options = [name for parameter in error.ctx.command.params for name in parameter.opts if name.startswith("--")]
    meant: dict[str, str] = {}
    if "--set" in options:
        meant |= {name: f"--set {name}=…" for name in _settings()}
    if "--read" in options:
        meant |= {name: f"--read {name}=…" for name in _reading(error.ctx.info_name)}
    meant |= {name.removeprefix("--").replace("-", "_"): name for name in options}
    near = nearest_names(given.lstrip("-").replace("-", "_"), meant)
    return f"No such option: {given}.{did_you_mean(meant[name] for name in near)}"


def _reading(command: str) -> tuple[str, ...]:
    """The keys of --read."""
    if command != "aggregate":
        return *COLUMNS, "delimiter", "format"
    from luce.aggregation.readers import READ_OPTIONS

    return READ_OPTIONS


def _settings() -> list[str]:
    from luce.cli.rankers import known_settings
    from luce.rankers import RANKERS

    return [name for ranker in RANKERS.values() for name in known_settings(ranker)]
