"""`luce tradeoff`: what fairness costs in relevance, by policies trained for weighted sums of both."""

from pathlib import Path
from typing import Annotated, Any

import typer

from luce.cli.options import Csv, Data, Gain, Json, Page, Reading, Seed, Settings, Threads
from luce.cli.output import progress, show_json, show_page_table, write_csv, write_optional_page
from luce.cli.rankers import make_ranker, settings_of
from luce.cli.reading import read_data
from luce.errors import DataError, OptionError

Steps = Annotated[int, typer.Option(min=2, help="How many weights, from relevance alone to fairness alone.")]
Relevance = Annotated[
    str, typer.Option(help="Metric to maximize: dcg, ndcg, rbp, precision or recall, with or without a cutoff.")
]
Fairness = Annotated[str, typer.Option(help="Metric to minimize: disparity, parity-gap or merit-gap.")]
Model = Annotated[str, typer.Option(help="Kind of ranker: neural or linear.")]
Seeds = Annotated[int, typer.Option(min=1, help="Trainings of each policy, each with its own random numbers.")]

TRAINING: dict[str, dict[str, Any]] = {
    "neural": {"epochs": 10, "learning_rate": 0.01, "validation_fraction": None},
    "linear": {"optimizer": "gradient-descent", "max_iter": 60, "learning_rate": 1.0, "reg_lambda": 0.0},
}
"""Settings that --set may change; lists held out for early stopping would be scored by relevance alone."""

HELD_OUT, SAMPLES = 0.3, 1_000


def tradeoff(
    data: Data,
    steps: Steps = 9,
    relevance: Relevance = "ndcg@10",
    fairness: Fairness = "disparity@10",
    model: Model = "neural",
    setting: Settings = None,
    seeds: Seeds = 1,
    gain: Gain = "exponential",
    csv: Csv = None,
    report: Page = Path("tradeoff.html"),
    seed: Seed = 0,
    threads: Threads = None,
    read: Reading = None,
    json: Json = False,
) -> None:
    """Train policies for weighted sums of relevance and fairness, and draw the frontier on held-out lists.

    Fairness is measured in units of the unfairness of the policy trained for relevance alone. Three lists in ten are
    held out.

    Example: luce tradeoff judged.txt --steps 9

    Example: luce tradeoff judged.parquet --read item_group=seller --fairness merit-gap@10 --set epochs=20 --seeds 3
    """
    from luce.data import split
    from luce.rankers import RANKERS
    from luce.report.tradeoff import frontier_table, write_tradeoff

    _check(relevance, fairness, model)
    settings = TRAINING[model] | settings_of(setting, {model: RANKERS[model]})[model]
    train, held_out = split(read_data(data, read), (1 - HELD_OUT, HELD_OUT), seed)
    _check_merit(train, held_out, fairness)
    formulas, values = [], []
    mixes = [step / (steps - 1) for step in range(steps)]
    with progress("Training") as report_progress:
        unit = 1.0
        for step, mix in enumerate(mixes):
            formulas.append(formula_of(mix, unit, relevance, fairness))
            found = []
            for number in range(seeds):
                report_progress((step + number / seeds) / steps, formulas[-1])
                options = [f"utility={formulas[-1]}", f"gain={gain}"]
                ranker = make_ranker(model, "fair-policy", options, settings, seed + number, threads).fit(train)
                found.append(_measured(ranker.predict(held_out), held_out, relevance, fairness, gain, threads))
                if step == number == 0:
                    unit = _unit(_measured(ranker.predict(train), train, relevance, fairness, gain, threads)[1])
            values.append([sum(each) / seeds for each in zip(*found, strict=True)])
    points = _points(mixes, formulas, values)
    rows = [point._asdict() for point in points]
    write_csv(rows, csv)
    title = f"{data.name}: {train.n_lists:,} lists trained on, {held_out.n_lists:,} held out"
    if json:
        show_json({"relevance": relevance, "fairness": fairness, "unit": unit, "points": rows})
    else:
        show_page_table(frontier_table(points, relevance, fairness), title)
    first, last = points[0], points[-1]
    about = {
        "title": f"The cost of fairness: {data.name}",
        "summary": f"From relevance alone to fairness alone, {fairness} goes from {first.unfairness:.4g} to "
        f"{last.unfairness:.4g}, and expected {relevance} from {first.relevance:.4f} to {last.relevance:.4f}.",
        "settings": {"ranker": repr(ranker), "unit of fairness": f"{unit:.6g}"},
    }
    write_optional_page(write_tradeoff, report, points, relevance, fairness, **about)


