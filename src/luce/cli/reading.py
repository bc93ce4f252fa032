"""Reading data for a command: with progress, with the user's own options, and with the features that are wanted."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from luce.cli.options import pairs
from luce.cli.output import progress


def read_data(
    path: str | os.PathLike[str],
    reading: list[str] | None = None,
    n_features: int | None = None,
    feature_names: Sequence[str] | None = None,
) -> Any:
    """The dataset in a file, read for the features of a model or of the training data, where they are known."""
    from luce.data import format_of, read

    options = pairs(reading, "--read")
    chosen = format_of(path, options.pop("format", None))
    wanted: dict[str, Any] = {"n_features": n_features, "features": feature_names}
    if feature_names and feature_names[0] == "0":  # text files number their features, and this one starts at 0
        wanted["first_index"] = 0
    for option, value in wanted.items():
        if option in chosen.options and value is not None:
            options.setdefault(option, value)
    with progress(f"Reading {Path(path).name}") as report:
        if "progress" in chosen.options:
            options["progress"] = lambda done, total: report(done / max(total, 1))
        return read(path, format=chosen.name, **options)
