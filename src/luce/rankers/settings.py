"""What the settings of a ranker may be: checked before any work, and again when a model file is read."""

import reprlib
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from luce.data.transforms import Transform
from luce.errors import OptionError

THREADS = 1_024
"""More than any machine has use for."""


class Rule(NamedTuple):
    """What a setting may be, in words and as a test."""

    allowed: str
    accepts: Callable[[Any], bool]


def check_settings(ranker: Any, rules: Mapping[str, Rule]) -> None:
    """An error for the first setting that is not what it may be.

    >>> from types import SimpleNamespace
    >>> check_settings(SimpleNamespace(epochs=0), {"epochs": whole(1)})
    Traceback (most recent call last):
    luce.errors.OptionError: epochs must be an integer ≥ 1. Got 0.
    """
    for name, rule in rules.items():
        value = getattr(ranker, name)
        if not rule.accepts(value):
            raise OptionError(f"{name} must be {rule.allowed}. Got {reprlib.repr(value)}.")


def is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Whether this is a finite number."""
    if is_integer(value):
        return abs(int(value)) <= sys.float_info.max
    return isinstance(value, float | np.floating) and bool(np.isfinite(value))


def whole(lowest: int) -> Rule:
    return Rule(f"an integer ≥ {lowest}", lambda value: is_integer(value) and value >= lowest)


def or_none(rule: Rule) -> Rule:
    return Rule(f"{rule.allowed}, or None", lambda value: value is None or rule.accepts(value))


NAME = Rule("a name", lambda value: isinstance(value, str))
NOT_NEGATIVE = Rule("a number ≥ 0", lambda value: is_number(value) and value >= 0)
POSITIVE = Rule("a number > 0", lambda value: is_number(value) and value > 0)
SHARE = Rule("at least 0 and below 1", lambda value: is_number(value) and 0 <= value < 1)
WIDTHS = Rule(
    "widths, integers ≥ 1", lambda value: isinstance(value, list | tuple) and all(map(whole(1).accepts, value))
)
SEED = Rule(
    "an integer from 0 to 2⁶³ − 1, None or a numpy.random.RandomState",
    lambda value: (
        value is None or isinstance(value, np.random.RandomState) or (is_integer(value) and 0 <= value < 2**63)
    ),
)
CHAIN = Rule(
    "names of transforms or transforms",
    lambda value: isinstance(value, list | tuple) and all(isinstance(each, str | Transform) for each in value),
)
COMMON = {
    "transforms": CHAIN,
    "metric": NAME,
    "early_stopping_rounds": whole(1),
    "random_state": SEED,
    "n_jobs": Rule(
        f"from 1 to {THREADS:,}, or negative to count from all cores, or None",
        lambda value: value is None or (is_integer(value) and value != 0 and value <= THREADS),
    ),
}
"""Of every ranker."""
