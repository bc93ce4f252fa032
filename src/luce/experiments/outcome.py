"""What a comparison found: results over folds and seeds, tests, costs, and one long table of everything."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from luce.arrays import Floats
from luce.data import Dataset
from luce.errors import DataError
from luce.experiments.cells import Cell
from luce.experiments.cost import Cost
from luce.metrics import Comparison, Results, compare, evaluate
from luce.metrics.resampling import bootstrap_intervals
from luce.rankers.importance import Importance

Cells = Mapping[tuple[int, int], Cell]
"""Of one ranker, by fold and seed."""


@dataclass(frozen=True, eq=False)
class RankerComparison:
    """Rankers compared on the same lists; dictionaries go by the name of the ranker.

    Attributes:
        judged: the test lists of all folds, one after the other.
        n_folds, seeds: of the fits.
        results: of each ranker; the value of a list is the mean over the seeds.
        spreads: by metric, the standard deviation over the seeds of the mean over lists; NaN with one seed.
        tests: by metric, each ranker against the baseline, with Holm's correction.
        costs: time and memory.
        histories, importances: of the first fold and seed.
        scores: (N,) of the judged rows, by the first seed.
        failures: why a ranker has no results.
        table: a row for each ranker, fold, seed, list and metric, with what the fit took.
    """

    judged: Dataset
    n_folds: int
    seeds: tuple[int, ...]
    results: dict[str, Results]
    spreads: dict[str, dict[str, float]]
    tests: dict[str, tuple[Comparison, ...]]
    costs: dict[str, Cost]
    histories: dict[str, Sequence[Mapping[str, float]]]
    importances: dict[str, Importance]
    scores: dict[str, Floats]
    failures: dict[str, str]
    table: pa.Table

    def __repr__(self) -> str:
        return f"RankerComparison({', '.join(self.results)}; {self.n_folds} folds, {self.judged.n_lists:,} lists)"


def outcome(
    cells: Mapping[str, Cells],
    judged: Dataset,
    sizes: Sequence[int],
    failures: dict[str, str],
    metrics: Sequence[str],
    baseline: str | None,
    settings: dict[str, Any],
) -> RankerComparison:
    """Put the cells of all rankers together; `sizes` are the numbers of test lists of the folds."""
    if not cells:
        raise DataError(f"No ranker could be fitted. {_told(failures)}")
    seeds = tuple(sorted({seed for _, seed in next(iter(cells.values()))}))
    scores = {
        name: {seed: np.concatenate([own[fold, seed].scores for fold in range(len(sizes))]) for seed in seeds}
        for name, own in cells.items()
    }
    each = {
        name: [evaluate(found[seed], judged, metrics, n_bootstrap=0, **settings) for seed in seeds]
        for name, found in scores.items()
    }
    results = {name: over_seeds(found, settings["random_state"]) for name, found in each.items()}
    first = {name: own[0, seeds[0]] for name, own in cells.items()}
    return RankerComparison(
        judged=judged,
        n_folds=len(sizes),
        seeds=seeds,
        results=results,
        spreads={name: _spread(found) for name, found in each.items()},
        tests=_tests(results, baseline),
        costs={name: _cost(own) for name, own in cells.items()},
        histories={name: cell.history for name, cell in first.items()},
        importances={name: cell.importance for name, cell in first.items() if cell.importance is not None},
        scores={name: found[seeds[0]] for name, found in scores.items()},
        failures=failures,
        table=_table(cells, each, seeds, np.repeat(range(len(sizes)), sizes)),
    )


def over_seeds(results: Sequence[Results], random_state: Any = 0) -> Results:
    """One result whose value of a list is the mean over results of the same lists; intervals are over lists."""
    one = results[0]
    values = {name: np.mean([each.values[name] for each in results], axis=0) for name in one.values}
    columns = np.stack(list(values.values()), axis=1)
    intervals = bootstrap_intervals(columns, one.list_weights, 1_000, one.confidence, random_state)
    return replace(
        one,
        values=values,
        means={name: float(np.mean([each.means[name] for each in results])) for name in values},
        intervals={name: (float(low), float(high)) for name, (low, high) in zip(values, intervals, strict=True)},
    )


def _spread(results: Sequence[Results]) -> dict[str, float]:
    means = {name: [each.means[name] for each in results] for name in results[0].means}
    return {name: float(np.std(found, ddof=1)) if len(found) > 1 else np.nan for name, found in means.items()}


def _tests(results: Mapping[str, Results], baseline: str | None) -> dict[str, tuple[Comparison, ...]]:
    base = baseline if baseline is not None and baseline in results else next(iter(results))  # it may have failed
    if len(results) < 2:
        return {}
    return {metric: compare(results, metric, base) for metric in results[base].means}


def _cost(cells: Cells) -> Cost:
    every = list(cells.values())
    memory = [cell.peak_bytes for cell in every if not np.isnan(cell.peak_bytes)]
    return Cost(
        float(np.median([cell.fit_seconds for cell in every])),
        float(np.median([cell.predict_seconds for cell in every])),
        max(memory, default=np.nan),
    )


def _table(
    cells: Mapping[str, Cells], results: Mapping[str, Sequence[Results]], seeds: Sequence[int], folds: Any
) -> pa.Table:
    """Everything that was measured, in long form; a value is null where the list has nothing to measure."""
    tables = []
    for name, own in cells.items():
        for seed, result in zip(seeds, results[name], strict=True):
            costs = np.array([own[fold, seed][1:4] for fold in range(folds.max() + 1)])[folds]
            for metric, values in result.values.items():
                columns = {
                    "method": pa.DictionaryArray.from_arrays(np.zeros(len(folds), np.int32), pa.array([name])),
                    "fold": pa.array(folds + 1),
                    "seed": pa.array(np.full(len(folds), seed)),
                    "query": result.query_ids,
                    "metric": pa.DictionaryArray.from_arrays(np.zeros(len(folds), np.int32), pa.array([metric])),
                    "value": pa.array(values, from_pandas=True),
                    "fit_seconds": pa.array(costs[:, 0]),
                    "predict_seconds": pa.array(costs[:, 1]),
                    "peak_bytes": pa.array(costs[:, 2], from_pandas=True),
                }
                tables.append(pa.table(columns))
    return pa.concat_tables(tables).unify_dictionaries()


def _told(failures: Mapping[str, str]) -> str:
    return " ".join(f"{name}: {reason}" for name, reason in failures.items())
