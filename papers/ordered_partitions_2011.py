"""Ordered partitions beside pairwise and listwise losses, linear: Tables 1 and 2 of the 2011 paper.

Nine tenths of the lists train, the others test. Features are standardised; second-order features are the products of
two whose correlation with the label passes 0.15 (0.1 on made data). L-BFGS until 1e-5 or 100 iterations; the sampled
methods take 1,000 steps of rate 0.1. ListMLE puts equal labels in an order drawn once. Table 2 tells how the time of
a gradient grows with the length of a list.
"""

import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np

from luce.arrays import offsets_of_sizes
from luce.data import Dataset, split
from luce.data.synthetic import web_search
from luce.data.transforms import SecondOrder
from luce.metrics import evaluate
from luce.objectives import objective
from luce.report.svg import Picture
from papers.datasets import find
from papers.outcome import Claim, Outcome, Table
from papers.plots import Line, log_lines
from papers.runner import Run, Settings

YAHOO = "yahoo-set1"
METRICS = {"err": "ERR", "ndcg@1": "NG@1", "ndcg@5": "NG@5"}
ORDERS = {"first": "first-order", "second": "second-order"}

PRINTED = {
    "rankregress": (0.4882, 0.6830, 0.6672, 0.4971, 0.7021, 0.6752),
    "ranknet": (0.4919, 0.6903, 0.6698, 0.5049, 0.7183, 0.6836),
    "ranksvm": (0.4868, 0.6797, 0.6662, 0.4970, 0.7009, 0.6733),
    "listmle": (0.4955, 0.6993, 0.6705, 0.5030, 0.7172, 0.6810),
    "pairties-davidson": (0.4941, 0.6944, 0.6725, 0.5013, 0.7131, 0.6786),
    "pairties-rao-kupper": (0.4946, 0.6970, 0.6716, 0.5030, 0.7136, 0.6793),
    "pmop-fd": (0.5038, 0.7137, 0.6762, 0.5086, 0.7272, 0.6858),
    "pmop-gibbs": (0.5037, 0.7105, 0.6792, 0.5040, 0.7124, 0.6706),
    "pmop-mh": (0.5045, 0.7139, 0.6790, 0.5053, 0.7122, 0.6713),
}
"""Table 1: ERR, NDCG@1 and NDCG@5 with first-order features, then with second-order features too."""

PMOP = ("pmop-fd", "pmop-gibbs", "pmop-mh")
SAMPLED = ("pmop-gibbs", "pmop-mh")
BASELINES = tuple(method for method in PRINTED if method not in PMOP)
PAIRWISE = tuple(method for method in BASELINES if method != "listmle")

MADE, QUICK_MADE = (4_000, 519), (1_500, 136)
"""Lists and features of made data, with as many documents a list as Yahoo's set 1 has."""

THRESHOLD, MADE_THRESHOLD = 0.15, 0.1
"""The correlation that a product of two features must pass; of made features too few pass the paper's."""

LENGTHS, ROWS, GRADES = (25, 50, 100, 200, 400, 800, 1_600, 3_200), 16_000, 5
LINEAR, QUADRATIC = 1.25, 1.6
"""Up to and from which power of N a time is called linear and quadratic."""

Found = dict[tuple[str, str], dict[str, float]]
"""Of each method and order of features its metrics and its seconds."""


def run(run: Run) -> Outcome:
    """Every method on first-order features, then with second-order features, then the time of a gradient."""
    real = find(run.data, YAHOO) is not None
    made = None if real else list(QUICK_MADE if run.quick else MADE)
    folder = None if run.data is None else str(run.data)
    cells = list(product(PRINTED, ORDERS))
    points: list[Settings] = [
        {"method": method, "features": order, "made": made, "seed": run.seed} for method, order in cells
    ]
    results = run.points(train_and_test, points, effort=_effort, span=(0.0, 0.85), folder=folder, n_jobs=run.n_jobs)
    found = dict(zip(cells, results, strict=True))
    timed: list[Settings] = [{"method": method, "length": n} for method, n in product(PRINTED, LENGTHS)]
    seconds = run.points(time_of_gradient, timed, span=(0.85, 1.0))
    times = {(each["method"], each["length"]): one for each, one in zip(timed, seconds, strict=True)}
    size = f"{(made or [0])[0]:,} made lists of about 24 documents"
    data = "Yahoo set 1, the training part" if real else f"{size}, in the shape of Yahoo set 1, not the paper's data"
    return Outcome(
        f"{data}; nine tenths train, one tenth tests, seed {run.seed}.",
        [*(_table_1(found, order) for order in ORDERS), _table_2(times)],
        [*_claims(found, real), *_time_claims(found, times)],
        lambda: _pictures(times),
    )


