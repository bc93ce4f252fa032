"""Results of the 2021 paper: learning curves, tables with our results beside the published ones, and claims."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats
from papers.datasets import DATASETS
from papers.outcome import Claim, ResultTable
from papers.paired_differences import Difference, all_above, describe, difference
from papers.pl_rank_2021.learning import METHODS, LearningCurve
from papers.pl_rank_2021.published import SAMPLES, TABLE_1, TABLE_2

PL_RANK_2, PL_RANK_1, POLICY_GRADIENT, LAMBDALOSS = "PL-Rank-2", "PL-Rank-1", "policy gradient", "LambdaLoss"
TRAINED = (PL_RANK_2, PL_RANK_1, POLICY_GRADIENT, LAMBDALOSS)
"""The placement policy gradient gives the values of PL-Rank-1 at the same cost, and is not trained again."""

SHORT = {"yahoo-set1": "Yahoo", "mslr-web30k": "MSLR", "istella": "Istella"}
EXCEPTION = "mslr-web30k", PL_RANK_1
"""The dataset and method of Table 2 that the paper excepts from its claim about PL-Rank-2."""

N_TIMES = 13
"""Points of a curve in a figure."""

TOLERANCE = 1e-9
"""Two estimates are the same if they differ only by rounding."""

Curves = Mapping[str, Sequence[LearningCurve]]
"""The learning curves of each method, one per seed."""


class EstimatorResults(NamedTuple):
    """All results by dataset.

    Attributes
    ----------
    by_epoch
        Figure 1, by number of samples.
    by_time
        Figure 2 and Table 2.
    fair
        Figure 3.
    seconds
        Table 1: seconds of a step by method and number of samples, one value per repetition.
    gradient_differences
        The difference between PL-Rank-1 and the placement policy gradient as published.
    is_synthetic
        Whether the data are synthetic.
    """

    by_epoch: Mapping[str, Mapping[int, Curves]]
    by_time: Mapping[str, Curves]
    fair: Mapping[str, Curves]
    seconds: Mapping[str, Mapping[tuple[str, int], Floats]]
    gradient_differences: Mapping[str, float]
    is_synthetic: Mapping[str, bool]


def along_epochs(curves: Curves) -> tuple[Floats, dict[str, Floats]]:
    """The epochs that all curves reach, and the values (seeds, epochs) of each method."""
    length = min(len(curve.values) for each in curves.values() for curve in each)
    values = {name: np.array([curve.values[:length] for curve in each]) for name, each in curves.items()}
    return np.arange(length, dtype=np.float64), values


def along_seconds(curves: Curves) -> tuple[Floats, dict[str, Floats]]:
    """A few times that all curves reach, and the interpolated values (seeds, times) of each method."""
    end = min(curve.seconds[-1] for each in curves.values() for curve in each)
    times = np.linspace(0, end, N_TIMES)
    values = {
        name: np.array([np.interp(times, curve.seconds, curve.values) for curve in each])
        for name, each in curves.items()
    }
    return times, values


def final_difference(values: Mapping[str, Floats], one: str, other: str) -> Difference:
    """The difference between the final values of two methods, paired by seed."""
    return difference(values[one][:, -1], values[other][:, -1])


def tables(results: EstimatorResults) -> list[ResultTable]:
    return [*(_time_table(results, data) for data in results.seconds), _end_table(results), _sample_table(results)]


def data_name(results: EstimatorResults, data: str) -> str:
    return f"synthetic data in the shape of {data}" if results.is_synthetic[data] else data


def _time_table(results: EstimatorResults, data: str) -> ResultTable:
    lists = DATASETS[data].sizes["train"].lists
    measured = sorted({samples for _, samples in results.seconds[data]})
    rows: list[list[Any]] = []
    for name in METHODS:
        minutes = {n: float(np.median(results.seconds[data][name, n])) * lists / 60 for n in measured}
        paper = dict(zip(SAMPLES, TABLE_1[data][name], strict=True))
        rows.append([name, *(cell for n in measured for cell in (minutes[n], paper[n]))])
    columns = ["method", *(cell for n in measured for cell in (f"N = {n:,}", "paper"))]
    note = (
        f"Minutes of CPU time for an epoch of the paper's {lists:,} lists, extrapolated from some lists of "
        f"{data_name(results, data)}, on one thread; those of the paper are for another machine, TensorFlow and NumPy. "
        "The placement policy gradient is computed as PL-Rank-1, since it is the same estimate."
    )
    return ResultTable(f"Table 1, {SHORT[data]}: minutes per epoch", columns, rows, note, form=".2f")


def _end_table(results: EstimatorResults) -> ResultTable:
    rows: list[list[Any]] = []
    for name, paper in TABLE_2.items():
        row: list[Any] = [name]
        for data, printed in zip(TABLE_1, paper, strict=True):
            if data not in results.by_time or name not in results.by_time[data]:
                row += ["–", f"{printed:.2f}"]
                continue
            last = along_seconds(results.by_time[data])[1][name][:, -1]
            row += [f"{last.mean():.3f} ({last.std(ddof=1) if len(last) > 1 else np.nan:.3f})", f"{printed:.2f}"]
        rows.append(row)
    times = "; ".join(f"{SHORT[d]} {along_seconds(curves)[0][-1]:.1f} s" for d, curves in results.by_time.items())
    note = (
        f"Expected DCG@5 of held-out lists after the same training time ({times}); standard deviation over seeds. "
        "The placement policy gradient gives the values of PL-Rank-1 and is not trained again."
    )
    columns = ["method", *(cell for data in TABLE_1 for cell in (SHORT[data], "paper"))]
    return ResultTable("Table 2: DCG@5 after the same time", columns, rows, note)


def _sample_table(results: EstimatorResults) -> ResultTable:
    rows: list[list[Any]] = []
    for data, figures in results.by_epoch.items():
        for samples, curves in figures.items():
            epochs, values = along_epochs(curves)
            last = (f"{values[name][:, -1].mean():.3f}" if name in values else "–" for name in TRAINED)
            rows.append([f"{SHORT[data]}, N = {samples:,}, {len(epochs) - 1} epochs", *last])
    for data, curves in results.fair.items():
        values = along_seconds(curves)[1]
        last = (f"{values[name][:, -1].mean():.5f}" if name in values else "–" for name in TRAINED)
        rows.append([f"{SHORT[data]}, disparity (from {values[PL_RANK_2][:, 0].mean():.5f})", *last])
    note = (
        "LambdaLoss is omitted from Figure 3: the paper does not say how it optimizes exposures. The weight of "
        "disparity is 2.5 divided by the disparity of random rankings, in the paper 1. The paper gives no values."
    )
    return ResultTable("Figures 1 and 3: expected DCG@5 and disparity at the end", ["", *TRAINED], rows, note)


def claims(results: EstimatorResults) -> list[Claim]:
    return [*_sample_claims(results), *_time_claims(results), _fairness_claim(results), _published_claim(results)]


def _evidence(differences: Mapping[str, Difference], results: EstimatorResults) -> str:
    data = " (synthetic data)" if all(results.is_synthetic.values()) else ""
    return f"Paired by seed{data}: {describe(differences)}."


def _above(
    results: EstimatorResults, samples: int, data: Iterable[str], others: Sequence[str]
) -> dict[str, Difference]:
    return {
        f"{SHORT[each]} over {other}": final_difference(
            along_epochs(results.by_epoch[each][samples])[1], PL_RANK_2, other
        )
        for each in data
        for other in others
    }


def _sample_claims(results: EstimatorResults) -> list[Claim]:
    over_others = _above(results, 10, results.by_epoch, (LAMBDALOSS, POLICY_GRADIENT))
    over_pl_rank_1 = _above(results, 10, [data for data in results.by_epoch if data != "mslr-web30k"], (PL_RANK_1,))
    placed = {
        f"{SHORT[data]}, N = {samples:,}": final_difference(along_epochs(curves)[1], PL_RANK_1, POLICY_GRADIENT)
        for data, figures in results.by_epoch.items()
        for samples, curves in figures.items()
    }
    more = {}
    for data, figures in results.by_epoch.items():
        ten, many = (
            along_epochs({POLICY_GRADIENT: figures[n][POLICY_GRADIENT]})[1][POLICY_GRADIENT][:, -1]
            for n in (10, max(figures))
        )
        more[SHORT[data]] = difference(many, ten)
    largest = max(results.gradient_differences.values())
    return [
        Claim.from_checks(
            "RQ1: with 10 samples PL-Rank-2 is above LambdaLoss and the policy gradient after equally many epochs.",
            all_above(over_others.values()),
            _evidence(over_others, results),
        ),
        Claim.from_checks(
            "RQ1: with 10 samples PL-Rank-2 is above PL-Rank-1, in the shapes of Yahoo and Istella.",
            all_above(over_pl_rank_1.values()),
            _evidence(over_pl_rank_1, results),
        ),
        Claim.from_checks(
            "The policy gradient learns better with more samples than 10.",
            all_above(more.values()),
            _evidence(more, results),
        ),
        Claim.from_checks(
            "The placement policy gradient is above the policy gradient in all cases.",
            all_above(placed.values()),
            f"Trained as PL-Rank-1. {_evidence(placed, results)}",
        ),
        Claim.from_checks(
            "PL-Rank-1 and the placement policy gradient are the same estimate.",
            [one <= TOLERANCE for one in results.gradient_differences.values()],
            f"For the same rankings the largest relative difference between ours and Eq. 14 is {largest:.1e}.",
        ),
    ]


def _time_claims(results: EstimatorResults) -> list[Claim]:
    quicker, growth = {}, {}
    for data, seconds in results.seconds.items():
        sizes = sorted({samples for _, samples in seconds})
        for n in sizes:
            for fast in (PL_RANK_1, PL_RANK_2):
                quicker[data, n, fast] = difference(np.log(seconds[POLICY_GRADIENT, n]), np.log(seconds[fast, n]))
        grown = {m: np.log(seconds[m, sizes[-1]]) - np.log(seconds[m, sizes[0]]) for m in METHODS}
        for other in METHODS:
            if other != LAMBDALOSS:
                growth[f"{SHORT[data]}, {other}"] = difference(grown[LAMBDALOSS], grown[other])
    clear = sum(all(one.above()) for one in quicker.values())
    ratios = sorted(np.exp([one.mean for one in quicker.values()]))
    ends = {
        f"{SHORT[data]} over {other}": final_difference(along_seconds(curves)[1], PL_RANK_2, other)
        for data, curves in results.by_time.items()
        for other in TRAINED
        if other != PL_RANK_2 and (data, other) != EXCEPTION
    }
    return [
        Claim.from_checks(
            "RQ2: an epoch of PL-Rank-1 or PL-Rank-2 takes less time than one of the policy gradient (Table 1).",
            [one.above()[0] for one in quicker.values()],
            f"Clear in {clear} of {len(quicker)} pairs; the policy gradient takes {ratios[0]:.2f} to {ratios[-1]:.2f} "
            f"times as long, with a median of {np.median(ratios):.2f}.",
        ),
        Claim.from_checks(
            "The time of LambdaLoss grows most with the number of samples.",
            all_above(growth.values()),
            f"Its growth is {np.exp(min(one.mean for one in growth.values())):.1f} to "
            f"{np.exp(max(one.mean for one in growth.values())):.1f} times that of the others, over datasets.",
        ),
        Claim.from_checks(
            "RQ2: after the same time PL-Rank-2 is above LambdaLoss and the policy gradient, and above PL-Rank-1 "
            "except on MSLR (Table 2).",
            all_above(ends.values()),
            _evidence(ends, results),
        ),
    ]


def _fairness_claim(results: EstimatorResults) -> Claim:
    fallen, lower = {}, {}
    for data, curves in results.fair.items():
        values = along_seconds(curves)[1]
        fallen[f"{SHORT[data]} from start to end"] = difference(values[PL_RANK_2][:, 0], values[PL_RANK_2][:, -1])
        lower[f"{SHORT[data]} below the {POLICY_GRADIENT}"] = final_difference(values, POLICY_GRADIENT, PL_RANK_2)
    return Claim.from_checks(
        "RQ3: PL-Rank-2 lowers disparity, and further than the policy gradient in the same time.",
        all_above([*fallen.values(), *lower.values()]),
        "; ".join(
            f"{name} by {one.mean:.2g} ± {one.error:.1g}".replace("-", "−") for name, one in {**fallen, **lower}.items()
        )
        + ".",
    )


def _published_claim(results: EstimatorResults) -> Claim:
    """Only the public data can decide it; the published standard deviations over seeds are up to 0.1."""
    near, comparisons = [], []
    for data, curves in results.by_time.items():
        ours = float(along_seconds(curves)[1][PL_RANK_2][:, -1].mean())
        paper = TABLE_2[PL_RANK_2][list(TABLE_1).index(data)]
        near.append(abs(ours - paper) <= 0.1)
        comparisons.append(f"{SHORT[data]} {ours:.2f} (paper {paper:.2f})")
    return Claim.from_checks(
        "PL-Rank-2 reaches the DCG@5 of Table 2, to within 0.1.",
        near,
        f"{'; '.join(comparisons)}.",
        data_available=not any(results.is_synthetic.values()),
    )
