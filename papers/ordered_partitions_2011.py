"""Linear models of ordered partitions compared with pairwise and listwise losses: Tables 1 and 2 of the 2011 paper.

Nine tenths of the lists are for training, the others for testing. Features are standardized; second-order features are
the products of two whose correlation with the label exceeds 0.15 (0.1 on synthetic data). L-BFGS stops at a tolerance
of 1e-5 or after 100 iterations; the sampled methods take 1,000 steps with learning rate 0.1. ListMLE breaks ties of
labels by an order drawn once. Table 2 shows how the time of a gradient grows with the length of a list.
"""

import time
from collections.abc import Sequence
from itertools import product

import numpy as np

from luce.arrays import offsets_of_sizes
from luce.data import Dataset, split
from luce.data.synthetic import web_search
from luce.data.transforms import SecondOrder
from luce.metrics import evaluate
from luce.objectives import objective
from luce.report.svg import Picture
from papers.datasets import DatasetSpec, SyntheticShape
from papers.outcome import Claim, Outcome, ResultTable
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

FULL_SHAPE, QUICK_SHAPE = SyntheticShape(4_000, 519, documents=23.7), SyntheticShape(1_500, 136, documents=23.7)
"""Of the synthetic data, with the mean list length of Yahoo's set 1."""

THRESHOLD, SYNTHETIC_THRESHOLD = 0.15, 0.1
"""The minimum correlation of a product of two features; too few synthetic features reach that of the paper."""

LENGTHS, ROWS, GRADES = (25, 50, 100, 200, 400, 800, 1_600, 3_200), 16_000, 5
LINEAR, QUADRATIC = 1.25, 1.6
"""The largest power of N that counts as linear, and the smallest that counts as quadratic."""

Scores = dict[tuple[str, str], dict[str, float]]
"""The metrics and the seconds of training, by method and order of features."""


def run(run: Run) -> Outcome:
    """Train every method with first-order and with second-order features, then measure the time of a gradient."""
    dataset = DatasetSpec.locate(run.data, YAHOO, QUICK_SHAPE if run.quick else FULL_SHAPE, seed=run.seed)
    cells = list(product(PRINTED, ORDERS))
    points: list[Settings] = [{"method": method, "features": order, "dataset": dataset} for method, order in cells]
    results = run.points(train_and_test, points, effort=_effort, span=(0.0, 0.85), n_jobs=run.n_jobs)
    scores = dict(zip(cells, results, strict=True))
    timed: list[Settings] = [{"method": method, "length": n} for method, n in product(PRINTED, LENGTHS)]
    seconds = run.points(time_of_gradient, timed, span=(0.85, 1.0))
    times = {(each["method"], each["length"]): one for each, one in zip(timed, seconds, strict=True)}
    data = "Yahoo set 1, the training part"
    if dataset.shape is not None:
        data = f"{dataset.shape.train:,} synthetic lists of about 24 documents in the shape of Yahoo set 1"
        data += ", not the paper's data"
    return Outcome(
        f"{data}; nine tenths for training, one tenth for testing, seed {run.seed}.",
        [*(_table_1(scores, order) for order in ORDERS), _table_2(times)],
        [*_claims(scores, dataset.shape is None), *_time_claims(scores, times)],
        lambda: _pictures(times),
    )


def _effort(point: Settings) -> float:
    return (5.0 if point["method"] in SAMPLED else 1.0) * (3.0 if point["features"] == "second" else 1.0)


def load(dataset: DatasetSpec) -> Dataset:
    """The lists of the public dataset, or synthetic ones."""
    if dataset.shape is None:
        return dataset.read("train")
    return web_search(dataset.shape.train, dataset.shape.features, dataset.shape.documents, seed=dataset.seed).dataset


def train_and_test(method: str, features: str, dataset: DatasetSpec, n_jobs: int | None) -> dict[str, float]:
    """The metrics of one training on the held-out lists, its seconds of CPU time, and its number of features."""
    from luce.rankers import LinearRanker
    from luce.rankers.presets import PRESETS

    train, test = split(load(dataset), (0.9, 0.1), seed=dataset.seed)
    # The paper trains all methods but the sampled ones in the same way.
    lbfgs = {"objective": method, **PRESETS["linear-pmop-fd"].settings}
    parameters = PRESETS[f"linear-{method}"].parameters() if method in SAMPLED else lbfgs
    threshold = THRESHOLD if dataset.shape is None else SYNTHETIC_THRESHOLD
    products = [SecondOrder(threshold)] if features == "second" else []
    LinearRanker(**{**parameters, "max_iter": 1}, n_jobs=n_jobs).fit(train)  # compiles
    parameters["transforms"] = ["fill", "standardize", *products]
    ranker = LinearRanker(**parameters, random_state=dataset.seed, n_jobs=n_jobs)
    start = time.process_time()  # not the wall time, which depends on the load of the machine
    ranker.fit(train)
    seconds = time.process_time() - start
    scores = ranker.predict(test)
    means = evaluate(scores, test, list(METRICS), max_grade=GRADES - 1, n_bootstrap=0, n_jobs=n_jobs).means
    return {**means, "seconds": seconds, "features": int(np.size(ranker.coef_))}


