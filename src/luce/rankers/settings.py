"""What the parameters of every ranker may be: checked before any work, and again when a model file is read."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from luce.data.transforms import Transform
from luce.options import Option, integer, is_integer, is_number

THREADS = 1_024
"""More than any machine has use for."""


def check_settings(ranker: Any, param_specs: Mapping[str, Option]) -> None:
    """An error for the first parameter that is not what it may be.

    >>> from types import SimpleNamespace
    >>> check_settings(SimpleNamespace(epochs=0), {"epochs": integer(1)})
    Traceback (most recent call last):
    luce.errors.OptionError: epochs must be an integer ≥ 1. Got 0.
    """
    for name, spec in param_specs.items():
        spec.check(name, getattr(ranker, name))


def widths(**declared: Any) -> Option:
    """The widths of layers."""

    def accepts(value: Any) -> bool:
        return isinstance(value, list | tuple) and all(is_integer(width) and width >= 1 for width in value)

    return Option("widths, integers ≥ 1", accepts, **declared)


def learning_rates(**declared: Any) -> Option:
    """A learning rate, or several to choose from by validation."""

    def accepts(value: Any) -> bool:
        rates = list(value) if isinstance(value, list | tuple | np.ndarray) else [value]
        return bool(rates) and all(is_number(rate) and rate > 0 for rate in rates)

    return Option("a number > 0, or several", accepts, **declared)


NAME = Option("a name", lambda value: isinstance(value, str))
COMMON = {
    "transforms": Option(
        "names of transforms or transforms",
        lambda value: isinstance(value, list | tuple) and all(isinstance(each, str | Transform) for each in value),
    ),
    "metric": NAME,
    "early_stopping_rounds": integer(1),
    "random_state": Option(
        "an integer from 0 to 2⁶³ − 1, None or a numpy.random.RandomState",
        lambda value: (
            value is None or isinstance(value, np.random.RandomState) or (is_integer(value) and 0 <= value < 2**63)
        ),
    ),
    "n_jobs": Option(
        f"from 1 to {THREADS:,}, or negative to count from all cores, or None",
        lambda value: value is None or (is_integer(value) and value != 0 and value <= THREADS),
    ),
}
"""Of every ranker."""
