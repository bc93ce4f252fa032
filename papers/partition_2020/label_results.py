"""The tables and figures of the methods that rank labels, ours beside the published ones."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from luce.data.extreme import TaggedData
from luce.report.svg import Picture
from papers.datasets import DATASETS, DatasetSpec, SyntheticShape
from papers.outcome import ResultTable
from papers.partition_2020.label_training import GRIDS, LEML, METRICS, PARAMETERS, SLEEC
from papers.partition_2020.published import CUTOFFS, METHODS, TABLE_3, published
from papers.plots import Line, log_lines

SHORT = {"delicious": "D-1K", "eurlex-4k": "E-4K", "wiki10-31k": "W-31K", "delicious-200k": "D-200K"}
EMBEDDINGS = (LEML, SLEEC)
TITLES = dict(zip(METHODS, ("PL-Partition", "PL-LB", "RankNet", "RankSVM"), strict=True)) | {
    LEML: "LEML",
    SLEEC: "SLEEC",
}
ALL_ROWS = ("delicious", "eurlex-4k")
"""Datasets whose averages in Table 3 include the test rows."""


class Cell(NamedTuple):
    """A dataset, published in a folder or synthetic, its training rows and the maximum number of epochs."""

    name: str
    rows: int
    epochs: int
    folder: str | None
    shape: SyntheticShape | None

    @classmethod
    def of(cls, spec: DatasetSpec, epochs: int) -> "Cell":
        rows = spec.shape.train if spec.shape else DATASETS[spec.name].sizes["train"].rows
        return cls(spec.name, rows, epochs, spec.folder, spec.shape)

    @property
    def is_published(self) -> bool:
        return self.shape is None

    @property
    def title(self) -> str:
        """As in the titles of tables."""
        if self.is_published:
            return SHORT[self.name]
        return f"{SHORT[self.name]}, synthetic data, {self.rows:,} rows, {self.epochs} epochs"

    def dataset(self, seed: int) -> DatasetSpec:
        """The data; synthetic ones are others for each seed."""
        return DatasetSpec(self.name, self.folder, self.shape, 0 if self.is_published else seed)


Scores = dict[tuple[Cell, str], list[Mapping[str, Any]]]
"""The metrics of each seed in percent, and its settings, by cell and method."""


def values_of(scores: Scores, cell: Cell, method: str, metric: str, cutoff: int) -> list[float]:
    """A metric of each seed."""
    return [one[f"{metric}@{cutoff}"] for one in scores[cell, method]]


def mean_of(scores: Scores, cell: Cell, method: str, metric: str, cutoff: int) -> float:
    """The mean of a metric over the seeds."""
    return float(np.mean(values_of(scores, cell, method, metric, cutoff)))


def statistics_table(data: Sequence[tuple[Cell, tuple[TaggedData, TaggedData]]]) -> ResultTable:
    """Table 3."""
    columns = ["dataset", "features", "labels", "train", "test", "rows per label", "labels per row"]
    rows: list[list[str | float | None]] = []
    for cell, (train, test) in data:
        counted = (train, test) if cell.name in ALL_ROWS else (train,)
        tags, total = sum(part.labels.nnz for part in counted), sum(part.n_rows for part in counted)
        ours = [train.n_features, train.n_labels, train.n_rows, test.n_rows]
        kind = "ours" if cell.is_published else "synthetic"
        rows.append([f"{SHORT[cell.name]}, {kind}", *ours, tags / train.n_labels, tags / total])
        rows.append([f"{SHORT[cell.name]}, paper", *TABLE_3[cell.name]])
    note = "Averages as in the paper: over training and test rows for D-1K and E-4K, over training rows for the others."
    return ResultTable("Table 3: the datasets", columns, rows, note, ".2f")


def metric_tables(cell: Cell, scores: Scores) -> list[ResultTable]:
    """Tables 1 and 2 as one, and Table 4, of a dataset: our value and the published one for each method."""
    return [
        _table("Tables 1 and 2", cell, scores, ("precision", "psp"), (*METHODS, *EMBEDDINGS)),
        _table("Table 4", cell, scores, ("ndcg", "psndcg"), METHODS),
    ]


def _table(title: str, cell: Cell, scores: Scores, metrics: Sequence[str], methods: Sequence[str]) -> ResultTable:
    columns = ["method", *(f"{METRICS[metric]}@{cutoff}" for metric in metrics for cutoff in CUTOFFS)]
    places = [(metric, cutoff) for metric in metrics for cutoff in CUTOFFS]
    rows: list[list[str | float | None]] = []
    for method in methods:
        rows.append([TITLES[method], *(_mean_and_deviation(values_of(scores, cell, method, *each)) for each in places)])
        rows.append([f"{TITLES[method]}, paper", *(published(cell.name, method, *each) for each in places)])
    notes = ["± is the standard deviation over seeds."] if len(scores[cell, methods[0]]) > 1 else []
    if "psndcg" in metrics:
        notes.append(
            "PSnDCG is normalized as in the public tables; the paper's does not lie between its PSP@1 and its PSP@k, "
            "so it was normalized in another way."
        )
    elif cell.name == "delicious":
        notes.append(
            "The paper takes LEML and SLEEC from the public repository. The P@5 of LEML that it prints, 52.80, is "
            "doubtful: it is 7.75 points below the P@3, and with every other method at most 5.41."
        )
    on_page = cell.is_published and "precision" in metrics
    return ResultTable(f"{title}, {cell.title}", columns, rows, " ".join(notes), ".2f", on_page=on_page)


def _mean_and_deviation(values: Sequence[float]) -> str:
    spread = f" ± {np.std(values, ddof=1):.2f}" if len(values) > 1 else ""
    return f"{np.mean(values):.2f}{spread}"


def parameter_table(scores: Scores, rates: Sequence[float]) -> ResultTable:
    """Which parameters were chosen on validation rows, and how often one at an end of its grid."""
    rows: list[list[str | float | None]] = []
    for name in dict.fromkeys(cell.name for cell, _ in scores):
        for method in TITLES:
            chosen = [
                one for (cell, each), ones in scores.items() for one in ones if (cell.name, each) == (name, method)
            ]
            for at, parameter in enumerate(PARAMETERS.get(method, ("rate",))):
                grid = sorted({each[at] for each in GRIDS[method]} if method in GRIDS else rates)
                times = Counter(one[parameter] for one in chosen)
                text = ", ".join(f"{value:g} ({times[value]})" for value in sorted(times))
                ends = times[grid[0]] + times[grid[-1]]
                values = ", ".join(f"{value:g}" for value in grid)
                words = "learning rate" if parameter == "rate" else parameter
                rows.append([SHORT[name], TITLES[method], words, values, text, f"{ends} of {len(chosen)}"])
    columns = ["dataset", "method", "parameter", "grid", "chosen (trainings)", "at an end of the grid"]
    return ResultTable("Parameters chosen on validation rows", columns, rows)


def pictures(cells: Sequence[Cell], scores: Scores) -> list[Picture]:
    """P@k and PSP@k of all methods."""
    drawn = []
    for cell in cells:
        for metric in ("precision", "psp"):
            lines = {
                TITLES[method]: Line(CUTOFFS, [mean_of(scores, cell, method, metric, cutoff) for cutoff in CUTOFFS])
                for method in TITLES
            }
            title = f"{METRICS[metric]}@k in percent, {SHORT[cell.name]}"
            drawn.append(log_lines(f"{cell.name}-{metric}", title, "k", lines, log_values=False))
    return drawn
