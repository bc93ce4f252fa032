"""How sure a fitted model is: standard errors, differences, intervals, ranks, tiers and the bootstrap."""

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from luce.arrays import Floats, Integers
from luce.errors import DataError, OptionError
from luce.optimizers.newton import LARGEST_MATRIX
from luce.rankers.items.bootstrap import bootstrap_log_worths
from luce.rankers.items.comparisons import critical_value, rank_intervals, tiers
from luce.rankers.items.information import Covariance, covariance
from luce.rankers.items.posterior import Posterior
from luce.rankers.items.probing import Solver, probed_sandwich, probed_variances
from luce.rankers.items.quasi_variances import QuasiErrors, quasi_errors


class InferenceMixin:
    """Methods of a fitted PlackettLuce. Kinds of standard errors: "observed", "expected", "sandwich".

    Robust ("sandwich") errors are clustered by ranker where the rankings have rankers. With more than 4,000 items no
    matrix is made: variances come from random probes, to a percent or so (`standard_error_noise_` says how near), and
    quasi standard errors, ranks and tiers from them, as if log worths were independent, which they then nearly are.
    """

    def _covariance(self, kind: str) -> Covariance:
        check_is_fitted(self)
        known = self.__dict__.setdefault("_covariances", {})
        if kind not in known:
            known[kind] = covariance(self._posterior, self._point, kind, self._clusters())
        return known[kind]

    def _clusters(self) -> Integers | None:
        return self.rankings_.rankers

    @property
    def _too_many(self) -> bool:
        return self._posterior.worths.n_scores > LARGEST_MATRIX

    def _variances(self, kind: str) -> Floats:
        """Of each log worth that can be estimated, less their mean."""
        if not self._too_many:
            return np.diagonal(self._covariance(kind).matrix)[: int(self.estimable_.sum())].copy()
        known = self.__dict__.setdefault("_probed", {})
        if kind not in known:
            if kind == "sandwich":
                variances, noise = probed_sandwich(self._posterior, self._point, self._clusters())
            else:
                variances, noise = probed_variances(self._posterior, self._point)
            self.standard_error_noise_ = float(np.max(0.5 * noise / variances))
            known[kind] = variances
        return known[kind]

    def _differences(self, kind: str) -> Any:
        """A function that gives the variances of the differences between some items and all."""
        own = self._variances(kind)
        if self._too_many:
            return lambda rows: own[rows, None] + own[None, :]
        matrix = self._covariance(kind).matrix[: len(own), : len(own)]
        return lambda rows: np.maximum(own[rows, None] + own[None, :] - 2 * matrix[rows], 0.0)

    def _spread_out(self, values: NDArray[Any], missing: Any = np.nan) -> Any:
        """Values of the items that can be estimated as values of all."""
        result = np.full((len(self.estimable_), *values.shape[1:]), missing, dtype=values.dtype)
        result[self.estimable_] = values
        return result

    def covariance(self, kind: str = "observed") -> Floats:
        """Of the log worths less their mean, in the order of `names_`, and then the tie parameters (log δ, or margin).

        NaN for items that cannot be estimated.
        """
        matrix = self._covariance(kind).matrix
        kept = np.concatenate([self.estimable_, np.ones(len(matrix) - int(self.estimable_.sum()), bool)])
        whole = np.full((len(kept), len(kept)), np.nan)
        whole[np.ix_(kept, kept)] = matrix
        return whole

    def standard_errors(self, kind: str = "observed", *, reference: Hashable | None = None) -> Floats:
        """Of the log worths (n,): of their difference from the mean, or from a reference item's; NaN as `log_worths_`.

        >>> from luce.data.rankings import Rankings
        >>> from luce.rankers.items import PlackettLuce
        >>> pairs = Rankings.from_pairs(["a", "b"], ["b", "a"], weights=[30, 10])
        >>> PlackettLuce().fit(pairs).standard_errors(reference="a").round(4)
        array([0.    , 0.3651])
        """
        check_is_fitted(self)
        if reference is None:
            return self._spread_out(np.sqrt(self._variances(kind)))
        at = self._number(reference)
        if self._too_many:
            raise OptionError(f"With more than {LARGEST_MATRIX:,} items ask for contrast(a, b), one at a time.")
        place = int(np.cumsum(self.estimable_)[at]) - 1
        return self._spread_out(np.sqrt(self._differences(kind)(slice(place, place + 1))[0]))

    def tie_standard_errors(self, kind: str = "observed") -> dict[str, float]:
        """Of log δ of each tie order, or of the margin, by the names of `tie_parameters_`."""
        roots = np.sqrt(np.diagonal(self._covariance(kind).matrix))
        return dict(zip(self.tie_parameters_, roots[int(self.estimable_.sum()) :].tolist(), strict=True))

    def coefficient_standard_errors(self, kind: str = "observed") -> dict[str, float]:
        """Of the weights of the features, by name."""
        begin = self._posterior.worths.n_effects
        roots = np.sqrt(np.diagonal(self._covariance(kind).parameters))
        own = roots[begin : begin + len(self.coefficients_)]
        return dict(zip(self.coefficients_, own.tolist(), strict=True))

    def contrast(self, first: Hashable, second: Hashable, kind: str = "observed") -> tuple[float, float]:
        """log worth of the first − log worth of the second, and its standard error."""
        check_is_fitted(self)
        a, b = self._number(first), self._number(second)
        difference = float(self.log_worths_[a] - self.log_worths_[b])
        places = np.cumsum(self.estimable_) - 1
        i, j = int(places[a]), int(places[b])
        if self._too_many:
            if kind == "sandwich":
                raise OptionError(f"With more than {LARGEST_MATRIX:,} items contrast() gives observed errors only.")
            target = np.zeros(int(self.estimable_.sum()))
            target[i] += 1
            target[j] -= 1
            return difference, float(np.sqrt(target @ Solver(self._posterior, self._point).solve(target)))
        return difference, float(np.sqrt(self._differences(kind)(slice(i, i + 1))[0][j]))

    def quasi_standard_errors(self, kind: str = "observed") -> QuasiErrors:
        """One error an item, whose squares add up to about the variance of a difference; and the worst misfit."""
        own = self._variances(kind)
        if self._too_many:
            return QuasiErrors(self._spread_out(np.sqrt(own)), (np.nan, np.nan))
        found = quasi_errors(self._covariance(kind).matrix[: len(own), : len(own)])
        return QuasiErrors(self._spread_out(found.errors), found.worst)

    def intervals(self, level: float = 0.95, kind: str = "observed") -> Floats:
        """Of each log worth less the mean (n, 2), by its standard error."""
        reach = critical_value(check_level(level)) * self.standard_errors(kind)
        return np.stack([self.log_worths_ - reach, self.log_worths_ + reach], axis=1)

    def comparison_intervals(self, level: float = 0.95, kind: str = "observed") -> Floats:
        """Of each log worth (n, 2), by its quasi standard error: for comparing items with each other, as in a plot."""
        reach = critical_value(check_level(level)) * self.quasi_standard_errors(kind).errors
        return np.stack([self.log_worths_ - reach, self.log_worths_ + reach], axis=1)

    def rank_intervals(self, level: float = 0.95, kind: str = "observed") -> Integers:
        """The ranks that each item may have (n, 2), 1 = best, its differences from all others looked at together.

        0 for items that cannot be estimated; ranks are among the others.
        """
        own = self.log_worths_[self.estimable_]
        return self._spread_out(rank_intervals(own, self._differences(kind), check_level(level)), 0)

    def tiers(self, level: float = 0.95, kind: str = "observed") -> Integers:
        """The tier of each item (n,): 1 if none is surely better, else one below those that are. 0: no worth."""
        own = self.log_worths_[self.estimable_]
        return self._spread_out(tiers(own, self._differences(kind), check_level(level)), 0)

    def bootstrap(self, n_samples: int = 200, *, random_state: int = 0) -> Floats:
        """Log worths (n_samples, n) of refits with random weights: the Bayesian bootstrap (Rubin, 1981).

        Each ranking, or each ranker with all of its rankings, gets an exponential weight of mean 1, a ranking of weight
        w as w of them. No weight is 0, so no item is ever cut off. Each refit starts from the fit.
        """
        check_is_fitted(self)
        return bootstrap_log_worths(self, n_samples, random_state)

    def _number(self, name: Hashable) -> int:
        """The number of an item that has a worth."""
        try:
            at = self.names_.index(name)
        except ValueError:
            raise DataError(f"There is no item {name!r} in this model.") from None
        if not self.estimable_[at]:
            raise DataError(f"{name!r} has no worth: {self.inestimable_[name]}. Give a prior when fitting.")
        return at

    _posterior: Posterior
    _point: Floats
    rankings_: Any
    names_: tuple[Hashable, ...]
    estimable_: Any
    inestimable_: dict[Hashable, str]
    log_worths_: Floats
    tie_parameters_: dict[str, float]
    coefficients_: dict[str, float]
    standard_error_noise_: float


def check_level(level: float) -> float:
    """A level of confidence between 0 and 1."""
    if not 0 < level < 1:
        raise OptionError(f"level must lie between 0 and 1. Got {level!r}.")
    return level
