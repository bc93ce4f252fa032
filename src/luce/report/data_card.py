"""The section on the data: how much, which grades, how long the lists are, what is missing."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from luce.arrays import Floats, Integers
from luce.data.leakage import suspicious_features
from luce.data.ragged import BLOCK, Dataset
from luce.report.contents import Report
from luce.report.formatting import count, number, plain, share
from luce.report.layout import Facts, Pictures, Section
from luce.report.svg import ACCENT, MUTED, Picture, picture

FEW = 10
"""Grades or lengths up to this many get a bar each; more are binned."""

BINS = 24


def data_card(report: Report) -> Section:
    """Facts by name, and a picture of the grades and of the list lengths where there are any."""
    dataset = report.dataset
    observed = dataset.labels[~np.isnan(dataset.labels)]
    facts = {
        "Lists": f"{dataset.n_lists:,}",
        "Rows": f"{dataset.n_rows:,}",
        "Features": f"{dataset.n_features:,}{', sparse' if dataset.is_sparse else ''}",
        "List length": _lengths(dataset.sizes),
        "Grades": _range(observed) if observed.size else "none",
        "Rows without a grade": _part(dataset.n_rows - observed.size, dataset.n_rows),
        "Missing feature values": _part(missing_values(dataset), dataset.n_rows * dataset.n_features),
    }
    suspicious = suspicious_features(dataset)
    if suspicious:
        facts["Features that may give the label away"] = plain(", ".join(each.name for each in suspicious), 300)
    grades = _distribution("grades", "Rows by grade", observed, "grade")
    lengths = _distribution("list-lengths", "Lists by length", dataset.sizes, "rows in the list")
    return Section("Data", [Facts(facts), Pictures([*grades, *lengths])])


def missing_values(dataset: Dataset) -> int:
    """The number of NaN features, looked for block by block so that a memory-mapped dataset stays on disk."""
    values = dataset.features.data if dataset.is_sparse else dataset.features
    return sum(int(np.isnan(values[start : start + BLOCK]).sum()) for start in range(0, len(values), BLOCK))


def _lengths(sizes: Integers) -> str:
    if not sizes.size:
        return "no lists"
    low, middle, empty = sizes.min(), float(np.median(sizes)), int((sizes == 0).sum())
    text = _range(sizes) if low == sizes.max() else f"{_range(sizes)}, median {number(middle)}"
    return f"{text}; {count(empty, 'empty list')}" if empty else text


def _range(values: Floats | Integers) -> str:
    low, high = values.min(), values.max()
    return number(low) if low == high else f"{number(low)} to {number(high)}"


def _part(part: int, whole: int) -> str:
    return f"{part:,} ({share(part / whole)})" if part else "none"


def binned(values: Floats | Integers) -> tuple[Integers, Floats] | None:
    """Counts and edges of about `BINS` bins, or None where no axis can tell the values apart.

    >>> binned(np.arange(60))
    (array([3, 3, ...]), array([-0.5,  2.5, ...]))
    """
    low, high = float(values.min()), float(values.max())
    step = high / BINS - low / BINS
    if not 1e-6 * max(-low, high) < step < 1e300:
        return None
    edges: int | Floats = BINS
    if np.all(values == np.floor(values)):  # as many whole numbers in each bin, else some bins stick out
        width = np.ceil(step)
        edges = low - 0.5 + width * np.arange((high - low) // width + 2)
    counts, found = np.histogram(values, edges)
    return counts, found


def _distribution(name: str, title: str, values: Floats | Integers, along: str) -> list[Picture]:
    distinct, counts = np.unique(values, return_counts=True)
    if not distinct.size:
        return []
    if distinct.size <= FEW:
        return [bars(name, title, [number(value) for value in distinct], counts, along)]
    bins = binned(values)
    return [] if bins is None else [histogram(name, title, bins[1], bins[0], along)]


def bars(name: str, title: str, labels: Sequence[str], counts: Integers, along: str) -> Picture:
    """One bar for each of a few values, its share written above it."""
    shares, places = counts / counts.sum(), np.arange(len(counts))

    def draw(axes: Any) -> None:
        drawn = axes.bar(places, counts, width=0.72, color=ACCENT)
        axes.bar_label(drawn, list(map(share, shares)), padding=2, color=MUTED, fontsize=10 if len(counts) < 8 else 8)
        axes.set_xticks(places, [plain(label, 8) for label in labels])
        axes.margins(x=0.05 if len(counts) > 2 else 0.5, y=0.15)
        axes.set_yticks([])
        axes.spines.left.set_visible(False)

    spoken = ", ".join(f"{label} {share(value)}" for label, value in zip(labels, shares, strict=True))
    return picture(name, f"{title}: {spoken}.", 190, draw, title=title, xlabel=along, grid="")


def histogram(name: str, title: str, edges: Floats, counts: Integers, along: str) -> Picture:
    """Counts between edges."""

    def draw(axes: Any) -> None:
        axes.bar(edges[:-1], counts, width=np.diff(edges) * 0.92, align="edge", color=ACCENT)
        axes.locator_params(axis="x", nbins=6)

    fullest = int(np.argmax(counts))
    spoken = f"from {number(edges[0])} to {number(edges[-1])}"
    most = f"most often {number(edges[fullest])} to {number(edges[fullest + 1])}"
    return picture(name, f"{title}: {spoken}, {most}.", 190, draw, title=title, xlabel=along)
