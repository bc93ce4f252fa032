"""What running a paper's protocol again found: tables of ours beside theirs, and claims with verdicts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from luce.errors import OptionError
from luce.report.svg import Picture

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
        data: a sentence: which data it ran on, and whether they are the paper's or synthetic.
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
