"""Which standard errors a fitted model has: model-based or robust, by ranker, with a matrix or without."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from luce.aggregation.clusters import Rankers, Shortfall, count_rankers
from luce.aggregation.comparisons import critical_value
from luce.aggregation.covariance import (
    KINDS,
    Covariance,
    covariance,
    expected_posterior,
    missing_variances,
    scores_of_clusters,
)
from luce.aggregation.large_covariance import (
    InformationSolver,
    contrast_variance,
    hutchinson_sandwich,
    hutchinson_variances,
)
from luce.aggregation.posterior import Posterior
from luce.arrays import Floats
from luce.errors import OptionError, warn
from luce.optimizers.newton import LARGEST_MATRIX

USUAL = (0.67, 1.5)
"""Ratios of robust to model-based standard errors; a median outside gives a warning."""


class ErrorsMixin:
    """Methods of a fitted PlackettLuce. Kinds of standard errors: "observed", "expected", "sandwich".

    Robust ("sandwich") errors are clustered by ranker where the rankings have rankers, and are the default
    (`error_kind_`) where rankers repeat. With more than 4,000 items no matrix is made: variances come from Hutchinson's
    random probes, to a percent or so (`standard_error_noise_` is their largest relative error), and quasi standard
    errors, ranks and tiers from them, as if log worths were independent, which they then nearly are.
    """

    @property
    def error_kind_(self) -> str:
        """Kind of the standard errors unless another is asked for.

        "sandwich", clustered by ranker, if a tenth of the rankings or more are by rankers who made several, and there
        are at least three rankers of equal weight; else "observed", as with pools of more than 20 million rows.
        """
        rankers = self._rankers
        return "sandwich" if rankers is not None and rankers.repeated and not rankers.obstacle else "observed"

    @property
    def error_ratio_(self) -> float:
        """Median over the items of the robust standard errors relative to the model-based ones.

        Far from 1 the rankings of a ranker are not independent, or the model does not describe the data.
        """
        if self._too_many:
            return self._stochastic_variances_of("sandwich")[1].ratio
        return self._covariance("sandwich").ratio

    @property
    def _rankers(self) -> Rankers | None:
        check_is_fitted(self)
        rankers = self.rankings_.rankers
        return None if rankers is None else count_rankers(self._posterior.likelihood.observed, rankers)

    def _resolve(self, kind: str | None) -> str:
        """The kind that is asked for, or that of `error_kind_`."""
        check_is_fitted(self)
        if kind is not None and kind not in KINDS:
            raise OptionError(f"The kind of standard error must be one of {', '.join(KINDS)}. Got {kind!r}.")
        rankers = self._rankers
        if kind is None and rankers is not None and rankers.repeated and rankers.obstacle:
            self._warn_once(
                f"Standard errors by ranker {rankers.obstacle}. The standard errors take all rankings as independent, "
                "and are too small if rankers differ in taste."
            )
        return self.error_kind_ if kind is None else kind

    def _described(self, kind: str | None) -> str:
        """The kind in words, as a table or page states it."""
        freedom, resolved = self._degrees_of_freedom(kind), self._resolve(kind)
        if np.isinf(freedom):
            return resolved
        return f"{resolved}, clustered by ranker, Student's t with {freedom:.3g} degrees of freedom"

    def _warn_once(self, message: str) -> None:
        if message not in self._warned:
            self._warned.add(message)
            warn(message)

    def _check_ratio(self, ratio: float) -> None:
        """Warn if robust errors that were not asked for are far from the model-based ones."""
        if not USUAL[0] <= ratio <= USUAL[1]:
            self._warn_once(
                f"Robust standard errors are {ratio:.2g} times the model-based ones (median of the items): rankings of "
                "one ranker are not independent, or the model does not describe the data."
            )

    def _degrees_of_freedom(self, kind: str | None) -> float:
        """Of the standard errors: those by ranker vary as if each ranker were one observation."""
        rankers = self._rankers
        return np.inf if rankers is None or self._resolve(kind) != "sandwich" else max(rankers.number - 1, 1.0)

    def _covariance(self, kind: str | None) -> Covariance:
        known, resolved = self._covariances, self._resolve(kind)
        if resolved not in known:
            known[resolved] = covariance(self._posterior, self._point, resolved, self.rankings_.rankers)
        if kind is None:
            self._check_ratio(known[resolved].ratio)
        return known[resolved]

    @property
    def _too_many(self) -> bool:
        return self._posterior.parametrization.n_scores > LARGEST_MATRIX

    def _variances(self, kind: str | None) -> Floats:
        """Of each log worth that can be estimated, less their mean."""
        if self._too_many:
            variances, missing = self._stochastic_variances_of(self._resolve(kind))
            if kind is None:
                self._check_ratio(missing.ratio)
            return variances
        return np.diagonal(self._covariance(kind).matrix)[: int(self.estimable_.sum())].copy()

    def _solver(self, kind: str) -> InformationSolver:
        posterior = self._posterior
        counted = expected_posterior(posterior, self._point) if kind == "expected" else posterior
        return InformationSolver(counted, self._point)

    def _stochastic_variances_of(self, kind: str) -> tuple[Floats, Shortfall]:
        """The same by random probes, and what they hold for items that few rankers compared."""
        known = self._stochastic_variances
        if kind not in known:
            solver, missing = self._solver(kind), Shortfall(np.zeros(1), 1.0)
            if kind == "sandwich":
                gathered = scores_of_clusters(self._posterior, self._point, self.rankings_.rankers)
                variances, noise = hutchinson_sandwich(solver, gathered)
                missing = missing_variances(self._posterior, variances, self._variances("observed"), gathered)
            else:
                variances, noise = hutchinson_variances(solver)
            self.standard_error_noise_ = float(np.max(0.5 * noise / variances))
            known[kind] = variances + missing.added, missing
        return known[kind]

    def _difference_variances(self, kind: str | None) -> Any:
        """A function that gives the variances of the differences between some items and all."""
        own = self._variances(kind)
        if self._too_many:
            return lambda rows: own[rows, None] + own[None, :]
        matrix = self._covariance(kind).matrix[: len(own), : len(own)]
        return lambda rows: np.maximum(own[rows, None] + own[None, :] - 2 * matrix[rows], 0.0)

    def _large_contrast_variance(self, i: int, j: int, kind: str) -> float:
        solver = self._solver(kind)
        if kind != "sandwich" or i == j:
            return contrast_variance(solver, i, j)
        gathered = scores_of_clusters(self._posterior, self._point, self.rankings_.rankers)
        added = self._stochastic_variances_of(kind)[1].added
        return contrast_variance(solver, i, j, gathered) + float(added[i] + added[j])

    def _critical_value(self, level: float, kind: str | None) -> float:
        return critical_value(check_level(level), degrees_of_freedom=self._degrees_of_freedom(kind))

    _posterior: Posterior
    _point: Floats
    rankings_: Any
    estimable_: Any
    standard_error_noise_: float
    _covariances: dict[str, Covariance]
    _stochastic_variances: dict[str, tuple[Floats, Shortfall]]
    _warned: set[str]


def check_level(level: float) -> float:
    """A level of confidence between 0 and 1."""
    if not 0 < level < 1:
        raise OptionError(f"level must lie between 0 and 1. Got {level!r}.")
    return level
