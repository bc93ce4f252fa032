"""The HTML report of a reproduction: claims with verdicts, figures, tables, and the command that repeats it."""

import os
from collections.abc import Mapping
from typing import Any

from luce.report.formatting import count
from luce.report.layout import Cell, PageTable, Pictures, Section, Text, note, write_page
from papers.outcome import VERDICTS, Outcome


def summary(outcome: Outcome) -> str:
    """The number of claims with each verdict, in a sentence.

    >>> from papers.outcome import Claim
    >>> summary(Outcome("Synthetic data.", [], [Claim("A", "held", "…"), Claim("B", "not held", "…")]))
    'Of 2 claims: 1 held, 1 not held. Synthetic data.'
    """
    verdicts = [claim.verdict for claim in outcome.claims]
    counts = {verdict: verdicts.count(verdict) for verdict in VERDICTS if verdict in verdicts}
    parts = ", ".join(f"{n} {each.replace('needs', 'need') if n > 1 else each}" for each, n in counts.items())
    return f"Of {count(len(verdicts), 'claim')}: {parts}. {outcome.data}"


def write_report(
    path: str | os.PathLike[str], outcome: Outcome, *, title: str, paper: str, command: str, settings: Mapping[str, Any]
) -> None:
    """Write one self-contained HTML page."""
    columns = ["Verdict", "Claim, and the evidence for the verdict"]
    rows = [(claim.verdict, Cell(claim.text, claim.evidence, wrap=True)) for claim in outcome.claims]
    notes = [Text(outcome.notes)] if outcome.notes else []
    results: list[Any] = [Pictures(outcome.pictures())]
    for table in outcome.tables:
        results.append(PageTable(table.title, table.columns, table.texts(), table.title))
        results += [note(table.note)] if table.note else []
    sections = {
        "claims": Section("Claims", [Text(paper), *notes, PageTable("Claims", columns, rows)]),
        "tables": Section("Our results beside the published ones", results),
    }
    write_page(path, sections, title=title, summary=summary(outcome), command=command, settings=settings)
