"""Labels of documents ranked by two layers and five objectives: Tables 1 to 4 of the 2020 paper (section 4.2).

The official training and test rows; of the training rows one in four (one in ten for Delicious-200K), drawn by the
seed, stops the training and chooses the learning rate. 256 hidden values, ReLU, Adam, batches of 128. LEML's model is a
linear map of rank 256 with least squares; SLEEC's row is the published one alone.
"""

import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from luce.data import split
from luce.data.extreme import TaggedData
from luce.data.synthetic import tagged_documents
from luce.errors import load_package
from luce.report.svg import Picture
from papers.datasets import find
from papers.outcome import Claim, Outcome, Table
from papers.partition_2020.published import CUTOFFS, METHODS, TABLE_3, printed
from papers.plots import Line, log_lines
from papers.runner import Run, Settings

OURS, LEML, SLEEC = "pl-partition", "leml", "sleec"
TRAINED = (*METHODS, LEML)
SHORT = {"delicious": "D-1K", "eurlex-4k": "E-4K", "wiki10-31k": "W-31K", "delicious-200k": "D-200K"}
METRICS = {"precision": "P", "psp": "PSP", "ndcg": "nDCG", "psndcg": "PSnDCG"}
RATES, EPOCHS, SEEDS = (1e-3, 1e-2, 1e-4), 40, 5
QUICK_RATES, QUICK_EPOCHS, QUICK_SEEDS = (1e-3,), 20, 1
FEW_LABELS = "eurlex-4k"
"""Where rows have few labels the paper finds the pairwise methods as good."""

ALL_ROWS = ("delicious", "eurlex-4k")
"""Whose averages in Table 3 count the test rows too."""

SIMILAR, FOLLOWS = 1.0, 0.9
"""Points of per cent that still count as similar, and the correlation from which one metric follows another."""


class Size(NamedTuple):
    """Made data: training and test rows, words and labels; labels a row are those of the dataset they stand for."""

    train: int
    test: int
    words: int
    labels: int


MADE = {
    "delicious": Size(12_920, 3_185, 500, 983),
    "eurlex-4k": Size(6_000, 1_500, 2_000, 3_993),
    "wiki10-31k": Size(4_000, 1_000, 2_000, 8_000),
    "delicious-200k": Size(4_000, 1_000, 2_000, 10_000),
}
QUICK_MADE = {
    "delicious": Size(3_000, 1_000, 500, 983),
    "eurlex-4k": Size(3_000, 1_000, 500, 1_000),
    "wiki10-31k": Size(1_500, 500, 500, 2_000),
    "delicious-200k": Size(1_500, 500, 500, 2_000),
}
Found = dict[tuple[str, str], list[dict[str, float]]]
"""Of each dataset and method the figures of each seed, in per cent."""


def run(run: Run) -> Outcome:
    """Every dataset that is there; where none is, made data in the shape of all four."""
    there = [name for name in SHORT if find(run.data, name)]
    datasets = there or list(SHORT)
    sizes = QUICK_MADE if run.quick else MADE
    rates, epochs, seeds = (QUICK_RATES, QUICK_EPOCHS, QUICK_SEEDS) if run.quick else (RATES, EPOCHS, SEEDS)
    cells = [(dataset, method) for dataset in datasets for method in TRAINED]
    points: list[Settings] = [
        {"dataset": dataset, "made": None if there else list(sizes[dataset]), "method": method, "seed": run.seed + seed}
        | {"rates": list(rates), "epochs": epochs}
        for dataset, method in cells
        for seed in range(seeds)
    ]
    folder = None if run.data is None else str(run.data)
    # Trainings side by side use the cores better than threads inside one; a GPU takes one after the other.
    on_gpu = load_package("torch", "neural").cuda.is_available()
    processes, threads = (1, run.n_jobs) if on_gpu else (None, 1)
    results = run.points(train_and_test, points, effort=_effort, processes=processes, folder=folder, n_jobs=threads)
    found = {cell: results[i * seeds : (i + 1) * seeds] for i, cell in enumerate(cells)}
    real = bool(there)
    return Outcome(
        _data(there, datasets, run.quick, seeds),
        [_described(datasets, points, folder), *(table for name in datasets for table in _tables(name, found, real))],
        [
            *(claim for name in SHORT for claim in _claims(name, found if name in datasets else {}, real)),
            _follows(datasets, found),
        ],
        lambda: _pictures(datasets, found),
    )


