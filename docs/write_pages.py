"""Writes the pages of objectives and metrics from their tables: `python docs/write_pages.py`."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from luce.metrics import LABEL_METRICS, METRICS
from luce.objectives import OBJECTIVES, Objective

HERE = Path(__file__).parent
FAMILIES = {
    "Plackett-Luce likelihood": (
        "Plackett-Luce likelihoods",
        "A ranking is drawn item by item, each with a chance in proportion to e^s.",
    ),
    "ordered partitions": (
        "Ordered partitions",
        "A whole grade is chosen at once, and its items are interchangeable.",
    ),
    "softmax": (
        "Softmax losses",
        "Scores become one distribution over the items of a list, compared with one that labels give.",
    ),
    "cosine": ("Cosine losses", "Only the direction of the scores counts, not their size."),
    "pointwise": ("Pointwise losses", "Each item is looked at alone; lists do not matter."),
    "listwise regression": (
        "Listwise regression",
        "Each score has a number to meet, and that number depends on the list.",
    ),
    "pairwise": ("Pairwise losses", "Every pair of items with different labels should be in order."),
    "pairwise with ties": (
        "Pairwise losses with ties",
        "Every pair counts, and equal labels are an outcome of their own.",
    ),
    "pairwise, metric-weighted": ("Pairwise losses weighted by a metric", "Pairs count by what they change in NDCG."),
    "expected metric": (
        "Expected metrics",
        "The mean of a metric over rankings drawn from the scores, estimated from samples.",
    ),
}
"""The heading of each family and what its members share; no heading may be the name of an objective."""
NAMES = {"paper": "source", "uses ties": "equal labels inform it"}


def objectives_page() -> str:
    """The objectives, family by family."""
    families: dict[str, list[Objective]] = {}
    for each in OBJECTIVES.values():
        families.setdefault(each.family, []).append(each)
    parts = [
        "# Objectives",
        "A list has scores s and labels y; lse is log-sum-exp. An objective gives a loss for each list and its "
        "gradient in the scores, and trains every kind of ranker. [Which objective?](which_objective.md) helps to "
        "choose. `luce objectives NAME` prints what stands here.",
        table(
            ["family", "objectives"],
            ([family, ", ".join(link(one.name) for one in members)] for family, members in families.items()),
        ),
    ]
    for family, members in families.items():
        title, shared = FAMILIES[family]
        parts += [f"## {title}", shared]
        parts += [objective_section(one, [other.name for other in members if other is not one]) for one in members]
    return joined(parts)


def objective_section(one: Objective, others: list[str]) -> str:
    """What an objective is, how it pushes, what it can do, its options, and its relatives."""
    facts = one.facts()
    told = [("paper",), ("time for n items",), ("random", "uses ties", "outputs", "learned beside the model")]
    told += [("second derivative", "log-probability", "item weights"), ("exact leaves of trees", "on a GPU")]
    options = [
        f"- Option `{name}`: {each['allowed']}; default `{each['default']!r}`. {sentence(each['meaning'])}"
        for name, each in facts["options"].items()
    ]
    parts = [
        f"### {one.name}",
        one.summary,
        f"Also called {', '.join(one.synonyms)}." if one.synonyms else "",
        f"    {one.formula}",
        f"<!-- made: gradient of {one.name} -->",
        "\n".join([bullets(facts, told), *options]),
    ]
    if others:
        parts.append(f"See also {', '.join(link(name) for name in others)}.")
    return joined(parts).rstrip()


def metrics_page() -> str:
    """The metrics of rankings, then those of predicted labels."""
    return joined(
        [
            "# Metrics",
            "A metric is named in full or with a cutoff, `ndcg@10`. `luce metrics NAME` prints what stands here; "
            "[What a number means](numbers.md) tells the rules that all of them keep.",
            "## Of rankings",
            "Items with equal scores count as the average over their orders. r is a rank, from 1.",
            *(metric_section(each, pictured=not each.is_stochastic) for each in METRICS.values()),
            "## Of predicted labels",
            "Of the first k labels that a label ranker gives a row. Rows count alike.",
            *(metric_section(each, pictured=False) for each in LABEL_METRICS.values()),
        ]
    )


def metric_section(one: Any, pictured: bool) -> str:
    """What a metric is, what it is measured on, and where the first places count more, a picture of it."""
    facts = one.facts()
    parts = [f"### {facts.pop('name')}", facts.pop("summary"), f"    {facts.pop('formula')}"]
    if pictured:
        parts.append(f"<!-- made: places of {one.name} -->")
    lines = [("measured on", "lists left out"), ("higher is better", "takes a cutoff", "reads")]
    return joined([*parts, bullets(facts, lines)]).rstrip()


def bullets(facts: dict[str, Any], lines: Iterable[tuple[str, ...]]) -> str:
    """Facts of a record, some to a line."""
    told = (" · ".join(f"{NAMES.get(key, key)}: {word(facts[key])}" for key in keys) for keys in lines)
    return "\n".join(f"- {each[0].upper()}{each[1:]}" for each in told)


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
