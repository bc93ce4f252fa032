"""The output of `luce compare`: the table, the tests, JSON, the page, and the file of all values."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from luce.cli.output import command_line, say, show_table

WIDE = 104
"""Columns of a terminal that hold intervals and the time of prediction too."""
UNMARKED = str.maketrans("", "", "\u2068\u2069")
"""Leaves out the marks around names, which are for pages."""


def print_comparison(found: Any, title: str, origins: Mapping[str, str]) -> None:
    """The headline, the table, what its marks mean, and the tests of the first metric."""
    from luce.report.results import headline

    first, *others = next(iter(found.results.values())).means
    wide = not sys.stdout.isatty() or Console().width >= WIDE
    columns = [first, *(["95 % interval"] if wide else []), *(["± seeds"] if len(found.seeds) > 1 else []), *others]
    columns += ["fit", *(["predict"] if wide else []), "memory"]
    rows = [_row(found, name, first, others, wide) for name in found.results]
    rows += [[name, Text("failed", "red"), *[""] * (len(columns) - 1)] for name in found.failures]
    show_table(title, ["method", *columns], rows)
    say(headline(found.results, first, found.tests.get(first, ())).translate(UNMARKED))
    for line in [*(f"{name}: {origin}" for name, origin in origins.items()), *_notes(found)]:
        say(line, style="dim")


def _row(found: Any, name: str, first: str, others: list[str], wide: bool) -> list[str | Text]:
    from luce.report.formatting import amount, duration

    result, cost = found.results[name], found.costs[name]
    low, high = result.intervals[first]
    cells: list[str | Text] = [name, _mean(found, name, first)]
    cells += [Text(f"{low:.4f}–{high:.4f}", "dim")] if wide else []
    cells += [f"{found.spreads[name][first]:.4f}"] if len(found.seeds) > 1 else []
    cells += [_mean(found, name, metric) for metric in others]
    times = [cost.fit_seconds, cost.predict_seconds] if wide else [cost.fit_seconds]
    return [*cells, *map(duration, times), amount(cost.peak_bytes)]


def _mean(found: Any, name: str, metric: str) -> str:
    """A mean, with a star at the best and an arrow where it is significantly better or worse than the baseline."""
    from luce.metrics import metric as metric_of
    from luce.report.results import verdicts

    mean = found.results[name].means[metric]
    best = metric_of(metric).best(other.means[metric] for other in found.results.values())
    verdict = verdicts(metric, found.tests.get(metric, ())).get(name, "")
    arrow = {"better": "▲", "worse": "▼"}.get(verdict, "")
    return f"{arrow}{'*' if mean == best and len(found.results) > 1 else ''}{mean:.4f}"


def _notes(found: Any) -> list[str]:
    from luce.report.results import TEST

    one = next(iter(found.results.values()))
    notes = []
    if found.tests:
        first, tests = next(iter(found.tests.items()))
        notes.append(f"* best mean; ▲ ▼ significantly better or worse than {tests[0].baseline} ({TEST})")
        notes += [
            f"{test.name} − {test.baseline}: {first} {test.difference:+.4f} (95 % interval {test.low:+.4f} to "
            f"{test.high:+.4f}), p = {test.randomization_holm:.3g} (randomization test), {test.t_test_holm:.3g} "
            f"(t-test); better in {test.wins:,} and worse in {test.losses:,} of {test.n_lists:,} lists"
            for test in tests
        ]
    if one.max_grade is not None:
        notes.append(f"err with max_grade {one.max_grade:g}")
    if one.ranking is not None:
        notes.append(f"fairness of {one.ranking} rankings")
    empty = max(one.n_empty.values(), default=0)
    if empty:
        fate = "left out" if one.empty == "skip" else f"counted as {one.empty}"
        notes.append(f"{empty} of {one.n_lists} lists have no relevant items and are {fate}.")
    measured = any(cost.peak_bytes == cost.peak_bytes for cost in found.costs.values())
    memory = "memory: maximum over all fits, without the data" if measured else "memory was not measured"
    notes.append(f"fit and predict: median time over all fits; {memory}")
    return notes


def summary_of(found: Any, origins: Mapping[str, str]) -> dict[str, Any]:
    """What --json prints."""
    return {
        "origins": dict(origins),
        "results": {name: result.to_dict() for name, result in found.results.items()},
        "tests": [test._asdict() for tests in found.tests.values() for test in tests],
        "spread_over_seeds": found.spreads,
        "costs": {name: cost._asdict() for name, cost in found.costs.items()},
        "failures": found.failures,
        "folds": found.n_folds,
        "seeds": list(found.seeds),
    }


def is_results(path: Path) -> bool:
    """Whether a Parquet file is one that `write_results` wrote."""
    import pyarrow.parquet

    try:
        return {"method", "metric", "fit_seconds"} <= set(pyarrow.parquet.read_schema(path).names)
    except (OSError, pyarrow.ArrowException):
        return False


def write_results(table: Any, path: Path) -> None:
    """The long table as Parquet, or as JSON: an array of rows."""
    import json

    import pyarrow.parquet

    from luce.files import atomic_write

    with atomic_write(path) as partial:
        if path.suffix == ".parquet":
            pyarrow.parquet.write_table(table, partial)
        else:
            partial.write_text(json.dumps(table.to_pylist()), encoding="utf-8")


def write_comparison(path: Path, title: str, found: Any, methods: dict[str, Any], origins: Mapping[str, str]) -> Path:
    """The page of a comparison."""
    from luce.report import write_report
    from luce.report.results import headline

    first = next(iter(next(iter(found.results.values())).means))
    failed = f" {', '.join(found.failures)} failed." if found.failures else ""
    metrics = {ranker.metric for ranker in methods.values()}
    return write_report(
        path,
        title=f"Comparison of rankers: {title}",
        summary=headline(found.results, first, found.tests.get(first, ())) + failed,
        command=command_line(),
        dataset=found.test_data,
        results=found.results,
        origins=origins,
        comparisons=found.tests,
        costs=found.costs,
        histories=found.histories,
        validation_metric=metrics.pop() if len(metrics) == 1 else "validation metric",
        scores=found.scores,
        importances=found.importances,
        settings={**origins, **{name: repr(ranker) for name, ranker in methods.items()}, **_packages(methods)},
    )


def _packages(methods: dict[str, Any]) -> dict[str, str]:
    """The versions of what the methods are built on beside Luce: their processes imported it, not this one."""
    from luce.experiments.cache import version_of
    from luce.experiments.fits import packages_of

    packages = dict.fromkeys(package for method in methods.values() for package in packages_of(method))
    versions = ", ".join(f"{package} {version_of(package)}" for package in packages)
    return {"packages of the methods": versions} if versions else {}