def _effort(point: Settings) -> float:
    return (5.0 if point["method"] in SAMPLED else 1.0) * (3.0 if point["features"] == "second" else 1.0)


def _lists(made: Sequence[int] | None, seed: int, folder: str | None) -> Dataset:
    if made is None:
        there = find(None if folder is None else Path(folder), YAHOO)
        assert there is not None  # the run has looked
        return there.read("train")
    return web_search(made[0], made[1], 23.7, seed=seed).dataset


def train_and_test(
    method: str, features: str, made: Sequence[int] | None, seed: int, folder: str | None, n_jobs: int | None
) -> dict[str, float]:
    """The metrics of one training on the lists held out, its processor seconds, and how many features it had."""
    from luce.rankers import LinearRanker
    from luce.rankers.presets import PRESETS

    train, test = split(_lists(made, seed, folder), (0.9, 0.1), seed=seed)
    # The paper trains all but the sampled methods in the same way.
    by_search = {"objective": method, **PRESETS["linear-pmop-fd"].settings}
    parameters = PRESETS[f"linear-{method}"].parameters() if method in SAMPLED else by_search
    products = [SecondOrder(THRESHOLD if made is None else MADE_THRESHOLD)] if features == "second" else []
    transforms = ["fill", "standardize", *products]
    LinearRanker(**{**parameters, "max_iter": 1}, n_jobs=n_jobs).fit(train)  # compiles
    ranker = LinearRanker(**parameters, transforms=transforms, random_state=seed, n_jobs=n_jobs)
    start = time.process_time()  # a busy machine then does not count
    ranker.fit(train)
    seconds = time.process_time() - start
    scores = ranker.predict(test)
    means = evaluate(scores, test, list(METRICS), max_grade=GRADES - 1, n_bootstrap=0, n_jobs=n_jobs).means
    return {**means, "seconds": seconds, "features": int(np.size(ranker.coef_))}


