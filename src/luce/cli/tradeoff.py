"""`luce tradeoff`: relevance against fairness, by policies trained for weighted sums of both."""

from pathlib import Path
from typing import Annotated, Any

import typer

from luce.cli.options import Csv, Data, Gain, Json, Page, Reading, Seed, Settings, Threads
from luce.cli.output import check_written, progress, show_json, show_page_table, write_csv, write_optional_page
from luce.cli.rankers import make_ranker, settings_of
from luce.cli.reading import read_data
from luce.errors import DataError, OptionError

Steps = Annotated[int, typer.Option(min=2, help="Number of fairness weights, from relevance only to fairness only.")]
Relevance = Annotated[
    str, typer.Option(help="Metric to maximize: dcg, ndcg, rbp, precision or recall, with or without a cutoff.")
]
Fairness = Annotated[str, typer.Option(help="Metric to minimize: disparity, parity-gap or merit-gap.")]
Model = Annotated[str, typer.Option(help="Kind of ranker: neural or linear.")]
Seeds = Annotated[int, typer.Option(min=1, help="Number of random seeds; each policy is trained once with each.")]

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
    """Train policies for weighted sums of relevance and fairness, and plot the trade-off on held-out lists.

    The fairness metric is divided by its value for the policy trained for relevance only, so that weights are
    comparable. 30 % of the lists are held out. A separate point shows the ranking sorted by the scores of that policy,
    since most systems sort.

    Example: luce tradeoff judged.txt --steps 9

    Example: luce tradeoff judged.parquet --read item_group=seller --fairness merit-gap@10 --set epochs=20 --seeds 3
    """
    from luce.data import split
    from luce.rankers import RANKERS
    from luce.report.tradeoff import frontier_table, write_tradeoff

    _check(relevance, fairness, model)
    check_written([report, csv], [data])
    settings = TRAINING[model] | settings_of(setting, {model: RANKERS[model]})[model]
    train, held_out = split(read_data(data, read), (1 - HELD_OUT, HELD_OUT), seed)
    _check_merit(train, held_out, fairness)
    formulas, values, in_order = [], [], []
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
                scores = ranker.predict(held_out)
                found.append(_measured(scores, held_out, relevance, fairness, gain, threads))
                if step == 0:
                    in_order.append(_measured(scores, held_out, relevance, fairness, gain, threads, sort=True))
                if step == number == 0:
                    unit = _unit(_measured(ranker.predict(train), train, relevance, fairness, gain, threads)[1])
            values.append(_means(found))
    sorted_values = _means(in_order)
    *points, by_score = _points([*mixes, 0.0], [*formulas, formulas[0]], [*values, sorted_values])
    rows = [point._asdict() for point in (*points, by_score)]
    write_csv(rows, csv)
    title = f"{data.name}: {train.n_lists:,} training lists, {held_out.n_lists:,} held out"
    if json:
        show_json({"relevance": relevance, "fairness": fairness, "unit": unit, "points": rows})
    else:
        show_page_table(frontier_table(points, by_score, relevance, fairness), title)
    about = {
        "title": f"Relevance and fairness: {data.name}",
        "summary": _finding(points, by_score, values, sorted_values, (relevance, fairness)),
        "settings": {
            "ranker": f"{model}, {', '.join(f'{name}={value}' for name, value in settings.items())}",
            "unit of fairness": f"{unit:.6g}",
        },
    }
    write_optional_page(write_tradeoff, report, points, by_score, relevance, fairness, **about)


def _finding(points: list[Any], by_score: Any, values: list[Any], in_order: Any, names: tuple[str, str]) -> str:
    """The ends of the frontier, and sorting instead of sampling; `values` and `in_order` are those of each list."""
    from luce.report.formatting import decimal

    (first, *_, last), (relevance, fairness) = points, names
    return (
        f"From relevance only to fairness only, {fairness} goes from {decimal(first.unfairness)} to "
        f"{decimal(last.unfairness)} and expected {relevance} from {decimal(first.relevance)} to "
        f"{decimal(last.relevance)}: {_compared(values[0], values[-1])}. Sorting by the scores of the policy trained "
        f"for relevance only, instead of sampling from them, gives {fairness} {decimal(by_score.unfairness)} and "
        f"{relevance} {decimal(by_score.relevance)}: {_compared(values[0], in_order)}."
    )


