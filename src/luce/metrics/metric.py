"""METRICS, the one table of metrics, and the reading of names such as `ndcg@10`."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from luce.errors import OptionError, unknown_name
from luce.metrics import cascade, listwise, pairwise
from luce.metrics.exposure import is_stochastic

NOTHING_RELEVANT = "no label is above 0"
EXPOSURE = "E_d = E[1 / log2(1 + r)] up to r = k, from 1,000 rankings drawn from the scores"


@dataclass(frozen=True)
class Metric:
    """What is measured, in words, as a formula and as a kernel. Relevant means a label above 0; r is a rank, from 1.

    Items with equal scores count as the average over their orders; items with no label are left out of the list; items
    with a score of −∞ were not retrieved: they count among the relevant ones and bring nothing.

    Attributes:
        name: the name in METRICS.
        summary: one sentence.
        formula: the value for one list without equal scores.
        bounds: the least and the greatest value.
        empty_when: which lists have nothing to measure.
        kernel: called as kernel(first, last, offsets, ranked, options, values); NaN for an empty list.
        is_stochastic: rankings drawn from the scores are measured, not their order; an item with −∞ is never placed.
            The kernel is then called as kernel(scores, labels, offsets, cutoff=, gain=, groups=, n_jobs=) for the
            values.
        higher_is_better: whether a better order gives a higher value.
        takes_cutoff: whether a cutoff may follow the name.
        options: which of `gain` and `max_grade` it reads.
        cutoff: the number of places that count; None = all.
    """

    name: str
    summary: str
    formula: str
    bounds: tuple[float, float]
    empty_when: str
    kernel: Callable[..., Any]
    is_stochastic: bool = False
    higher_is_better: bool = True
    takes_cutoff: bool = True
    options: tuple[str, ...] = ()
    cutoff: int | None = None

    def facts(self) -> dict[str, Any]:
        """What the record says, ready for JSON: the source of the command line's and the documentation's words."""
        return {
            "name": self.name,
            "summary": self.summary,
            "formula": self.formula,
            "measured on": "rankings drawn from the scores" if self.is_stochastic else "the order of the scores",
            "higher is better": self.higher_is_better,
            "takes a cutoff": self.takes_cutoff,
            "reads": ", ".join(self.options) or "no option",
            "lists left out": f"those where {self.empty_when}",
        }

    def best(self, values: Iterable[float]) -> float:
        """The best of some values of this metric."""
        return max(values) if self.higher_is_better else min(values)

    def __str__(self) -> str:
        return self.name if self.cutoff is None else f"{self.name}@{self.cutoff}"


_TABLE = (
    Metric(
        name="dcg",
        summary="Discounted cumulative gain: the gains of the items, each divided by the logarithm of its place.",
        formula="Σ_{r ≤ k} Gain(y_r) / log2(1 + r), Gain(y) = 2^y − 1, or y for linear gain",
        bounds=(0, math.inf),
        empty_when=NOTHING_RELEVANT,
        kernel=listwise.dcg,
        options=("gain",),
    ),
    Metric(
        name="ndcg",
        summary="Normalised discounted cumulative gain: dcg divided by that of the best order.",
        formula="dcg@k / (dcg@k of the labels from high to low)",
        bounds=(0, 1),
        empty_when=NOTHING_RELEVANT,
        kernel=listwise.ndcg,
        options=("gain",),
    ),
    Metric(
        name="err",
        summary="Expected reciprocal rank of the item at which a reader stops, going down the list.",
        formula="Σ_{r ≤ k} R_r/r · Π_{j < r} (1 − R_j), R = (2^y − 1) / 2^max_grade",
        bounds=(0, 1),
        empty_when=NOTHING_RELEVANT,
        kernel=cascade.expected_reciprocal_rank,
        options=("max_grade",),
    ),
    Metric(
        name="precision",
        summary="The share of relevant items among the first k; a list shorter than k is not forgiven.",
        formula="#{relevant, r ≤ k} / k; without a cutoff k is the length of the list",
        bounds=(0, 1),
        empty_when=NOTHING_RELEVANT,
        kernel=listwise.precision,
    ),
    Metric(
        name="recall",
        summary="The share of the relevant items that is among the first k.",
        formula="#{relevant, r ≤ k} / #{relevant}",
        bounds=(0, 1),
        empty_when=NOTHING_RELEVANT,
        kernel=listwise.recall,
    ),
    Metric(
        name="map",
        summary="Average precision: the precision at the place of each relevant item, averaged over all of them.",
        formula="Σ_{r ≤ k, relevant} precision@r / #{relevant}",
        bounds=(0, 1),
        empty_when=NOTHING_RELEVANT,
        kernel=listwise.average_precision,
    ),
    Metric(
        name="mrr",
        summary="One over the rank of the first relevant item.",
        formula="1 / min{r : relevant}, 0 if that is beyond k",
        bounds=(0, 1),
        empty_when=NOTHING_RELEVANT,
        kernel=listwise.reciprocal_rank,
    ),
    Metric(
        name="hit",
        summary="Whether a relevant item is among the first k.",
        formula="1 if min{r : relevant} ≤ k, else 0",
        bounds=(0, 1),
        empty_when=NOTHING_RELEVANT,
        kernel=listwise.hit,
    ),
    Metric(
        name="arp",
        summary="Average relevance position: the mean rank of the items, weighted by their labels.",
        formula="Σ y_r · r / Σ y_r, labels below 0 counting as 0",
        bounds=(1, math.inf),
        empty_when=NOTHING_RELEVANT,
        kernel=pairwise.average_position,
        higher_is_better=False,
        takes_cutoff=False,
    ),
    Metric(
        name="sharp-ndcg",
        summary="NDCG with the sharper discount n − r of the position-aware ListMLE paper (2014).",
        formula="Σ (n − r) Gain(y_r) / (the same sum for the labels from high to low)",
        bounds=(0, 1),
        empty_when="no label is above 0, or there is one item",
        kernel=pairwise.sharp_ndcg,
        takes_cutoff=False,
        options=("gain",),
    ),
    Metric(
        name="disagreement",
        summary="Weighted pairwise disagreement (2014): the differences in gain of all pairs in the wrong order.",
        formula="Σ_{i, j : y_i > y_j} (Gain(y_i) − Gain(y_j)) · [r_i > r_j]",
        bounds=(0, math.inf),
        empty_when="no two gains differ",
        kernel=pairwise.disagreement,
        higher_is_better=False,
        takes_cutoff=False,
        options=("gain",),
    ),
    Metric(
        name="kendall-tau",
        summary="Kendall's rank correlation of scores and labels, over the pairs with different labels.",
        formula="(pairs in the right order − pairs in the wrong order) / #{i, j : y_i > y_j}",
        bounds=(-1, 1),
        empty_when="no two labels differ",
        kernel=pairwise.kendall_tau,
        takes_cutoff=False,
    ),
    Metric(
        name="disparity",
        summary="Disparity of treatment (2021): how far exposure is from proportional to merit, over pairs of items.",
        formula=f"Σ_{{d, e}} (E_d ρ_e − E_e ρ_d)² / (n(n − 1)), {EXPOSURE}, ρ = Gain(y)",
        bounds=(0, math.inf),
        empty_when="no label is above 0, or there is one item",
        kernel=partial(is_stochastic, "disparity"),
        is_stochastic=True,
        higher_is_better=False,
        options=("gain",),
    ),
    Metric(
        name="parity-gap",
        summary="Distance from demographic parity: each group of items seen as much as its number of items.",
        formula=f"Σ_g (share of exposure of g − share of items of g)², {EXPOSURE}",
        bounds=(0, 2),
        empty_when="there are not two groups",
        kernel=partial(is_stochastic, "parity-gap"),
        is_stochastic=True,
        higher_is_better=False,
    ),
    Metric(
        name="merit-gap",
        summary="Distance from exposure in proportion to merit, group by group.",
        formula=f"Σ_g (share of exposure of g − share of merit of g)², {EXPOSURE}, merit Gain(y)",
        bounds=(0, 2),
        empty_when="no label is above 0, or there are not two groups",
        kernel=partial(is_stochastic, "merit-gap"),
        is_stochastic=True,
        higher_is_better=False,
        options=("gain",),
    ),
)

METRICS: dict[str, Metric] = {metric.name: metric for metric in _TABLE}


def metric(name: str, table: Mapping[str, Metric] = METRICS) -> Metric:
    """The metric of a name in a table, with its cutoff; capitals and spaces do not matter.

    >>> ndcg = metric("NDCG@10")
    >>> str(ndcg), ndcg.cutoff, ndcg.higher_is_better
    ('ndcg@10', 10, True)
    >>> metric("arp@5")
    Traceback (most recent call last):
    luce.errors.OptionError: The metric arp takes no cutoff: it measures the whole list. Got 'arp@5', use 'arp'.
    """
    if not isinstance(name, str):
        raise OptionError(f"A metric is named by a string such as 'ndcg@10'. Got {name!r}.")
    base, at, cutoff = (part.strip() for part in name.partition("@"))
    found = table.get(base.lower())
    if found is None:
        raise unknown_name("metric", base.lower(), table)
    if not at:
        return found
    if not found.takes_cutoff:
        raise OptionError(
            f"The metric {found.name} takes no cutoff: it measures the whole list. Got {name!r}, use {found.name!r}."
        )
    if not (cutoff.isascii() and cutoff.isdigit() and 0 < int(cutoff) < 2**31):
        raise OptionError(f"The cutoff of {found.name} must be an integer ≥ 1, as in '{found.name}@10'. Got {name!r}.")
    return replace(found, cutoff=int(cutoff))


def parse_metrics(metrics: str | Iterable[str], table: Mapping[str, Metric] = METRICS) -> tuple[Metric, ...]:
    """The metrics of one string with commas, or of several names, in a table; each once, in their order.

    >>> [str(one) for one in parse_metrics("ndcg@10, err")]
    ['ndcg@10', 'err']
    """
    names: Any = metrics.split(",") if isinstance(metrics, str) else metrics
    if not isinstance(names, Iterable):
        raise OptionError(f"metrics must be names such as 'ndcg@10, err'. Got {metrics!r}.")
    found = {str(one): one for one in (metric(name, table) for name in names)}
    if not found:
        raise OptionError("metrics must name at least one metric, such as 'ndcg@10'. Got none.")
    return tuple(found.values())
