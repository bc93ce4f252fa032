"""What the commands say of the features: which there are, and which may give the label away."""

import os
import shlex
from typing import Any

from luce.cli.options import pairs
from luce.cli.output import say
from luce.cli.reading import COLUMNS

SHOWN, FIRST = 20, 5
"""Names that are printed: all of so many, of more the first few."""


def feature_names(dataset: Any) -> list[str]:
    """The names of all features, their numbers where they have none."""
    return [dataset.feature_name(column) for column in range(dataset.n_features)]


def feature_summary(dataset: Any) -> str:
    """The features in a line: all names if there are few."""
    if not dataset.feature_names:
        return f"{dataset.n_features:,}, not named"
    if dataset.n_features <= SHOWN:
        return ", ".join(dataset.feature_names)
    return f"{dataset.n_features:,}: {', '.join(dataset.feature_names[:FIRST])}, … (all of them with --json)"


def warn_of_leakage(dataset: Any, path: str | os.PathLike[str], reading: list[str] | None) -> list[Any]:
    """Say which features of lists may give the label away, and how to leave them out; returns them."""
    from luce.data import Dataset, format_of
    from luce.data.leakage import suspicious_features

    found = suspicious_features(dataset) if isinstance(dataset, Dataset) else []
    if not found:
        return found
    lines = [f"  {name}: {reason}" for name, reason in found[:SHOWN]]
    lines += [f"  … and {len(found) - SHOWN:,} others"] if len(found) > SHOWN else []
    heading = "Features that may give the label away, or may not be known when items are ranked:"
    advice = "To leave them out, write the file without them."
    options = pairs(reading, "--read", texts=COLUMNS)
    if "exclude" in format_of(path, options.get("format")).options:
        given = options.get("exclude", [])
        names = ",".join([*([given] if isinstance(given, str) else given), *(each.name for each in found[:SHOWN])])
        advice = f"To leave them out: --read {shlex.quote(f'exclude={names}')}"
    say("\n".join([heading, *lines, advice]), "Note")
    return found
