"""Rankings without ties: the Plackett-Luce likelihood, summed by item in one pass."""

from functools import cached_property, partial

import numpy as np

from luce.arrays import Floats
from luce.kernels.ranked_choices import (
    NARROW,
    choice_diagonal,
    choice_hessian,
    choice_product,
    choice_sums,
    choice_wins,
)
from luce.rankers.items.level_part import LevelPart
from luce.rankers.items.observed import Observed
from luce.rankers.items.remembered import Remembered


class ChoicePart:
    """log P of rankings without ties; scores too far apart for one scale are handed to the likelihood of rows."""

    costly = False

    def __init__(self, observed: Observed, n_ties: int, n_jobs: int | None):
        self.observed, self.n_ties, self.n_jobs = observed, n_ties, n_jobs
        self.choices = observed.choices()
        self.wins = choice_wins(self.choices)
        self.sums = Remembered(partial(choice_sums, self.choices, n_jobs=n_jobs))
        self.ratio: Floats | None = None

    @cached_property
    def of_rows(self) -> LevelPart:
        return LevelPart(self.observed, self.n_ties, self.n_jobs)

    def value_and_gradient(self, scores: Floats, ties: Floats) -> tuple[float, Floats, Floats]:
        """The log-likelihood and its gradient in the scores and in the tie parameters."""
        if np.ptp(scores) > NARROW:
            return self.of_rows.value_and_gradient(scores, ties)
        log_z, expected = self.sums(scores)
        return float(self.wins @ scores) - log_z, self.wins - expected, np.zeros(self.n_ties)

    def expected_wins(self, scores: Floats, ties: Floats) -> Floats:
        """How often each item should have been chosen."""
        return self.wins - self.value_and_gradient(scores, ties)[1]

    def curvature(self, scores: Floats, ties: Floats) -> "ChoiceCurvature | object":
        """Minus the second derivative."""
        if np.ptp(scores) > NARROW:
            return self.of_rows.curvature(scores, ties)
        return ChoiceCurvature(self, scores)


class ChoiceCurvature:
    """Minus the second derivative of a ChoicePart at some scores."""

    def __init__(self, part: ChoicePart, scores: Floats):
        self.part, self.scores = part, scores
        self.expected = part.sums(scores)[1]

    def product(self, direction: Floats, tie_direction: Floats) -> tuple[Floats, Floats]:
        own = choice_product(self.part.choices, self.scores, self.expected, direction, n_jobs=self.part.n_jobs)
        return own, np.zeros(self.part.n_ties)

    def diagonal(self) -> Floats:
        """About the diagonal: what part of the expected wins it is changes little, and is looked at once."""
        part = self.part
        if part.ratio is None:
            exact = choice_diagonal(part.choices, self.scores, self.expected, n_jobs=part.n_jobs)
            part.ratio = np.ones(len(exact))
            np.divide(exact, self.expected, out=part.ratio, where=self.expected > 0)
            part.ratio = np.clip(part.ratio, 0.01, 1.0)
        return np.concatenate([part.ratio * self.expected, np.zeros(part.n_ties)])

    def matrix(self) -> Floats:
        own = choice_hessian(self.part.choices, self.scores, self.expected, n_jobs=self.part.n_jobs)
        return np.pad(own, (0, self.part.n_ties))
