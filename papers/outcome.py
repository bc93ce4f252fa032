"""The outcome of a reproduction: tables with our results beside the published ones, and claims with verdicts."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from luce.errors import OptionError
from luce.report.formatting import count, number
from luce.report.svg import Picture

HELD, IN_PART, NOT_HELD = "held", "held in part", "not held"
ON_SYNTHETIC, ON_OTHER, NEEDS_DATA = "on synthetic data", "on other data", "needs data not available here"
VERDICTS = (HELD, IN_PART, NOT_HELD, ON_SYNTHETIC, ON_OTHER, NEEDS_DATA)

RULE = """\
**How verdicts are reached.** A claim about the paper's own data, public or simulated, or about something exact (an
identity, a count, a measured time or memory) is **held** if every check of it is true, **held in part** if some are,
and **not held** if none is. A claim that one method is above another, tried on other data than the paper's, is **held**
or **not held** only if the sign of the difference was the same in every trial and, on at least one of the datasets, the
number of training lists (by half or more), the length of training (where there is one) and the seed (or fold) were
varied. Otherwise the evidence says what was seen and the verdict is **on synthetic data**, or **on other data** if all
of them are real: neither decides the claim. **Needs data not available here** marks a claim that only the paper's data
can decide. "Positive in 3 of 8 trials, by −1.04 to +0.39" means that the difference, as the claim has it, was above
zero in 3 of 8 trials, −1.04 was the smallest and +0.39 the largest; folds are counted as seeds."""

Cell = str | float | None
"""Text, a number, or None for an empty cell, such as a value that the paper does not print."""


@dataclass(frozen=True)
class ResultTable:
    """A table of the paper with our results beside the published ones.

    `form` is the format of floats. A table with `on_page` is also shown in docs/papers.md.

    >>> table = ResultTable("Errors", ["method", "ours", "paper"], [["listmle", 0.51234, None]], form=".3f")
    >>> table.texts()
    [['listmle', '0.512', '–']]
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    form: str = ".4g"
    on_page: bool = False

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise OptionError(
                    f"Every row of the table {self.title!r} must have {len(self.columns)} cells. Got {list(row)}."
                )

    def rounded(self) -> "ResultTable":
        """The table with floats as they are printed, and None for NaN."""
        return replace(self, rows=[[self._rounded(cell) for cell in row] for row in self.rows])

    def texts(self) -> list[list[str]]:
        """The cells as text."""
        return [[self._text(cell) for cell in row] for row in self.rows]

    def __str__(self) -> str:
        rows = [list(self.columns), *self.texts()]
        widths = [max(len(row[column]) for row in rows) for column in range(len(self.columns))]
        lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]
        return "\n".join([self.title, *lines, *([self.note] if self.note else [])])

    def _rounded(self, cell: Cell) -> Cell:
        return None if cell != cell else float(format(cell, self.form)) if _is_float(cell) else cell

    def _text(self, cell: Cell) -> str:
        if cell is None or cell != cell:
            return "–"
        if isinstance(cell, str):
            return cell
        return (format(cell, self.form) if _is_float(cell) else f"{cell:,}").replace("-", "−")


def _is_float(cell: Cell) -> bool:
    return not isinstance(cell, str | int | None)