def _data(there: Sequence[str], datasets: Sequence[str], quick: bool, seeds: int) -> str:
    missing = [SHORT[name] for name in SHORT if name not in datasets]
    names = ", ".join(SHORT[name] for name in datasets)
    what = (
        f"The published data of {names}"
        if there
        else f"Made data, in the shape of {names} and smaller, not the paper's"
    )
    lacking = f"; not at hand: {', '.join(missing)}" if missing else ""
    how = ", quick: one learning rate, no search, and few epochs" if quick else ""
    return f"{what}{lacking}. {seeds} seed{'s' * (seeds > 1)}{how}."


def _effort(point: Settings) -> float:
    rows, _, _, labels = point["made"] or MADE[point["dataset"]]
    return float(rows * labels * (2 if point["method"] in ("ranknet", "ranksvm") else 1))


@lru_cache(maxsize=1)
def _parts(dataset: str, made: tuple[int, ...] | None, folder: str | None) -> tuple[TaggedData, TaggedData]:
    """Training and test rows, published or made."""
    if made is None:
        there = find(None if folder is None else Path(folder), dataset)
        assert there is not None  # the run has looked
        return there.read("train"), there.read("test")
    size = Size(*made)
    most = round(2 * TABLE_3[dataset].labels_per_row - 1)
    shape = {"n_words": size.words, "n_labels": size.labels, "most_labels": most}
    return tagged_documents(size.train, **shape, seed=1), tagged_documents(size.test, **shape, seed=2)


def train_and_test(
    dataset: str,
    made: Sequence[int] | None,
    method: str,
    seed: int,
    rates: Sequence[float],
    epochs: int,
    folder: str | None,
    n_jobs: int | None,
) -> dict[str, float]:
    """The figures of one training on the test rows, in per cent, with its learning rate and seconds."""
    from luce.rankers import LabelRanker
    from luce.rankers.presets import preset_of

    train, test = _parts(dataset, None if made is None else tuple(made), folder)
    held_out = 0.1 if dataset == "delicious-200k" else 0.25
    part, validation = split(train, (1 - held_out, held_out), seed=seed)
    parameters = preset_of(method if method == LEML else f"tags-{method}").parameters()
    settings = {"learning_rate": tuple(rates), "epochs": epochs, "random_state": seed, "n_jobs": n_jobs}
    start = time.perf_counter()
    ranker = LabelRanker(**{**parameters, **settings}).fit(part, validation=validation)
    seconds = time.perf_counter() - start
    names = [f"{metric}@{cutoff}" for metric in METRICS for cutoff in CUTOFFS]
    means = ranker.evaluate(test, metrics=names, n_bootstrap=0).means
    return {name: 100 * value for name, value in means.items()} | {"rate": ranker.learning_rate_, "seconds": seconds}


def _described(datasets: Sequence[str], points: Sequence[Settings], folder: str | None) -> Table:
    columns = ["dataset", "features", "labels", "train", "test", "rows a label", "labels a row"]
    rows: list[list[str | float | None]] = []
    for name in datasets:
        made = next(point["made"] for point in points if point["dataset"] == name)
        train, test = _parts(name, None if made is None else tuple(made), folder)
        counted = (train, test) if name in ALL_ROWS else (train,)
        tags, total = sum(part.labels.nnz for part in counted), sum(part.n_rows for part in counted)
        ours = [train.n_features, train.n_labels, train.n_rows, test.n_rows]
        rows.append([f"{SHORT[name]}, ours", *ours, tags / train.n_labels, tags / total])
        rows.append([f"{SHORT[name]}, paper", *TABLE_3[name]])
    note = "As the paper's averages are: of training and test rows for D-1K and E-4K, of training rows for the others."
    return Table("Table 3: the datasets", columns, rows, note, ".2f")


