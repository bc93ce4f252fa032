"""Labels of documents ranked by several methods: Tables 1 to 4 of the 2020 paper."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from luce.errors import load_package
from luce.report.formatting import count
from papers.datasets import DatasetSpec, SyntheticShape
from papers.outcome import Outcome
from papers.partition_2020.label_claims import dataset_claims, follow_claim
from papers.partition_2020.label_results import (
    EMBEDDINGS,
    SHORT,
    Cell,
    Scores,
    metric_tables,
    parameter_table,
    pictures,
    statistics_table,
)
from papers.partition_2020.label_training import load, train_and_test
from papers.partition_2020.published import METHODS
from papers.runner import Run, Settings

NOTES = """\
D-1K, E-4K, W-31K and D-200K are Delicious, Eurlex-4K, Wiki10-31K and Delicious-200K. The split into training and \
test rows is the official one; a random quarter of the training rows (a tenth for Delicious-200K) is the validation \
set. Networks: 256 hidden units, ReLU, Adam, batches of 128, as in the paper. For each network the learning rate is \
chosen by the P@5 of the validation rows from the same grid, the paper's and one value more, with the same number of \
epochs, and so is the best epoch. LEML and SLEEC are trained by their own algorithms: LEML by alternating ridge \
regression and conjugate gradients, with rank 256; SLEEC by singular value projection of the label vectors, ridge \
regression and nearest neighbors, with its authors' numbers of clusterings, clusters, neighbors and dimensions. Their \
penalties, and the number of nearest neighbors of SLEEC, are chosen on the same validation rows; they are then fitted \
to all training rows, as those of the public tables were, while a network never sees the validation rows. The l1 \
penalty of SLEEC is left out: with it the precision on validation rows was not higher. Synthetic data are drawn anew \
for each seed."""


class LabelGrid(NamedTuple):
    """Synthetic shapes by dataset, learning rates; most epochs and seeds of synthetic and of published data."""

    shapes: Mapping[str, tuple[SyntheticShape, ...]]
    rates: tuple[float, ...]
    epochs: tuple[int, ...]
    seeds: int
    published_epochs: int
    published_seeds: int


def _shapes(sizes: tuple[int, ...], features: int, labels: int) -> dict[str, tuple[SyntheticShape, ...]]:
    """Each dataset at several numbers of training rows; they differ in the number of labels of a row."""
    return {name: tuple(SyntheticShape(rows, features, test=1_000, labels=labels) for rows in sizes) for name in SHORT}


FULL = LabelGrid(_shapes((500, 1_500), 500, 1_000), (1e-4, 1e-3, 1e-2, 1e-1), (10, 30), 2, 100, 3)
QUICK = LabelGrid(_shapes((300, 900), 200, 300), (1e-3, 1e-2, 1e-1), (10, 30), 2, 30, 1)


def run(run: Run) -> Outcome:
    """Run on the published data that are available, and on synthetic data in the shape of the others."""
    grid = QUICK if run.quick else FULL
    cells = _cells(run, grid)
    points = [point for cell in cells for seed in _seeds(run, cell, grid) for point in _points(cell, seed, grid.rates)]
    points = list({str(point): point for point in points}.values())  # LEML and SLEEC have no epochs
    # One thread each in parallel processes is faster than threads within a training; on a GPU they run in sequence.
    on_gpu = load_package("torch", "neural").cuda.is_available()
    processes, threads = (1, run.n_jobs) if on_gpu else (None, 1)
    results = run.points(train_and_test, points, effort=_effort, processes=processes, n_jobs=threads)
    found = {str(point): point | result for point, result in zip(points, results, strict=True)}
    scores: Scores = {
        (cell, method): [
            max(
                (found[str(point)] for point in _points(cell, seed, grid.rates) if point["method"] == method),
                key=lambda result: result["validation"],
            )
            for seed in _seeds(run, cell, grid)
        ]
        for cell in cells
        for method in (*METHODS, *EMBEDDINGS)
    }
    largest = [_named(cells, name)[-1] for name in SHORT]
    return Outcome(
        _describe_data(cells, grid, run.quick),
        [
            statistics_table([(cell, load(cell.dataset(run.seed))) for cell in largest]),
            *(table for cell in largest for table in metric_tables(cell, scores)),
            parameter_table(scores, grid.rates),
        ],
        [
            *(
                claim
                for name in SHORT
                for claim in dataset_claims([cell for cell in cells if cell.name == name], scores)
            ),
            follow_claim(cells, scores),
        ],
        lambda: pictures(largest, scores),
        NOTES,
    )


def _cells(run: Run, grid: LabelGrid) -> list[Cell]:
    """The datasets with the sizes and lengths to run; a published one has its own size and one length."""
    cells = []
    for name in SHORT:
        for shape in grid.shapes[name]:
            spec = DatasetSpec.locate(run.data, name, shape)
            epochs = grid.epochs if spec.shape else (grid.published_epochs,)
            cells += [Cell.of(spec, length) for length in epochs]
    return list(dict.fromkeys(cells))


def _named(cells: Sequence[Cell], name: str) -> list[Cell]:
    """The cells of a dataset, that with the most rows and epochs last."""
    return [cell for cell in cells if cell.name == name]


def _seeds(run: Run, cell: Cell, grid: LabelGrid) -> range:
    return range(run.seed, run.seed + (grid.published_seeds if cell.is_published else grid.seeds))


def _points(cell: Cell, seed: int, rates: Sequence[float]) -> list[Settings]:
    """The trainings of a seed: of each network one for each learning rate."""
    common = {"dataset": cell.dataset(seed), "seed": seed}
    networks = [
        {**common, "method": method, "rate": rate, "epochs": cell.epochs} for method in METHODS for rate in rates
    ]
    return [*networks, *({**common, "method": method} for method in EMBEDDINGS)]


def _effort(point: Settings) -> float:
    """Relative times: a network with a low rate trains all its epochs, and one with a high rate stops early."""
    dataset = point["dataset"]
    rows = dataset.shape.train if dataset.shape else 20_000
    share = min(1.0, 0.01 / point["rate"] ** 0.5) if "rate" in point else 1.0
    return float(rows * share * point.get("epochs", 40))


def _describe_data(cells: Sequence[Cell], grid: LabelGrid, quick: bool) -> str:
    published = list(dict.fromkeys(SHORT[cell.name] for cell in cells if cell.is_published))
    synthetic = list(dict.fromkeys(SHORT[cell.name] for cell in cells if not cell.is_published))
    seeds, parts = count(grid.published_seeds, "seed"), []
    if published:
        parts.append(f"The published data of {', '.join(published)}: at most {grid.published_epochs} epochs, {seeds}.")
    if synthetic:
        sizes = " and ".join(f"{rows:,}" for rows in sorted({cell.rows for cell in cells if not cell.is_published}))
        lengths = " or ".join(map(str, grid.epochs))
        parts.append(
            f"Synthetic data, not the paper's, with as many labels per row as {', '.join(synthetic)}: {sizes} training "
            f"rows, at most {lengths} epochs, {count(grid.seeds, 'seed')}."
        )
    return " ".join([*parts, *(["Quick: fewer learning rates, rows and epochs."] if quick else [])])
