"""Is the difference between two rankers more than chance: paired tests over lists, corrected where they are many."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from luce.arrays import Floats, check_rows, numbers
from luce.errors import DataError, OptionError, unknown_name
from luce.metrics.resampling import BLOCK, group_sums
from luce.metrics.results import Results

EXACT = 14
"""Up to this many lists that differ, all 2^n sign patterns are looked at."""


class Significance(NamedTuple):
    """A test's statistic, its two-sided p-value, and the number of lists it rests on."""

    statistic: float
    p_value: float
    n_lists: int


class Comparison(NamedTuple):
    """A ranker against the baseline: the difference of means over their common lists, p-values plain and Holm's."""

    name: str
    baseline: str
    difference: float
    n_lists: int
    t_test: float
    randomization: float
    t_test_holm: float
    randomization_holm: float


def paired_t_test(a: ArrayLike, b: ArrayLike) -> Significance:
    """Student's t-test of the paired differences a − b, two-sided; pairs with a NaN are left out.

    With fewer than two lists, or no difference at all, p = 1.

    >>> paired_t_test([0.5, 0.7, 0.9], [0.4, 0.5, 0.6])
    Significance(statistic=3.464..., p_value=0.074..., n_lists=3)
    """
    return _t_test(_differences(a, b))


def randomization_test(a: ArrayLike, b: ArrayLike, n_permutations: int = 10_000, random_state: Any = 0) -> Significance:
    """The share of sign flips of the paired differences a − b that give a mean at least as far from zero; two-sided.

    All sign patterns if few lists differ, else (1 + count) / (1 + n_permutations), so that p is never 0. Pairs with a
    NaN are left out. More than 4,096 lists are put at random into 4,096 groups that flip together: the level holds.

    >>> randomization_test([0.5, 1.0, 2.0], [0.25, 0.5, 0.5])
    Significance(statistic=0.75, p_value=0.25, n_lists=3)
    """
    return _randomization_test(_differences(a, b), n_permutations, random_state)


def holm(p_values: ArrayLike) -> Floats:
    """Holm's adjusted p-values: the chance of any false claim among all is then at most the level used.

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
    """Each ranker against the baseline (by default the first) in one metric, over the lists that both have a value for.

    Lists are weighted as in the results. The p-values of each test are also given with Holm's correction.
    """
    baseline = next(iter(results), None) if baseline is None else baseline
    others = [name for name in results if name != baseline]
    if baseline is None or not others:
        raise OptionError(f"compare needs a baseline and one more ranker. Got {', '.join(results) or 'none'}.")
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
    a = numbers("a", a)
    differences = _paired(a, numbers("b", b, len(a)))
    return differences[~np.isnan(differences)]


def _paired(a: Floats, b: Floats) -> Floats:
    if np.isinf(a).any() or np.isinf(b).any():
        raise DataError("Values to compare must be finite, or NaN where a list has none. Got an infinite one.")
    return a - b


def _weighted_differences(one: Results, other: Results, metric: str) -> Floats:
    """Differences whose plain mean is the weighted mean difference over the common lists."""
    for results in (one, other):
        if metric not in results.values:
            raise OptionError(f"The results hold no {metric!r}. They hold {', '.join(results.values)}.")
    if not one.query_ids.equals(other.query_ids):
        raise DataError("Results to compare must be of the same lists, in the same order. Got different query ids.")
    differences = _paired(one.values[metric], other.values[metric])
    kept = ~np.isnan(differences)
    if one.list_weights is None:
        return differences[kept]
    kept &= one.list_weights > 0
    weights = one.list_weights[kept]
    return differences[kept] * (weights / weights.mean() if len(weights) else 1.0)


def _t_test(differences: Floats) -> Significance:
    from scipy import special

    n = len(differences)
    if n < 2 or not differences.any():
        return Significance(0.0, 1.0, n)
    mean, error = differences.mean(), differences.std(ddof=1) / np.sqrt(n)
    t = float(mean / error) if error > 0 else float(np.copysign(np.inf, mean))
    return Significance(t, float(2 * special.stdtr(n - 1, -abs(t))), n)


def _randomization_test(differences: Floats, n_permutations: int, random_state: Any) -> Significance:
    if not isinstance(n_permutations, int | np.integer) or n_permutations < 1:
        raise OptionError(f"n_permutations must be an integer ≥ 1. Got {n_permutations!r}.")
    n = len(differences)
    mean = float(differences.mean()) if n else 0.0
    moving = differences[differences != 0]
    if not len(moving):
        return Significance(mean, 1.0, n)
    # Sums that should be equal differ by rounding: they count as equal.
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
    """Sums of the values with random signs: a random byte flips eight values, and what it flips is looked up."""
    values = group_sums(values[:, None], rng)[:, 0]
    eights = np.pad(values, (0, -len(values) % 8)).reshape(-1, 8)
    flips, columns = eights @ _patterns(8).T, np.arange(len(eights))
    at_a_time = max(1, BLOCK // len(eights))
    sums = []
    for done in range(0, n_samples, at_a_time):
        size = (min(at_a_time, n_samples - done), len(eights))
        sums.append(values.sum() - 2 * flips[columns, rng.integers(256, size=size, dtype=np.uint8)].sum(axis=1))
    return np.concatenate(sums)
