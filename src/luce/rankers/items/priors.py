"""What is believed before a ranking is seen: a normal law of log worths, or a few wins and losses for every item."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from luce.arrays import Floats
from luce.errors import DataError, OptionError


@dataclass(frozen=True)
class Normal:
    """Log worths are normal, each with its own mean and standard deviation: numbers, or a mapping from item names.

    Only differences of log worths show in rankings, so a mean common to all changes nothing. With features the mean is
    what they predict: the item effects are then drawn towards 0.

    >>> Normal(sd=3)
    Normal(mean=0.0, sd=3)
    """

    mean: Any = 0.0
    sd: Any = 1.0

    def values(self, names: Sequence[Hashable]) -> tuple[Floats, Floats]:
        """Mean and standard deviation of each item."""
        mean, sd = _of_items("mean", self.mean, names), _of_items("sd", self.sd, names)
        if not (np.isfinite(mean).all() and np.isfinite(sd).all() and (sd > 0).all()):
            raise OptionError(f"Normal needs finite means and standard deviations above 0. Got {self!r}.")
        return mean, sd


@dataclass(frozen=True)
class Pseudo:
    """Every item has so many wins and as many losses against a hypothetical item, as R's `npseudo`.

    They link all items, so that each has a finite worth; they are not counted in the log-likelihood.

    >>> Pseudo(0.5)
    Pseudo(wins=0.5)
    """

    wins: float = 0.5

    def __post_init__(self) -> None:
        if not (isinstance(self.wins, (int, float)) and 0 < self.wins < np.inf):
            raise OptionError(f"Pseudo needs a number of wins above 0. Got {self.wins!r}.")


@dataclass(frozen=True)
class Gamma:
    """The adherence of rankers is gamma distributed with this shape and rate; equal ones make its mean 1.

    >>> Gamma()
    Gamma(shape=10.0, rate=10.0)
    """

    shape: float = 10.0
    rate: float = 10.0

    def __post_init__(self) -> None:
        if not (self.shape >= 1 and self.rate > 0 and np.isfinite([self.shape, self.rate]).all()):
            raise OptionError(f"Gamma needs a shape of at least 1 and a rate above 0. Got {self!r}.")


def _of_items(what: str, given: Any, names: Sequence[Hashable]) -> Floats:
    if isinstance(given, Mapping):
        missing = [name for name in names if name not in given]
        if missing:
            raise DataError(f"The {what} of the prior has no entry for {missing[0]!r} ({len(missing)} missing in all).")
        given = [given[name] for name in names]
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise OptionError(f"The {what} of the prior must be numbers. {error}") from error
    if values.ndim > 1 or (values.ndim == 1 and len(values) != len(names)):
        raise DataError(f"The {what} of the prior must be one number, or {len(names)}. Got shape {values.shape}.")
    return np.broadcast_to(values, len(names)).copy()
