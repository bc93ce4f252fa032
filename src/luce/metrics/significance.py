"""Paired significance tests over lists, with Holm's correction for several comparisons."""

import math
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from luce.arrays import Floats, as_floats, check_rows
from luce.errors import DataError, OptionError, unknown_name
from luce.metrics.resampling import BLOCK, bootstrap_intervals, group_sums
from luce.metrics.results import Results
from luce.metrics.table import higher_is_better

EXACT = 14
"""Up to this many lists that differ, all 2^n sign patterns are enumerated."""

SAME = 1e-12
"""Values of a list that differ by no more are equal but for rounding."""


class Significance(NamedTuple):
    """The result of a paired test.

    Attributes
    ----------
    statistic : float
        The t statistic, or the mean difference.
    p_value : float
        Two-sided.
    n_lists : int
        The number of lists with a value on both sides.
    """

    statistic: float
    p_value: float
    n_lists: int


class Comparison(NamedTuple):
    """A ranker compared with the baseline in one metric, over the lists for which both have a value.

    Attributes
    ----------
    metric, name, baseline : str
        The metric and the two rankers.
    mean, baseline_mean, difference : float
        The mean of either over these lists, and the first minus the second.
    low, high, confidence : float
        The bootstrap confidence interval of the difference, not corrected for other comparisons, and its level; NaN
        for fewer than two lists.
    wins, losses, n_lists : int
        The number of lists in which the ranker is better, in which it is worse, and of all.
    t_test, randomization : float
        The two-sided p-values of the paired t-test and of Fisher's randomization test.
    t_test_holm, randomization_holm : float
        The same with Holm's correction for the number of rankers compared with the baseline.
    """

    metric: str
    name: str
    baseline: str
    mean: float
    baseline_mean: float
    difference: float
    low: float
    high: float
    confidence: float
    wins: int
    losses: int
    n_lists: int
    t_test: float
    randomization: float
    t_test_holm: float
    randomization_holm: float


def paired_t_test(a: ArrayLike, b: ArrayLike) -> Significance:
    """Student's t-test of the paired differences a − b, two-sided.

    Parameters
    ----------
    a, b : array-like of shape (Q,)
        The values of two rankers for the same lists; pairs with a NaN are left out.

    Returns
    -------
    Significance
        With p = 1 for fewer than two lists or where no list differs.

    Examples
    --------
    >>> paired_t_test([0.5, 0.7, 0.9], [0.4, 0.5, 0.6])
    Significance(statistic=3.464..., p_value=0.074..., n_lists=3)
    """
    return _t_test(_differences(a, b))


def randomization_test(a: ArrayLike, b: ArrayLike, n_permutations: int = 10_000, random_state: Any = 0) -> Significance:
    """Fisher's randomization test of the paired differences a − b, two-sided.

    p is the share of sign flips of the differences whose mean is at least as far from zero: of all sign patterns if few
    lists differ, else of random ones, (1 + count) / (1 + n_permutations), which is never 0.

    Parameters
    ----------
    a, b : array-like of shape (Q,)
        The values of two rankers for the same lists; pairs with a NaN are left out.
    n_permutations : int
        The number of random sign patterns.
    random_state : int or numpy.random.Generator
        The seed of the patterns.

    Returns
    -------
    Significance

    Notes
    -----
    More than 4,096 lists are assigned at random to 4,096 groups that flip together; the level of the test is exact all
    the same. `scipy.stats.permutation_test` draws from the same distribution and is far slower.

    Examples
    --------
    >>> randomization_test([0.5, 1.0, 2.0], [0.25, 0.5, 0.5])
    Significance(statistic=0.75, p_value=0.25, n_lists=3)
    """
    return _randomization_test(_differences(a, b), n_permutations, random_state)


