"""What goes on the page: all contents of the report, checked before anything is drawn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from luce.arrays import Floats, as_floats
from luce.data.ragged import Dataset
from luce.errors import OptionError
from luce.experiments.cost import Cost as Cost
from luce.metrics import Comparison, Results

if TYPE_CHECKING:  # a ranker loads scikit-learn, and a page needs none
    from luce.rankers.importance import Importance


@dataclass(frozen=True, kw_only=True)
class Report:
    """The contents of a report. An empty field has no section; mappings are by the name of a ranker unless stated.

    Attributes
    ----------
    title : str
        The heading of the page.
    summary : str
        The main result, in one sentence.
    command : str
        The command line that reproduces the report.
    dataset : Dataset
        The lists on which the results were measured.
    results : mapping of str to Results
    origins : mapping of str to str
        What a ranker is that was not trained here, shown below its name.
    comparisons : mapping of str to sequence of Comparison
        The output of `luce.metrics.compare_results` by metric.
    costs : mapping of str to Cost
    histories : mapping of str to sequence of mappings
        One mapping per iteration, with "iteration" and, where measured, "loss" and "validation".
    validation_metric : str
        The metric of "validation".
    scores : mapping of str to ndarray of shape (N,)
        One score for each row of the dataset; NaN in lists that a ranker has not scored.
    importances : mapping of str to Importance
    settings : mapping of str to object
        Settings of the run by name.
    """

    title: str
    summary: str
    command: str
    dataset: Dataset
    results: Mapping[str, Results] = field(default_factory=dict)
    origins: Mapping[str, str] = field(default_factory=dict)
    comparisons: Mapping[str, Sequence[Comparison]] = field(default_factory=dict)
    costs: Mapping[str, Cost] = field(default_factory=dict)
    histories: Mapping[str, Sequence[Mapping[str, float]]] = field(default_factory=dict)
    validation_metric: str = "validation metric"
    scores: Mapping[str, Any] = field(default_factory=dict)
    importances: Mapping[str, "Importance"] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, history in self.histories.items():
            for entry in history:
                if "iteration" not in entry:
                    raise OptionError(f"Every entry of the history of {name} must have 'iteration'. Got {dict(entry)}.")
        for name, result in self.results.items():
            for metric, values in result.values.items():
                if len(values) != self.dataset.n_lists:
                    raise OptionError(
                        f"The results of {name} must have one value for each of the {self.dataset.n_lists:,} lists of "
                        f"the dataset. Got {len(values):,} values of {metric}."
                    )
        checked = {
            name: as_floats(f"The scores of {name}", values, self.dataset.n_rows)
            for name, values in self.scores.items()
        }
        object.__setattr__(self, "scores", checked)

    def scores_of(self, name: str) -> Floats:
        """The scores of one ranker."""
        scores: Floats = self.scores[name]
        return scores
