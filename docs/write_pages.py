"""Write the pages of objectives and metrics from their tables: `python docs/write_pages.py`."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from luce.metrics import LABEL_METRICS, METRICS
from luce.objectives import OBJECTIVES, Objective

HERE = Path(__file__).parent
FAMILIES = {
    "Plackett-Luce likelihood": (
        "Plackett-Luce likelihoods",
        "A ranking is drawn item by item, each with probability proportional to e^s.",
    ),
    "ordered partitions": (
        "Ordered partitions",
        "All items of a grade are chosen together as a subset.",
    ),
    "softmax": (
        "Softmax losses",
        "The scores define a distribution over the items of a list, which is compared with one defined by the labels.",
    ),
    "cosine": ("Cosine losses", "Only the direction of the score vector matters, not its length."),
    "pointwise": ("Pointwise losses", "The loss is a sum over items; lists do not matter."),
    "listwise regression": (
        "Listwise regression",
        "Each score has a target that depends on the list.",
    ),
    "pairwise": ("Pairwise losses", "Every pair of items with different labels should be ordered correctly."),
    "pairwise with ties": (
        "Pairwise losses with ties",
        "Every pair counts, and a tie is an outcome of its own.",
    ),
    "pairwise, metric-weighted": (
        "Pairwise losses weighted by a metric",
        "Pairs are weighted by their effect on NDCG.",
    ),
    "expected metric": (
        "Expected metrics",
        "The expectation of a metric over rankings drawn from the policy, estimated from samples.",
    ),
}
"""The heading and the description of each family; no heading may be the name of an objective."""
SOFTMAX_ELSEWHERE = [
    [
        "`softmax`",
        "y",
        "Σ y",
        "TF-Ranking's `SoftmaxLoss`; CatBoost's `QuerySoftMax` without item weights; PyTorch's `cross_entropy` with "
        "the labels as class probabilities",
    ],
    ['`softmax`, `gain="exponential"`', "2^y − 1", "Σ (2^y − 1)", "–"],
    [
        '`softmax`, `gain="binary"`',
        "1 where y > 0",
        "number of relevant items",
        "PyTorch's `cross_entropy` with a class index, where one item is relevant",
    ],
    [
        "`kl`",
        "(2^y − 1) / Σ (2^y − 1)",
        "1",
        "similar: LightGBM's `rank_xendcg`, with 2^y − γ, γ drawn from [0, 1), instead of 2^y − 1, and an approximate "
        "gradient",
    ],
    ["`c-kl`", "(2^y − 1) / ideal DCG", "at least 1", "–"],
    ["`listnet`", "e^y / Σ e^y", "1", "allRank's `listNet`; RankLib's ListNet"],
    ["`attrank`", "e^y / Σ e^y, both where y > 0", "1", "–"],
]
"""The targets of the softmax losses, and where the same loss is found; checked in the source of each library."""
NAMES = {"paper": "source"}


def objectives_page() -> str:
    """The objectives, family by family."""
    families: dict[str, list[Objective]] = {}
    for each in OBJECTIVES.values():
        families.setdefault(each.family, []).append(each)
    parts = [
        "# Objectives",
        "A list of n items has scores s and labels y; lse is log-sum-exp. An objective computes the loss of each list "
        "and its gradient with respect to the scores, and can train every kind of ranker. "
        "[Which objective?](which_objective.md) helps to choose. `luce objectives NAME` prints this information.",
        table(
            ["family", "objectives"],
            ([family, ", ".join(link(one.name) for one in members)] for family, members in families.items()),
        ),
    ]
    for family, members in families.items():
        title, shared = FAMILIES[family]
        parts += [f"## {title}", shared, *(softmax_elsewhere() if family == "softmax" else [])]
        parts += [objective_section(one, [other.name for other in members if other is not one]) for one in members]
    return joined(parts)


def softmax_elsewhere() -> list[str]:
    """Which of the softmax losses has which name in other libraries."""
    return [
        "### Which softmax is which elsewhere",
        "All are −Σ_i t_i log softmax(s)_i and differ in the targets t alone. Labels below 0 have the target 0, except "
        "with `listnet`; items whose label is NaN are left out.",
        table(["objective", "target t of an item", "sum of t", "the same elsewhere"], SOFTMAX_ELSEWHERE),
        'TF-Ranking averages the loss over lists, as `luce.torch.loss` does with `reduction="mean"`; CatBoost reports '
        "it divided by the sum of all labels. Padding has a label below 0 in TF-Ranking and the label −1 in allRank; "
        "give such items the label NaN. XGBoost has no softmax loss of lists: its ranking objectives are pairwise.",
    ]


def objective_section(one: Objective, others: list[str]) -> str:
    """The definition of an objective, a plot of its gradient, its properties and options, and related objectives."""
    facts = one.facts()
    lines = [("paper",), ("time complexity",), ("random", "uses ties", "outputs per item", "nuisance parameters")]
    lines += [("Hessian", "log-probability", "item weights"), ("exact Hessian of tree leaves", "GPU kernels")]
    options = [
        f"- Option `{name}`: {each['allowed']}; default `{each['default']!r}`. {sentence(each['meaning'])}"
        for name, each in facts["options"].items()
    ]
    parts = [
        f"### {one.name}",
        one.summary,
        f"Also called {', '.join(one.synonyms)}." if one.synonyms else "",
        f"    {one.formula}",
        f"<!-- generated: gradient of {one.name} -->",
        "\n".join([bullets(facts, lines), *options]),
    ]
    if others:
        parts.append(f"See also {', '.join(link(name) for name in others)}.")
    return joined(parts).rstrip()


def metrics_page() -> str:
    """The metrics of rankings, then those of predicted labels."""
    return joined(
        [
            "# Metrics",
            "A metric is given by name, with or without a cutoff: `ndcg@10`. `luce metrics NAME` prints this "
            "information; [What a number means](numbers.md) explains the rules that all metrics follow, "
            "and [how two rankings are compared](numbers.md#comparing-rankings).",
            "## Of rankings",
            "Items with equal scores count as the average over their orders. r is a rank, starting at 1.",
            *(metric_section(each, plotted=not each.is_stochastic) for each in METRICS.values()),
            "## Of predicted labels",
            "Computed on the first k labels that a label ranker predicts for a row; the mean is over rows.",
            *(metric_section(each, plotted=False) for each in LABEL_METRICS.values()),
        ]
    )


def metric_section(one: Any, plotted: bool) -> str:
    """The definition of a metric, what it is computed on, and a plot."""
    facts = one.facts()
    parts = [f"### {facts.pop('name')}", facts.pop("summary"), f"    {facts.pop('formula')}"]
    if plotted:
        parts.append(f"<!-- generated: metric of {one.name} -->")
    lines = [("measured on", "lists left out"), ("higher is better", "takes a cutoff", "parameters")]
    return joined([*parts, bullets(facts, lines)]).rstrip()


def bullets(facts: dict[str, Any], lines: Iterable[tuple[str, ...]]) -> str:
    """Facts of a record as a list, with several on a line."""
    texts = (" · ".join(f"{NAMES.get(key, key)}: {word(facts[key])}" for key in keys) for keys in lines)
    return "\n".join(f"- {each[0].upper()}{each[1:]}" for each in texts)


def table(head: list[str], rows: Iterable[list[str]]) -> str:
    """A table of Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in lines)


def link(name: str) -> str:
    return f"[{name}](#{name})"


def word(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def joined(parts: Iterable[str]) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


def pages() -> dict[str, str]:
    """The text of each page by the name of its file."""
    return {"objectives.md": objectives_page(), "metrics.md": metrics_page()}


if __name__ == "__main__":
    for name, text in pages().items():
        (HERE / name).write_text(text, encoding="utf-8")
