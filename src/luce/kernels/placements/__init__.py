"""Where a Plackett-Luce policy places the items of a list: probabilities, exposures, entropy, expected sums.

P(y) = Π_k e^{s(y_k)} / Σ e^s over the items not placed before k. An item with a score of −∞ is never placed. A list is
gone through exactly where that takes no more than MOST_STEPS: the first K places of n items take Σ_{k<K} C(n, k) (n−k),
so 16 items can be ranked whole, and the first 2 of 1,000. Of longer lists rankings are sampled, as the keywords of
`Sampling` say, and estimates come with their standard errors.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from luce.arrays import Floats, Integers, offsets_of_sizes, rows_of_lists, selected_offsets
from luce.errors import DataError
from luce.kernels.exposure import exposure
from luce.kernels.place_sums import SUM, Places
from luce.kernels.placements import cpu, prefixes
from luce.kernels.placements.subsets import steps
from luce.kernels.sampled_rankings import check_scores
from luce.randomness import Draw
from luce.threads import over_lists

MOST_STEPS = 2**20
"""Above it sampling is cheaper: a thousand rankings of ten places are about as much."""


class Expectation(NamedTuple):
    """A mean over the rankings of a policy, and the standard error of its estimate: 0 where the mean is exact."""

    value: Floats
    standard_error: Floats


class Sampling(NamedTuple):
    """How lists are sampled that would take more than `most_steps` to go through exactly."""

    samples: int = 1_000
    draw: Draw = Draw()
    most_steps: float = MOST_STEPS
    n_jobs: int | None = None


def placement_probabilities(
    scores: Floats, offsets: Integers, depth: int | None = None, **sampling: Any
) -> Expectation:
    """P(item d is at place k): (N, K), K = `depth`, or the length of the longest list where that is less.

    >>> placement_probabilities(np.log([2.0, 1.0, 1.0]), np.array([0, 3]), 2).value
    array([[0.5       , 0.33333333],
           [0.25      , 0.33333333],
           [0.25      , 0.33333333]])
    """
    places = _places(offsets, depth)
    mean = _expect(cpu.PLACEMENTS, scores, offsets, places, (places, len(scores)), Sampling(**sampling))
    return Expectation(mean.value.T, mean.standard_error.T)


def exposures(scores: Floats, offsets: Integers, discounts: Floats, **sampling: Any) -> Expectation:
    """Σ_k θ_k P(item d is at place k): (N,), for the discounts θ (K,) of the first K places.

    >>> exposures(np.log([2.0, 1.0, 1.0]), np.array([0, 3]), np.array([1.0, 0.6])).value
    array([0.7 , 0.45, 0.45])
    """
    check_scores(scores)
    (samples, draw, most_steps, n_jobs), discounts = Sampling(**sampling), np.trim_zeros(discounts, "b")
    values, errors = np.zeros(len(scores)), np.zeros(len(scores))
    short = exact_lists(scores, offsets, len(discounts), most_steps)
    rows, own = _rows(offsets, short)
    chances = placement_probabilities(scores[rows], own, len(discounts), most_steps=np.inf, n_jobs=n_jobs).value
    values[rows] = chances @ discounts[: chances.shape[1]]
    rows, own = _rows(offsets, ~short)
    named = draw._replace(lists=draw.list_numbers(len(short))[~short])
    estimate = exposure(scores[rows], own, discounts, samples=samples, variance=True, draw=named, n_jobs=n_jobs)
    assert estimate.variance is not None
    values[rows], errors[rows] = estimate.value, np.sqrt(estimate.variance)
    return Expectation(values, errors)


def entropies(scores: Floats, offsets: Integers, depth: int | None = None, **sampling: Any) -> Expectation:
    """−Σ_y P(y) log P(y) over all rankings of a list, or all ways to fill its first `depth` places: (Q,).

    >>> np.exp(entropies(np.zeros(3), np.array([0, 3])).value)  # six rankings, all as likely
    array([6.])
    """
    shape = 1, len(offsets) - 1
    mean = _expect(cpu.ENTROPY, scores, offsets, _places(offsets, depth), shape, Sampling(**sampling))
    return Expectation(mean.value[0], mean.standard_error[0])


def expected_sums(scores: Floats, offsets: Integers, places: Places, **sampling: Any) -> Expectation:
    """What the order of each list is worth on average: (Q,), the mean of a sum over places or pairs of `line_search`.

    Numbers of pairs and discounts that fall evenly are exact for lists of any length.

    >>> first = Places(SUM, np.array([1.0, 0.0]), np.ones(1), np.array([1.0, 0.0, 0.0]), 1)
    >>> expected_sums(np.log([3.0, 1.0]), np.array([0, 2]), first).value
    array([0.75])
    """
    shape = 1, len(offsets) - 1
    mean = _expect(cpu.SUMS, scores, offsets, places.depth, shape, Sampling(**sampling), *places[:4])
    return Expectation(places.scales * mean.value[0], np.abs(places.scales) * mean.standard_error[0])


def order_sums(scores: Floats, offsets: Integers, places: Places, *, n_jobs: int | None = None) -> Floats:
    """The same of one ranking, the order of the scores: (Q,).

    >>> first = Places(SUM, np.array([1.0, 0.0]), np.ones(1), np.array([1.0, 0.0, 0.0]), 1)
    >>> order_sums(np.array([2.0, 1.0]), np.array([0, 2]), first)
    array([1.])
    """
    values = np.zeros(len(offsets) - 1)
    inputs = scores, places.kind, places.worths, places.discounts, places.depth
    over_lists(cpu.order_sums, offsets, *inputs, results=[values], n_jobs=n_jobs)
    return places.scales * values


def log_probabilities(scores: Floats, offsets: Integers, rankings: ArrayLike, *, n_jobs: int | None = None) -> Floats:
    """log P of rankings (Q, S, K), each of all its items or only the first, with −1 from where it ends: (Q, S).

    −∞ where an item is placed that never can be. A ranking that has an item twice is an error.

    >>> log_probabilities(np.zeros(3), np.array([0, 3]), [[[0, 1, 2], [2, -1, -1]]])
    array([[-1.79175947, -1.09861229]])
    """
    check_scores(scores)
    given = np.asarray(rankings)
    if given.ndim != 3 or len(given) != len(offsets) - 1 or (given.size and given.dtype.kind not in "iu"):
        raise DataError(
            f"rankings must be integers ({len(offsets) - 1} lists, samples, ranks). Got {given.dtype} {given.shape}."
        )
    values = np.empty(given.shape[:2])
    inputs = scores, np.ascontiguousarray(given, dtype=np.int64)
    over_lists(prefixes.log_probabilities, offsets, *inputs, results=[values], n_jobs=n_jobs)
    bad = np.argwhere(np.isnan(values))
    if bad.size:
        q, sample = bad[0]
        raise DataError(
            f"A ranking of list {q + 1} must contain different items, by their positions in the list, 0 to "
            f"{offsets[q + 1] - offsets[q] - 1}, and −1 only after the last. Got {given[q, sample].tolist()}."
        )
    return values


def exact_lists(scores: Floats, offsets: Integers, depth: int, most_steps: float = MOST_STEPS) -> NDArray[np.bool_]:
    """Which lists are gone through exactly down to this depth: (Q,).

    >>> exact_lists(np.zeros(40), np.array([0, 15, 40]), 15)
    array([ True, False])
    """
    live = np.diff(selected_offsets(scores > -np.inf, offsets))
    sizes, which = np.unique(live, return_inverse=True)
    return np.array([steps(n, min(depth, n)) <= most_steps for n in sizes.tolist()], dtype=bool)[which]


def _rows(offsets: Integers, lists: NDArray[np.bool_]) -> tuple[Integers, Integers]:
    """The rows of some lists, and their offsets."""
    return rows_of_lists(offsets, np.flatnonzero(lists)), offsets_of_sizes(np.diff(offsets)[lists])


def _places(offsets: Integers, depth: int | None) -> int:
    longest = int(np.diff(offsets).max(initial=0))
    return longest if depth is None else min(depth, longest)


def _expect(
    what: int,
    scores: Floats,
    offsets: Integers,
    depth: int,
    shape: tuple[int, int],
    sampling: Sampling,
    kind: int = SUM,
    *rows: Floats,
) -> Expectation:
    check_scores(scores)
    samples, draw, most_steps, n_jobs = sampling
    quantity = cpu.Quantity(what, kind, *(rows or [np.zeros(0)] * 3))
    values, squares = np.zeros(shape), np.zeros(shape)
    inputs = scores, *draw.stream(len(offsets) - 1), samples, float(most_steps), depth, quantity
    if values.size and depth > 0:
        over_lists(cpu.expectations, offsets, *inputs, results=[values, squares], n_jobs=n_jobs)
    return Expectation(values, squares)
