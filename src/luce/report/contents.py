"""What goes on the page: everything the report is told, checked, before anything is drawn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from luce.arrays import check_rows
from luce.data.ragged import Dataset
from luce.errors import OptionError
from luce.metrics import Comparison, Results


@dataclass(frozen=True)
class Example:
    """One list to show as ranked.

    Attributes:
        list_number: which list of the dataset, from 0.
        scores: (N,), the score of every row of the dataset.
        ranker: whose scores they are.
        depth: how many of the list's items to show.
    """

    list_number: int
    scores: Any
    ranker: str = ""
    depth: int = 10


@dataclass(frozen=True, kw_only=True)
class Report:
    """The contents of a report; what is empty or None gets no section.

    Attributes:
        title: heading of the page.
        summary: the finding, in a sentence.
        command: the command line that makes this report again.
        dataset: the lists that the results were measured on.
        results: of each ranker, by name.
        comparisons: what `luce.metrics.compare` gives, by metric.
        history: of each iteration of training its "iteration", "loss" and, where measured, "validation".
        validation_metric: the metric behind "validation".
        example: one list to show as ranked.
        settings: of the run, by name.
    """

    title: str
    summary: str
    command: str
    dataset: Dataset
    results: Mapping[str, Results] = field(default_factory=dict)
    comparisons: Mapping[str, Sequence[Comparison]] = field(default_factory=dict)
    history: Sequence[Mapping[str, float]] = ()
    validation_metric: str = "validation metric"
    example: Example | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for entry in self.history:
            if "iteration" not in entry or "loss" not in entry:
                raise OptionError(f"Every entry of history must hold 'iteration' and 'loss'. Got {dict(entry)}.")
        if self.example is not None:
            self._check_example(self.example)

    def _check_example(self, example: Example) -> None:
        n_lists = self.dataset.n_lists
        if not 0 <= example.list_number < n_lists:
            given = f"Got {example.list_number} for a dataset of {n_lists} lists"
            raise OptionError(f"The list_number of the example must be one of the dataset's lists, from 0. {given}.")
        if example.depth < 1:
            raise OptionError(f"The depth of the example must be an integer ≥ 1. Got {example.depth}.")
        check_rows("The scores of the example", example.scores, self.dataset.n_rows)
