"""Labels of documents ranked by a two-layer network with several objectives: Tables 1 to 4 of the 2020 paper.

The split into training and test rows is the official one; a random quarter of the training rows (a tenth for
Delicious-200K) is the validation set for early stopping and for the learning rate. 256 hidden units, ReLU, Adam,
batches of 128. The model of LEML is a linear map of rank 256 with the squared loss; of SLEEC there are only the
published values.
"""

import math
import time
from collections.abc import Sequence
from functools import lru_cache
from itertools import product

import numpy as np

from luce.data import split
from luce.data.extreme import TaggedData
from luce.data.synthetic import tagged_documents
from luce.errors import load_package
from luce.report.svg import Picture
from papers.datasets import DatasetSpec, SyntheticShape
from papers.outcome import Claim, Outcome, ResultTable
from papers.partition_2020.published import CUTOFFS, METHODS, TABLE_3, published
from papers.plots import Line, log_lines
from papers.runner import Run, Settings

OURS, LEML, SLEEC = "pl-partition", "leml", "sleec"
TRAINED = (*METHODS, LEML)
SHORT = {"delicious": "D-1K", "eurlex-4k": "E-4K", "wiki10-31k": "W-31K", "delicious-200k": "D-200K"}
METRICS = {"precision": "P", "psp": "PSP", "ndcg": "nDCG", "psndcg": "PSnDCG"}
RATES, EPOCHS, SEEDS = (1e-3, 1e-2, 1e-4), 40, 5
QUICK_RATES, QUICK_EPOCHS, QUICK_SEEDS = (1e-3,), 20, 1
FEW_LABELS = "eurlex-4k"
"""With few labels per row the paper finds the pairwise methods as good."""

ALL_ROWS = ("delicious", "eurlex-4k")
"""Datasets whose averages in Table 3 include the test rows."""

SIMILAR, FOLLOWS = 1.0, 0.9
"""The percentage points within which values are similar, and the correlation from which one metric follows another."""


FULL_SHAPES = {
    "delicious": SyntheticShape(12_920, 500, test=3_185, labels=983),
    "eurlex-4k": SyntheticShape(6_000, 2_000, test=1_500, labels=3_993),
    "wiki10-31k": SyntheticShape(4_000, 2_000, test=1_000, labels=8_000),
    "delicious-200k": SyntheticShape(4_000, 2_000, test=1_000, labels=10_000),
}
QUICK_SHAPES = {
    "delicious": SyntheticShape(3_000, 500, test=1_000, labels=983),
    "eurlex-4k": SyntheticShape(3_000, 500, test=1_000, labels=1_000),
    "wiki10-31k": SyntheticShape(1_500, 500, test=500, labels=2_000),
    "delicious-200k": SyntheticShape(1_500, 500, test=500, labels=2_000),
}
Scores = dict[tuple[str, str], list[dict[str, float]]]
"""The metrics of each seed in percent, by dataset and method."""


def run(run: Run) -> Outcome:
    """Run on every available dataset or, if there is none, on synthetic data in the shape of all four."""
    shapes = QUICK_SHAPES if run.quick else FULL_SHAPES
    specs = [DatasetSpec.locate(run.data, name, shapes[name]) for name in SHORT]
    available = [spec for spec in specs if spec.shape is None]
    specs = available or specs
    rates, epochs, seeds = (QUICK_RATES, QUICK_EPOCHS, QUICK_SEEDS) if run.quick else (RATES, EPOCHS, SEEDS)
    points: list[Settings] = [
        {"dataset": spec, "method": method, "seed": run.seed + seed, "rates": list(rates), "epochs": epochs}
        for spec in specs
        for method in TRAINED
        for seed in range(seeds)
    ]
    # One thread each in parallel processes is faster than threads within a training; on a GPU they run in sequence.
    on_gpu = load_package("torch", "neural").cuda.is_available()
    processes, threads = (1, run.n_jobs) if on_gpu else (None, 1)
    results = run.points(train_and_test, points, effort=_effort, processes=processes, n_jobs=threads)
    scores: Scores = {}
    for point, result in zip(points, results, strict=True):
        scores.setdefault((point["dataset"].name, point["method"]), []).append(result)
    names, is_public = [spec.name for spec in specs], bool(available)
    return Outcome(
        _describe_data(names, is_public, run.quick, seeds),
        [_statistics_table(specs), *(table for name in names for table in _tables(name, scores, is_public))],
        [
            *(claim for name in SHORT for claim in _claims(name, scores if name in names else {}, is_public)),
            _correlation_claim(names, scores),
        ],
        lambda: _pictures(names, scores),
    )


