"""The pair losses summed over all pairs, as a reference for the compiled kernels."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logsumexp

from luce.arrays import Floats

Terms = tuple[float, float, float, float]
"""The loss of a pair, its first and second derivative in δ, and its derivative in the tie parameter."""


def pair_squares(
    scores: ArrayLike, labels: ArrayLike, weights: ArrayLike | None = None
) -> tuple[float, Floats, Floats]:
    """Loss, gradient and second derivative of one list."""
    return _summed(scores, labels, weights, lambda i, j, d: ((1 - d) ** 2, -2 * (1 - d), 2.0, 0.0))[:3]


def pair_hinges(scores: ArrayLike, labels: ArrayLike, weights: ArrayLike | None = None) -> tuple[float, Floats]:
    """Loss and gradient of one list."""
    return _summed(scores, labels, weights, lambda i, j, d: (max(0.0, 1 - d), -float(d < 1), 0.0, 0.0))[:2]


def pair_outcomes(
    scores: ArrayLike,
    labels: ArrayLike,
    weights: ArrayLike | None = None,
    draws: str = "none",
    parameter: float = 0.0,
) -> tuple[float, Floats, Floats, float]:
    """Loss, gradient, second derivative and derivative of the tie parameter of one list."""
    y = np.asarray(labels, dtype=np.float64)
    terms = {"none": _logistic, "rao-kupper": _rao_kupper, "davidson": _davidson}[draws]
    return _summed(scores, labels, weights, lambda i, j, d: terms(d, parameter, y[i] == y[j]), ties=draws != "none")


def pair_swaps(
    scores: ArrayLike,
    labels: ArrayLike,
    gains: ArrayLike,
    weights: ArrayLike | None = None,
    truncation_level: int | None = None,
    change: float = 1.0,
    gap: float = 0.0,
    discounts: Floats | None = None,
    normalized: bool = True,
) -> tuple[float, Floats, Floats]:
    """Loss, gradient and second derivative of one list, the ranks held."""
    s, y, g = (np.asarray(values, dtype=np.float64) for values in (scores, labels, gains))
    seen = np.flatnonzero(~np.isnan(y))
    level = len(seen) if truncation_level is None else truncation_level

    def discount(place: int) -> float:
        if discounts is None:
            return float(1 / np.log2(place + 2))
        return float(discounts[place]) if place < len(discounts) else 0.0

    best = np.sort(g[seen])[::-1][:level]
    ideal = sum(gain * discount(place) for place, gain in enumerate(best)) if normalized else 1.0
    ranks = {int(i): [(s[seen] > s[i]).sum() + t for t in range((s[seen] == s[i]).sum())] for i in seen}
    worth = np.zeros((len(seen), len(seen)))  # what swapping two places is worth, counted from 0
    for a, b in np.ndindex(worth.shape):
        if a != b and min(a, b) < level:
            fall = discount(abs(a - b) - 1) - discount(abs(a - b))
            worth[a, b] = change * abs(discount(a) - discount(b)) + gap * fall

    def terms(i: int, j: int, d: float) -> Terms:
        # Every way in which equal scores may be put in order gives the two items different places.
        places = np.ix_(ranks[i], ranks[j])
        mean = worth[places].sum() / (~np.eye(len(seen), dtype=bool)[places]).sum()
        c = (g[i] - g[j]) / ideal * mean if ideal > 0 else 0.0
        value, derivative, hessian, _ = _logistic(d, 0.0, False)
        return c * value, c * derivative, c * hessian, 0.0

    return _summed(scores, labels, weights, terms)[:3]


def log_chances(difference: float, draws: str, parameter: float) -> tuple[float, float, float]:
    """log P of a win, a draw and a loss of the item that is `difference` above, as the models define them."""
    d, power = difference, np.exp(parameter)
    if draws == "rao-kupper":
        win, lose = -np.logaddexp(0, np.log1p(power) - d), -np.logaddexp(0, np.log1p(power) + d)
        return win, parameter + np.log(2 + power) + win + lose, lose
    whole = logsumexp([0.0, parameter - d / 2, -d])
    return -whole, parameter - d / 2 - whole, -d - whole


def _logistic(d: float, parameter: float, tied: bool) -> Terms:
    return np.logaddexp(0, -d), -expit(-d), expit(d) * expit(-d), 0.0


def _rao_kupper(d: float, parameter: float, tied: bool) -> Terms:
    power = np.exp(parameter)
    margin, share = np.log1p(power), expit(parameter)
    win, draw, _ = log_chances(d, "rao-kupper", parameter)
    q, back = (
        expit(margin - d),
        expit(margin + d),
    )  # the chances that the item does not win, and that its partner does not
    if not tied:
        return -win, -q, q * (1 - q), q * share
    tie_derivative = (q + back) * share - 1 - power / (2 + power)
    return -draw, back - q, q * (1 - q) + back * (1 - back), tie_derivative


def _davidson(d: float, parameter: float, tied: bool) -> Terms:
    win, draw, lose = log_chances(d, "davidson", parameter)
    derivative = np.exp(lose) + np.exp(draw) / 2  # of log D, as d falls
    hessian = np.exp(lose + win) + np.exp(draw) * (np.exp(lose) + np.exp(win)) / 4
    if not tied:
        return -win, -derivative, hessian, np.exp(draw)
    return -draw, 0.5 - derivative, hessian, np.exp(draw) - 1


def _summed(
    scores: ArrayLike,
    labels: ArrayLike,
    weights: ArrayLike | None,
    terms: Callable[[int, int, float], Terms],
    ties: bool = False,
) -> tuple[float, Floats, Floats, float]:
    """Σ w_i w_j times the terms of each observed pair with y_i > y_j, and with `ties` of each with y_i = y_j."""
    s, y = np.asarray(scores, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    w = np.ones(len(s)) if weights is None else np.asarray(weights, dtype=np.float64)
    loss, tie_derivative, gradient, curvature = 0.0, 0.0, np.zeros(len(s)), np.zeros(len(s))
    for i, j in np.ndindex(len(s), len(s)):
        if y[i] > y[j] or (ties and i < j and y[i] == y[j]):
            value, derivative, hessian, by_parameter = (
                float(w[i] * w[j]) * term for term in terms(i, j, float(s[i] - s[j]))
            )
            loss += value
            tie_derivative += by_parameter
            gradient[i] += derivative
            gradient[j] -= derivative
            curvature[i] += hessian
            curvature[j] += hessian
    return loss, gradient, curvature, tie_derivative
