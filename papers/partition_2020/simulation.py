"""Worths estimated from partitioned rankings, and the cost: Figures 1 to 3 of the 2020 paper (section 4.1).

Worths are softmax(q), q uniform on (0, log N); rankings are cut into four partitions, at most 500 items above the last.
Each objective trains N scores by AdaGrad with learning rate 0.1 on batches of 20 rankings; a fifth of the rankings is
held out for early stopping. The error is the mean squared difference between softmax(scores) and the worths.
The paper draws curves and prints no numbers, so only its statements about them are checked.
"""

from collections.abc import Iterable
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from luce.report.svg import Picture
from papers.outcome import Claim, Outcome, ResultTable, Trial, describe_trials
from papers.partition_2020.free_scores import BATCH_SIZE, MAX_STEPS, ORACLE, cost, error
from papers.plots import Line, log_lines
from papers.runner import Run, Settings

OURS = "pl-partition"
NAMES = {"ranknet": "RankNet", "ranksvm": "RankSVM"}
LISTWISE, PAIRWISE = ("pl-lb", "attrank"), tuple(NAMES)
RIVALS = LISTWISE + PAIRWISE
METHODS = (OURS, *RIVALS, ORACLE)


class SimulationGrid(NamedTuple):
    """Numbers of items and rankings, number of seeds, and the numbers of items and seconds of the cost measurements."""

    items: tuple[int, ...]
    rankings: tuple[int, ...]
    seeds: int
    cost_items: tuple[int, ...]
    limit: float


FULL = SimulationGrid((10, 100, 1_000, 10_000), (100, 1_000), 2, (100, 1_000, 10_000, 100_000, 1_000_000), 4.0)
QUICK = SimulationGrid((10, 100, 1_000), (100, 1_000), 2, (100, 1_000, 10_000, 100_000), 1.0)
CLOSE, SIMILAR, FASTER = 2.0, 1.5, 0.05
"""The largest ratio to the error of the oracle that is close and of two costs that is similar; the margin of powers."""

SMALL, LARGE = 100, 100_000
"""The numbers of items up to which N is "small", and from which it is "large"."""

NOTES = (
    "All methods are trained by AdaGrad with a learning rate of 0.1, as in the paper; a fifth of the rankings is held "
    f"out for early stopping, and a training takes at most {MAX_STEPS:,} steps of {BATCH_SIZE} rankings. The paper "
    "draws curves and prints no numbers, so the comparison is with its statements about them. It measured time and "
    "memory on a GPU; here they are those of one thread of a processor. Our pairwise objectives never store the pairs."
)

Errors = dict[tuple[str, int, int], np.ndarray]
Costs = dict[tuple[str, int], dict[str, float]]


def run(run: Run) -> Outcome:
    """Compute errors in a pool of processes, then measure each cost in its own process, one at a time."""
    grid = QUICK if run.quick else FULL
    seeds = range(run.seed, run.seed + grid.seeds)
    cells = list(product(METHODS, grid.items, grid.rankings))
    points: list[Settings] = [
        {"method": m, "items": n, "rankings": r, "seed": s} for (m, n, r), s in product(cells, seeds)
    ]
    results = run.points(error, points, effort=_effort, span=(0.0, 0.7), processes=None)
    errors = {
        cell: np.array([one["error"] for one in results[i * grid.seeds : (i + 1) * grid.seeds]])
        for i, cell in enumerate(cells)
    }
    timed: list[Settings] = [
        {"method": m, "items": n, "limit": grid.limit} for n, m in product(grid.cost_items, METHODS)
    ]
    measured = run.points(cost, timed, span=(0.7, 1.0), isolated=True)
    costs = {(each["method"], each["items"]): one for each, one in zip(timed, measured, strict=True)}
    return Outcome(
        f"Rankings simulated as in the paper: N = {_span(grid.items)} items, n = {_span(grid.rankings)} rankings, "
        f"{grid.seeds} seeds from {run.seed}; time and memory with {_span(grid.cost_items)} items.",
        [_error_table(errors, grid), _cost_table(costs, grid)],
        [*_error_claims(errors), *_cost_claims(costs, grid)],
        lambda: _pictures(errors, costs, grid),
        NOTES,
    )


def _span(sizes: tuple[int, ...]) -> str:
    return f"{min(sizes):,} to {max(sizes):,}"