class Trial(NamedTuple):
    """One training of the compared methods: the data, the number of training lists, the length of training, the seed.

    The size counts what the methods learn from, also rows or rankings; the length is in rounds, epochs or seconds, and
    0 where there is none. The seed may be the number of a fold.
    """

    data: str
    size: int
    length: float
    seed: int


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, whether it held, and the evidence for the verdict."""

    text: str
    verdict: str
    evidence: str

    @classmethod
    def from_checks(cls, text: str, checks: Sequence[bool], evidence: str) -> "Claim":
        """Held if every check is true, held in part if some are, not held if none is; see RULE.

        For results on the paper's own data, and for exact facts. Without checks, the claim is about public data that
        were not at hand.

        >>> Claim.from_checks("A is below B everywhere.", [True, False], "1 of 2 points").verdict
        'held in part'
        """
        if not checks:
            return cls(text, NEEDS_DATA, evidence)
        return cls(text, HELD if all(checks) else IN_PART if any(checks) else NOT_HELD, evidence)

    @classmethod
    def from_trials(
        cls,
        text: str,
        differences: Mapping[Trial, float],
        evidence: str = "",
        *,
        units: tuple[str, str] = ("lists", "epochs"),
    ) -> "Claim":
        """The verdict from trials on other data than the paper's; a difference above 0 supports the claim, see RULE.

        A sentence about the trials comes before the evidence; `units` are those of their sizes and lengths.

        >>> from itertools import product
        >>> trials = [Trial("synthetic", *each) for each in product((100, 200), (8, 16), (0, 1))]
        >>> print(Claim.from_trials("A is above B.", dict.fromkeys(trials, 0.25)))
        held: A is above B. Positive in 8 of 8 trials on synthetic, by +0.25: 100 to 200 lists, 8 to 16 epochs, 2 seeds.
        """
        if not differences:
            return cls(text, NEEDS_DATA, evidence)
        if not all(map(math.isfinite, differences.values())):
            raise OptionError(f"The differences of the claim {text!r} must be finite. Got {dict(differences)}.")
        varied = any(
            _is_varied([trial for trial in differences if trial.data == data])
            for data in {one.data for one in differences}
        )
        positive = [each > 0 for each in differences.values()]
        if varied and len(set(positive)) == 1:
            verdict = HELD if positive[0] else NOT_HELD
        else:
            verdict = ON_SYNTHETIC if any("synthetic" in trial.data for trial in differences) else ON_OTHER
        return cls(text, verdict, f"{describe_trials(differences, units)} {evidence}".strip())

    @classmethod
    def from_comparisons(
        cls, text: str, comparisons: Mapping[Trial, Collection[float]], evidence: str = "", **units: Any
    ) -> "Claim":
        """The verdict on a claim that says several things at once: in each trial the smallest difference counts.

        It is refuted only where all of them are: if some part of it held somewhere, it is undecided.

        >>> trials = {Trial("synthetic", n, 0, seed): [-0.5, 0.5] for n in (100, 200) for seed in (0, 1)}
        >>> Claim.from_comparisons("A is above B and C.", trials).verdict
        'on synthetic data'
        """
        smallest = {trial: min(each) for trial, each in comparisons.items()}
        claim = cls.from_trials(text, smallest, evidence, **units)
        if claim.verdict != NOT_HELD or all(max(each) <= 0 for each in comparisons.values()):
            return claim
        synthetic = any("synthetic" in trial.data for trial in comparisons)
        return replace(claim, verdict=ON_SYNTHETIC if synthetic else ON_OTHER)

    def __str__(self) -> str:
        return f"{self.verdict}: {self.text} {self.evidence}"


def _settings(trials: Iterable[Trial]) -> list[Sequence[float]]:
    """The sizes, lengths and seeds; no lengths where all are 0."""
    _, sizes, lengths, seeds = zip(*trials, strict=True)
    return [sizes, lengths, seeds] if any(lengths) else [sizes, seeds]


def _is_varied(trials: Sequence[Trial]) -> bool:
    """Whether the size, the length and the seed differ between trials on one dataset, the size by half or more."""
    sizes, *others = _settings(trials)
    return max(sizes) >= 1.5 * min(sizes) and all(len(set(each)) > 1 for each in others)


def describe_trials(differences: Mapping[Trial, float], units: tuple[str, str]) -> str:
    """How many differences are positive, in all and on each dataset, their range, and what was varied."""
    *ranges, seeds = _settings(differences)
    spans = [f"{_span(each, number)} {unit}" for each, unit in zip(ranges, units, strict=False)]

    def positive(data: str | None = None) -> str:
        signs = [value > 0 for trial, value in differences.items() if data in (None, trial.data)]
        return f"{sum(signs)} of {len(signs)}"

    names = list(dict.fromkeys(trial.data for trial in differences))
    where = f"on {names[0]}" if len(names) == 1 else f"({', '.join(f'{positive(name)} on {name}' for name in names)})"
    values = _span(differences.values(), lambda value: f"{value:+.3g}".replace("-", "−"))
    varied = ", ".join([*spans, count(len(set(seeds)), "seed")])
    return f"Positive in {positive()} trials {where}, by {values}: {varied}."


def _span(values: Collection[float], text: Callable[[float], str]) -> str:
    return " to ".join(dict.fromkeys(text(end) for end in (min(values), max(values))))


@dataclass(frozen=True)
class Outcome:
    """The results of a reproduction.

    Attributes
    ----------
    data
        A sentence that says which data were used, and whether they are the paper's or synthetic; sizes and seeds.
    tables
        Our results beside the published ones.
    claims
        The claims of the paper with their verdicts.
    pictures
        Draws the figures. It is called only for a report or a stored output, since drawing needs Matplotlib.
    notes
        The protocol and its departures from the paper's, without measured figures.
    """

    data: str
    tables: Sequence[ResultTable]
    claims: Sequence[Claim]
    pictures: Callable[[], list[Picture]] = list
    notes: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Everything but the figures, serializable as JSON."""
        tables = [vars(each) | {"rows": [list(row) for row in each.rows]} for each in self.tables]
        claims = [vars(claim) for claim in self.claims]
        return {"data": self.data, "notes": self.notes, "claims": claims, "tables": tables}
