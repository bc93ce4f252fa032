"""The outcome of a reproduction: tables with our results beside the published ones, and claims with verdicts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from luce.errors import OptionError
from luce.report.svg import Picture

HELD, IN_PART, NOT_HELD, NEEDS_DATA = "held", "held in part", "not held", "needs data not available here"
VERDICTS = (HELD, IN_PART, NOT_HELD, NEEDS_DATA)

Cell = str | float | None
"""Text, a number, or None for an empty cell, such as a value that the paper does not print."""


@dataclass(frozen=True)
class ResultTable:
    """A table of the paper with our results beside the published ones; `form` is the format of floats.

    >>> table = ResultTable("Errors", ["method", "ours", "paper"], [["listmle", 0.51234, None]], form=".3f")
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
        """The cells as text."""
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
    """A claim of the paper, whether it held, and the evidence for the verdict."""

    text: str
    verdict: str
    evidence: str

    @classmethod
    def from_checks(cls, text: str, checks: Sequence[bool], evidence: str, *, data_available: bool = True) -> "Claim":
        """Held if every check is true, held in part if some are, not held if none is.

        With `data_available` false the claim is about public data that synthetic data cannot replace, and there is no
        verdict; the evidence then says what the synthetic data show.

        >>> Claim.from_checks("A is below B everywhere.", [True, False], "1 of 2 points").verdict
        'held in part'
        """
        if not data_available or not checks:
            return cls(text, NEEDS_DATA, evidence)
        return cls(text, HELD if all(checks) else IN_PART if any(checks) else NOT_HELD, evidence)


@dataclass(frozen=True)
class Outcome:
    """The results of a reproduction.

    Attributes
    ----------
    data
        A sentence that says which data were used, and whether they are the paper's or synthetic.
    tables
        Our results beside the published ones.
    claims
        The claims of the paper with their verdicts.
    pictures
        Draws the figures. It is called only for an HTML report, since drawing needs Matplotlib.
    """

    data: str
    tables: Sequence[ResultTable]
    claims: Sequence[Claim]
    pictures: Callable[[], list[Picture]] = list

    def to_dict(self) -> dict[str, Any]:
        """Everything but the figures, serializable as JSON."""
        tables = [
            {"title": each.title, "columns": list(each.columns), "rows": [list(row) for row in each.rows]}
            | ({"note": each.note} if each.note else {})
            for each in self.tables
        ]
        return {"data": self.data, "tables": tables, "claims": [vars(claim) for claim in self.claims]}
