"""How fast is the gradient of an expected metric, sampling included, beside PL-Rank-3 in vectorized NumPy?

python benchmarks/policy.py

One thread, DCG@10, 100 sampled rankings a list, scores normal with a spread of 1, 3 and 6, grades as in MSLR-WEB30K.
NumPy has a list at a time, as published, Gumbel noise for every item, argpartition and cumulative sums; and, a step
further than published, exponential keys instead of the noise. Luce has a batch of lists. Also printed: what a sample
costs beyond the set-up of its list, the objective from labels to gradient, and the variance of each estimator: exact
ones of four or five items, over all rankings, and of long lists as the estimators report it.
"""

import argparse
import sys
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import NamedTuple

import numpy as np

from luce.kernels.expected_gain import expected_gain, reference
from luce.kernels.sampled_rankings.reference import prefix_probabilities
from luce.objectives import objective
from luce.objectives.expected import estimate
from luce.randomness import Draw
from measuring import GRADES, seconds, show_machine, verdict

DEPTH, SAMPLES, MORE = 10, 100, 1_000
DISCOUNTS = 1 / np.log2(np.arange(2, DEPTH + 2))
TARGETS = {(1, 120): 20, (1, 1_000): 80, (3, 120): 10, (3, 1_000): 10}
FLAT = 1.5
"""The largest ratio of the cost of a sample in a long list to that in a short one."""

AGREED = 1e-10


class Case(NamedTuple):
    scores: np.ndarray
    labels: np.ndarray
    offsets: np.ndarray

    @property
    def gains(self) -> np.ndarray:
        return 2**self.labels - 1

    def one(self, q: int) -> tuple[np.ndarray, np.ndarray]:
        rows = slice(self.offsets[q], self.offsets[q + 1])
        return self.scores[rows], self.gains[rows]


def make_case(n_lists: int, n: int, spread: float) -> Case:
    rng = np.random.default_rng(0)
    labels = rng.choice(len(GRADES), n_lists * n, p=GRADES).astype(np.float64)
    return Case(rng.normal(0, spread, n_lists * n), labels, np.arange(n_lists + 1) * n)


