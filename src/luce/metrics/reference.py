"""The metrics once more, slow and obvious, for one order; and their average over every order of equal scores."""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple


class Order(NamedTuple):
    """One list in one order, with all that a metric may read."""

    labels: list[float]
    retrieved: int
    cutoff: int | None
    linear: bool
    max_grade: float

    @property
    def top(self) -> list[float]:
        """The labels of the places that count."""
        return self.labels[: self.retrieved][: self.cutoff]

    @property
    def best(self) -> list[float]:
        return sorted(self.labels, reverse=True)

    def gain(self, label: float) -> float:
        return max(label, 0.0) if self.linear else 2.0 ** max(label, 0.0) - 1


def _relevant(labels: list[float]) -> int:
    return sum(label > 0 for label in labels)


def dcg(order: Order) -> float:
    return sum(order.gain(y) / math.log2(1 + r) for r, y in enumerate(order.top, 1))


def ndcg(order: Order) -> float:
    return dcg(order) / dcg(order._replace(labels=order.best, retrieved=len(order.labels)))


def err(order: Order) -> float:
    total, reaching = 0.0, 1.0
    for r, y in enumerate(order.top, 1):
        stop = (2.0 ** max(y, 0.0) - 1) / 2.0**order.max_grade
        total += reaching * stop / r
        reaching *= 1 - stop
    return total


def precision(order: Order) -> float:
    return _relevant(order.top) / (order.cutoff or len(order.labels))


def recall(order: Order) -> float:
    return _relevant(order.top) / _relevant(order.labels)


def average_precision(order: Order) -> float:
    precisions = [_relevant(order.top[:r]) / r for r, y in enumerate(order.top, 1) if y > 0]
    return sum(precisions) / _relevant(order.labels)


def reciprocal_rank(order: Order) -> float:
    return next((1 / r for r, y in enumerate(order.top, 1) if y > 0), 0.0)


def hit(order: Order) -> float:
    return float(_relevant(order.top) > 0)


def average_position(order: Order) -> float:
    weights = [max(y, 0.0) for y in order.labels]
    return sum(r * weight for r, weight in enumerate(weights, 1)) / sum(weights)


def sharp_dcg(order: Order) -> float:
    return sum((len(order.labels) - r) * order.gain(y) for r, y in enumerate(order.labels, 1))


def sharp_ndcg(order: Order) -> float:
    return sharp_dcg(order) / sharp_dcg(order._replace(labels=order.best))


def disagreement(order: Order) -> float:
    gains = [order.gain(y) for y in order.labels]
    return sum(max(below - above, 0.0) for above, below in itertools.combinations(gains, 2))


def kendall_tau(order: Order) -> float:
    signs = [1 if above > below else -1 for above, below in itertools.combinations(order.labels, 2) if above != below]
    return sum(signs) / len(signs)


REFERENCE: dict[str, Callable[[Order], float]] = {
    "dcg": dcg,
    "ndcg": ndcg,
    "err": err,
    "precision": precision,
    "recall": recall,
    "map": average_precision,
    "mrr": reciprocal_rank,
    "hit": hit,
    "arp": average_position,
    "sharp-ndcg": sharp_ndcg,
    "disagreement": disagreement,
    "kendall-tau": kendall_tau,
}


def has_value(name: str, order: Order) -> bool:
    """Whether there is anything to measure."""
    if name == "kendall-tau":
        return len(set(order.labels)) > 1
    if name == "disagreement":
        return len({order.gain(y) for y in order.labels}) > 1
    return _relevant(order.labels) > 0 and (name != "sharp-ndcg" or len(order.labels) > 1)


def orders(scores: Sequence[float]) -> Iterator[list[int]]:
    """Every order of the items that no score contradicts.

    >>> list(orders([1.0, 2.0, 1.0]))
    [[1, 0, 2], [1, 2, 0]]
    """
    blocks = [[i for i, s in enumerate(scores) if s == score] for score in sorted(set(scores), reverse=True)]
    for parts in itertools.product(*(itertools.permutations(block) for block in blocks)):
        yield [i for part in parts for i in part]


def average_over_orders(
    name: str,
    scores: Sequence[float],
    labels: Sequence[float],
    cutoff: int | None = None,
    *,
    linear: bool = False,
    max_grade: float = 4.0,
) -> float:
    """A metric of one list, as the plain mean over every order of its equal scores; NaN = nothing to measure.

    >>> average_over_orders("mrr", [1.0, 1.0], [0, 1])
    0.75
    """
    kept = [i for i, label in enumerate(labels) if not math.isnan(label)]
    retrieved = sum(scores[i] > -math.inf for i in kept)
    values = []
    for places in orders([scores[i] for i in kept]):
        order = Order([labels[kept[i]] for i in places], retrieved, cutoff, linear, max_grade)
        values.append(REFERENCE[name](order) if has_value(name, order) else math.nan)
    return math.fsum(values) / len(values)
