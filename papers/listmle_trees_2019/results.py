"""Results of the 2019 paper: the scores of each system in each trial, and differences between systems."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Floats
from papers.listmle_trees_2019.published import TABLE_1
from papers.outcome import Trial
from papers.paired_differences import Difference, difference

YAHOO, MSLR = TABLE_1
SHORT = {YAHOO: "Yahoo", MSLR: "Microsoft"}


class SystemScores(NamedTuple):
    """A system at its best round: the metrics of every test list, NaN where undefined, and the mean NDCG by depth."""

    lists: Mapping[str, Floats]
    by_depth: Floats
    round: int
    params: Mapping[str, Any]

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> "SystemScores":
        """From what `train` gives for one limit of rounds."""
        lists = {metric: np.array(values, dtype=np.float64) for metric, values in found["lists"].items()}
        known = ("lists", "by depth", "round", "validation")
        params = {name: value for name, value in found.items() if name not in known}
        return cls(lists, np.array(found["by depth"]), found["round"], params)

    def mean(self, metric: str) -> float:
        if metric in self.lists:
            return float(np.nanmean(self.lists[metric]))
        return float(self.by_depth[int(metric.removeprefix("ndcg@")) - 1])


class Cell(NamedTuple):
    """Lists that systems were trained on: the data, the number of training lists, and the seed or fold."""

    data: str
    size: int
    seed: int


class Pair(NamedTuple):
    """A comparison of a claim: the metric of one system above that of another."""

    metric: str
    one: str
    other: str

    def __str__(self) -> str:
        return f"{self.metric.upper()}, {self.one} against {self.other}"


class TreeResults(NamedTuple):
    """All results.

    Attributes
    ----------
    scores
        By cell, system, and limit of rounds.
    limits
        The limits of rounds that claims are judged at, ascending.
    thirds
        Figure 3 on the public data, by system: three folds of the training lists.
    features
        Figure 2: by cell and number of features, the metrics of the test lists of each linear system.
    tuned
        Table 5, by cell and system.
    ratios
        Table 3, by dataset and number of orders.
    seconds
        Table 4: seconds of all rounds of a system, one value per repetition.
    names
        The name of each of the paper's datasets in cells: its own, or that of the synthetic data.
    """

    scores: Mapping[Cell, Mapping[str, Mapping[int, SystemScores]]]
    limits: Sequence[int]
    thirds: Mapping[str, Sequence[SystemScores]]
    features: Mapping[Cell, Mapping[int, Mapping[str, Mapping[str, Floats]]]]
    tuned: Mapping[Cell, Mapping[str, SystemScores]]
    ratios: Mapping[str, Mapping[int, float]]
    seconds: Mapping[str, Floats]
    names: Mapping[str, str]

    @property
    def is_public(self) -> bool:
        """Whether all data are the paper's own."""
        return all(name == own for name, own in self.names.items())

    def datasets(self) -> list[str]:
        """The data of the cells: the paper's or synthetic ones first."""
        return list(dict.fromkeys(cell.data for cell in self.scores))

    def largest(self, data: str, *systems: str) -> list[Cell]:
        """The cells of the largest size of some data on which all of these systems were trained."""
        cells = [cell for cell, found in self.scores.items() if cell.data == data and {*systems} <= found.keys()]
        return [cell for cell in cells if cell.size == max(each.size for each in cells)] if cells else []

    def at(self, cell: Cell, system: str, limit: int | None = None) -> SystemScores:
        """The scores of a system within a limit of rounds, by default the longest."""
        return self.scores[cell][system][self.limits[-1] if limit is None else limit]

    def mean(self, cells: Sequence[Cell], system: str, metric: str, limit: int | None = None) -> float:
        """The mean over seeds or folds."""
        return float(np.mean([self.at(cell, system, limit).mean(metric) for cell in cells]))

    def difference(self, data: str, pair: Pair, limit: int | None = None) -> Difference:
        """At the largest size: over seeds or folds, which differ in their lists too; on the public data over lists."""
        cells = self.largest(data, pair.one, pair.other)
        found = [[self.at(cell, system, limit) for cell in cells] for system in (pair.one, pair.other)]
        if len(cells) == 1 or self.is_public:
            return difference(*(np.concatenate([each.lists[pair.metric] for each in one]) for one in found))
        return difference(*(np.array([each.mean(pair.metric) for each in one]) for one in found))

    def trials(self, pairs: Sequence[Pair], margin: float = 0.0) -> dict[Trial, list[float]]:
        """The differences of the pairs, plus a margin, in each trial that has all of their systems."""
        systems = sorted({system for pair in pairs for system in (pair.one, pair.other)})
        return {
            Trial(cell.data, cell.size, limit, cell.seed): [self._gap(cell, pair, limit) + margin for pair in pairs]
            for cell, scores in self.scores.items()
            if {*systems} <= scores.keys()
            for limit in self._different_limits(cell, systems)
        }

    def _different_limits(self, cell: Cell, systems: Sequence[str]) -> list[int]:
        """The limits of rounds without those that change nothing, because all of these trainings ended before."""
        ends = {
            limit: [(one.round, str(one.params)) for one in (self.at(cell, system, limit) for system in systems)]
            for limit in self.limits
        }
        before = [None, *ends.values()]
        return [limit for limit, last in zip(ends, before, strict=False) if ends[limit] != last]

    def _gap(self, cell: Cell, pair: Pair, limit: int) -> float:
        one, other = (self.at(cell, system, limit).mean(pair.metric) for system in (pair.one, pair.other))
        return one - other

    def linear_difference(self, data: str, count: int, metric: str) -> Difference:
        """l-ListMLE minus coordinate ascent with so many features, at the largest size."""
        size = max(cell.size for cell in self.features if cell.data == data)
        found = [each[count] for cell, each in self.features.items() if (cell.data, cell.size) == (data, size)]
        if len(found) == 1:
            return difference(*(found[0][name][metric] for name in ("l-ListMLE", "CA")))
        return difference(*([np.nanmean(each[name][metric]) for each in found] for name in ("l-ListMLE", "CA")))

    def feature_trials(self) -> dict[Trial, float]:
        """How far l-ListMLE is above coordinate ascent with most features, or below it with fewest: the smaller."""
        found = {}
        for cell, counts in self.features.items():
            few, many = min(counts), max(counts)
            gaps = [
                sign * float(np.nanmean(counts[n]["l-ListMLE"][metric] - counts[n]["CA"][metric]))
                for sign, n in ((-1, few), (1, many))
                for metric in ("ndcg@1", "ndcg@10")
            ]
            found[Trial(cell.data, cell.size, 0, cell.seed)] = min(gaps)
        return found