def _effort(point: Settings) -> float:
    """Approximate seconds: pairwise objectives form pairs of the top 500 items with all others."""
    return 1 + point["items"] / (150 if point["method"] in PAIRWISE else 2_000)


def _standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def _error_table(errors: Errors, grid: SimulationGrid) -> ResultTable:
    rows: list[list[str | float | None]] = []
    for n_items, n_rankings in product(grid.items, grid.rankings):
        values = [errors[method, n_items, n_rankings] for method in METHODS]
        cells = [f"{each.mean():.2e} ± {_standard_error(each):.0e}".replace("-", "−") for each in values]
        rows.append([f"{n_items:,}", f"{n_rankings:,}", *cells])
    note = f"Means over seeds ± standard errors. {ORACLE} is the oracle: it knows the order in the top partitions."
    title = "Figures 1 and 3: mean squared error of the worths"
    return ResultTable(title, ["items", "rankings", *METHODS], rows, note, on_page=True)


def _cost_table(costs: Costs, grid: SimulationGrid) -> ResultTable:
    rows: list[list[str | float | None]] = []
    for n_items, (cost_name, unit) in product(grid.cost_items, (("seconds", "s"), ("megabytes", "MB"))):
        rows.append([f"{n_items:,}", unit, *(costs[method, n_items][cost_name] for method in METHODS)])
    note = (
        f"CPU seconds of one thread; 1,000 times the median of the steps done in {grid.limit:g} s. Memory is the "
        "growth of the process during the steps, in pages. The paper used a V100, where RankNet ran out of memory at "
        "100,000 items."
    )
    title, columns = f"Figure 2: 1,000 steps of {BATCH_SIZE} rankings", ["items", "", *METHODS]
    return ResultTable(title, columns, rows, note, ".3g", on_page=True)


def _error_claims(errors: Errors) -> list[Claim]:
    means = {cell: float(values.mean()) for cell, values in errors.items()}
    points = list(dict.fromkeys((n, r) for _, n, r in errors))
    lost = [
        f"N = {n:,}, n = {r:,}: {rival} {means[rival, n, r]:.2e} against {means[OURS, n, r]:.2e}".replace("e-", "e−")
        for (n, r), rival in product(points, RIVALS)
        if means[rival, n, r] <= means[OURS, n, r]
    ]
    best = [all(means[OURS, n, r] < means[rival, n, r] for rival in RIVALS) for n, r in points]
    ratios = {(n, r): means[OURS, n, r] / means[ORACLE, n, r] for n, r in points}
    far = max(points, key=lambda point: ratios[point])
    small = {cell: values for cell, values in errors.items() if cell[1] <= SMALL}
    return [
        _compared(
            "PL-Partition recovers the worths with the least error for every N and n.",
            _excess(errors, OURS, RIVALS),
            "A difference is the smallest error of the other methods divided by that of PL-Partition, minus 1. The "
            f"mean error of PL-Partition over seeds is the smallest at {sum(best)} of {len(best)} points"
            + (f"; not at {'; '.join(lost)}." if lost else "."),
        ),
        Claim.from_checks(
            f"PL-Partition comes close to the oracle PL-TopK (here: at most {CLOSE:g} times its error).",
            [ratio <= CLOSE for ratio in ratios.values()],
            f"The mean error over seeds is at most {ratios[far]:.2f} times that of PL-TopK, at N = {far[0]:,}, "
            f"n = {far[1]:,}.",
        ),
        *(
            _compared(
                f"PL-LB is worse than {NAMES[rival]} when N is small (here: N ≤ {SMALL}).",
                _excess(small, rival, ("pl-lb",)),
                f"A difference is the error of PL-LB divided by that of {NAMES[rival]}, minus 1.",
            )
            for rival in PAIRWISE
        ),
    ]


def _excess(errors: Errors, method: str, others: Iterable[str]) -> dict[Trial, float]:
    """In each trial, how far the least error of the others is above that of a method, relative to it."""
    least = {
        (n, r): np.min([errors[other, n, r] for other in others], axis=0) for name, n, r in errors if name == method
    }
    return {
        Trial(f"{n:,} items", r, 0, seed): float(value)
        for (n, r), values in least.items()
        for seed, value in enumerate(values / errors[method, n, r] - 1)
    }


def _compared(text: str, differences: dict[Trial, float], evidence: str) -> Claim:
    """The simulation is the paper's own, so each trial is a check."""
    checks = [each > 0 for each in differences.values()]
    return Claim.from_checks(text, checks, f"{describe_trials(differences, ('rankings', ''))} {evidence}")