def _mean(found: Found, dataset: str, method: str, metric: str, cutoff: int) -> float:
    return float(np.mean([one[f"{metric}@{cutoff}"] for one in found[dataset, method]]))


def _ours(found: Found, dataset: str, method: str, metric: str, cutoff: int) -> str:
    values = [one[f"{metric}@{cutoff}"] for one in found[dataset, method]]
    spread = f" ± {np.std(values, ddof=1):.2f}" if len(values) > 1 else ""
    return f"{np.mean(values):.2f}{spread}"


def _row(
    found: Found, dataset: str, metric: str, cutoff: int, cells: Sequence[tuple[str, int]]
) -> list[str | float | None]:
    """A row of a table: of each method ours (1) or the figure that is printed (0)."""
    figures = (
        _ours(found, dataset, method, metric, cutoff) if ours else printed(dataset, method, metric, cutoff)
        for method, ours in cells
    )
    return [f"{METRICS[metric]}@{cutoff}", *figures]


def _tables(dataset: str, found: Found, real: bool) -> list[Table]:
    """Tables 1, 2 and 4 of a dataset: a row for each metric, ours and theirs for each method."""
    made, title = [], SHORT[dataset] if real else f"{SHORT[dataset]}, made data"
    spread = "± is the standard deviation over seeds. " if len(found[dataset, OURS]) > 1 else ""
    for number, metrics in ((1, ("precision", "psp")), (4, ("ndcg", "psndcg"))):
        columns = ["", *(word for method in METHODS for word in (method, "paper"))]
        rows = [
            _row(found, dataset, metric, cutoff, [cell for method in METHODS for cell in ((method, 1), (method, 0))])
            for metric in metrics
            for cutoff in CUTOFFS
        ]
        note = (
            "PSnDCG is normalised as the public tables are; the paper's does not lie between its PSP@1 and its PSP@k, "
            "so it was normalised in another way."
        )
        note = f"{spread}{note if number == 4 else ''}".strip()
        made.append(Table(f"Table {number}, {title}", columns, rows, note, ".2f"))
    columns = ["", OURS, "paper", "sleec, published", "leml", "published"]
    cells = [(OURS, 1), (OURS, 0), (SLEEC, 0), (LEML, 1), (LEML, 0)]
    rows = [_row(found, dataset, metric, k, cells) for metric in ("precision", "psp") for k in CUTOFFS[:3]]
    made.insert(1, Table(f"Table 2, {title}", columns, rows, spread.strip(), ".2f"))
    return made


def _claims(dataset: str, found: Found, real: bool) -> list[Claim]:
    """What the paper says of a dataset; `found` is empty where it was not run."""
    short = SHORT[dataset]
    claims = [_above(dataset, found, real, ("pl-lb",), "PL-LB")]
    if dataset == FEW_LABELS:
        gaps = _gaps(dataset, found, ("ranknet",), ("precision",))
        text = f"{short}, few labels a row: RankNet is as good in P@k (here: at most {SIMILAR:g} point below)."
        claims.append(_judged(text, [gap <= SIMILAR for gap in gaps.values()], gaps, real))
    else:
        claims.append(_above(dataset, found, real, ("ranknet", "ranksvm"), "RankNet and RankSVM"))
    claims.append(_above(dataset, found, real, (LEML,), "LEML's model, trained here,"))
    published: dict[str, dict[str, float]] = {"precision": {}, "psp": {}, "ours": {}}
    for cutoff in CUTOFFS if found and real else ():
        for metric, rival in (("precision", SLEEC), ("psp", SLEEC), ("psp", LEML), ("precision", OURS)):
            theirs = printed(dataset, rival, metric, cutoff)
            if theirs is not None:
                kind = "ours" if rival == OURS else metric
                name = f"{METRICS[metric]}@{cutoff} of {rival}"
                published[kind][name] = _mean(found, dataset, OURS, metric, cutoff) - theirs
    similar = f"(here: at most {SIMILAR:g} point below)"
    for kind, text, least in (
        ("precision", f"{short}: PL-Partition has about the published P@k of SLEEC {similar}.", -SIMILAR),
        ("psp", f"{short}: PL-Partition is above the published PSP@k of SLEEC and LEML.", 0.0),
        ("ours", f"{short}: PL-Partition reaches P@k as printed {similar}.", -SIMILAR),
    ):
        gaps = published[kind]
        claims.append(_judged(text, [gap > least for gap in gaps.values()], gaps, real))
    return claims


