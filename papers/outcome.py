"""What running a paper's protocol again has shown: tables of ours beside theirs, claims with verdicts, and a page."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from luce.errors import OptionError
from luce.report.layout import page_of, write_page
from luce.report.repeat import versions
from luce.report.svg import Picture
from luce.report.wording import count

HELD, IN_PART, NOT_HELD, NEEDS_DATA = "held", "held in part", "not held", "needs data not at hand"
VERDICTS = (HELD, IN_PART, NOT_HELD, NEEDS_DATA)

Cell = str | float | None
"""Text, a number, or None where there is nothing, such as a figure that the paper does not print."""


@dataclass(frozen=True)
class Table:
    """A table of the paper, ours beside theirs; `form` is how fractional numbers are written.

    >>> table = Table("Errors", ["method", "ours", "paper"], [["listmle", 0.51234, None]], form=".3f")
    >>> table.texts()
    [['listmle', '0.512', '–']]
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    form: str = ".4g"

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise OptionError(
                    f"Every row of the table {self.title!r} must have {len(self.columns)} cells. Got {list(row)}."
                )

    def texts(self) -> list[list[str]]:
        """The cells as they are shown."""
        return [[self._text(cell) for cell in row] for row in self.rows]

    def __str__(self) -> str:
        rows = [list(self.columns), *self.texts()]
        widths = [max(len(row[column]) for row in rows) for column in range(len(self.columns))]
        lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]
        return "\n".join([self.title, *lines, *([self.note] if self.note else [])])

    def _text(self, cell: Cell) -> str:
        if cell is None or cell != cell:
            return "–"
        if isinstance(cell, str):
            return cell
        return (f"{cell:,}" if isinstance(cell, int) else format(cell, self.form)).replace("-", "−")


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, whether it held, and the figures behind the verdict."""

    text: str
    verdict: str
    evidence: str

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise OptionError(f"A verdict must be one of: {', '.join(VERDICTS)}. Got {self.verdict!r}.")

    @classmethod
    def judged(cls, text: str, checks: Sequence[bool], evidence: str, *, at_hand: bool = True) -> "Claim":
        """Held when every check is true, in part when some are, not held when none is.

        With `at_hand` false the claim is about data that made data cannot stand for; the evidence tells what they show.

        >>> Claim.judged("A is below B everywhere.", [True, False], "1 of 2 points").verdict
        'held in part'
        """
        if not at_hand or not checks:
            return cls(text, NEEDS_DATA, evidence)
        return cls(text, HELD if all(checks) else IN_PART if any(checks) else NOT_HELD, evidence)


@dataclass(frozen=True)
class Outcome:
    """What a reproduction found.

    Attributes:
        data: a sentence: which data it ran on, and whether they are the paper's or made.
        tables: ours beside theirs.
        claims: of the paper, each with its verdict.
        pictures: draws the figures; called only when a page is written, since drawing needs Matplotlib.
    """

    data: str
    tables: Sequence[Table]
    claims: Sequence[Claim]
    pictures: Callable[[], list[Picture]] = list

    def facts(self) -> dict[str, Any]:
        """What was found, ready for JSON."""
        tables = [
            {"title": each.title, "columns": list(each.columns), "rows": [list(row) for row in each.rows]}
            | ({"note": each.note} if each.note else {})
            for each in self.tables
        ]
        return {"data": self.data, "tables": tables, "claims": [vars(claim) for claim in self.claims]}

    def __str__(self) -> str:
        parts = [self.data, *map(str, self.tables)]
        claims = [f"{claim.verdict}: {claim.text}\n    {claim.evidence}" for claim in self.claims]
        return "\n\n".join([*parts, "\n".join(["Claims", *claims])])


def summary(outcome: Outcome) -> str:
    """How many claims got which verdict, in a sentence.

    >>> summary(Outcome("Made data.", [], [Claim("A", "held", "…"), Claim("B", "not held", "…")]))
    'Of 2 claims: 1 held, 1 not held. Made data.'
    """
    found = [claim.verdict for claim in outcome.claims]
    counts = {verdict: found.count(verdict) for verdict in VERDICTS if verdict in found}
    parts = ", ".join(f"{n} {each.replace('needs', 'need') if n > 1 else each}" for each, n in counts.items())
    return f"Of {count(len(found), 'claim')}: {parts}. {outcome.data}"


def write_reproduction(
    path: str | os.PathLike[str],
    outcome: Outcome,
    *,
    title: str,
    paper: str,
    command: str,
    settings: Mapping[str, Any],
) -> Path:
    """Write one self-contained HTML page about a reproduction, and give back its path."""
    sections: dict[str, Any] = {
        "claims": {"claims": outcome.claims, "paper": paper},
        "reproduced": {"tables": outcome.tables, "pictures": outcome.pictures()},
        "repeat": {"command": command, "settings": settings, "versions": versions()},
    }
    return write_page(path, page_of(title, summary(outcome), sections))