def gumbel_keys(scores: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The lowest come first."""
    return -(scores + rng.gumbel(size=(SAMPLES, len(scores))))


def exponential_keys(scores: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.standard_exponential((SAMPLES, len(scores))) / np.exp(scores - scores.max())


def sampled(keys: np.ndarray) -> np.ndarray:
    """The items of each sample, the first DEPTH in their order and the others in any."""
    items = np.argpartition(keys, DEPTH - 1, axis=1)
    head = items[:, :DEPTH]
    order = np.take_along_axis(keys, head, axis=1).argsort(axis=1)
    items[:, :DEPTH] = np.take_along_axis(head, order, axis=1)
    return items


def pl_rank_3(scores: np.ndarray, gains: np.ndarray, items: np.ndarray) -> np.ndarray:
    """The estimate from running sums over the places."""
    weights, head = np.exp(scores - scores.max()), items[:, :DEPTH]
    placed, rewards = weights[head], DISCOUNTS * gains[head]
    left = weights[items[:, DEPTH:]].sum(axis=1, keepdims=True) + np.cumsum(placed[:, ::-1], axis=1)[:, ::-1]
    following = np.cumsum(rewards[:, ::-1], axis=1)[:, ::-1]
    direct, risk = np.cumsum(DISCOUNTS / left, axis=1), np.cumsum(following / left, axis=1)
    common = weights * (gains * direct[:, -1].sum() - risk[:, -1].sum())
    own = following - rewards + placed * (gains[head] * (direct - direct[:, -1:]) - (risk - risk[:, -1:]))
    return (common + np.bincount(head.ravel(), own.ravel(), len(scores))) / len(items)


def in_numpy(case: Case, keys: Callable, lists: range, rng: np.random.Generator) -> None:
    for q in lists:
        scores, gains = case.one(q)
        pl_rank_3(scores, gains, sampled(keys(scores, rng)))


def difference(case: Case) -> float:
    """Of the two sides on the same rankings."""
    scores, gains = case.one(0)
    items = sampled(gumbel_keys(scores, np.random.default_rng(1)))
    ours = expected_gain(scores, gains, case.offsets[:2], DISCOUNTS, rankings=items[None, :, :DEPTH]).gradient
    return float(np.abs(ours - pl_rank_3(scores, gains, items)).max())


class PolicyTiming(NamedTuple):
    """Seconds per list: ours, from labels, in NumPy with either kind of keys; seconds per sample without set-up."""

    ours: float
    from_labels: float
    gumbel: float
    exponential: float
    sample: float

    def __str__(self) -> str:
        micro = [1e6 * time for time in self[:4]]
        ratios = self.gumbel / self.ours, self.exponential / self.ours
        return (
            f"{micro[0]:9.1f}{micro[1]:13.1f}{micro[2]:10,.0f}{ratios[0]:7.0f}{micro[3]:13,.0f}{ratios[1]:7.0f}"
            f"{micro[0] - 1e6 * SAMPLES * self.sample:9.1f}{1e9 * self.sample:13.0f}"
        )


def measure(spread: float, n: int, repeats: int) -> PolicyTiming:
    n_lists = max(4, 12_000 // n)
    case, steps, rng = make_case(n_lists, n, spread), count(), np.random.default_rng(0)
    pl_rank = objective("pl-rank-2", metric=f"dcg@{DEPTH}", samples=SAMPLES)
    given, few = (case.scores, case.gains, case.offsets, DISCOUNTS), range(min(n_lists, 10))
    assert difference(case) < AGREED, "the two sides are not the same estimate"

    def ours(samples: int) -> None:
        expected_gain(*given, samples=samples, draw=Draw(0, next(steps)), n_jobs=1)

    def from_labels() -> None:
        pl_rank.value_and_gradient(*case, draw=Draw(0, next(steps)), n_jobs=1)

    theirs = [
        seconds(partial(in_numpy, case, keys, few, rng), max(2, repeats // 3)) / len(few)
        for keys in (gumbel_keys, exponential_keys)
    ]
    some, more = (seconds(partial(ours, samples), repeats) / n_lists for samples in (SAMPLES, MORE))
    return PolicyTiming(some, seconds(from_labels, repeats) / n_lists, *theirs, (more - some) / (MORE - SAMPLES))


def show_speed(repeats: int) -> bool:
    print(f"\nDCG@{DEPTH}, {SAMPLES} samples, one thread: µs per list, times faster, and ns per sample without set-up")
    heads = "spread", "items", "Luce", "from labels", "NumPy", "times", "exponential", "times", "set-up", "ns/sample"
    print("{:>6}{:>8}{:>9}{:>13}{:>10}{:>7}{:>13}{:>7}{:>9}{:>13}".format(*heads))
    rows = {}
    for spread in (1, 3, 6):
        for n in (120, 1_000, 10_000):
            rows[spread, n] = measure(spread, n, repeats)
            print(f"{spread:6}{n:8,}{rows[spread, n]}", flush=True)
    print(f"on the same rankings both sides agree to {AGREED:.0e}")
    met = True
    for (spread, n), target in TARGETS.items():
        ratio = rows[spread, n].gumbel / rows[spread, n].ours
        met &= ratio >= target
        print(f"spread {spread}, {n:,} items: {ratio:.0f} ×: {verdict(ratio >= target)} (at least {target})")
    ratio = rows[1, 10_000].sample / rows[1, 120].sample
    print(
        f"spread 1: a sample of 10,000 items costs {ratio:.2f} × one of 120: {verdict(ratio <= FLAT)} (at most {FLAT})"
    )
    return met and ratio <= FLAT


FEW = {
    "1, 0, 0.5, -1, 2": ([1.0, 0, 0.5, -1, 2], [3.0, 0, 1, 7, 0]),
    "all equal": ([0.0] * 5, [3.0, 0, 1, 7, 0]),
    "30, 20, 1, 0": ([30.0, 20, 1, 0], [0.0, 1, 3, 7]),
    "gaps of 1,000": ([3_000.0, 1_000, 4_000, 0, 2_000], [3.0, 0, 1, 7, 0]),
}
"""Scores and gains of lists short enough to go through all their rankings."""

PUBLISHED = {
    "policy-gradient": reference.policy_gradient,
    "pl-rank-1": lambda *given: reference.algorithm_1(*given, direct=False),
    "pl-rank-2": reference.algorithm_1,
}


def exact_variance(form: Callable, scores: np.ndarray, gains: np.ndarray, discounts: np.ndarray) -> float:
    """Of one sample, summed over the items."""
    chances = prefix_probabilities(scores, len(discounts))
    given = np.array([form(scores, gains, discounts, [prefix]) for prefix in chances])
    weights = np.array(list(chances.values()))
    return float((weights @ (given - weights @ given) ** 2).sum())


def show_exact_variances() -> bool:
    """Printed and checked: the policy gradient is the noisiest, PL-Rank-2 never noisier than PL-Rank-1."""
    print("\nvariance of one sample, summed over the items, exact")
    print(f"{'metric':>12}{'scores':>18}" + "".join(f"{name:>17}" for name in PUBLISHED))
    met = True
    for metric, discounts in {"dcg@2": 1 / np.log2([2.0, 3.0]), "precision@3": np.full(3, 1 / 3)}.items():
        for name, (scores, gains) in FEW.items():
            worth = np.array(gains) if metric == "dcg@2" else (np.array(gains) > 0) * 1.0
            found = [exact_variance(form, np.array(scores), worth, discounts) for form in PUBLISHED.values()]
            met &= found[0] > found[1] >= found[2] or max(found) == 0.0  # where one ranking is certain
            print(f"{metric:>12}{name:>18}" + "".join(f"{total:17.3g}" for total in found))
    print(f"policy-gradient > pl-rank-1 ≥ pl-rank-2, or all 0: {verdict(met)}")
    return met


def show_variances() -> None:
    names = tuple(PUBLISHED)
    print("\nvariance of one sample, summed over the items of a list, mean of 20 lists of 120 items")
    print(f"{'spread':>6}" + "".join(f"{name:>27}" for name in names))
    for spread in (0, 1, 3):
        case = make_case(20, 120, spread)
        found = [estimate(objective(name, metric=f"dcg@{DEPTH}", samples=4_000), *case) for name in names]
        totals = [4_000 * one.gradient_variance.sum() / 20 for one in found]
        print(f"{spread:6}" + "".join(f"{total:27.3g}" for total in totals))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=15, help="number of runs, of which the best counts (default 15)")
    options = parser.parse_args()
    show_machine("luce", "numpy", "numba")
    met = show_speed(options.repeat)
    met &= show_exact_variances()
    show_variances()
    sys.exit(0 if met else 1)


if __name__ == "__main__":
    main()
