"""The claims of the 2021 paper."""

from collections.abc import Iterable, Mapping

import numpy as np

from papers.outcome import Claim, Trial
from papers.paired_differences import all_above, describe, difference
from papers.pl_rank_2021.learning import (
    INCREASING,
    LAMBDALOSS,
    METHODS,
    PL_RANK_1,
    PL_RANK_2,
    POLICY_GRADIENT,
    TURNED,
)
from papers.pl_rank_2021.published import TABLE_1, TABLE_2
from papers.pl_rank_2021.results import SHORT, EstimatorResults, Group

TOLERANCE = 1e-9
"""Two estimates are the same if they differ only by rounding."""

RIVALS = {POLICY_GRADIENT: "the policy gradient", LAMBDALOSS: LAMBDALOSS, TURNED: "LambdaLoss with the turned sign"}
NOT_MSLR = ("yahoo-set1", "istella")
"""The paper excepts MSLR from its claims about PL-Rank-2 and PL-Rank-1."""


def claims(results: EstimatorResults) -> list[Claim]:
    """All claims with their verdicts."""
    return [
        *_sample_claims(results),
        *_cost_claims(results),
        *_time_claims(results),
        *_fairness_claims(results),
        _published_claim(results),
    ]


def _judge(text: str, results: EstimatorResults, pairs: Iterable[tuple[Group, Group]], unit: str) -> Claim:
    """From the paper's own data if they were there, else from all trials."""
    found = results.differences(pairs)
    own = {results.name(name) for name, setting in results.settings.items() if setting.is_papers}
    if not own:
        evidence = _by_length(found, unit) if found else "Not run."
        return Claim.from_trials(text, found, evidence, units=("lists", unit))
    ends = {data: _at_the_end(found, data) for data in sorted(own & {trial.data for trial in found})}
    paired = {data: difference(values, np.zeros(len(values))) for data, values in ends.items()}
    return Claim.from_checks(text, all_above(paired.values()), f"Paired by seed: {describe(paired)}.")


def _at_the_end(differences: Mapping[Trial, float], data: str) -> list[float]:
    longest = max(trial.length for trial in differences if trial.data == data)
    return [value for trial, value in differences.items() if (trial.data, trial.length) == (data, longest)]


def _by_length(differences: Mapping[Trial, float], unit: str) -> str:
    """The mean difference on each dataset, with the most lists and the longest training."""
    parts = []
    for data in dict.fromkeys(trial.data for trial in differences):
        largest = max(trial.size for trial in differences if trial.data == data)
        chosen = {trial: value for trial, value in differences.items() if (trial.data, trial.size) == (data, largest)}
        longest = max(trial.length for trial in chosen)
        mean = float(np.mean([value for trial, value in chosen.items() if trial.length == longest]))
        parts.append(f"{data} {mean:+.3g} ({largest:,} lists, {longest:g} {unit})".replace("-", "−"))
    return f"Means with the most lists and the longest training: {'; '.join(parts)}."


def _few(results: EstimatorResults) -> int:
    return min(samples for setting in results.settings.values() for samples in setting.samples)


def _sample_claims(results: EstimatorResults) -> list[Claim]:
    few = _few(results)

    def over(other: str, data: Iterable[str] = ()) -> list[tuple[Group, Group]]:
        return [(one, one._replace(method=other)) for one in results.groups(PL_RANK_2, few, data=data)]

    more = [
        (group._replace(samples=max(results.settings[group.data].samples)), group)
        for group in results.groups(POLICY_GRADIENT, few)
        if len(results.settings[group.data].samples) > 1
    ]
    counts = {samples for setting in results.settings.values() for samples in setting.samples}
    placed = [
        (group, group._replace(method=POLICY_GRADIENT))
        for samples in sorted(counts)
        for group in results.groups(PL_RANK_1, samples)
    ]
    largest = max(results.gradient_differences.values(), default=0.0)
    return [
        *(
            _judge(
                f"RQ1: with {few} samples PL-Rank-2 is above {name} after equally many epochs.",
                results,
                over(method),
                "epochs",
            )
            for method, name in RIVALS.items()
        ),
        _judge(
            f"RQ1: with {few} samples PL-Rank-2 is above PL-Rank-1, on Yahoo and Istella.",
            results,
            over(PL_RANK_1, NOT_MSLR),
            "epochs",
        ),
        _judge(f"The policy gradient learns better with more samples than {few}.", results, more, "epochs"),
        _judge(
            "The placement policy gradient (PL-Rank-1) is above the policy gradient in all cases.",
            results,
            placed,
            "epochs",
        ),
        Claim.from_checks(
            "PL-Rank-1 and the placement policy gradient are the same estimate.",
            [one <= TOLERANCE for one in results.gradient_differences.values()],
            f"For the same rankings the largest relative difference between ours and Eq. 14 is {largest:.1e}.",
        ),
    ]


