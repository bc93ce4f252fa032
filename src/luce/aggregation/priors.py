"""Priors of the worths and of the adherence of rankers."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from luce.arrays import Floats
from luce.errors import DataError, OptionError

ESTIMATE = "estimate"
"""The standard deviation of a prior that is to be estimated."""

PRIORS = "luce.aggregation.NormalPrior(…) or PseudoRankings(…)"
"""The priors of worths, as messages offer them."""


@dataclass(frozen=True)
class NormalPrior:
    """Normal prior of the log worths.

    Only differences of log worths show in rankings, so a mean common to all changes nothing. With features the mean is
    what they predict: the item effects are then shrunk towards 0.

    Parameters
    ----------
    mean : float, array-like of shape (n_items,) or mapping from item names, default 0
        Mean of each log worth.
    sd : float, array-like of shape (n_items,), mapping from item names or "estimate", default 1
        Standard deviation of each log worth. "estimate": one for all items, that makes the rankings most likely
        (empirical Bayes), with a standard normal prior of its logarithm; `PlackettLuce.prior_` has its value.

    Examples
    --------
    >>> NormalPrior(sd=3)
    NormalPrior(mean=0.0, sd=3)
    """

    mean: Any = 0.0
    sd: Any = 1.0

    @property
    def is_estimated(self) -> bool:
        """Whether the standard deviation is to be estimated."""
        return isinstance(self.sd, str) and self.sd == ESTIMATE

    def values(self, names: Sequence[Hashable]) -> tuple[Floats, Floats]:
        """Mean and standard deviation of each item."""
        if self.is_estimated:
            raise OptionError("NormalPrior(sd='estimate') goes with PlackettLuce; give a number here, such as sd=2.")
        if isinstance(self.sd, str):
            raise OptionError(f"The sd of a prior must be numbers above 0 or 'estimate'. Got {self.sd!r}.")
        mean, sd = _of_items("mean", self.mean, names), _of_items("sd", self.sd, names)
        if not (np.isfinite(mean).all() and np.isfinite(sd).all() and (sd > 0).all()):
            raise OptionError(f"NormalPrior needs finite means and standard deviations above 0. Got {self!r}.")
        return mean, sd


@dataclass(frozen=True)
class PseudoRankings:
    """Wins and as many losses of every item against a hypothetical item, as `npseudo` of R's PlackettLuce.

    They link all items, so that each has a finite worth; they are not counted in the log-likelihood.

    Parameters
    ----------
    npseudo : float, default 0.5
        Number of wins, and of losses, of each item.

    Examples
    --------
    >>> PseudoRankings(0.5)
    PseudoRankings(npseudo=0.5)
    """

    npseudo: float = 0.5

    def __post_init__(self) -> None:
        if not (isinstance(self.npseudo, (int, float)) and 0 < self.npseudo < np.inf):
            raise OptionError(f"PseudoRankings needs a number of wins above 0. Got {self.npseudo!r}.")


@dataclass(frozen=True)
class GammaPrior:
    """Gamma prior of the adherence of rankers; equal shape and rate make its mean 1.

    Parameters
    ----------
    shape : float, default 10
        Above 1: otherwise the most likely adherence would be 0.
    rate : float, default 10
        Above 0.

    Examples
    --------
    >>> GammaPrior()
    GammaPrior(shape=10.0, rate=10.0)
    """

    shape: float = 10.0
    rate: float = 10.0

    def __post_init__(self) -> None:
        if not (self.shape > 1 and self.rate > 0 and np.isfinite([self.shape, self.rate]).all()):
            raise OptionError(f"GammaPrior needs a shape above 1 and a rate above 0. Got {self!r}.")


def _of_items(what: str, given: Any, names: Sequence[Hashable]) -> Floats:
    if isinstance(given, Mapping):
        missing = [name for name in names if name not in given]
        if missing:
            raise DataError(
                f"The {what} of the prior has no entry for {missing[0]!r} ({len(missing)} missing in total)."
            )
        given = [given[name] for name in names]
    try:
        values = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise OptionError(f"The {what} of the prior must be numbers. {error}") from error
    if values.ndim > 1 or (values.ndim == 1 and len(values) != len(names)):
        raise DataError(f"The {what} of the prior must be one number, or {len(names)}. Got shape {values.shape}.")
    return np.broadcast_to(values, len(names)).copy()