def _growth(costs: Costs, method: str, cost_name: str, grid: SimulationGrid) -> float:
    """The exponent of N in a cost, from the ends of the measured range."""
    first, last = grid.cost_items[0], grid.cost_items[-1]
    # Below a megabyte the measurement only shows the granularity of pages.
    least = 1.0 if cost_name == "megabytes" else 0.0
    ratio = max(costs[method, last][cost_name], least) / max(costs[method, first][cost_name], least)
    return float(np.log(ratio) / np.log(last / first))


def _cost_claims(costs: Costs, grid: SimulationGrid) -> list[Claim]:
    listwise = (OURS, *LISTWISE)
    first, last = grid.cost_items[0], grid.cost_items[-1]
    claims = []
    for cost_name, word in (("seconds", "time"), ("megabytes", "memory")):
        powers = {method: _growth(costs, method, cost_name, grid) for method in (*listwise, *PAIRWISE)}
        faster = [powers[pair] > powers[each] + FASTER for pair, each in product(PAIRWISE, listwise)]
        exponents = ", ".join(f"N^{power:.2f} ({method})" for method, power in powers.items())
        note = " Luce's pairwise objectives never store the pairs." if word == "memory" else ""
        claims.append(
            Claim.from_checks(
                f"The {word} of the pairwise methods grows faster with N.",
                faster,
                f"From {first:,} to {last:,} items the {word} grows as {exponents}.{note}",
            )
        )
    over = {n: costs[OURS, n]["seconds"] / costs["pl-lb", n]["seconds"] for n in grid.cost_items}
    large = [n for n in grid.cost_items if n >= LARGE]
    ratios = ", ".join(f"{ratio:.2f} at {n:,}" for n, ratio in over.items())
    worst = max(over, key=lambda n: over[n])
    claims.append(
        Claim.from_checks(
            "The overhead of PL-Partition over PL-LB is amortized as N grows, and little is left at N = 100,000 "
            f"(here: at most {SIMILAR:g} times).",
            [over[last] < over[first], *(over[n] <= SIMILAR for n in large)],
            f"PL-Partition takes up to {over[worst]:.2f} times as long as PL-LB ({worst:,} items): {ratios} items.",
        )
    )
    longer = {n: costs["pl-lb", n]["seconds"] / costs["attrank", n]["seconds"] for n in grid.cost_items}
    ratios = ", ".join(f"{ratio:.2f} at {n:,}" for n, ratio in longer.items())
    claims.append(
        Claim.from_checks(
            "PL-LB takes longer than AttRank.",
            [ratio > 1 for ratio in longer.values()],
            f"Seconds of PL-LB divided by those of AttRank: {ratios} items.",
        )
    )
    pairs = [[max(costs[method, n]["megabytes"], 1) for method in LISTWISE] for n in grid.cost_items]
    alike = [max(pair) <= SIMILAR * min(pair) for pair in pairs]
    memory = "; ".join(f"{a:.0f} and {b:.0f} MB at {n:,}" for (a, b), n in zip(pairs, grid.cost_items, strict=True))
    text = f"PL-LB and AttRank need similar memory (here: within {SIMILAR:g} times)."
    evidence = f"PL-LB and AttRank take {memory} items; less than 1 MB counts as 1."
    return [*claims, Claim.from_checks(text, alike, evidence)]


def _pictures(errors: Errors, costs: Costs, grid: SimulationGrid) -> list[Picture]:
    drawn = []
    for n_items in grid.items:
        by_method = {method: [errors[method, n_items, n] for n in grid.rankings] for method in METHODS}
        lines = {
            method: Line(grid.rankings, [each.mean() for each in values], [_standard_error(each) for each in values])
            for method, values in by_method.items()
        }
        drawn.append(log_lines(f"error-{n_items}", f"Squared error, {n_items:,} items", "rankings", lines))
    titles: dict[str, Any] = {"seconds": "Seconds of 1,000 steps", "megabytes": "Megabytes"}
    for cost_name, title in titles.items():
        lines = {
            method: Line(grid.cost_items, [max(costs[method, n][cost_name], 1e-2) for n in grid.cost_items])
            for method in METHODS
        }
        drawn.append(log_lines(cost_name, title, "items", lines))
    return drawn