def _describe_data(datasets: Sequence[str], is_public: bool, quick: bool, seeds: int) -> str:
    missing = [SHORT[name] for name in SHORT if name not in datasets]
    names = ", ".join(SHORT[name] for name in datasets)
    data = f"Synthetic data, in the shape of {names} and smaller, not the paper's"
    if is_public:
        data = f"The published data of {names}" + (f"; not available: {', '.join(missing)}" if missing else "")
    settings = ", quick: one learning rate, no search, and few epochs" if quick else ""
    return f"{data}. {seeds} seed{'s' * (seeds > 1)}{settings}."


def _effort(point: Settings) -> float:
    shape = point["dataset"].shape or FULL_SHAPES[point["dataset"].name]
    return float(shape.train * shape.labels * (2 if point["method"] in ("ranknet", "ranksvm") else 1))


@lru_cache(maxsize=1)
def load(dataset: DatasetSpec) -> tuple[TaggedData, TaggedData]:
    """The training and test rows, published or synthetic."""
    if dataset.shape is None:
        return dataset.read("train"), dataset.read("test")
    most = round(2 * TABLE_3[dataset.name].labels_per_row - 1)
    sizes = {"n_words": dataset.shape.features, "n_labels": dataset.shape.labels, "most_labels": most}
    return (
        tagged_documents(dataset.shape.train, **sizes, seed=1),
        tagged_documents(dataset.shape.test, **sizes, seed=2),
    )


def train_and_test(
    dataset: DatasetSpec, method: str, seed: int, rates: Sequence[float], epochs: int, n_jobs: int | None
) -> dict[str, float]:
    """The metrics of one training on the test rows in percent, its learning rate and its seconds."""
    from luce.rankers import LabelRanker
    from luce.rankers.presets import preset_of

    train, test = load(dataset)
    held_out = 0.1 if dataset.name == "delicious-200k" else 0.25
    part, validation = split(train, (1 - held_out, held_out), seed=seed)
    parameters = preset_of(method if method == LEML else f"tags-{method}").parameters()
    one_pass = math.ceil(np.count_nonzero(part.sizes) / parameters["batch_size"])
    settings = {"learning_rate": tuple(rates), "epochs": epochs, "early_stopping_rounds": 5}
    settings |= {"steps_per_epoch": one_pass, "random_state": seed, "n_jobs": n_jobs}
    start = time.perf_counter()
    ranker = LabelRanker(**{**parameters, **settings}).fit(part, validation=validation)
    seconds = time.perf_counter() - start
    names = [f"{metric}@{cutoff}" for metric in METRICS for cutoff in CUTOFFS]
    means = ranker.evaluate(test, metrics=names, n_bootstrap=0).means
    return {name: 100 * value for name, value in means.items()} | {"rate": ranker.learning_rate_, "seconds": seconds}


def _statistics_table(datasets: Sequence[DatasetSpec]) -> ResultTable:
    columns = ["dataset", "features", "labels", "train", "test", "rows per label", "labels per row"]
    rows: list[list[str | float | None]] = []
    for dataset in datasets:
        name, (train, test) = dataset.name, load(dataset)
        counted = (train, test) if name in ALL_ROWS else (train,)
        tags, total = sum(part.labels.nnz for part in counted), sum(part.n_rows for part in counted)
        ours = [train.n_features, train.n_labels, train.n_rows, test.n_rows]
        rows.append([f"{SHORT[name]}, ours", *ours, tags / train.n_labels, tags / total])
        rows.append([f"{SHORT[name]}, paper", *TABLE_3[name]])
    note = "Averages as in the paper: over training and test rows for D-1K and E-4K, over training rows for the others."
    return ResultTable("Table 3: the datasets", columns, rows, note, ".2f")


