"""The record of a metric: its definition in words, as a formula and as code, and its properties."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats, Integers
from luce.metrics.parameters import PARAMETERS
from luce.metrics.reference import RankedLabels

NOTHING_RELEVANT = "no label is above 0"

ExposureFunction = Callable[[Floats, Floats, Integers | None, Integers], tuple[Floats, Floats]]
"""(exposures (N,), merits (N,), item_groups (N,) or None, offsets (Q+1,)) → values (Q,), gradient (N,) in exposures."""


class PlaceSum(NamedTuple):
    """A metric as a sum over the places of a list, up to a factor and a constant per list.

    Attributes
    ----------
    terms : int
        SUM, CASCADE, COUNT or PAIRS of `luce.kernels.place_sums`.
    worth : int
        What an item is worth: EXPONENTIAL (LINEAR where linear gain is asked for), LINEAR, BINARY, STOP or LABEL.
    discounts : callable
        The discounts of the first n places, as a function of n, and of p where the metric reads it.
    divisor : int or None
        CONSTANT, IDEAL, TOTAL or LENGTH, the cutoff in place of the length where there is one: with it the sum is the
        metric itself, minus the metric where lower is better. None where the metric is not linear in this way.
    """

    terms: int
    worth: int
    discounts: Callable[..., Floats] = np.ones
    divisor: int | None = None


@dataclass(frozen=True)
class Metric:
    """A metric, in words, as a formula and as code; an entry of `METRICS`.

    Relevant means a label above 0; r is a rank, from 1. Items with equal scores count as the average over their orders;
    items without a label are left out of the list; items with a score of −∞ were not retrieved: they count among the
    relevant items and contribute nothing.

    Attributes
    ----------
    name : str
        The name in `METRICS`.
    summary : str
        One sentence.
    formula : str
        The value for one list without equal scores.
    bounds : tuple of float
        The smallest and the largest value.
    empty_when : str
        For which lists the metric is undefined.
    kernel : callable or None
        Called as kernel(first, last, offsets, ranked, options, values) on lists in rank order; writes NaN for an empty
        list. None for a metric of exposures.
    reference : callable or None
        The same for one list in one order, a `RankedLabels`, written as in the formula; tests compare the two.
    place_sum : PlaceSum or None
        The metric as a sum over places, by which line search and policies compute with it.
    exposure_function : callable or None
        For a metric of fairness, its value and gradient as a function of the exposures of the items; 0 is fair.
    needs_groups : bool
        Whether the exposure function reads the groups of items.
    needs_merit : bool
        Whether the exposure function reads the merits of items.
    higher_is_better : bool
        Whether a better ranking has a higher value.
    takes_cutoff : bool
        Whether a cutoff may follow the name.
    options : tuple of str
        Which parameters it reads: `gain`, `max_grade` or `p`.
    function : callable or None
        For a metric of your own, its value for one list: (scores, labels) → float, NaN = nothing to measure.
    cutoff : int or None
        The number of ranks that count; None for all.
    parameters : mapping of str to object
        The values of parameters given in the name, as in `rbp(p=0.95)`.
    """

    name: str
    summary: str
    formula: str
    bounds: tuple[float, float]
    empty_when: str
    kernel: Callable[..., Any] | None = None
    reference: Callable[[RankedLabels], float] | None = None
    place_sum: PlaceSum | None = None
    exposure_function: ExposureFunction | None = None
    needs_item_groups: bool = False
    needs_merit: bool = False
    higher_is_better: bool = True
    takes_cutoff: bool = True
    options: tuple[str, ...] = ()
    function: Callable[[Floats, Floats], float] | None = None
    cutoff: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def is_stochastic(self) -> bool:
        """Whether rankings sampled from the scores are measured instead of their order."""
        return self.exposure_function is not None

    @property
    def is_linear(self) -> bool:
        """Whether it is linear in the gains of the items: Σ_r discount_r · gain(item at rank r)."""
        return self.place_sum is not None and self.place_sum.divisor is not None

    def parameter(self, name: str, given: Any = None) -> Any:
        """The value of a parameter: of the name, as in `rbp(p=0.95)`, else as given, else the default."""
        return self.parameters.get(name, PARAMETERS[name].default if given is None else given)

    def discounts(self, length: int) -> Floats:
        """The discounts of the first places of its sum over places."""
        assert self.place_sum is not None
        persistence = {"p": self.parameter("p")} if "p" in self.options else {}
        return self.place_sum.discounts(length, **persistence)

    def facts(self) -> dict[str, Any]:
        """The record as JSON values, as the command line and the documentation show it."""
        return {
            "name": self.name,
            "summary": self.summary,
            "formula": self.formula,
            "measured on": "rankings sampled from the scores" if self.is_stochastic else "the order of the scores",
            "higher is better": self.higher_is_better,
            "takes a cutoff": self.takes_cutoff,
            "parameters": "; ".join(map(_described, self.options)) or "none",
            "lists left out": f"those in which {self.empty_when}",
        }

    def best(self, values: Iterable[float]) -> float:
        """The best of some values of this metric."""
        return max(values) if self.higher_is_better else min(values)

    def __str__(self) -> str:
        values = ", ".join(
            f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}"
            for name, value in self.parameters.items()
        )
        name = f"{self.name}({values})" if values else self.name
        return name if self.cutoff is None else f"{name}@{self.cutoff}"


def _described(name: str) -> str:
    """A parameter in words; that of label metrics is an argument alone."""
    spec = PARAMETERS.get(name)
    if spec is None:
        return name
    return f"{name} ({spec.allowed}" + (")" if spec.default is None else f", default {spec.default})")