def time_of_gradient(method: str, length: int) -> float:
    """Microseconds of processor time for the loss and the gradient of one list of this length, with five grades."""
    goal = objective(method)
    random = np.random.default_rng(length)
    offsets = offsets_of_sizes([length] * (ROWS // length))
    scores, labels = random.standard_normal(offsets[-1]), random.integers(0, GRADES, offsets[-1]).astype(np.float64)

    def once() -> float:
        start = time.process_time()
        goal.value_and_gradient(scores, labels, offsets, n_jobs=1)
        return time.process_time() - start

    once()  # compiles
    return 1e6 * min(once() for _ in range(5)) / (len(offsets) - 1)


def _table_1(found: Found, order: str) -> Table:
    first = list(ORDERS).index(order) * len(METRICS)
    rows: list[list[str | float | None]] = []
    for method, printed in PRINTED.items():
        ours = found[method, order]
        pairs = zip((ours[metric] for metric in METRICS), printed[first : first + len(METRICS)], strict=True)
        rows.append([method, *(cell for pair in pairs for cell in pair), f"{ours['seconds']:.2f}"])
    columns = ["", *(word for name in METRICS.values() for word in (name, "paper")), "seconds"]
    features = found["pmop-fd", order]["features"]
    paper = 519 + (14_188 if order == "second" else 0)
    note = f"{features:,} features; the paper had {paper:,}. Seconds are processor time of the training."
    return Table(f"Table 1, {ORDERS[order]} features", columns, rows, note, ".4f")


def _power(times: dict[tuple[str, int], float], method: str) -> float:
    """The power of N that the time of a list follows at the three longest lengths, where set-up no longer counts."""
    longer = np.array(LENGTHS[-3:])
    return float(np.polyfit(np.log(longer), np.log([times[method, n] for n in longer]), 1)[0])


def _table_2(times: dict[tuple[str, int], float]) -> Table:
    rows: list[list[str | float | None]] = [
        [
            method,
            *(times[method, n] for n in LENGTHS),
            f"N^{_power(times, method):.2f}",
            "max(N², NF)" if method in PAIRWISE else "NF",
        ]
        for method in PRINTED
    ]
    columns = ["documents", *(f"{n:,}" for n in LENGTHS), "grows as", "paper"]
    note = (
        "Microseconds of processor time for the loss of one list and its gradient in the scores, on one thread; "
        "F enters with the scores."
    )
    return Table("Table 2: the time of a list", columns, rows, note, ".3g")


def _claims(found: Found, real: bool) -> list[Claim]:
    def judged(text: str, checks: Sequence[bool], evidence: str) -> Claim:
        return Claim.judged(text, checks, evidence if real else f"On made data: {evidence}", at_hand=real)

    better = {method: found[method, "second"]["err"] > found[method, "first"]["err"] for method in BASELINES}
    worse = ", ".join(method for method, each in better.items() if not each)
    fd = {name: found["pmop-fd", "second"][key] - found["pmop-fd", "first"][key] for key, name in METRICS.items()}
    claims = [
        judged(
            "Second-order features raise the ERR of nearly all baselines (here: of all).",
            list(better.values()),
            f"{sum(better.values())} of {len(better)}" + (f"; not {worse}." if worse else "."),
        ),
        judged(
            "They raise PMOP-FD.",
            [gain > 0 for gain in fd.values()],
            ", ".join(f"{name} {gain:+.4f}" for name, gain in fd.items()) + ".",
        ),
    ]
    for place, (order, words) in enumerate(ORDERS.items()):
        pairs = list(product(PMOP, BASELINES))
        checks = [found[ours, order]["err"] > found[rival, order]["err"] for ours, rival in pairs]
        printed = [PRINTED[ours][3 * place] > PRINTED[rival][3 * place] for ours, rival in pairs]
        best = max(BASELINES, key=lambda rival: found[rival, order]["err"])
        told = ", ".join(f"{ours} {found[ours, order]['err']:.4f}" for ours in PMOP)
        claims.append(
            judged(
                f"With {words} features every PMOP is above every baseline in ERR.",
                checks,
                f"{sum(checks)} of {len(checks)} comparisons ({sum(printed)} in the paper's own table): {told}; "
                f"the best baseline {best} {found[best, order]['err']:.4f}.",
            )
        )
    gain = 100 * (found["pmop-mh", "first"]["err"] / found["listmle", "first"]["err"] - 1)
    text = "With first-order features PMOP-MH is above ListMLE in ERR, by 1.82 % in the paper."
    return [*claims, judged(text, [gain > 0], f"By {gain:+.2f} %.")]


def _time_claims(found: Found, times: dict[tuple[str, int], float]) -> list[Claim]:
    spent = {method: sum(found[method, order]["seconds"] for order in ORDERS) for method in PRINTED}
    fastest = min(spent, key=lambda method: spent[method])
    slower = [spent["pmop-fd"] < spent[method] for method in PRINTED if method != "pmop-fd"]
    powers = {method: _power(times, method) for method in PRINTED}
    steepest = {
        kind: [f"{method} N^{powers[method]:.2f}" for method in kind] for kind in (("listmle", *PMOP), PAIRWISE)
    }
    linear, pairwise = (", ".join(words) for words in steepest.values())
    return [
        Claim.judged(
            "PMOP-FD is the fastest to train.",
            slower,
            f"Faster than {sum(slower)} of {len(slower)}: {spent['pmop-fd']:.2f} s of processor time with both kinds "
            f"of features; the fastest is {fastest}, {spent[fastest]:.2f} s, and the best of the pairwise "
            f"{min(spent[method] for method in PAIRWISE):.2f} s.",
        ),
        Claim.judged(
            f"The time of PMOP and ListMLE is linear in the length of a list (here: at most N^{LINEAR:g}).",
            [powers[method] <= LINEAR for method in ("listmle", *PMOP)],
            f"{linear}.",
        ),
        Claim.judged(
            f"The time of the pairwise methods is quadratic (here: at least N^{QUADRATIC:g}).",
            [powers[method] >= QUADRATIC for method in PAIRWISE],
            f"{pairwise}.",
        ),
    ]


def _pictures(times: dict[tuple[str, int], float]) -> list[Picture]:
    shown = ("pmop-fd", "listmle", "ranknet", "pairties-davidson", "pmop-gibbs", "ranksvm")
    lines = {method: Line(LENGTHS, [times[method, n] for n in LENGTHS]) for method in shown}
    return [log_lines("time", "Microseconds of a list", "documents of the list", lines)]
