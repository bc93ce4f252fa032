"""Subset choices term by term, and the Markov chains as matrices over all subsets, as a reference for the kernels."""

from collections.abc import Iterator, Sequence
from math import comb

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logsumexp, softmax

from luce.arrays import Floats, Integers
from luce.kernels.enumeration import subsets


def stages(labels: ArrayLike) -> Iterator[tuple[Integers, Integers]]:
    """For each stage the items chosen, S_k, and those there were, R_k."""
    y = np.asarray(labels, dtype=np.float64)
    for label in np.unique(y[~np.isnan(y)])[::-1]:
        yield np.flatnonzero(y == label), np.flatnonzero(y <= label)


def arithmetic_choice(scores: ArrayLike, labels: ArrayLike) -> tuple[float, Floats]:
    """Loss and gradient of one list, without the constants."""
    s = np.asarray(scores, dtype=np.float64)
    loss, gradient = 0.0, np.zeros(len(s))
    for chosen, left in stages(labels):
        loss += logsumexp(s[left]) - logsumexp(s[chosen])
        gradient[left] += softmax(s[left])
        gradient[chosen] -= softmax(s[chosen])
    return loss, gradient


def geometric_choice(scores: ArrayLike, labels: ArrayLike) -> tuple[float, Floats]:
    """Loss and gradient of one list, each stage and size on its own, in logarithms throughout."""
    s = np.asarray(scores, dtype=np.float64)
    loss, gradient = 0.0, np.zeros(len(s))
    for chosen, left in stages(labels):
        sizes = range(1, len(left) + 1)
        log_sum = logsumexp([log_symmetric(s[left] / m, m) for m in sizes])
        loss += log_sum - s[chosen].mean()
        gradient[chosen] -= 1 / len(chosen)
        for i in left:
            others = left[left != i]
            gradient[i] += sum(np.exp(s[i] / m + log_symmetric(s[others] / m, m - 1) - log_sum) / m for m in sizes)
    return loss, gradient


def log_symmetric(logarithms: Floats, degree: int) -> float:
    """log e_m(e^{x_1}, …, e^{x_N}), the elementary symmetric polynomial of this degree."""
    table = np.full(degree + 1, -np.inf)
    table[0] = 0.0
    for x in logarithms:
        table[1:] = np.logaddexp(table[1:], x + table[:-1])
    return float(table[degree])


def subset_law(scores: ArrayLike) -> Floats:
    """The probability of each of `subsets(n)` under Φ(S) = e^{mean of s over S}."""
    s = np.asarray(scores, dtype=np.float64)
    return softmax([s[list(chosen)].mean() for chosen in subsets(len(s))])


def gibbs_transition(scores: ArrayLike, order: Sequence[int]) -> Floats:
    """The probabilities of going from each of `subsets(n)` to each other in one sweep over the items in this order."""
    s = np.asarray(scores, dtype=np.float64)
    states = subsets(len(s))
    place = {chosen: number for number, chosen in enumerate(states)}
    sweep = np.eye(len(states))
    for item in order:
        visit = np.zeros_like(sweep)
        for start, chosen in enumerate(states):
            without = tuple(i for i in chosen if i != item)
            within = tuple(sorted((*without, item)))
            taken = expit(s[list(within)].mean() - s[list(without)].mean()) if without else 1.0
            visit[start, place[within]] += taken
            if without:
                visit[start, place[without]] += 1 - taken
        sweep = sweep @ visit
    return sweep


def metropolis_transition(scores: ArrayLike, *, corrected: bool) -> Floats:
    """The probabilities of going from each of `subsets(n)` to each other in one step."""
    s = np.asarray(scores, dtype=np.float64)
    states = subsets(len(s))
    choices = np.array([comb(len(s), len(chosen)) for chosen in states], dtype=np.float64)
    worth = np.exp([s[list(chosen)].mean() for chosen in states]) * (choices if corrected else 1.0)
    step = np.minimum(1, worth / worth[:, None]) / (len(s) * choices)
    return step + np.diag(1 - step.sum(axis=1))
