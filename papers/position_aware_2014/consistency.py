"""The consistency theorem of the 2014 paper in simulation, by enumeration of all orders of a few items.

A probability space over orders is rank-differentiable (Definitions 4 and 5) if swapping two correctly ordered items
never makes an order more likely, and for each such pair makes some order less likely. By Theorem 2 the scores that
minimize the expected p-ListMLE loss then order the items correctly, for any decreasing weights of the positions.
"""

from collections.abc import Iterable
from itertools import combinations

import numpy as np
from numpy.random import Generator, default_rng

from luce.arrays import Floats
from luce.kernels.enumeration import log_probability, orders
from luce.objectives import objective
from luce.optimizers.lbfgs import minimize

PAPER = "2^(n−j) − 1"
LISTMLE = "1, as ListMLE"


def position_weights(n_items: int) -> dict[str, Floats]:
    """Decreasing weights of positions: 2^(n−j) − 1 of the paper, less and more steep ones, and those of ListMLE.

    >>> position_weights(3)["2^(n−j) − 1"]
    array([3., 1., 0.])
    """
    left = n_items - np.arange(1.0, n_items + 1)
    return {
        PAPER: 2**left - 1,
        "4^(n−j) − 1": 4**left - 1,
        "n − j": left,
        "1 / log2(1 + j)": 1 / np.log2(2 + np.arange(n_items)),
        LISTMLE: np.ones(n_items),
    }


def rank_differentiable(n_items: int, random: Generator) -> Floats:
    """Random probabilities of all orders of n items, as in `enumeration.orders`; the correct order is 0, 1, …

    The weight of an order is at least that of every order that one wrong swap makes of it, plus a random increment.
    Some of these spaces are nearly uniform, some nearly deterministic.
    """
    every = orders(n_items)
    place = {order: number for number, order in enumerate(every)}
    worse = [[place[swapped] for swapped in _wrong_swaps(order)] for order in every]
    wrong = [sum(a > b for a, b in combinations(order, 2)) for order in every]
    while True:
        heights = np.zeros(len(every))
        rises = random.exponential(size=len(every)) * (random.random(len(every)) < 0.5)
        for number in np.argsort(wrong, kind="stable")[::-1]:
            heights[number] = max((heights[below] for below in worse[number]), default=0.0) + rises[number]
        weights = np.exp(random.uniform(0.05, 1.5) * (heights - heights.max()))
        if is_rank_differentiable(weights, n_items):
            return weights / weights.sum()


def plackett_luce(n_items: int, random: Generator) -> Floats:
    """Probabilities of all orders under random Plackett-Luce scores, which are rank-differentiable with their order."""
    scores = np.sort(random.normal(size=n_items))[::-1]
    return np.exp([log_probability(scores, order) for order in orders(n_items)])


def any_space(n_items: int, random: Generator) -> Floats:
    """Random probabilities of all orders, without any condition."""
    return random.dirichlet(np.full(len(orders(n_items)), 0.3))


def is_rank_differentiable(probabilities: Floats, n_items: int) -> bool:
    """Whether a space is rank-differentiable with the order 0, 1, …

    >>> is_rank_differentiable(np.array([0.7, 0.3]), 2), is_rank_differentiable(np.array([0.3, 0.7]), 2)
    (True, False)
    """
    every = orders(n_items)
    place = {order: number for number, order in enumerate(every)}
    for a, b in combinations(range(n_items), 2):
        correct = [order for order in every if order.index(a) < order.index(b)]
        changes = np.array([probabilities[place[o]] - probabilities[place[_swapped(o, a, b)]] for o in correct])
        if changes.min() < 0 or changes.max() <= 0:
            return False
    return True


def optimum(probabilities: Floats, alpha: Floats) -> Floats:
    """The scores (n,) with mean 0 that minimize the expected p-ListMLE loss.

    >>> optimum(np.array([0.75, 0.25]), np.array([1.0, 0.0])).round(4)  # half of log 3
    array([ 0.5493, -0.5493])
    """
    n_items = len(alpha)
    every = np.array(orders(n_items))
    labels = np.empty_like(every, dtype=np.float64)
    np.put_along_axis(labels, every, np.arange(n_items - 1.0, -1, -1)[None], axis=1)
    offsets = np.arange(0, every.size + 1, n_items)
    loss_function = objective("p-listmle", alpha=alpha / alpha.max())

    def expected(scores: Floats) -> tuple[float, Floats]:
        evaluation = loss_function.value_and_gradient(np.tile(scores, len(every)), labels.ravel(), offsets, n_jobs=1)
        return float(probabilities @ evaluation.loss), probabilities @ evaluation.gradient.reshape(every.shape)

    start = np.zeros(n_items)
    scores = minimize(expected, start, max_iter=1_000, tol=1e-15, watch=lambda *step: False)
    return scores - scores.mean()


def expected_gains(probabilities: Floats, alpha: Floats) -> Floats:
    """E[α(position of i)] for each item: sorting by it minimizes the expected weighted pairwise disagreement (Eq. 11).

    By Theorem 3 the disagreement is the loss of Σ_i (n − rank of i)·α(position of i) relative to the best order.
    """
    gains = np.zeros(len(alpha))
    for probability, order in zip(probabilities, orders(len(alpha)), strict=True):
        gains[list(order)] += probability * alpha
    return gains


KINDS = {"rank-differentiable": rank_differentiable, "Plackett-Luce": plackett_luce, "any": any_space}
"""Kinds of probability spaces: the first two satisfy the condition of the theorem, the last need not."""


def gaps(*, kind: str, items: int, spaces: int, seed: int) -> dict[str, list[float]]:
    """The smallest gap between optimal scores of neighbors in the correct order, for random spaces and each weighting.

    A positive gap means that all items are ordered correctly. The correct order is that of the rank-differentiable
    space; in a space of any kind it is the order of least expected disagreement for the weights of the paper.
    """
    random, weights = default_rng([seed, items, list(KINDS).index(kind)]), position_weights(items)
    smallest: dict[str, list[float]] = {name: [] for name in weights}
    for _ in range(spaces):
        space, correct = KINDS[kind](items, random), np.arange(items)
        if kind == "any":
            correct = np.argsort(-expected_gains(space, weights[PAPER]))
        for name, alpha in weights.items():
            smallest[name].append(float(-np.diff(optimum(space, alpha)[correct]).max()))
    return smallest


def counterexample() -> str:
    """A space of three orders that is not rank-differentiable, and the optimum of p-ListMLE for it, as text."""
    every, alpha = orders(3), position_weights(3)[PAPER]
    known: dict[tuple[int, ...], float] = {(0, 1, 2): 0.5, (1, 2, 0): 0.3, (2, 1, 0): 0.2}
    space = np.array([known.get(order, 0.0) for order in every])
    learned, best = (np.argsort(-each) for each in (optimum(space, alpha), expected_gains(space, alpha)))
    described = ", ".join(f"{_letters(order)} {share:.0%}" for order, share in known.items())
    return (
        f"with the orders {described}, the optimum is {_letters(learned)}, while {_letters(best)} has the least "
        "expected disagreement"
    )


def _wrong_swaps(order: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The orders that result from swapping two correctly ordered items."""
    return [_swapped(order, a, b) for a, b in combinations(order, 2) if a < b]


def _swapped(order: tuple[int, ...], a: int, b: int) -> tuple[int, ...]:
    return tuple(b if item == a else a if item == b else item for item in order)


def _letters(order: Iterable[int]) -> str:
    return "".join("ABC"[item] for item in order)
