"""The tables of the 2021 paper with our results beside the published ones, and its figures."""

from typing import Any

import numpy as np

from luce.report.curves import lines
from luce.report.svg import Picture
from papers.datasets import DATASETS
from papers.outcome import ResultTable
from papers.pl_rank_2021.learning import (
    INCREASING,
    LAMBDALOSS,
    METHODS,
    NORMALIZED,
    PL_RANK_1,
    PL_RANK_2,
    POLICY_GRADIENT,
    TURNED,
    WHOLE,
)
from papers.pl_rank_2021.published import SAMPLES, TABLE_1, TABLE_2
from papers.pl_rank_2021.results import SHORT, EstimatorResults, Group

FORMS = (PL_RANK_2, NORMALIZED, WHOLE, LAMBDALOSS, TURNED)
PUBLISHED = (PL_RANK_2, PL_RANK_1, POLICY_GRADIENT, LAMBDALOSS)
TRAINED = (*PUBLISHED, TURNED)


def tables(results: EstimatorResults) -> list[ResultTable]:
    """All tables."""
    return [
        _form_table(results),
        *(_time_table(results, data) for data in results.seconds),
        _end_table(results),
        _figure_table(results, fair=False),
        _figure_table(results, fair=True),
    ]


def _lists(size: int) -> str:
    return f"{size:,} lists" if size else "all lists"


def _form_table(results: EstimatorResults) -> ResultTable:
    """The forms of LambdaLoss, with the most lists and the longest training."""
    rows: list[list[Any]] = []
    for name, setting in results.settings.items():
        size, few = setting.sizes[-1], setting.samples[0]
        for samples, length in ((few, f"{setting.epochs[-1]:g} epochs"), (INCREASING, f"{setting.seconds[-1]:g} s")):
            values = [results.mean(Group(name, size, method, samples)) for method in FORMS]
            rows.append([f"{results.name(name)}, {_lists(size)}, {length}", *values])
    few = results.settings[next(iter(results.settings))].samples[0]
    note = (
        f"Expected DCG@5 of held-out lists, mean over seeds, after equal epochs with {few} samples and after equal CPU "
        "time with increasing samples; learning rates chosen on validation lists. “NDCG” divides by the ideal DCG, "
        "“DCG” does not, and neither has a cutoff; “LambdaLoss” is the form of DCG@5; “turned sign” is the "
        "authors' code of 2021."
    )
    return ResultTable("PL-Rank-2 and the forms of LambdaLoss", ["", *FORMS], rows, note, form=".2f", on_page=True)


def _time_table(results: EstimatorResults, data: str) -> ResultTable:
    lists, seconds = DATASETS[data].sizes["train"].lists, results.seconds[data]
    measured = sorted({samples for _, samples, _ in seconds})
    rows: list[list[Any]] = []
    for name in METHODS:
        paper = dict(zip(SAMPLES, TABLE_1[data][name], strict=True))
        row: list[Any] = [name]
        for n in measured:
            row += [float(np.median(seconds[name, n, way])) * lists / 60 for way in (False, True)] + [paper[n]]
        rows.append(row)
    columns = ["method", *(cell for n in measured for cell in (f"N = {n:,}", "as published", "paper"))]
    note = (
        f"Minutes of CPU time for an epoch of the paper's {lists:,} lists, extrapolated from some lists of "
        f"{results.settings[data].dataset}, on one thread: with our kernels; in the formulation of the paper (NumPy "
        "for PL-Rank and LambdaLoss, automatic differentiation for the policy gradients, here in PyTorch); and as "
        "printed, for another machine. Our placement policy gradient is PL-Rank-1, the same estimate."
    )
    return ResultTable(f"Table 1, {SHORT[data]}: minutes per epoch", columns, rows, note, form=".2f")


def _end_table(results: EstimatorResults) -> ResultTable:
    rows: list[list[Any]] = []
    for name in (*METHODS, TURNED):
        row: list[Any] = [name]
        trained = PL_RANK_1 if name == METHODS[2] else name
        for place, data in enumerate(TABLE_1):
            printed = TABLE_2[name][place] if name in TABLE_2 else None
            group = (
                Group(data, results.settings[data].sizes[-1], trained, INCREASING) if data in results.settings else None
            )
            if group is None or group not in results.curves:
                row += [None, printed]
                continue
            ends = [*results.ends(group, -1).values()]
            row += [f"{np.mean(ends):.2f} ({np.std(ends, ddof=1) if len(ends) > 1 else np.nan:.2f})", printed]
        rows.append(row)
    times = "; ".join(
        f"{results.name(data)} {setting.seconds[-1]:g} s, {_lists(setting.sizes[-1])}"
        for data, setting in results.settings.items()
        if data in TABLE_1
    )
    note = (
        f"Expected DCG@5 of held-out lists after the same CPU time ({times}); standard deviation over seeds in "
        "brackets. The placement policy gradient is that of PL-Rank-1, the same estimate at the same cost here."
    )
    columns = ["method", *(cell for data in TABLE_1 for cell in (SHORT[data], "paper"))]
    return ResultTable("Table 2: DCG@5 after the same time", columns, rows, note, form=".2f")


def _figure_table(results: EstimatorResults, *, fair: bool) -> ResultTable:
    rows: list[list[Any]] = []
    for name, setting in results.settings.items():
        for size in setting.sizes:
            for samples in (INCREASING,) if fair else setting.samples:
                groups = [Group(name, size, method, samples, fair) for method in TRAINED]
                for place, length in enumerate(results.checkpoints(groups[0]), start=1):
                    what = f"{length:g} s" if fair else f"N = {samples:,}, {length:g} epochs"
                    means = [results.mean(group, place) for group in groups]
                    rows.append([f"{results.name(name)}, {_lists(size)}, {what}", *means])
    title = "Figure 3: disparity" if fair else "Figure 1: expected DCG@5"
    note = "Means over seeds, with the learning rate chosen on validation lists. The paper gives no values."
    return ResultTable(title, ["", *TRAINED], rows, note, form=".4f" if fair else ".2f")


def pictures(results: EstimatorResults) -> list[Picture]:
    """Figures 1 to 3: means over seeds, with the most lists, of the methods that the paper draws."""
    drawn: list[Picture] = []
    for data, setting in results.settings.items():
        size, name = setting.sizes[-1], results.name(data)
        shown: list[tuple[int, int | str, bool]] = [(1, samples, False) for samples in setting.samples]
        for figure, samples, fair in [*shown, (2, INCREASING, False), (3, INCREASING, True)]:
            groups = {method: Group(data, size, method, samples, fair) for method in PUBLISHED}
            groups = {method: group for method, group in groups.items() if group in results.curves}
            lengths = np.array([0.0, *results.checkpoints(groups[PL_RANK_2])])
            means = {
                method: np.array([results.mean(group, place) for place in range(len(lengths))])
                for method, group in groups.items()
            }
            title = f"Figure {figure}: {'disparity' if fair else 'DCG@5'}, {name}"
            title += f", N = {samples:,}" if figure == 1 else ""
            unit = "epochs" if figure == 1 else "seconds of training"
            drawn += lines(f"pl-rank-{figure}-{data}-{samples if figure == 1 else 'time'}", title, unit, lengths, means)
    return drawn