def formula_of(mix: float, unit: float, relevance: str, fairness: str) -> str:
    """The formula of a mix; the unit is what counts as one of fairness.

    >>> formula_of(0.25, 2.0, "ndcg@10", "disparity@10"), formula_of(1.0, 2.0, "ndcg@10", "disparity@10")
    ('0.75*ndcg@10 - 0.125*disparity@10', '-0.5*disparity@10')
    """
    parts = [f"{1 - mix:.6g}*{relevance}"] if mix < 1 else []
    if mix > 0:
        parts.append(f"- {mix / unit:.6g}*{fairness}" if parts else f"-{mix / unit:.6g}*{fairness}")
    return " ".join(parts)


def _check(relevance: str, fairness: str, model: str) -> None:
    """Every name, before any data is read."""
    from luce.errors import unknown_name
    from luce.metrics import METRICS, metric
    from luce.objectives.utility import parse_utility

    if model not in TRAINING:
        raise unknown_name("model of a tradeoff", model, TRAINING)
    parse_utility({relevance: 1.0, fairness: -1.0})
    if not metric(fairness).is_stochastic:
        known = [name for name, record in METRICS.items() if record.is_stochastic]
        raise unknown_name("measure of fairness", fairness, known)
    if metric(relevance).is_stochastic or not metric(relevance).higher_is_better:
        raise OptionError(
            f"--relevance must be dcg, ndcg, rbp, precision or recall, which are maximized. Got {relevance!r}."
        )


def _check_merit(train: Any, held_out: Any, fairness: str) -> None:
    from luce.metrics import metric
    from luce.metrics.exposure import check_item_groups

    for part, role in ((train, "training"), (held_out, "held-out")):
        if not (part.labels > 0).any():
            raise DataError(f"There is no merit in the {role} lists, {part!r}: no label is above 0.")
    check_item_groups(metric(fairness), train.item_group_numbers())


def _measured(
    scores: Any, dataset: Any, relevance: str, fairness: str, gain: str, threads: int | None
) -> tuple[Any, Any]:
    """Of each list the expected relevance and the unfairness; NaN where there is nothing to measure."""
    import numpy as np

    from luce.metrics import measure
    from luce.objectives import objective

    labels, offsets = dataset.labels, dataset.offsets
    expected = objective("pl-rank-3", metric=relevance, gain=gain, samples=SAMPLES)
    good = -expected.value_and_gradient(scores, labels, offsets, n_jobs=threads).loss
    settings: dict[str, Any] = {"gain": gain, "item_groups": dataset.item_group_numbers(), "n_jobs": threads}
    (unfair,) = measure(scores, labels, offsets, fairness, **settings).values()
    return np.where(expected.has_signal(labels, offsets), good, np.nan), unfair


def _unit(unfairness: Any) -> float:
    """The mean unfairness of relevance alone; 1 where it has none."""
    import numpy as np

    mean = float(np.nanmean(unfairness)) if not np.isnan(unfairness).all() else 0.0
    return mean if mean > 0 else 1.0


def _points(mixes: list[float], formulas: list[str], values: list[Any]) -> list[Any]:
    """Means over lists. Their errors are those of differences between mixes: differences between lists are removed."""
    import numpy as np

    from luce.report.tradeoff import Point

    columns = []
    for name, column in zip(("relevance", "fairness"), zip(*values, strict=True), strict=True):
        table = np.array(column)  # (mixes, lists)
        table = table[:, ~np.isnan(table).any(axis=0)]
        if not table.shape[1]:
            raise DataError(f"No held-out list has anything for --{name} to measure. Give more lists.")
        within = table - table.mean(axis=0)
        spread = within.std(axis=1) * np.sqrt(len(mixes) / (len(mixes) - 1))
        columns += [table.mean(axis=1), spread / np.sqrt(max(table.shape[1] - 1, 1))]
    return [Point(*row) for row in zip(mixes, formulas, *(column.tolist() for column in columns), strict=True)]
