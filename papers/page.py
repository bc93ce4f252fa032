"""The HTML report of a reproduction: claims with verdicts, figures, tables, and the command that repeats it."""

import os
from collections.abc import Mapping
from typing import Any

import jinja2

from luce.report.formatting import count
from luce.report.layout import environment, versions, write_page
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
    path: str | os.PathLike[str],
    outcome: Outcome,
    *,
    title: str,
    paper: str,
    command: str,
    settings: Mapping[str, Any],
) -> None:
    """Write one self-contained HTML page."""
    templates = environment()
    templates.loader = jinja2.ChoiceLoader([jinja2.PackageLoader("papers"), templates.loader])
    sections: dict[str, Any] = {
        "claims": {"claims": outcome.claims, "paper": paper},
        "tables": {"tables": outcome.tables, "pictures": outcome.pictures()},
        "repeat": {"command": command, "settings": settings, "versions": versions()},
    }
    page = templates.get_template("page.html.j2").render(title=title, summary=summary(outcome), sections=sections)
    write_page(path, page)
