"""The claims of the 2020 paper about the methods that rank labels, and their verdicts."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from papers.outcome import Claim, Trial
from papers.partition_2020.label_results import SHORT, TITLES, Cell, Scores, mean_of, values_of
from papers.partition_2020.label_training import LEML, METRICS, SLEEC
from papers.partition_2020.published import CUTOFFS, METHODS, published

OURS = METHODS[0]
FEW_LABELS = "eurlex-4k"
"""With few labels per row the paper finds the pairwise methods as good."""

SIMILAR, FOLLOWS = 1.0, 0.9
"""The percentage points within which values are similar, and the correlation from which one metric follows another."""

Gaps = dict[str, float]
BOTH = ("precision", "psp")
NEAR = f"(here: at most {SIMILAR:g} point below)"


class Comparison(NamedTuple):
    """A claim that the first method of each pair is above the second in all metrics, or at most −`least` below."""

    text: str
    pairs: Sequence[tuple[str, str]]
    metrics: Sequence[str]
    least: float = 0.0


ABOVE_BOUND = Comparison("PL-Partition is above PL-LB in P@k and PSP@k", [(OURS, "pl-lb")], BOTH)
ABOVE_PAIRS = Comparison(
    "PL-Partition is above RankNet and RankSVM in P@k and PSP@k", [(OURS, "ranknet"), (OURS, "ranksvm")], BOTH
)
PAIRS_AS_GOOD = Comparison(
    f"as labels per row are few, RankNet is as good as PL-Partition in P@k {NEAR}",
    [("ranknet", OURS)],
    ("precision",),
    -SIMILAR,
)
EMBEDDING_CLAIMS = (
    Comparison(f"PL-Partition is similar to SLEEC in P@k {NEAR}", [(OURS, SLEEC)], ("precision",), -SIMILAR),
    Comparison("PL-Partition is above SLEEC and LEML in PSP@k", [(OURS, SLEEC), (OURS, LEML)], ("psp",)),
    Comparison("SLEEC is above LEML in P@k and PSP@k", [(SLEEC, LEML)], BOTH),
)
"""Synthetic data cannot decide these: their labels have few topics, which suits the low rank of LEML."""

REACHED = f"every method reaches its published P@k {NEAR}"


def dataset_claims(cells: Sequence[Cell], scores: Scores) -> list[Claim]:
    """The claims about one dataset, from its cells: one if it is published, else several sizes and lengths."""
    cell, short = cells[-1], SHORT[cells[-1].name]
    networks = [ABOVE_BOUND, PAIRS_AS_GOOD if cell.name == FEW_LABELS else ABOVE_PAIRS]
    if cell.is_published:
        claims = [_on_published_data(f"{short}: ", each, cell, scores) for each in (*networks, *EMBEDDING_CLAIMS)]
        return [*claims, _reached_claim(f"{short}: {REACHED}.", cell, scores)]
    prefix = f"As many labels per row as in {short}: "
    undecided = "; ".join([*(each.text for each in EMBEDDING_CLAIMS), REACHED])
    return [
        *(_on_synthetic_data(prefix, each, cells, scores) for each in networks),
        Claim.from_checks(f"{short}: {undecided}.", [], "The data are not available."),
    ]


def _reached_claim(text: str, cell: Cell, scores: Scores) -> Claim:
    """Whether the values on published data are near those of the paper."""
    gaps = {}
    for method, cutoff in product(TITLES, CUTOFFS):
        value = published(cell.name, method, "precision", cutoff)
        if value is not None:
            gaps[f"P@{cutoff} of {TITLES[method]}"] = mean_of(scores, cell, method, "precision", cutoff) - value
    checks = [gap >= -SIMILAR for gap in gaps.values()]
    evidence = f"{sum(checks)} of {len(checks)}: ours minus the published is {_ends(gaps)} points."
    return Claim.from_checks(text, checks, evidence)


def _on_published_data(prefix: str, claim: Comparison, cell: Cell, scores: Scores) -> Claim:
    """The means over seeds are compared, metric by metric."""
    gaps = _mean_gaps(claim, cell, scores)
    checks = [gap > claim.least for gap in gaps.values()]
    return Claim.from_checks(f"{prefix}{claim.text}.", checks, f"{sum(checks)} of {len(checks)}: {_ends(gaps)} points.")


def _on_synthetic_data(prefix: str, claim: Comparison, cells: Sequence[Cell], scores: Scores) -> Claim:
    """A trial, of one seed, is judged by the metric and the pair with the least difference."""
    comparisons: dict[Trial, list[float]] = {}
    for cell in cells:
        gaps = [
            np.array(values_of(scores, cell, first, metric, cutoff)) - values_of(scores, cell, second, metric, cutoff)
            for (first, second), metric, cutoff in product(claim.pairs, claim.metrics, CUTOFFS)
        ]
        by_seed = np.transpose(gaps) - claim.least
        comparisons |= {_trial(cell, seed): each.tolist() for seed, each in enumerate(by_seed)}
    added = f", with {-claim.least:g} added, which the claim allows" if claim.least else ""
    several = len(claim.pairs) * len(claim.metrics) * len(CUTOFFS)
    evidence = (
        f"The smallest of {several} differences counts in a trial, in points{added}. With the most rows and epochs, "
        f"the means over seeds of single metrics differ by {_ends(_mean_gaps(claim, cells[-1], scores))}."
    )
    return Claim.from_comparisons(f"{prefix}{claim.text}.", comparisons, evidence, units=("rows", "epochs"))


def _mean_gaps(claim: Comparison, cell: Cell, scores: Scores) -> Gaps:
    """The first minus the second method of each pair, in each metric."""
    return {
        f"{METRICS[metric]}@{cutoff}, {TITLES[first]} − {TITLES[second]}": mean_of(scores, cell, first, metric, cutoff)
        - mean_of(scores, cell, second, metric, cutoff)
        for first, second in claim.pairs
        for metric, cutoff in product(claim.metrics, CUTOFFS)
    }


def _trial(cell: Cell, seed: int) -> Trial:
    return Trial(f"synthetic {SHORT[cell.name]}", cell.rows, cell.epochs, seed)


def follow_claim(cells: Sequence[Cell], scores: Scores) -> Claim:
    """Whether the discounted metrics agree with the plain ones about the methods; at k = 1 they are equal."""
    text = f"nDCG@k and PSnDCG@k follow P@k and PSP@k (here: correlation over the methods at least {FOLLOWS:g})."
    published_cells = [cell for cell in cells if cell.is_published]
    if published_cells:
        found = {
            f"{name}, {SHORT[cell.name]}": value
            for cell in published_cells
            for name, value in _correlations(lambda *place, cell=cell: mean_of(scores, cell, *place)).items()
        }
        least = min(found, key=lambda name: found[name])
        return Claim.from_checks(
            text, [each >= FOLLOWS for each in found.values()], f"At least {found[least]:.3f} ({least})."
        )
    differences = {}
    for cell in cells:
        for seed in range(len(scores[cell, OURS])):
            found = _correlations(lambda *place, cell=cell, seed=seed: values_of(scores, cell, *place)[seed])
            differences[_trial(cell, seed)] = min(found.values()) - FOLLOWS
    evidence = f"The difference of a trial is its least correlation minus {FOLLOWS:g}."
    return Claim.from_trials(text, differences, evidence, units=("rows", "epochs"))


def _correlations(read: Callable[[str, str, int], float]) -> Gaps:
    """Between plain and discounted metrics, over the methods; 0 if one of them is constant."""
    found = {}
    for plain, gains in (("precision", "ndcg"), ("psp", "psndcg")):
        for cutoff in CUTOFFS[1:]:
            values = np.array([[read(method, metric, cutoff) for method in METHODS] for metric in (plain, gains)])
            constant = not np.ptp(values, axis=1).all()
            found[f"{METRICS[gains]}@{cutoff}"] = 0.0 if constant else float(np.corrcoef(values)[0, 1])
    return found


def _ends(gaps: Gaps) -> str:
    """The smallest and the largest difference, with their names."""
    least, most = min(gaps, key=lambda name: gaps[name]), max(gaps, key=lambda name: gaps[name])
    return " to ".join(f"{gaps[name]:+.2f}".replace("-", "−") + f" ({name})" for name in (least, most))
