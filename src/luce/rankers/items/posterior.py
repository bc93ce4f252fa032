"""What a fit maximises: the log-likelihood plus the log of the prior, in all parameters."""

from typing import Any

import numpy as np

from luce.arrays import Floats
from luce.optimizers.minorize_maximize import scale_worths
from luce.optimizers.newton import LARGEST_MATRIX, Convergence, Watcher, minimize
from luce.rankers.items.likelihood import Likelihood, LikelihoodCurvature
from luce.rankers.items.pair_part import PairPart
from luce.rankers.items.worths import LinearWorths, TeamWorths

FEW = 250
"""Parameters up to which Newton's method is direct from the start; with ties, whose products cost more, MODERATE."""

MODERATE = 2_000

WARM_UP = 3
"""Steps of minorize-maximize before Newton's method."""


class Posterior:
    """−(log-likelihood + log prior) of worth parameters and then tie parameters, to be minimised.

    pseudo_item: the comparisons with the hypothetical item, or None. mean, precision: of the normal prior, 0 where
    there is none, over the worth parameters.
    """

    def __init__(
        self,
        likelihood: Likelihood,
        worths: LinearWorths | TeamWorths,
        pseudo_item: PairPart | None,
        mean: Floats,
        precision: Floats,
    ):
        self.likelihood, self.worths, self.pseudo_item = likelihood, worths, pseudo_item
        self.mean, self.precision = mean, precision
        self.parts = [*likelihood.parts, *([] if pseudo_item is None else [pseudo_item])]

    def split(self, point: Floats) -> tuple[Floats, Floats]:
        """The worth parameters and the tie parameters."""
        return point[: self.worths.n_parameters], point[self.worths.n_parameters :]

    def _seen(self, part: Any, scores: Floats) -> Floats:
        """The scores that a part knows: the likelihood has no hypothetical item."""
        return scores if part is self.pseudo_item else scores[: self.likelihood.n_items]

    def value_and_gradient(self, point: Floats) -> tuple[float, Floats]:
        """What is minimised, and its gradient."""
        parameters, ties = self.split(point)
        scores = self.worths.scores(parameters)
        away = parameters - self.mean
        value = -0.5 * float(self.precision @ away**2)
        gradient, slopes = np.zeros(len(scores)), np.zeros(len(ties))
        for part in self.parts:
            own = part.value_and_gradient(self._seen(part, scores), ties)
            value, slopes = value + own[0], slopes + own[2]
            gradient[: len(own[1])] += own[1]
        pulled = self.worths.pull(parameters, gradient) - self.precision * away
        return -value, -np.concatenate([pulled, slopes])

    def curvature(self, point: Floats, *, pseudo_item: bool = True) -> "PosteriorCurvature":
        """The second derivative; without the comparisons with the hypothetical item, if not wanted."""
        return PosteriorCurvature(self, point, pseudo_item)

    def start(self, log_worths: Floats | None = None) -> Floats:
        """Equal worths, or those given, and the tie parameters that fit equal worths."""
        parameters = np.zeros(self.worths.n_parameters)
        if log_worths is not None and self.worths.free:
            parameters[: len(log_worths)] = log_worths
        return np.concatenate([parameters, self.likelihood.start_of_ties()])

    def warmed_up(self, point: Floats) -> Floats:
        """After a few steps of minorize-maximize, where they apply."""
        if not (self.worths.free and all(getattr(part, "wins", None) is not None for part in self.parts)):
            return point
        ties = self.split(point)[1]

        def total(values: list[Floats]) -> Floats:
            result = np.zeros(self.worths.n_parameters)
            for value in values:
                result[: len(value)] += value
            return result

        def expected(scores: Floats) -> Floats:
            return total([part.expected_wins(self._seen(part, scores), ties) for part in self.parts])

        wins = total([part.wins for part in self.parts])
        scores = scale_worths(expected, wins, self.split(point)[0], steps=WARM_UP)
        warm = np.concatenate([scores - scores.mean(), ties])
        return warm if np.isfinite(warm).all() else point

    def maximise(
        self, start: Floats, *, tol: float, max_iter: int, watch: Watcher | None = None
    ) -> tuple[Floats, Convergence]:
        """The most likely point, by Newton's method."""
        few = len(start) <= (MODERATE if any(part.costly for part in self.parts) else FEW)
        dense = not self.worths.free and self.worths.n_scores <= LARGEST_MATRIX >= len(start)
        return minimize(
            self.value_and_gradient,
            self.curvature,
            start,
            tol=tol,
            max_iter=max_iter,
            direct=few or dense,
            watch=watch,
        )


class PosteriorCurvature:
    """The second derivative of a Posterior at a point."""

    def __init__(self, posterior: Posterior, point: Floats, pseudo_item: bool):
        self.posterior, self.worths = posterior, posterior.worths
        self.parameters, ties = posterior.split(point)
        self.n_ties = len(ties)
        self.scores = self.worths.scores(self.parameters)
        self.precision = posterior.precision
        parts = posterior.parts if pseudo_item else posterior.likelihood.parts
        seen = [posterior._seen(part, self.scores) for part in parts]
        self.parts = [
            LikelihoodCurvature([part.curvature(own, ties)], len(own)) for part, own in zip(parts, seen, strict=True)
        ]
        self.gradient = np.zeros(len(self.scores))
        if not isinstance(self.worths, LinearWorths):
            for part, own in zip(parts, seen, strict=True):
                self.gradient[: len(own)] += part.value_and_gradient(own, ties)[1]

    def product(self, direction: Floats) -> Floats:
        along, tie_along = self.posterior.split(direction)
        moved = self.worths.push(self.parameters, along)
        total, slopes = np.zeros(len(moved)), np.zeros(self.n_ties)
        for part in self.parts:
            own = part.product(np.concatenate([moved[: part.n_items], tie_along]))
            total[: part.n_items] += own[: part.n_items]
            slopes += own[part.n_items :]
        result = self.worths.pull(self.parameters, total) + self.precision * along
        result = result - self.worths.bend(self.parameters, self.gradient, along)
        return np.concatenate([result, slopes])

    def diagonal(self) -> Floats:
        total, ties = np.zeros(len(self.scores)), np.zeros(self.n_ties)
        for part in self.parts:
            own = part.diagonal()
            total[: part.n_items] += own[: part.n_items]
            ties += own[part.n_items :]
        return np.concatenate([self.worths.diagonal(self.parameters, total) + self.precision, ties])

    def matrix(self) -> Floats:
        n, size = len(self.scores), len(self.scores) + self.n_ties
        if n > LARGEST_MATRIX:
            return np.stack([self.product(unit) for unit in np.eye(len(self.parameters) + self.n_ties)], axis=1)
        total = np.zeros((size, size))
        for part in self.parts:
            own = np.concatenate([np.arange(part.n_items), np.arange(n, size)])
            total[np.ix_(own, own)] += part.matrix()
        inner = self.worths.matrix(self.parameters, total[:n, :n], self.gradient)
        inner[np.diag_indices(len(inner))] += self.precision
        if not self.n_ties:
            return inner
        edge = np.stack([self.worths.pull(self.parameters, column) for column in total[:n, n:].T], axis=1)
        return np.block([[inner, edge], [edge.T, total[n:, n:]]])
