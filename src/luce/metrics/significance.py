"""Paired significance tests over lists, with Holm's correction for several comparisons."""

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from luce.arrays import Floats, as_floats, check_rows
from luce.errors import DataError, OptionError, unknown_name
from luce.metrics.resampling import BLOCK, group_sums
from luce.metrics.results import Results

EXACT = 14
"""Up to this many lists that differ, all 2^n sign patterns are enumerated."""


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
    """A ranker compared with the baseline.

    Attributes
    ----------
    name, baseline : str
        The two rankers.
    difference : float
        Of their means over the common lists.
    n_lists : int
        The number of common lists.
    t_test, randomization : float
        The p-values of the two tests.
    t_test_holm, randomization_holm : float
        The same with Holm's correction.
    """

    name: str
    baseline: str
    difference: float
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


def compare(
    results: Mapping[str, Results],
    metric: str,
    baseline: str | None = None,
    *,
    n_permutations: int = 10_000,
    random_state: Any = 0,
) -> tuple[Comparison, ...]:
    """Compare each ranker with a baseline in one metric, over the lists for which both have a value.

    Parameters
    ----------
    results : mapping of str to Results
        The results of each ranker, of the same lists. Lists are weighted as in the results.
    metric : str
        A metric of the results.
    baseline : str or None
        The name of the baseline; by default the first.
    n_permutations : int
        The number of random sign patterns of the randomization test.
    random_state : int or numpy.random.Generator
        The seed of the patterns.

    Returns
    -------
    tuple of Comparison
        One for each ranker but the baseline.
    """
    baseline = next(iter(results), None) if baseline is None else baseline
    others = [name for name in results if name != baseline]
    if baseline is None or not others:
        raise OptionError(
            f"compare needs a baseline and at least one other ranker. Got {', '.join(results) or 'none'}."
        )
    if baseline not in results:
        raise unknown_name("ranker", baseline, results)
    rows = []
    for name in others:
        differences = _weighted_differences(results[name], results[baseline], metric)
        t = _t_test(differences)
        flips = _randomization_test(differences, n_permutations, random_state)
        rows.append((name, flips.statistic, t.n_lists, t.p_value, flips.p_value))
    t_holm, flips_holm = holm([row[3] for row in rows]), holm([row[4] for row in rows])
    return tuple(
        Comparison(name, baseline, difference, n, t, flips, float(t_adjusted), float(flips_adjusted))
        for (name, difference, n, t, flips), t_adjusted, flips_adjusted in zip(rows, t_holm, flips_holm, strict=True)
    )


def _differences(a: ArrayLike, b: ArrayLike) -> Floats:
    a = as_floats("a", a)
    differences = _paired(a, as_floats("b", b, len(a)))
    return differences[~np.isnan(differences)]


def _paired(a: Floats, b: Floats) -> Floats:
    if np.isinf(a).any() or np.isinf(b).any():
        raise DataError("Values to compare must be finite, or NaN for a list without a value. Got an infinite one.")
    return a - b


def _weighted_differences(one: Results, other: Results, metric: str) -> Floats:
    """Differences whose plain mean is the weighted mean difference over the common lists."""
    for results in (one, other):
        if metric not in results.values:
            raise OptionError(f"The results do not contain {metric!r}. They contain {', '.join(results.values)}.")
    if not one.query_ids.equals(other.query_ids):
        raise DataError("Results to compare must have the same lists in the same order. Got different query ids.")
    differences = _paired(one.values[metric], other.values[metric])
    common = ~np.isnan(differences)
    if one.list_weights is None:
        return differences[common]
    common &= one.list_weights > 0
    weights = one.list_weights[common]
    return differences[common] * (weights / weights.mean() if len(weights) else 1.0)


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