def time_of_gradient(method: str, length: int) -> float:
    """Microseconds of CPU time for the loss and the gradient of one list of this length, with five grades."""
    loss = objective(method)
    random = np.random.default_rng(length)
    offsets = offsets_of_sizes([length] * (ROWS // length))
    scores, labels = random.standard_normal(offsets[-1]), random.integers(0, GRADES, offsets[-1]).astype(np.float64)

    def once() -> float:
        start = time.process_time()
        loss.value_and_gradient(scores, labels, offsets, n_jobs=1)
        return time.process_time() - start

    once()  # compiles
    return 1e6 * min(once() for _ in range(5)) / (len(offsets) - 1)


def _table_1(scores: Scores, order: str) -> ResultTable:
    first = list(ORDERS).index(order) * len(METRICS)
    rows: list[list[str | float | None]] = []
    for method, printed in PRINTED.items():
        ours = scores[method, order]
        pairs = zip((ours[metric] for metric in METRICS), printed[first : first + len(METRICS)], strict=True)
        rows.append([method, *(cell for pair in pairs for cell in pair), f"{ours['seconds']:.2f}"])
    columns = ["", *(word for name in METRICS.values() for word in (name, "paper")), "seconds"]
    features = scores["pmop-fd", order]["features"]
    paper = 519 + (14_188 if order == "second" else 0)
    note = f"{features:,} features; the paper had {paper:,}. Seconds are the CPU time of the training."
    return ResultTable(f"Table 1, {ORDERS[order]} features", columns, rows, note, ".4f")


def _power(times: dict[tuple[str, int], float], method: str) -> float:
    """The exponent of N in the time of a list, fitted at the three longest lengths, where overhead is negligible."""
    longer = np.array(LENGTHS[-3:])
    return float(np.polyfit(np.log(longer), np.log([times[method, n] for n in longer]), 1)[0])


def _table_2(times: dict[tuple[str, int], float]) -> ResultTable:
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
        "Microseconds of CPU time on one thread for the loss of one list and its gradient with respect to the scores; "
        "the F of the paper enters with the computation of the scores."
    )
    return ResultTable("Table 2: time per list", columns, rows, note, ".3g")


def _claims(scores: Scores, is_public: bool) -> list[Claim]:
    def claim(text: str, checks: Sequence[bool], evidence: str) -> Claim:
        evidence = evidence if is_public else f"On synthetic data: {evidence}"
        return Claim.from_checks(text, checks, evidence, data_available=is_public)

    better = {method: scores[method, "second"]["err"] > scores[method, "first"]["err"] for method in BASELINES}
    worse = ", ".join(method for method, each in better.items() if not each)
    fd = {name: scores["pmop-fd", "second"][key] - scores["pmop-fd", "first"][key] for key, name in METRICS.items()}
    claims = [
        claim(
            "Second-order features raise the ERR of nearly all baselines (here: of all).",
            list(better.values()),
            f"{sum(better.values())} of {len(better)}" + (f"; not {worse}." if worse else "."),
        ),
        claim(
            "They raise PMOP-FD.",
            [gain > 0 for gain in fd.values()],
            ", ".join(f"{name} {gain:+.4f}" for name, gain in fd.items()) + ".",
        ),
    ]
    for place, (order, words) in enumerate(ORDERS.items()):
        pairs = list(product(PMOP, BASELINES))
        checks = [scores[ours, order]["err"] > scores[rival, order]["err"] for ours, rival in pairs]
        printed = [PRINTED[ours][3 * place] > PRINTED[rival][3 * place] for ours, rival in pairs]
        best = max(BASELINES, key=lambda rival: scores[rival, order]["err"])
        errs = ", ".join(f"{ours} {scores[ours, order]['err']:.4f}" for ours in PMOP)
        claims.append(
            claim(
                f"With {words} features every PMOP is above every baseline in ERR.",
                checks,
                f"{sum(checks)} of {len(checks)} comparisons ({sum(printed)} in the paper's own table): {errs}; "
                f"the best baseline {best} {scores[best, order]['err']:.4f}.",
            )
        )
    gain = 100 * (scores["pmop-mh", "first"]["err"] / scores["listmle", "first"]["err"] - 1)
    text = "With first-order features PMOP-MH is above ListMLE in ERR, by 1.82 % in the paper."
    return [*claims, claim(text, [gain > 0], f"By {gain:+.2f} %.")]


def _time_claims(scores: Scores, times: dict[tuple[str, int], float]) -> list[Claim]:
    spent = {method: sum(scores[method, order]["seconds"] for order in ORDERS) for method in PRINTED}
    fastest = min(spent, key=lambda method: spent[method])
    slower = [spent["pmop-fd"] < spent[method] for method in PRINTED if method != "pmop-fd"]
    powers = {method: _power(times, method) for method in PRINTED}
    growth = {kind: [f"{method} N^{powers[method]:.2f}" for method in kind] for kind in (("listmle", *PMOP), PAIRWISE)}
    linear, pairwise = (", ".join(words) for words in growth.values())
    return [
        Claim.from_checks(
            "PMOP-FD is the fastest to train.",
            slower,
            f"Faster than {sum(slower)} of {len(slower)}: {spent['pmop-fd']:.2f} s of CPU time with both kinds "
            f"of features; the fastest is {fastest}, {spent[fastest]:.2f} s, and the best of the pairwise "
            f"{min(spent[method] for method in PAIRWISE):.2f} s.",
        ),
        Claim.from_checks(
            f"The time of PMOP and ListMLE is linear in the length of a list (here: at most N^{LINEAR:g}).",
            [powers[method] <= LINEAR for method in ("listmle", *PMOP)],
            f"{linear}.",
        ),
        Claim.from_checks(
            f"The time of the pairwise methods is quadratic (here: at least N^{QUADRATIC:g}).",
            [powers[method] >= QUADRATIC for method in PAIRWISE],
            f"{pairwise}.",
        ),
    ]


def _pictures(times: dict[tuple[str, int], float]) -> list[Picture]:
    shown = ("pmop-fd", "listmle", "ranknet", "pairties-davidson", "pmop-gibbs", "ranksvm")
    lines = {method: Line(LENGTHS, [times[method, n] for n in LENGTHS]) for method in shown}
    return [log_lines("time", "Microseconds per list", "documents in the list", lines)]