def _compared(one: Any, other: Any) -> str:
    """How the relevance and the unfairness of each list change, where the mean is beyond two standard errors."""
    import numpy as np

    words = ("less relevant", "about as relevant", "more relevant"), ("fairer", "about as fair", "less fair")
    found = []
    for each, before, after in zip(words, one, other, strict=True):
        change = (after - before)[~np.isnan(after - before)]
        error = change.std() / np.sqrt(max(len(change) - 1, 1))
        found.append(each[1 + int(np.sign(change.mean())) * bool(abs(change.mean()) > 2 * error)])
    return " and ".join(found)


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
        raise unknown_name("kind of ranker", model, TRAINING)
    parse_utility({relevance: 1.0, fairness: -1.0})
    if not metric(fairness).is_stochastic:
        known = [name for name, record in METRICS.items() if record.is_stochastic]
        raise unknown_name("fairness metric", fairness, known)
    if metric(relevance).is_stochastic or not metric(relevance).higher_is_better:
        raise OptionError(
            f"--relevance must be dcg, ndcg, rbp, precision or recall, which are maximized. Got {relevance!r}."
        )


def _check_merit(train: Any, held_out: Any, fairness: str) -> None:
    from luce.metrics import metric
    from luce.metrics.exposure import check_item_groups

    for part, role in ((train, "training"), (held_out, "held-out")):
        if not (part.labels > 0).any():
            raise DataError(
                f"The {role} lists have no merit: no label of {part!r} is above 0. Labels are grades, higher is better."
            )
    check_item_groups(metric(fairness), train.item_group_numbers())


def _measured(
    scores: Any, dataset: Any, relevance: str, fairness: str, gain: str, threads: int | None, sort: bool = False
) -> tuple[Any, Any]:
    """Of each list the expected relevance and the unfairness; NaN where there is nothing to measure."""
    import numpy as np

    from luce.metrics import measure
    from luce.objectives import objective

    labels, offsets = dataset.labels, dataset.offsets
    settings: dict[str, Any] = {"gain": gain, "item_groups": dataset.item_group_numbers(), "n_jobs": threads}
    ranking = "sorted" if sort else "sampled"
    good, unfair = measure(scores, labels, offsets, [relevance, fairness], ranking=ranking, **settings).values()
    expected = objective("pl-rank-3", metric=relevance, gain=gain, samples=SAMPLES)
    if not sort:
        good = -expected.value_and_gradient(scores, labels, offsets, n_jobs=threads).loss
    return np.where(expected.has_signal(labels, offsets), good, np.nan), unfair


def _means(found: list[Any]) -> list[Any]:
    """The means over seeds of what was measured of each list."""
    return [sum(each) / len(found) for each in zip(*found, strict=True)]


def _unit(unfairness: Any) -> float:
    """The mean unfairness of relevance alone; 1 where it has none."""
    import numpy as np

    mean = float(np.nanmean(unfairness)) if not np.isnan(unfairness).all() else 0.0
    return mean if mean > 0 else 1.0


def _points(mixes: list[float], formulas: list[str], values: list[Any]) -> list[Any]:
    """Means over lists, the last of them of the sorted ranking.

    Their errors are those of differences between policies: the mean of the policies is taken from each list.
    """
    import numpy as np

    from luce.report.tradeoff import Point

    n_policies, columns = len(mixes) - 1, []
    for name, column in zip(("relevance", "fairness"), zip(*values, strict=True), strict=True):
        table = np.array(column)  # (mixes, lists)
        table = table[:, ~np.isnan(table).any(axis=0)]
        if not table.shape[1]:
            raise DataError(f"None of the held-out lists can be measured with --{name}. Use more lists.")
        within = table - table[:-1].mean(axis=0)
        spread = within.std(axis=1)
        spread[:-1] *= np.sqrt(n_policies / (n_policies - 1))
        columns += [table.mean(axis=1), spread / np.sqrt(max(table.shape[1] - 1, 1))]
    rankings = ["sampled"] * n_policies + ["sorted"]
    numbers = (column.tolist() for column in columns)
    return [Point(*row) for row in zip(mixes, rankings, formulas, *numbers, strict=True)]
