"""Enumeration of all orders, subsets and ordered partitions of a few items, for tests."""

from collections.abc import Iterator, Sequence
from itertools import chain, combinations, permutations, product

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

Order = tuple[int, ...]


def orders(n_items: int) -> list[Order]:
    """All orders of the items 0 … n−1, best first.

    >>> orders(2)
    [(0, 1), (1, 0)]
    """
    return list(permutations(range(n_items)))


def consistent_orders(labels: Sequence[float]) -> Iterator[Order]:
    """The orders in which no item stands above one of a higher label.

    >>> list(consistent_orders([1, 0, 1]))
    [(0, 2, 1), (2, 0, 1)]
    """
    sets = [[i for i, label in enumerate(labels) if label == grade] for grade in sorted(set(labels), reverse=True)]
    for parts in product(*map(permutations, sets)):
        yield tuple(chain.from_iterable(parts))


def log_probability(scores: ArrayLike, order: Sequence[int], depth: int | None = None) -> float:
    """log P(order) under Plackett-Luce, or of its first `depth` items: Σ_j s_(j) − lse(s_(j), …, s_(n)).

    >>> round(log_probability([20, 0, -1], (0, 1, 2)), 7)
    -0.3132617
    """
    s = np.asarray(scores, dtype=np.float64)[list(order)]
    return float(sum(s[j] - logsumexp(s[j:]) for j in range(len(s))[:depth]))


def subsets(n_items: int) -> list[tuple[int, ...]]:
    """All non-empty subsets of the items 0 … n−1, the small ones first.

    >>> subsets(2)
    [(0,), (1,), (0, 1)]
    """
    return [chosen for size in range(1, n_items + 1) for chosen in combinations(range(n_items), size)]


def ordered_partitions(n_items: int) -> list[tuple[int, ...]]:
    """All ways to give n items the grades 0 … K−1, for every K, with no grade left out: the labels of each.

    >>> ordered_partitions(2)
    [(0, 0), (0, 1), (1, 0)]
    >>> [len(ordered_partitions(n)) for n in (3, 4, 5)]
    [13, 75, 541]
    """
    return [labels for labels in product(range(n_items), repeat=n_items) if set(labels) == set(range(max(labels) + 1))]
