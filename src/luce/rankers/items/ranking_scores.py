"""The log-likelihood of each ranking, and its slope: what robust errors and cross-validation are made of."""

import numpy as np
from scipy import sparse
from scipy.special import expit

from luce.arrays import Floats
from luce.rankers.items.davidson_part import DavidsonPart
from luce.rankers.items.level_part import LevelPart
from luce.rankers.items.likelihood import Likelihood


def ranking_log_probabilities(likelihood: Likelihood, scores: Floats, ties: Floats) -> Floats:
    """log P of each ranking (Q,)."""
    if likelihood.ties == "rao-kupper":
        return _margins(likelihood, scores, ties)[0]
    part = _row_part(likelihood)
    if isinstance(part, LevelPart) and part.too_wide(scores):
        part = part.written_out
    return part.log_probabilities(scores, ties)[0]


def ranking_scores(likelihood: Likelihood, scores: Floats, ties: Floats) -> sparse.csr_array:
    """The gradient of log P of each ranking in the scores and then the tie parameters (Q, n_items + T), sparse."""
    seen = likelihood.observed
    if likelihood.ties == "rao-kupper":
        _, up, slope = _margins(likelihood, scores, ties)
        values = np.stack([up, -up], axis=1).ravel()
        own = sparse.csr_array((values, seen.items, seen.offsets), shape=(seen.n_rankings, seen.n_items))
        return sparse.hstack([own, sparse.csr_array(slope[:, None])], format="csr")
    part = _row_part(likelihood, written_out=True)
    shape = part.observed.n_rankings, seen.n_items
    slopes = np.zeros((shape[0], likelihood.n_ties))
    if isinstance(part, DavidsonPart):
        _, rows, slopes = part.log_probabilities(scores, ties)
    else:
        rows = part.log_probabilities(scores, ties)[1]
    own = sparse.csr_array((rows * part.stretch, part.observed.items, part.observed.offsets), shape=shape)
    return sparse.hstack([own, sparse.csr_array(slopes)], format="csr")


def _row_part(likelihood: Likelihood, written_out: bool = False) -> LevelPart | DavidsonPart:
    """All rankings as rows, with the multipliers of adherence if the likelihood has them."""
    first = likelihood.parts[0]
    if getattr(first, "multipliers", None) is not None:
        return first
    if likelihood.ties == "davidson":
        return DavidsonPart(likelihood.observed, likelihood.orders, likelihood.n_jobs)
    seen = likelihood.observed.written_out() if written_out else likelihood.observed
    return LevelPart(seen, likelihood.n_ties, likelihood.n_jobs)


def _margins(likelihood: Likelihood, scores: Floats, ties: Floats) -> tuple[Floats, Floats, Floats]:
    """Of each comparison under Rao and Kupper: log P, its slope in the first item's score and in the margin."""
    seen, margin = likelihood.observed, float(ties[0])
    delta = scores[seen.items[::2]] - scores[seen.items[1::2]]
    tied = seen.places[1::2] == 0
    lost_p, lost_q = expit(margin - delta), expit(margin + delta)  # 1 − P(win), 1 − P(loss)
    log_p, log_q = -np.logaddexp(0, margin - delta), -np.logaddexp(0, margin + delta)
    gap = -np.expm1(-2 * margin)
    value = log_p + np.where(tied, log_q + 2 * margin + np.log(gap), 0.0)
    up = lost_p - np.where(tied, lost_q, 0.0)
    slope = -lost_p + np.where(tied, 2 / gap - lost_q, 0.0)
    return value, up, slope
