"""Potentials Φ_k(S) of subsets, given by a function, with the sum over all subsets by enumeration."""

from functools import cache
from itertools import combinations
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from luce.arrays import Floats, Integers
from luce.errors import OptionError

LONGEST = 15
"""Items of which all subsets are enumerated: 32,767 of them."""


class Potential(Protocol):
    """log Φ_k (…,) of subsets of one size, and its derivative (…, size), from their scores and the stage k = 1, 2, …"""

    def __call__(self, scores: Floats, stage: int, /) -> tuple[ArrayLike, ArrayLike]: ...


def arithmetic_mean(scores: Floats, stage: int) -> tuple[Floats, Floats]:
    """The mean of e^s, the potential of pmop-fd."""
    total = np.logaddexp.reduce(scores, axis=-1)
    return total - np.log(scores.shape[-1]), np.exp(scores - total[..., None])


def geometric_mean(scores: Floats, stage: int) -> tuple[Floats, Floats]:
    """e^{mean of s}, the potential of pmop-exact."""
    return scores.mean(axis=-1), np.full(scores.shape, 1.0 / scores.shape[-1])


def log_potential(potential: Potential, scores: Floats, stage: int) -> tuple[Floats, Floats]:
    """log Φ and its derivative, or an error if they have another shape or are not finite."""
    value, gradient = (np.asarray(part, dtype=np.float64) for part in potential(scores, stage))
    return _checked("potential", value, gradient, scores.shape[:-1], scores.shape)


def log_sum(potential: Potential, scores: Floats, stage: int) -> tuple[Floats, Floats]:
    """log Σ Φ_k over the non-empty subsets of these items and its derivative, by `log_sum` of the potential if it has
    one, else by enumeration.

    >>> value, gradient = log_sum(arithmetic_mean, np.zeros(3), stage=1)
    >>> np.exp(value).round(12), gradient
    (np.float64(7.0), array([0.33333333, 0.33333333, 0.33333333]))
    """
    if has_log_sum(potential):
        known: Any = potential
        value, gradient = (np.asarray(part, dtype=np.float64) for part in known.log_sum(scores, stage))
        return _checked("potential.log_sum", value, gradient, (), scores.shape)
    chosen = [log_potential(potential, scores[items], stage) for items in subsets_by_size(len(scores))]
    total = np.logaddexp.reduce(np.concatenate([value for value, _ in chosen]))
    gradient = np.zeros(len(scores))
    for items, (value, derivative) in zip(subsets_by_size(len(scores)), chosen, strict=True):
        np.add.at(gradient, items, np.exp(value - total)[:, None] * derivative)
    return total, gradient


def has_log_sum(potential: Potential) -> bool:
    """Whether the potential knows its sum over subsets, so that lists may have any length."""
    return hasattr(potential, "log_sum")


def log_table(potential: Potential, scores: Floats, stage: int) -> Floats:
    """log Φ_k of all subsets (2^n,): entry Σ_{i ∈ S} 2^i is that of S, and −∞ that of no item."""
    table = np.full(2 ** len(scores), -np.inf)
    for items in subsets_by_size(len(scores)):
        table[(1 << items).sum(axis=1)] = log_potential(potential, scores[items], stage)[0]
    return table


@cache
def subsets_by_size(n: int) -> tuple[Integers, ...]:
    """The subsets of n items: for each size m = 1 … n an array (C(n, m), m) of items."""
    return tuple(np.array(list(combinations(range(n), size))) for size in range(1, n + 1))


def _checked(
    name: str, value: Floats, gradient: Floats, shape: tuple[int, ...], gradient_shape: tuple[int, ...]
) -> tuple[Floats, Floats]:
    if value.shape != shape or gradient.shape != gradient_shape:
        raise OptionError(
            f"{name} must return a logarithm of shape {shape} and its derivative of shape {gradient_shape}. "
            f"Got shapes {value.shape} and {gradient.shape}."
        )
    if not (np.isfinite(value).all() and np.isfinite(gradient).all()):
        raise OptionError(f"{name} must return finite numbers: Φ is positive.")
    return value, gradient
