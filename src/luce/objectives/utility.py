"""Utilities of a policy: linear formulas of relevance and fairness, such as `0.7*ndcg@10 - 0.3*disparity@10`."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from luce.errors import OptionError, unknown_name
from luce.metrics.base import Metric
from luce.metrics.table import METRICS, metric

Function = Callable[..., Any]
"""A measure of one list: (exposures (n,), merits (n,), item_groups (n,) or None) → its value and its gradient (n,) in
the exposures. The n items are those with a label, in the order of their rows."""

EXAMPLE = "a sum such as '0.7*ndcg@10 - 0.3*disparity@10'"
_TERM = re.compile(
    r"\s*(?P<sign>[+−-])?\s*((?P<weight>(\d+\.?\d*|\.\d+)(e[+-]?\d+)?)\s*\*)?"
    r"\s*(?P<name>[a-z]+(-[a-z]+)*(\s*@\s*\d+)?)\s*(?=[+−-]|$)",
    flags=re.IGNORECASE,
)


class Term(NamedTuple):
    """A term of a utility: its weight, and a linear metric, a metric of fairness, or a function of exposures."""

    weight: float
    what: Metric | Function


def parse_utility(utility: str | Mapping[Any, float]) -> tuple[Term, ...]:
    """The terms of a formula, or of a mapping from names or functions to weights; what is named twice is added up.

    >>> [(term.weight, str(term.what)) for term in parse_utility("0.7*ndcg@10 - disparity@5")]
    [(0.7, 'ndcg@10'), (-1.0, 'disparity@5')]
    >>> parse_utility("ndcg@10 - 0.3*disprity")
    Traceback (most recent call last):
    luce.errors.OptionError: There is no term of a utility 'disprity'. Did you mean 'disparity'? Known: arp, ...
    """
    pairs = _read(utility) if isinstance(utility, str) else list(utility.items())
    weights: dict[Any, float] = {}
    for what, weight in pairs:
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not math.isfinite(weight):
            raise OptionError(f"The weight of {what} in a utility must be a finite number. Got {weight!r}.")
        if not callable(what):
            what = _named(what)
        weights[what] = weights.get(what, 0.0) + weight
    if not any(weights.values()):
        raise OptionError(f"A utility needs a term with a nonzero weight: it is {EXAMPLE}. Got {utility!r}.")
    return tuple(Term(weight, what) for what, weight in weights.items() if weight)


def _read(formula: str) -> list[tuple[str, float]]:
    """Names and weights as they stand in a formula."""
    pairs, at = [], 0
    while at < len(formula.rstrip()):
        found = _TERM.match(formula, at)
        if found is None or (found["sign"] is None and at > 0):
            raise OptionError(f"The utility {formula!r} cannot be parsed at {formula[at:]!r}: it is {EXAMPLE}.")
        sign = 1.0 if found["sign"] in (None, "+") else -1.0
        pairs.append((found["name"], sign * float(found["weight"] or 1.0)))
        at = found.end()
    return pairs


def _named(name: Any) -> Metric:
    """The metric of a name, if a utility can hold it."""
    base = name.partition("@")[0].strip().lower() if isinstance(name, str) else ""
    known = [one.name for one in METRICS.values() if one.is_linear or one.is_stochastic]
    if base in known:
        return metric(name)
    if base in METRICS:
        raise OptionError(f"{base} is not linear in the gains of the items. A utility is made of {', '.join(known)}.")
    dashed = next((one for one in known if base.startswith(f"{one}-")), None)
    if dashed is not None:
        hint = f"For a minus sign, add spaces: '{dashed} - …'."
        raise OptionError(f"There is no term of a utility {name!r}. {hint}")
    raise unknown_name("term of a utility", str(name), known)


def is_utility(value: Any) -> bool:
    """Whether this can be a utility; where it is one with a mistake in it, the error says which."""
    if not isinstance(value, str | Mapping):
        return False
    parse_utility(value)
    return True
