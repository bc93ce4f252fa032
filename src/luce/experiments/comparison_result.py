"""The result of a comparison: metrics over folds and seeds, tests, costs, and one long table of everything."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from luce.arrays import Floats
from luce.data import Dataset
from luce.errors import DataError
from luce.experiments.cost import Cost
from luce.experiments.fits import FitResult
from luce.metrics import Comparison, Results, compare_results, evaluate
from luce.metrics.resampling import bootstrap_intervals
from luce.rankers.importance import Importance

Fits = Mapping[tuple[int, int], FitResult]
"""Of one ranker, by fold and seed."""


@dataclass(frozen=True, eq=False)
class RankerComparison:
    """The result of `luce.compare_rankers`; the keys of dictionaries are names of rankers unless stated.

    Attributes
    ----------
    test_data : Dataset
        The test lists of all folds, one after the other.
    n_folds, seeds : int, tuple of int
        The number of folds, and the seeds.
    results : dict of str to Results
        The results of each ranker; the value of a list is the mean over the seeds.
    spreads : dict of str to dict
        The standard deviation over the seeds of each mean over lists; NaN with one seed.
    tests : dict of str to tuple of Comparison
        By metric, the comparison of each ranker with the baseline.
    costs : dict of str to Cost
        Median times and peak memory; NaN for scores that were given.
    histories, importances : dict
        The history of the first fold and seed, and the feature importance after it.
    scores : dict of str to ndarray of shape (N,)
        The scores of the rows of the test data, with the first seed.
    failures : dict of str to str
        The reason why a ranker has no results.
    table : pyarrow.Table
        A row for each ranker, fold, seed, list and metric, with the cost of the fit.
    """

    test_data: Dataset
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
        return f"RankerComparison({', '.join(self.results)}; {self.n_folds} folds, {self.test_data.n_lists:,} lists)"


def summarize(
    fits: Mapping[str, Fits],
    test_data: Dataset,
    sizes: Sequence[int],
    failures: dict[str, str],
    metrics: Sequence[str],
    baseline: str | None,
    settings: dict[str, Any],
) -> RankerComparison:
    """Put the fits of all rankers together; `sizes` are the numbers of test lists of the folds."""
    if not fits:
        reasons = " ".join(f"{name}: {reason}" for name, reason in failures.items())
        raise DataError(f"Every ranker failed. {reasons}")
    seeds = tuple(sorted({seed for _, seed in next(iter(fits.values()))}))
    scores = {
        name: {seed: np.concatenate([own[fold, seed].scores for fold in range(len(sizes))]) for seed in seeds}
        for name, own in fits.items()
    }
    by_seed = {
        name: [evaluate(found[seed], test_data, metrics, n_bootstrap=0, **settings) for seed in seeds]
        for name, found in scores.items()
    }
    results = {name: over_seeds(found, settings["random_state"]) for name, found in by_seed.items()}
    first = {name: own[0, seeds[0]] for name, own in fits.items()}
    return RankerComparison(
        test_data=test_data,
        n_folds=len(sizes),
        seeds=seeds,
        results=results,
        spreads={name: _spread(found) for name, found in by_seed.items()},
        tests=_tests(results, baseline),
        costs={name: _cost([fit.cost for fit in own.values()]) for name, own in fits.items()},
        histories={name: fit.history for name, fit in first.items()},
        importances={name: fit.importance for name, fit in first.items() if fit.importance is not None},
        scores={name: found[seeds[0]] for name, found in scores.items()},
        failures=failures,
        table=_table(fits, by_seed, seeds, np.repeat(range(len(sizes)), sizes)),
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
    return {metric: compare_results(results, metric, base) for metric in results[base].means}


def _cost(costs: Sequence[Cost]) -> Cost:
    memory = [cost.peak_bytes for cost in costs if not np.isnan(cost.peak_bytes)]
    fit_seconds, predict_seconds = np.median([cost[:2] for cost in costs], axis=0).tolist()
    return Cost(fit_seconds, predict_seconds, max(memory, default=np.nan))


def _table(
    fits: Mapping[str, Fits], results: Mapping[str, Sequence[Results]], seeds: Sequence[int], folds: Any
) -> pa.Table:
    """Everything that was measured, in long form; a value is null where the list has nothing to measure."""

    def constant(text: str) -> pa.Array:
        return pa.DictionaryArray.from_arrays(np.zeros(len(folds), np.int32), pa.array([text]))

    tables = []
    for name, own in fits.items():
        for seed, result in zip(seeds, results[name], strict=True):
            costs = np.array([own[fold, seed].cost for fold in range(folds.max() + 1)])[folds]
            for metric, values in result.values.items():
                columns = {
                    "method": constant(name),
                    "fold": pa.array(folds + 1),
                    "seed": pa.array(np.full(len(folds), seed)),
                    "query": result.query_ids,
                    "metric": constant(metric),
                    "value": pa.array(values, from_pandas=True),
                }
                columns |= {each: pa.array(costs[:, i], from_pandas=True) for i, each in enumerate(Cost._fields)}
                tables.append(pa.table(columns))
    return pa.concat_tables(tables).unify_dictionaries()