def holm(p_values: ArrayLike) -> Floats:
    """Holm's adjusted p-values, which control the probability of any false rejection.

    Parameters
    ----------
    p_values : array-like of shape (n,)

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    given = check_rows("p_values", p_values)
    order = np.argsort(given)
    raised = given[order] * np.arange(len(given), 0, -1)
    adjusted = np.empty_like(given)
    adjusted[order] = np.minimum(np.maximum.accumulate(raised), 1.0)
    return adjusted


def compare_results(
    results: Mapping[str, Results],
    metric: str,
    baseline: str | None = None,
    *,
    n_bootstrap: int = 1000,
    n_permutations: int = 10_000,
    random_state: Any = 0,
) -> tuple[Comparison, ...]:
    """Compare each ranker with a baseline in one metric, over the lists for which both have a value.

    `luce.compare` does this for score vectors.

    Parameters
    ----------
    results : mapping of str to Results
        The results of each ranker, of the same lists. Lists are weighted as in the results.
    metric : str
        A metric of the results.
    baseline : str or None
        The name of the baseline; by default the first.
    n_bootstrap : int
        The number of bootstrap samples for the intervals of the differences; 0 for no intervals.
    n_permutations : int
        The number of random sign patterns of the randomization test.
    random_state : int or numpy.random.Generator
        The seed of the bootstrap and of the patterns.

    Returns
    -------
    tuple of Comparison
        One for each ranker but the baseline.
    """
    baseline = next(iter(results), None) if baseline is None else baseline
    others = [name for name in results if name != baseline]
    if baseline is None or not others:
        given = ", ".join(results) or "none"
        raise OptionError(f"A comparison needs a baseline and at least one other ranker. Got {given}.")
    if baseline not in results:
        raise unknown_name("ranker", baseline, results)
    rows = [_compared(results, metric, name, baseline, n_bootstrap, n_permutations, random_state) for name in others]
    t_test, randomization = holm([row.t_test for row in rows]), holm([row.randomization for row in rows])
    return tuple(
        row._replace(t_test_holm=float(t), randomization_holm=float(flips))
        for row, t, flips in zip(rows, t_test, randomization, strict=True)
    )


def _compared(
    results: Mapping[str, Results],
    metric: str,
    name: str,
    baseline: str,
    n_bootstrap: int,
    n_permutations: int,
    random_state: Any,
) -> Comparison:
    """One comparison, without Holm's correction."""
    one, other = results[name], results[baseline]
    values, weights = _common_values(one, other, metric)
    differences = values[:, 0] - values[:, 1]
    scaled = differences * (weights / weights.mean()) if len(weights) else differences
    flips, t_test = _randomization_test(scaled, n_permutations, random_state), _t_test(scaled)
    interval = bootstrap_intervals(differences[:, None], weights, n_bootstrap, one.confidence, random_state)[0]
    means = np.average(values, axis=0, weights=weights) if len(weights) else (math.nan, math.nan)
    gains = differences if higher_is_better(metric) else -differences
    return Comparison(
        metric=metric,
        name=name,
        baseline=baseline,
        mean=float(means[0]),
        baseline_mean=float(means[1]),
        difference=flips.statistic,
        low=float(interval[0]),
        high=float(interval[1]),
        confidence=one.confidence,
        wins=int((gains > SAME).sum()),
        losses=int((gains < -SAME).sum()),
        n_lists=t_test.n_lists,
        t_test=t_test.p_value,
        randomization=flips.p_value,
        t_test_holm=math.nan,
        randomization_holm=math.nan,
    )


def _differences(a: ArrayLike, b: ArrayLike) -> Floats:
    a = as_floats("a", a)
    b = as_floats("b", b, len(a))
    _refuse_infinite(a, b)
    differences = a - b
    return differences[~np.isnan(differences)]


def _refuse_infinite(*values: Floats) -> None:
    if any(np.isinf(each).any() for each in values):
        raise DataError("Values to compare must be finite, or NaN for a list without a value. Got an infinite one.")


def _common_values(one: Results, other: Results, metric: str) -> tuple[Floats, Floats]:
    """The values (n, 2) of the lists that count in both, and the weights of these lists."""
    for results in (one, other):
        if metric not in results.values:
            raise OptionError(f"The results do not contain {metric!r}. They contain {', '.join(results.values)}.")
    if not one.query_ids.equals(other.query_ids):
        raise DataError("Results to compare must have the same lists in the same order. Got different query ids.")
    values = np.stack([one.values[metric], other.values[metric]], axis=1)
    _refuse_infinite(values)
    weights = np.ones(len(values)) if one.list_weights is None else one.list_weights
    common = ~np.isnan(values).any(axis=1) & (weights > 0)
    return values[common], weights[common]


def _t_test(differences: Floats) -> Significance:
    from scipy import stats

    n = len(differences)
    if n < 2 or not differences.any():
        return Significance(0.0, 1.0, n)
    with warnings.catch_warnings(action="ignore"):  # where all differences are equal, t is infinite
        test = stats.ttest_1samp(differences, 0.0)
    return Significance(float(test.statistic), float(test.pvalue), n)


def _randomization_test(differences: Floats, n_permutations: int, random_state: Any) -> Significance:
    if not isinstance(n_permutations, int | np.integer) or n_permutations < 1:
        raise OptionError(f"n_permutations must be an integer ≥ 1. Got {n_permutations!r}.")
    n = len(differences)
    mean = float(differences.mean()) if n else 0.0
    moving = differences[differences != 0]
    if not len(moving):
        return Significance(mean, 1.0, n)
    # Sums that are equal but for rounding count as equal.
    least = abs(moving.sum()) - 1e-12 * np.abs(moving).sum()
    if len(moving) <= EXACT:
        sums = moving.sum() - 2 * (_patterns(len(moving)) @ moving)
        return Significance(mean, float(np.mean(np.abs(sums) >= least)), n)
    sums = _flipped_sums(moving, n_permutations, np.random.default_rng(random_state))
    count = np.count_nonzero(np.abs(sums) >= least)
    return Significance(mean, float(1 + count) / (1 + n_permutations), n)


def _patterns(length: int) -> Floats:
    """All 2^length rows of zeros and ones."""
    return ((np.arange(2**length)[:, None] >> np.arange(length)) & 1).astype(np.float64)


def _flipped_sums(values: Floats, n_samples: int, rng: np.random.Generator) -> Floats:
    """Sums of the values with random signs; a random byte flips eight values, whose sum is looked up."""
    values = group_sums(values[:, None], rng)[:, 0]
    eights = np.pad(values, (0, -len(values) % 8)).reshape(-1, 8)
    flips, columns = eights @ _patterns(8).T, np.arange(len(eights))
    at_a_time = max(1, BLOCK // len(eights))
    sums = []
    for done in range(0, n_samples, at_a_time):
        size = (min(at_a_time, n_samples - done), len(eights))
        sums.append(values.sum() - 2 * flips[columns, rng.integers(256, size=size, dtype=np.uint8)].sum(axis=1))
    return np.concatenate(sums)
