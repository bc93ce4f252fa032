"""The record of an objective: one contract, scores and what was observed in, loss and gradient out."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from luce.arrays import Floats, check_offsets, check_rows, numbers
from luce.errors import DataError, OptionError, unknown_name
from luce.randomness import Draw


class Evaluation(NamedTuple):
    """What an objective gives: the loss (Q,) of each list and the gradient (N,) with respect to the scores."""

    loss: Floats
    gradient: Floats


@dataclass(frozen=True)
class Option:
    """A setting of an objective: its default, what is allowed, in words and as a test."""

    default: Any
    allowed: str
    accepts: Callable[[Any], bool]
    summary: str


def at_least(lowest: int, summary: str, default: int | None) -> Option:
    """An option that is an integer ≥ `lowest`, or None where that is its default."""
    optional = default is None

    def accepts(value: Any) -> bool:
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        return (optional and value is None) or (whole and value >= lowest)

    return Option(default, f"an integer ≥ {lowest}{' or None' if optional else ''}", accepts, summary)


@dataclass(frozen=True)
class Objective:
    """An objective of the table with its options set; `luce.objective(name, **options)` makes one.

    Attributes:
        name, summary, formula, paper: what it is, for people.
        compute: (scores, labels, offsets, *, item_weights, draw, n_jobs, **options) → (loss, gradient), inputs checked.
        choices: the options it knows.
        random: it draws; the same `draw` gives the same numbers.
        uses_ties: lists whose labels are all equal inform it.
        item_weights: it takes a weight for each item.
        options: the options as set.
    """

    name: str
    summary: str
    formula: str
    paper: str
    compute: Callable[..., tuple[Floats, Floats]] = field(repr=False)
    choices: Mapping[str, Option] = field(default_factory=dict, repr=False)
    random: bool = False
    uses_ties: bool = False
    item_weights: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    def with_options(self, **options: Any) -> "Objective":
        """The same objective with these options, each checked."""
        for name, value in options.items():
            if name not in self.choices:
                raise unknown_name(f"option of {self.name}", name, self.choices)
            choice = self.choices[name]
            if not choice.accepts(value):
                raise OptionError(f"The {name!r} option of {self.name} must be {choice.allowed}. Got {value!r}.")
        return replace(self, options={**self.options, **options})

    def value_and_gradient(
        self,
        scores: ArrayLike,
        labels: ArrayLike,
        offsets: ArrayLike | None = None,
        *,
        item_weights: ArrayLike | None = None,
        draw: Draw | None = None,
        n_jobs: int | None = None,
    ) -> Evaluation:
        """The loss (Q,) of each list and the gradient (N,); without offsets all rows are one list.

        A label of NaN means not observed: the item is left out of its list and gets gradient 0.

        >>> from luce.objectives import objective
        >>> objective("listnet").value_and_gradient([0.0, 0.0], [5.0, 5.0]).gradient
        array([0., 0.])
        """
        s = check_rows("scores", scores)
        if np.isinf(s).any():
            raise DataError(f"scores must be finite. Got {s[np.isinf(s)][0]} at row {np.flatnonzero(np.isinf(s))[0]}.")
        y = numbers("labels", labels, len(s))
        if np.isinf(y).any():
            raise DataError(f"labels must be finite. Got an infinite one at row {np.flatnonzero(np.isinf(y))[0]}.")
        bounds = check_offsets([0, len(s)] if offsets is None else offsets, len(s))
        if draw is not None and draw.lists is not None and len(draw.lists) != len(bounds) - 1:
            raise DataError(f"draw.lists must name {len(bounds) - 1} lists. Got {len(draw.lists)}.")
        weights = None if item_weights is None else self._checked_weights(item_weights, len(s))
        loss, gradient = self.compute(s, y, bounds, item_weights=weights, draw=draw, n_jobs=n_jobs, **self.options)
        return Evaluation(loss, gradient)

    def _checked_weights(self, item_weights: ArrayLike, n_rows: int) -> Floats:
        if not self.item_weights:
            raise OptionError(f"{self.name} takes no item weights: {self.summary[0].lower()}{self.summary[1:]}")
        weights = check_rows("item_weights", item_weights, n_rows)
        if weights.size and not (weights.min() >= 0 and weights.max() < np.inf):
            raise DataError(f"item_weights must be finite and not negative. Got {weights.min()} to {weights.max()}.")
        return weights

    def __str__(self) -> str:
        changed = {k: v for k, v in self.options.items() if v != self.choices[k].default}
        return self.name + (f"({', '.join(f'{k}={v!r}' for k, v in changed.items())})" if changed else "")


def record(name: str, *, formula: str, paper: str, choices: Mapping[str, Option] | None = None, **traits: bool) -> Any:
    """Make the decorated function an objective; the first line of its docstring is the summary."""

    def make(compute: Callable[..., tuple[Floats, Floats]]) -> Objective:
        summary = (inspect.getdoc(compute) or "").partition("\n")[0]
        known = dict(choices or {})
        defaults = {key: option.default for key, option in known.items()}
        return Objective(name, summary, formula, paper, compute, known, options=defaults, **traits)

    return make
