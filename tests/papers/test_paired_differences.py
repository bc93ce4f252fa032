"""Paired differences: their errors, and what they allow a claim to say."""

import numpy as np
import pytest
from scipy import stats

from papers.outcome import Claim
from papers.paired_differences import Difference, all_above, describe, difference


def test_the_error_is_that_of_a_paired_t_test():
    random = np.random.default_rng(0)
    a, b = random.normal(size=30), random.normal(size=30)
    found, peer = difference(a, b), stats.ttest_rel(a, b)
    assert found.mean / found.error == pytest.approx(peer.statistic)
    assert found.n == 30
    assert (found.mean - found.half_width, found.mean + found.half_width) == pytest.approx(
        peer.confidence_interval(0.95)
    )


def test_pairs_without_a_value_are_left_out_and_too_few_leave_it_open():
    assert difference([1.0, np.nan, 3.0], [0.0, 5.0, 1.0]) == difference([1.0, 3.0], [0.0, 1.0])
    assert difference([1.0], [0.0]).above() == [False, True]
    assert difference([], []).n == 0


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        ([Difference(0.3, 0.1, 9), Difference(0.24, 0.1, 9)], "held"),
        ([Difference(0.3, 0.1, 9), Difference(0.22, 0.1, 9)], "held in part"),
        ([Difference(0.1, 0.1, 9)], "held in part"),
        ([Difference(0.3, 0.1, 9), Difference(-0.3, 0.1, 9)], "held in part"),
        ([Difference(-0.3, 0.1, 9)], "not held"),
        ([Difference(-0.1, 0.1, 9), Difference(-0.3, 0.1, 9)], "not held"),  # nothing speaks for it
        ([Difference(0.0, 0.0, 9)], "not held"),
    ],
)
def test_a_claim_holds_where_every_difference_is_clear(differences, verdict):
    assert Claim.from_checks("", all_above(differences), "").verdict == verdict


@pytest.mark.parametrize(
    ("gap", "verdict"),
    [
        (Difference(-0.002, 0.001, 9), "held"),
        (Difference(-0.002, 0.0014, 9), "held in part"),
        (Difference(-0.004, 0.001, 9), "held in part"),
        (Difference(-0.006, 0.001, 9), "not held"),
        (Difference(-0.008, 0.001, 9), "not held"),
        (Difference(0.1, 0.001, 9), "held"),
    ],
)
def test_a_match_is_not_below_by_more_than_the_margin(gap, verdict):
    assert Claim.from_checks("", gap.not_below(0.005), "").verdict == verdict


def test_many_differences_are_summarized():
    differences = {str(i): Difference(i / 10, 0.11, 30) for i in range(-3, 5)}
    assert describe(differences) == (
        "2 of 8 are clearly above zero, 1 below; the smallest is -3, −0.3000 ± 0.1100, the largest 4, +0.4000 ± 0.1100"
    )
