"""Rankers who keep to the common order more or less closely: each ranker's log worths are stretched by an adherence.

With η_g the adherence of ranker g, the scores of g's rankings are η_g · log worth (Raman and Joachims, 2014). The data
alone would make η_g infinite or zero for a ranker who always or never agrees, so a gamma prior holds it near 1.
"""

from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats, Integers, list_of_row
from luce.errors import OptionError
from luce.kernels.davidson_ties import davidson_product
from luce.kernels.partition_curvature import partition_product
from luce.optimizers.newton import Convergence
from luce.rankers.items.davidson_part import DavidsonPart, log_deltas, written_out
from luce.rankers.items.level_part import LevelPart
from luce.rankers.items.likelihood import Likelihood
from luce.rankers.items.observed import by_item
from luce.rankers.items.posterior import Posterior
from luce.rankers.items.priors import Gamma

ROUNDS = 500
"""Rounds of worths and adherence in turn, at most."""


class Adherent(NamedTuple):
    """Worth and tie parameters, the adherence of each ranker, and how the search ended."""

    point: Floats
    adherence: Floats
    convergence: Convergence


def maximise_with_adherence(
    posterior: Posterior, rankers: Integers, n_rankers: int, prior: Gamma, start: Floats, **settings: Any
) -> Adherent:
    """The most likely worths and adherence, each found in turn with the other held, until neither moves.

    rankers (Q,): who made each of the observed rankings. Replaces the posterior's parts by ones with adherence.
    """
    likelihood = posterior.likelihood
    if likelihood.ties == "rao-kupper":
        raise OptionError("adherence goes with ties='exact', 'davidson' or None, not with 'rao-kupper'.")
    adherence, point = np.ones(n_rankers), start
    iterations = 0
    for _ in range(ROUNDS):
        part = _part(likelihood, adherence[rankers])
        _replace_parts(posterior, part)
        point, end = posterior.maximise(point, **settings)
        iterations += end.iterations
        scores = posterior.worths.scores(posterior.split(point)[0])[: likelihood.n_items]
        ties = posterior.split(point)[1]
        new = _updated(likelihood, rankers, adherence, prior, scores, ties)
        moved, adherence = float(np.abs(new - adherence).max()), new
        if moved < 1e-10:
            break
    return Adherent(point, adherence, Convergence(end.converged and moved < 1e-6, end.gradient, end.tol, iterations))


def _part(likelihood: Likelihood, multipliers: Floats) -> LevelPart | DavidsonPart:
    seen = written_out(likelihood.observed)
    if likelihood.ties == "davidson":
        return DavidsonPart(seen, likelihood.orders, likelihood.n_jobs, multipliers)
    return LevelPart(seen, likelihood.n_ties, likelihood.n_jobs, multipliers)


def _replace_parts(posterior: Posterior, part: LevelPart | DavidsonPart) -> None:
    posterior.likelihood.parts = [part]
    posterior.parts = [part, *([] if posterior.pseudo_item is None else [posterior.pseudo_item])]


def _updated(
    likelihood: Likelihood, rankers: Integers, adherence: Floats, prior: Gamma, scores: Floats, ties: Floats
) -> Floats:
    """The most likely adherence of each ranker for given worths: Newton steps on a concave function of one number."""
    current = adherence.copy()
    n = len(current)
    for _ in range(50):
        part = _part(likelihood, current[rankers])
        slope, bend = _slopes(part, scores, ties)
        total = np.bincount(rankers, part.weights * slope, minlength=n) + (prior.shape - 1) / current - prior.rate
        curve = np.bincount(rankers, bend, minlength=n) + (prior.shape - 1) / current**2
        step = total / np.maximum(curve, 1e-12)
        current = np.where(current + step > 0, current + step, 0.5 * current)
        if np.abs(step).max() < 1e-12:
            break
    return current


def _slopes(part: LevelPart | DavidsonPart, scores: Floats, ties: Floats) -> tuple[Floats, Floats]:
    """The slope of each ranking's log P in its multiplier, and minus the weighted second derivative."""
    offsets = part.observed.offsets
    along = scores[part.items]
    rows = part.log_probabilities(scores, ties)[1]
    if isinstance(part, DavidsonPart):
        still = np.zeros(part.n_ties + 1)
        given = part.rankings, part.weights, part.stretch * along, log_deltas(ties), along, still
        turned = davidson_product(*given, n_jobs=part.n_jobs)[0]
    else:
        turned = partition_product(part.stretch * along, part.places, offsets, part.weights, along, n_jobs=part.n_jobs)
    q, n = list_of_row(offsets), len(offsets) - 1
    return by_item(q, rows * along, n), by_item(q, turned * along, n)
