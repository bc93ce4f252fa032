"""Inference from a fitted model: standard errors, contrasts, intervals, ranks, tiers and the bootstrap."""

import logging
import warnings
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from luce.aggregation.clusters import check_total
from luce.aggregation.comparisons import QuasiStandardErrors, fit_quasi_variances, rank_intervals, tiers
from luce.aggregation.connectivity import OFFER
from luce.aggregation.error_kinds import ErrorsMixin, check_level
from luce.aggregation.likelihood import Likelihood
from luce.aggregation.names import listed
from luce.arrays import Floats, Integers
from luce.errors import DataError, LuceWarning, OptionError
from luce.optimizers.newton import LARGEST_MATRIX

logger = logging.getLogger(__name__)


class InferenceMixin(ErrorsMixin):
    """Methods of a fitted PlackettLuce that say how sure it is; see `ErrorsMixin` for the kinds of standard errors."""

    def _for_all_items(self, values: NDArray[Any], missing: Any = np.nan) -> Any:
        """Values of the items that can be estimated as values of all."""
        result = np.full((len(self.estimable_), *values.shape[1:]), missing, dtype=values.dtype)
        result[self.estimable_] = values
        return result

    def covariance(self, kind: str | None = None) -> Floats:
        """Covariance matrix of the log worths less their mean, and of the tie parameters (log δ, or the margin).

        Parameters
        ----------
        kind : {"observed", "expected", "sandwich"}, optional
            What the standard errors are based on, see `standard_errors`.

        Returns
        -------
        ndarray of shape (n + T, n + T)
            In the order of `names_`, then of `tie_parameters_`; NaN for items that cannot be estimated.
        """
        matrix = self._covariance(kind).matrix
        kept = np.concatenate([self.estimable_, np.ones(len(matrix) - int(self.estimable_.sum()), bool)])
        whole = np.full((len(kept), len(kept)), np.nan)
        whole[np.ix_(kept, kept)] = matrix
        return whole

    def standard_errors(self, kind: str | None = None, *, reference: Hashable | None = None) -> Floats:
        """Standard errors of the log worths.

        Parameters
        ----------
        kind : {"observed", "expected", "sandwich"}, optional
            The information they are based on: observed, or expected given the sets that were chosen from; "sandwich"
            is robust to a misspecified model, and clustered by ranker if the rankings have rankers; the variance of an
            item that few rankers compared is at least the model-based one. By default `error_kind_`: "sandwich" where
            rankers made several rankings, else "observed".
        reference : hashable, optional
            An item, for the errors of the differences from it; by default from the mean of all items.

        Returns
        -------
        ndarray of shape (n,)
            NaN for items that cannot be estimated.

        Examples
        --------
        >>> from luce.aggregation import PlackettLuce, Rankings
        >>> pairs = Rankings.from_pairs(["a", "b"], ["b", "a"], weights=[30, 10])
        >>> PlackettLuce().fit(pairs).standard_errors(reference="a").round(4)
        array([0.    , 0.3651])
        """
        check_is_fitted(self)
        if reference is None:
            return self._for_all_items(np.sqrt(self._variances(kind)))
        at = self._index(reference)
        if self._too_many:
            raise OptionError(f"With more than {LARGEST_MATRIX:,} items use contrast(a, b), one pair at a time.")
        place = int(np.cumsum(self.estimable_)[at]) - 1
        return self._for_all_items(np.sqrt(self._difference_variances(kind)(slice(place, place + 1))[0]))

    def tie_standard_errors(self, kind: str | None = None) -> dict[str, float]:
        """Standard errors of log δ of each tie order, or of the margin, by the names of `tie_parameters_`."""
        errors = np.sqrt(np.diagonal(self._covariance(kind).matrix))
        return dict(zip(self.tie_parameters_, errors[int(self.estimable_.sum()) :].tolist(), strict=True))

    def coefficient_standard_errors(self, kind: str | None = None) -> dict[str, float]:
        """Standard errors of the coefficients of the features, by name."""
        begin = self._posterior.parametrization.n_effects
        errors = np.sqrt(np.diagonal(self._covariance(kind).parameters))
        own = errors[begin : begin + len(self.coefficients_)]
        return dict(zip(self.coefficients_, own.tolist(), strict=True))

    def contrast(self, first: Hashable, second: Hashable, kind: str | None = None) -> tuple[float, float]:
        """Difference of two log worths and its standard error.

        Parameters
        ----------
        first, second : hashable
            Names of items.
        kind : {"observed", "expected", "sandwich"}, optional
            What the standard error is based on, see `standard_errors`.

        Returns
        -------
        difference, standard_error : float
            log worth of the first − log worth of the second, and its standard error.
        """
        check_is_fitted(self)
        a, b = self._index(first), self._index(second)
        difference = float(self.log_worths_[a] - self.log_worths_[b])
        if not self._too_many:
            return difference, float(self.standard_errors(kind, reference=first)[b])
        i, j = (np.cumsum(self.estimable_) - 1)[[a, b]].tolist()
        return difference, float(np.sqrt(self._large_contrast_variance(i, j, self._resolve(kind))))

    def quasi_standard_errors(self, kind: str | None = None) -> QuasiStandardErrors:
        """Quasi standard errors, one per item: the sum of two squares is about the variance of a difference.

        Parameters
        ----------
        kind : {"observed", "expected", "sandwich"}, optional
            What they are based on, see `standard_errors`.

        Returns
        -------
        QuasiStandardErrors
            `errors` of shape (n,), and `worst`, the largest relative errors, below and above, of what they imply.
        """
        own = self._variances(kind)
        if self._too_many:
            return QuasiStandardErrors(self._for_all_items(np.sqrt(own)), (np.nan, np.nan))
        known, kind = self._quasi_variances, self._resolve(kind)
        if kind not in known:
            known[kind] = fit_quasi_variances(self._covariance(kind).matrix[: len(own), : len(own)])
        return QuasiStandardErrors(self._for_all_items(known[kind].errors), known[kind].worst)

    def intervals(self, level: float = 0.95, kind: str | None = None) -> Floats:
        """Confidence interval of each log worth less the mean (n, 2), by its standard error."""
        reach = self._critical_value(level, kind) * self.standard_errors(kind)
        return np.stack([self.log_worths_ - reach, self.log_worths_ + reach], axis=1)

    def comparison_intervals(self, level: float = 0.95, kind: str | None = None) -> Floats:
        """Interval of each log worth (n, 2) by its quasi standard error: for comparing items, as in a plot."""
        reach = self._critical_value(level, kind) * self.quasi_standard_errors(kind).errors
        return np.stack([self.log_worths_ - reach, self.log_worths_ + reach], axis=1)

    def rank_intervals(self, level: float = 0.95, kind: str | None = None) -> Integers:
        """Rank range of each item, from simultaneous tests of its differences from all others.

        Parameters
        ----------
        level : float, default 0.95
            Confidence level, between 0 and 1.
        kind : {"observed", "expected", "sandwich"}, optional
            What the standard errors are based on, see `standard_errors`.

        Returns
        -------
        ndarray of shape (n, 2)
            Best and worst rank, 1 = best, among the items that can be estimated; 0 for the others.
        """
        own, freedom = self.log_worths_[self.estimable_], self._degrees_of_freedom(kind)
        return self._for_all_items(
            rank_intervals(own, self._difference_variances(kind), check_level(level), freedom), 0
        )

    def tiers(self, level: float = 0.95, kind: str | None = None) -> Integers:
        """Tier of each item.

        Parameters
        ----------
        level : float, default 0.95
            Confidence level, between 0 and 1.
        kind : {"observed", "expected", "sandwich"}, optional
            What the standard errors are based on, see `standard_errors`.

        Returns
        -------
        ndarray of shape (n,)
            1 if no item is significantly better, else one below those that are; 0 for items that cannot be estimated.
        """
        own, freedom = self.log_worths_[self.estimable_], self._degrees_of_freedom(kind)
        return self._for_all_items(tiers(own, self._difference_variances(kind), check_level(level), freedom), 0)

    def bootstrap(self, n_samples: int = 200, *, random_state: int = 0) -> Floats:
        """Log worths of refits with random weights: the Bayesian bootstrap (Rubin, 1981).

        Each ranking, or each ranker with all of its rankings, gets an exponential weight of mean 1, a ranking of weight
        w as w of them. No weight is 0, so no item is ever cut off. Each refit starts from the fit. The prior is that of
        the fit, `prior_`: a spread that was estimated is kept.

        Parameters
        ----------
        n_samples : int, default 200
            Number of refits.
        random_state : int, default 0
            Seed of the weights.

        Returns
        -------
        ndarray of shape (n_samples, n)
            NaN for items that cannot be estimated.
        """
        check_is_fitted(self)
        if n_samples < 1:
            raise OptionError(f"n_samples must be at least 1. Got {n_samples!r}.")
        random = np.random.default_rng(random_state)
        rankings = self.rankings_
        if not self.adherence or rankings.rankers is not None:  # else equal rankings have an adherence each
            rankings = rankings.aggregate()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LuceWarning)  # the fit has named what cannot be estimated
            posterior = self._set_up(rankings, ties=self.ties_, prior=self.prior_).posterior
        observed = posterior.likelihood.observed
        if rankings.rankers is None:
            check_total(observed.weights)
        result = np.full((n_samples, len(self.names_)), np.nan)
        for sample in range(n_samples):
            if rankings.rankers is None:
                weights = random.standard_gamma(observed.weights)  # the sum of w exponential weights
            else:
                drawn = random.standard_exponential(len(rankings.ranker_names))
                weights = observed.weights * drawn[rankings.rankers[observed.indices]]
            likelihood = Likelihood(observed.replace(weights=weights), self.ties_, posterior.likelihood.n_jobs)
            refit = posterior.with_likelihood(likelihood)
            point = self._search(rankings, refit, self._point)[0]
            own = refit.parametrization.log_worths(refit.split(point)[0])
            result[sample, self.estimable_] = own - own.mean()
            if (sample + 1) % 100 == 0:
                logger.info("bootstrap: %d of %d", sample + 1, n_samples)
        return result

    def _index(self, name: Hashable) -> int:
        """The index of an item that has a worth."""
        try:
            at = self.names_.index(name)
        except ValueError:
            known = listed(list(map(repr, self.names_)))
            raise DataError(f"There is no item {name!r} in this model. Known: {known}.") from None
        if not self.estimable_[at]:
            raise DataError(f"{name!r} has no worth: {self.not_estimable_[name]}. {OFFER}")
        return at

    _set_up: Any
    _search: Any
    ties_: str | None
    prior_: Any
    adherence: Any
    names_: tuple[Hashable, ...]
    not_estimable_: dict[Hashable, str]
    log_worths_: Floats
    tie_parameters_: dict[str, float]
    coefficients_: dict[str, float]
    _quasi_variances: dict[str, QuasiStandardErrors]