def _mean(scores: Scores, dataset: str, method: str, metric: str, cutoff: int) -> float:
    return float(np.mean([one[f"{metric}@{cutoff}"] for one in scores[dataset, method]]))


def _mean_and_deviation(scores: Scores, dataset: str, method: str, metric: str, cutoff: int) -> str:
    values = [one[f"{metric}@{cutoff}"] for one in scores[dataset, method]]
    spread = f" ± {np.std(values, ddof=1):.2f}" if len(values) > 1 else ""
    return f"{np.mean(values):.2f}{spread}"


def _row(
    scores: Scores, dataset: str, metric: str, cutoff: int, cells: Sequence[tuple[str, bool]]
) -> list[str | float | None]:
    """A row of a table: our value (True) or the published one (False) of each method."""
    values = (
        _mean_and_deviation(scores, dataset, method, metric, cutoff)
        if ours
        else published(dataset, method, metric, cutoff)
        for method, ours in cells
    )
    return [f"{METRICS[metric]}@{cutoff}", *values]


def _tables(dataset: str, scores: Scores, is_public: bool) -> list[ResultTable]:
    """Tables 1, 2 and 4 of a dataset: a row for each metric, our value and the published one for each method."""
    tables, title = [], SHORT[dataset] if is_public else f"{SHORT[dataset]}, synthetic data"
    spread = "± is the standard deviation over seeds. " if len(scores[dataset, OURS]) > 1 else ""
    for number, metrics in ((1, ("precision", "psp")), (4, ("ndcg", "psndcg"))):
        columns = ["", *(word for method in METHODS for word in (method, "paper"))]
        rows = [
            _row(scores, dataset, metric, cutoff, list(product(METHODS, (True, False))))
            for metric in metrics
            for cutoff in CUTOFFS
        ]
        note = (
            "PSnDCG is normalized as in the public tables; the paper's does not lie between its PSP@1 and its PSP@k, "
            "so it was normalized in another way."
        )
        note = f"{spread}{note if number == 4 else ''}".strip()
        tables.append(ResultTable(f"Table {number}, {title}", columns, rows, note, ".2f"))
    columns = ["", OURS, "paper", "sleec, published", "leml", "published"]
    cells = [(OURS, True), (OURS, False), (SLEEC, False), (LEML, True), (LEML, False)]
    rows = [_row(scores, dataset, metric, k, cells) for metric in ("precision", "psp") for k in CUTOFFS[:3]]
    tables.insert(1, ResultTable(f"Table 2, {title}", columns, rows, spread.strip(), ".2f"))
    return tables


def _claims(dataset: str, scores: Scores, is_public: bool) -> list[Claim]:
    """The claims about a dataset; `scores` is empty if it was not run."""
    short = SHORT[dataset]
    claims = [_above(dataset, scores, is_public, ("pl-lb",), "PL-LB")]
    if dataset == FEW_LABELS:
        gaps = _gaps(dataset, scores, ("ranknet",), ("precision",))
        text = f"{short}, few labels per row: RankNet is as good in P@k (here: at most {SIMILAR:g} point below)."
        claims.append(_claim(text, [gap <= SIMILAR for gap in gaps.values()], gaps, is_public))
    else:
        claims.append(_above(dataset, scores, is_public, ("ranknet", "ranksvm"), "RankNet and RankSVM"))
    claims.append(_above(dataset, scores, is_public, (LEML,), "LEML's model, trained here,"))
    gaps_to_published: dict[str, dict[str, float]] = {"precision": {}, "psp": {}, "ours": {}}
    for cutoff in CUTOFFS if scores and is_public else ():
        for metric, rival in (("precision", SLEEC), ("psp", SLEEC), ("psp", LEML), ("precision", OURS)):
            value = published(dataset, rival, metric, cutoff)
            if value is not None:
                kind = "ours" if rival == OURS else metric
                name = f"{METRICS[metric]}@{cutoff} of {rival}"
                gaps_to_published[kind][name] = _mean(scores, dataset, OURS, metric, cutoff) - value
    similar = f"(here: at most {SIMILAR:g} point below)"
    for kind, text, least in (
        ("precision", f"{short}: PL-Partition is similar to the published P@k of SLEEC {similar}.", -SIMILAR),
        ("psp", f"{short}: PL-Partition is above the published PSP@k of SLEEC and LEML.", 0.0),
        ("ours", f"{short}: PL-Partition reaches the published P@k {similar}.", -SIMILAR),
    ):
        gaps = gaps_to_published[kind]
        claims.append(_claim(text, [gap > least for gap in gaps.values()], gaps, is_public))
    return claims


