"""Writes the pages of objectives and metrics from their tables: `python docs/write_pages.py`."""

from pathlib import Path
from typing import Any

from luce.metrics import LABEL_METRICS, METRICS
from luce.objectives import OBJECTIVES

HERE = Path(__file__).parent


def entry(facts: dict[str, Any]) -> str:
    """One entry of a table as a section."""
    options = facts.pop("options", {})
    lines = [f"## {facts.pop('name')}", "", facts.pop("summary"), "", f"    {facts.pop('formula')}", ""]
    words = {True: "yes", False: "no"}
    lines += [
        f"- {key}: {words.get(value, value) if isinstance(value, bool) else value}" for key, value in facts.items()
    ]
    lines += [
        f"- option `{name}`: {option['allowed']}; default {option['default']!r}. {option['meaning'].capitalize()}."
        for name, option in options.items()
    ]
    return "\n".join(lines)


def pages() -> dict[str, str]:
    """The text of each page by the name of its file."""
    objectives = "# Objectives\n\nA list has scores s and labels y; lse is log-sum-exp.\n"
    metrics = "# Metrics\n\nItems with equal scores count as the average over their orders. r is a rank, from 1.\n"
    labels = "# Metrics of predicted labels\n\nOf the first k labels that a label ranker gives a row. Rows count alike."
    return {
        "objectives.md": "\n\n".join([objectives.strip(), *(entry(each.facts()) for each in OBJECTIVES.values())])
        + "\n",
        "metrics.md": "\n\n".join(
            [
                metrics.strip(),
                *(entry(each.facts()) for each in METRICS.values()),
                labels,
                *(entry(each.facts()) for each in LABEL_METRICS.values()),
            ]
        )
        + "\n",
    }


if __name__ == "__main__":
    for name, text in pages().items():
        (HERE / name).write_text(text, encoding="utf-8")