def _cost_claims(results: EstimatorResults) -> list[Claim]:
    """Of the published formulations; our kernels sample and differentiate all estimators in the same way."""
    quicker, growth, ours, even = {}, {}, [], []
    for data, seconds in results.seconds.items():
        sizes = sorted({samples for _, samples, _ in seconds})
        for n in sizes:
            for fast in (PL_RANK_1, PL_RANK_2):
                slow = np.log(seconds[POLICY_GRADIENT, n, True])
                quicker[data, n, fast] = difference(slow, np.log(seconds[fast, n, True]))
                mine = np.median(seconds[fast, n, False])
                ours.append(float(np.median(seconds[fast, n, True]) / mine))
                even.append(float(np.median(seconds[POLICY_GRADIENT, n, False]) / mine))
        grown = {m: np.log(seconds[m, sizes[-1], True]) - np.log(seconds[m, sizes[0], True]) for m in METHODS}
        for other in METHODS:
            if other != LAMBDALOSS:
                growth[f"{SHORT[data]}, {other}"] = difference(grown[LAMBDALOSS], grown[other])
    if not quicker:
        return []
    ratios = sorted(np.exp([one.mean for one in quicker.values()]))
    grows = sorted(np.exp([one.mean for one in growth.values()]))
    return [
        Claim.from_checks(
            "RQ2: an epoch of PL-Rank-1 or PL-Rank-2 takes less time than one of the policy gradient (Table 1).",
            [one.above()[0] for one in quicker.values()],
            f"As published, with PL-Rank in NumPy over all items of every ranking and the policy gradient by "
            f"automatic differentiation in PyTorch, the policy gradient takes {ratios[0]:.2f} to {ratios[-1]:.2f} "
            f"times as long as PL-Rank (median {np.median(ratios):.2f}). Luce's kernels take {1 / max(ours):.2g} to "
            f"{1 / min(ours):.2g} of the time of PL-Rank in NumPy; with them, the policy gradient takes "
            f"{min(even):.2g} to {max(even):.2g} times as long as PL-Rank, since they share one kernel.",
        ),
        Claim.from_checks(
            "The time of LambdaLoss grows most with the number of samples.",
            all_above(growth.values()),
            f"As published, in NumPy over all pairs, from the fewest to the most samples its time grows "
            f"{grows[0]:.2g} to {grows[-1]:.2g} times as much as that of the others.",
        ),
    ]


def _time_claims(results: EstimatorResults) -> list[Claim]:
    ours = results.groups(PL_RANK_2, INCREASING)
    found = [
        _judge(
            f"RQ2: after the same time PL-Rank-2 is above {name} (Table 2).",
            results,
            [(one, one._replace(method=method)) for one in ours],
            "seconds",
        )
        for method, name in RIVALS.items()
    ]
    some = results.groups(PL_RANK_2, INCREASING, data=NOT_MSLR)
    text = "RQ2: after the same time PL-Rank-2 is above PL-Rank-1, except on MSLR (Table 2)."
    return [*found, _judge(text, results, [(one, one._replace(method=PL_RANK_1)) for one in some], "seconds")]


def _fairness_claims(results: EstimatorResults) -> list[Claim]:
    fair = results.groups(PL_RANK_2, INCREASING, fair=True)
    fallen = {}
    for group in fair:
        for place, length in enumerate(results.checkpoints(group), start=1):
            start, end = results.ends(group, 0), results.ends(group, place)
            for seed, value in end.items():
                fallen[Trial(results.name(group.data), group.size, length, seed)] = 1 - value / start[seed]
    lowers = "RQ3: PL-Rank-2 lowers disparity."
    own = any(setting.is_papers for setting in results.settings.values())
    shares = f"Disparity falls by {min(fallen.values()):.0%} to {max(fallen.values()):.0%}.".replace("-", "−")
    return [
        Claim.from_checks(lowers, [value > 0 for value in fallen.values()], shares)
        if own
        else Claim.from_trials(lowers, fallen, shares, units=("lists", "seconds")),
        *(
            _judge(
                f"RQ3: in the same time PL-Rank-2 lowers disparity further than {RIVALS[method]}.",
                results,
                [(one, one._replace(method=method)) for one in fair],
                "seconds",
            )
            for method in (POLICY_GRADIENT, LAMBDALOSS)
        ),
    ]


def _published_claim(results: EstimatorResults) -> Claim:
    """Only the public data can decide it; the published standard deviations over seeds are up to 0.1."""
    own = [name for name, setting in results.settings.items() if setting.is_papers and name in TABLE_1]
    pairs = [
        (name, results.mean(Group(name, 0, PL_RANK_2, INCREASING)), TABLE_2[PL_RANK_2][list(TABLE_1).index(name)])
        for name in own
    ]
    return Claim.from_checks(
        "PL-Rank-2 reaches the DCG@5 of Table 2, to within 0.1.",
        [abs(ours - paper) <= 0.1 for _, ours, paper in pairs],
        "; ".join(f"{SHORT[name]} {ours:.2f} (paper {paper:.2f})" for name, ours, paper in pairs) or "Not run.",
    )
