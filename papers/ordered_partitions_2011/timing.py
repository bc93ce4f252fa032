"""The time of a gradient as the lists get longer: Table 2 of the 2011 paper."""

import time

import numpy as np
from scipy.special import expit

from luce.arrays import Floats, offsets_of_sizes
from luce.objectives import objective
from papers.ordered_partitions_2011.published import PAIRWISE, PMOP, PRINTED
from papers.outcome import Claim, ResultTable

LENGTHS, ROWS, GRADES = (25, 50, 100, 200, 400, 800, 1_600, 3_200), 16_000, 5
ALL_PAIRS = "ranknet, all pairs"
TIMED = (*PRINTED, ALL_PAIRS)
LINEAR, QUADRATIC = 1.25, 1.6
"""The largest power of N that counts as linear, and the smallest that counts as quadratic."""

Times = dict[tuple[str, int], float]
"""Microseconds by method and length of the list."""


def time_of_gradient(method: str, length: int) -> float:
    """Microseconds of CPU time for the loss and the gradient of one list of this length, with five grades."""
    random = np.random.default_rng(length)
    offsets = offsets_of_sizes([length] * (ROWS // length))
    scores, labels = random.standard_normal(offsets[-1]), random.integers(0, GRADES, offsets[-1]).astype(np.float64)

    def once() -> float:
        start = time.process_time()
        if method == ALL_PAIRS:
            for first in offsets[:-1]:
                all_pairs(scores[first : first + length], labels[first : first + length])
        else:
            objective(method).value_and_gradient(scores, labels, offsets, n_jobs=1)
        return time.process_time() - start

    once()  # compiles
    return 1e6 * min(once() for _ in range(5)) / (len(offsets) - 1)


def all_pairs(scores: Floats, labels: Floats) -> tuple[float, Floats]:
    """The logistic loss of RankNet and its gradient as a plain sum over the pairs of a list.

    >>> all_pairs(np.zeros(2), np.array([1.0, 0.0]))
    (0.6931471805599453, array([-0.5,  0.5]))
    """
    above = labels[:, None] > labels
    difference = scores[:, None] - scores
    derivative = np.where(above, -expit(-difference), 0.0)
    return float(np.logaddexp(0, -difference[above]).sum()), derivative.sum(axis=1) - derivative.sum(axis=0)


def power(times: Times, method: str) -> float:
    """The exponent of N in the time of a list, fitted at the three longest lengths, where overhead is negligible."""
    longer = np.array(LENGTHS[-3:])
    return float(np.polyfit(np.log(longer), np.log([times[method, n] for n in longer]), 1)[0])


def table_2(times: Times) -> ResultTable:
    """Time by method and length, and the power of N that it grows with."""
    rows: list[list[str | float | None]] = [
        [
            method,
            *(times[method, n] for n in LENGTHS),
            f"N^{power(times, method):.2f}",
            "max(N², NF)" if method in (*PAIRWISE, ALL_PAIRS) else "NF",
        ]
        for method in TIMED
    ]
    note = (
        "Microseconds of CPU time on one thread for the loss of one list and its gradient with respect to the scores, "
        "without the time NF of the scores of F features. The last row is a plain sum over all pairs in NumPy; the "
        "other rows are Luce's objectives."
    )
    columns = ["documents", *(f"{n:,}" for n in LENGTHS), "grows as", "paper"]
    return ResultTable("Table 2: time per list", columns, rows, note, ".3g")


def time_claims(times: Times) -> list[Claim]:
    """Whether time is linear and quadratic as the paper says."""
    powers = {method: f"{method} N^{power(times, method):.2f}" for method in TIMED}
    linear = ("listmle", *PMOP)
    return [
        Claim.from_checks(
            f"The time of PMOP and ListMLE is linear in the length of a list (here: at most N^{LINEAR:g}).",
            [power(times, method) <= LINEAR for method in linear],
            f"Loss and gradient of Luce's objectives, {_lengths()}: {', '.join(powers[method] for method in linear)}.",
        ),
        Claim.from_checks(
            "The time of the pairwise methods is quadratic in the length of a list (here: at least "
            f"N^{QUADRATIC:g}, as a plain sum over all pairs).",
            [power(times, ALL_PAIRS) >= QUADRATIC],
            f"Loss and gradient of RankNet in NumPy, {_lengths()}: {powers[ALL_PAIRS]}. Luce's objectives, which have "
            f"other forms for long lists: {', '.join(powers[method] for method in PAIRWISE)}.",
        ),
    ]


def _lengths() -> str:
    return f"lists of {LENGTHS[-3]:,} to {LENGTHS[-1]:,} items"