def _gaps(dataset: str, scores: Scores, rivals: Sequence[str], metrics: Sequence[str]) -> dict[str, float]:
    """The difference in percentage points between PL-Partition and each rival, by metric."""
    return {
        f"{METRICS[metric]}@{cutoff} of {rival}": _mean(scores, dataset, OURS, metric, cutoff)
        - _mean(scores, dataset, rival, metric, cutoff)
        for rival in rivals
        for metric in metrics
        for cutoff in (CUTOFFS if scores else ())
    }


def _above(dataset: str, scores: Scores, is_public: bool, rivals: Sequence[str], words: str) -> Claim:
    gaps = _gaps(dataset, scores, rivals, ("precision", "psp"))
    text = f"{SHORT[dataset]}: PL-Partition is above {words} in P@k and PSP@k, k = 1, 3, 5, 10."
    return _claim(text, [gap > 0 for gap in gaps.values()], gaps, is_public)


def _correlation(dataset: str, scores: Scores, first: str, second: str, cutoff: int) -> float:
    """Over the methods; 0 if one of the metrics is constant."""
    values = np.array([[_mean(scores, dataset, method, one, cutoff) for method in METHODS] for one in (first, second)])
    return float(np.corrcoef(values)[0, 1]) if np.ptp(values, axis=1).all() else 0.0


def _correlation_claim(datasets: Sequence[str], scores: Scores) -> Claim:
    """Whether the discounted metrics agree with the plain ones about the methods; at k = 1 they are equal."""
    correlations = {
        f"{METRICS[gains]}@{k}, {SHORT[dataset]}": _correlation(dataset, scores, plain, gains, k)
        for dataset in datasets
        for plain, gains in (("precision", "ndcg"), ("psp", "psndcg"))
        for k in CUTOFFS[1:]
    }
    least = min(correlations, key=lambda name: correlations[name])
    return Claim.from_checks(
        f"nDCG@k and PSnDCG@k follow P@k and PSP@k (here: correlation over the methods at least {FOLLOWS:g}).",
        [each >= FOLLOWS for each in correlations.values()],
        f"From {correlations[least]:.3f} ({least}).",
    )


def _claim(text: str, checks: Sequence[bool], gaps: dict[str, float], is_public: bool) -> Claim:
    if not gaps:
        return Claim.from_checks(text, [], "Not run: the data are not available.")
    least, most = min(gaps, key=lambda name: gaps[name]), max(gaps, key=lambda name: gaps[name])
    ends = (f"{gaps[name]:+.2f} ({name})".replace("-", "−") for name in (least, most))
    evidence = f"{sum(checks)} of {len(checks)}; PL-Partition minus the other is {' to '.join(ends)} points."
    return Claim.from_checks(
        text, checks, evidence if is_public else f"On synthetic data: {evidence}", data_available=is_public
    )


def _pictures(datasets: Sequence[str], scores: Scores) -> list[Picture]:
    drawn = []
    for dataset in datasets:
        for metric in ("precision", "psp"):
            lines = {
                method: Line(CUTOFFS, [_mean(scores, dataset, method, metric, cutoff) for cutoff in CUTOFFS])
                for method in TRAINED
            }
            title = f"{METRICS[metric]}@k in percent, {SHORT[dataset]}"
            drawn.append(log_lines(f"{dataset}-{metric}", title, "k", lines, log_values=False))
    return drawn