def _gaps(dataset: str, found: Found, rivals: Sequence[str], metrics: Sequence[str]) -> dict[str, float]:
    """By how many points PL-Partition is above each rival, by metric."""
    return {
        f"{METRICS[metric]}@{cutoff} of {rival}": _mean(found, dataset, OURS, metric, cutoff)
        - _mean(found, dataset, rival, metric, cutoff)
        for rival in rivals
        for metric in metrics
        for cutoff in (CUTOFFS if found else ())
    }


def _above(dataset: str, found: Found, real: bool, rivals: Sequence[str], words: str) -> Claim:
    gaps = _gaps(dataset, found, rivals, ("precision", "psp"))
    text = f"{SHORT[dataset]}: PL-Partition is above {words} in P@k and PSP@k, k = 1, 3, 5, 10."
    return _judged(text, [gap > 0 for gap in gaps.values()], gaps, real)


def _correlation(dataset: str, found: Found, first: str, second: str, cutoff: int) -> float:
    """Over the methods; where they are all the same by one metric there is nothing to follow."""
    values = np.array([[_mean(found, dataset, method, one, cutoff) for method in METHODS] for one in (first, second)])
    return float(np.corrcoef(values)[0, 1]) if np.ptp(values, axis=1).all() else 0.0


def _follows(datasets: Sequence[str], found: Found) -> Claim:
    """Whether gains that fall with the rank tell the methods apart as precision does; at k = 1 they are the same."""
    together = {
        f"{METRICS[gains]}@{k}, {SHORT[dataset]}": _correlation(dataset, found, plain, gains, k)
        for dataset in datasets
        for plain, gains in (("precision", "ndcg"), ("psp", "psndcg"))
        for k in CUTOFFS[1:]
    }
    least = min(together, key=lambda name: together[name])
    return Claim.judged(
        f"nDCG@k and PSnDCG@k follow P@k and PSP@k (here: correlation over the methods at least {FOLLOWS:g}).",
        [each >= FOLLOWS for each in together.values()],
        f"From {together[least]:.3f} ({least}).",
    )


def _judged(text: str, checks: Sequence[bool], gaps: dict[str, float], real: bool) -> Claim:
    if not gaps:
        return Claim.judged(text, [], "Not run: the figures are of data not at hand.")
    least, most = min(gaps, key=lambda name: gaps[name]), max(gaps, key=lambda name: gaps[name])
    ends = (f"{gaps[name]:+.2f} ({name})".replace("-", "−") for name in (least, most))
    told = f"{sum(checks)} of {len(checks)}; PL-Partition less the other has {' to '.join(ends)} points."
    return Claim.judged(text, checks, told if real else f"On made data: {told}", at_hand=real)


def _pictures(datasets: Sequence[str], found: Found) -> list[Picture]:
    drawn = []
    for dataset in datasets:
        for metric in ("precision", "psp"):
            lines = {
                method: Line(CUTOFFS, [_mean(found, dataset, method, metric, cutoff) for cutoff in CUTOFFS])
                for method in TRAINED
            }
            title = f"{METRICS[metric]}@k in per cent, {SHORT[dataset]}"
            drawn.append(log_lines(f"{dataset}-{metric}", title, "k", lines, log_values=False))
    return drawn
