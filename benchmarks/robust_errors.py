"""Are standard errors right where rankers make several rankings? Against the spread of the estimates over samples.

python benchmarks/robust_errors.py [--data FOLDER]

Rankers have tastes of their own: log worths plus N(0, taste²). What a fit then estimates is not these log worths but
the worths that fit all rankers together best; they are taken from a fit to 20,000 rankers. Errors are shown relative to
the spread of all differences between two items over the samples, and how many 95 % intervals of these differences hold
the truth. FOLDER holds llmfao.csv, battles of language models with the worker who judged each.
"""

import argparse
import csv
import sys
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from luce.aggregation import PlackettLuce, Rankings
from luce.errors import LuceWarning
from measuring import show_machine, verdict

ITEMS = 8
WORTHS = np.linspace(-1, 1, ITEMS)
FIRST, SECOND = np.triu_indices(ITEMS, 1)
MANY = 20_000
"""Rankers of the fit whose worths are the truth."""

BOOTSTRAPPED = 12
"""Samples with a bootstrap of 60 refits each."""


class Case(NamedTuple):
    """rankers × each rankings; taste: their spread; uneven: numbers of rankings differ; rare: rankers of the last item.

    form: "orders" of four items, "pairs" with ties, or "ballots" with the best three of all.
    """

    name: str
    rankers: int
    each: int
    taste: float = 0.0
    form: str = "orders"
    copies: int = 1
    uneven: bool = False
    rare: int | None = None
    named: bool = True
    kind: str = "sandwich"
    required: bool = True


CASES = [
    Case("independent, no rankers", 150, 1, named=False, kind="observed"),
    Case("one ranking each", 150, 1, kind="observed"),
    Case("repeated, same taste", 60, 5),
    Case("repeated, own tastes", 60, 5, taste=1.0),
    Case("own tastes, uneven numbers", 100, 5, taste=1.0, uneven=True),
    Case("exact copies", 60, 1, copies=5),
    Case("pairs with ties", 80, 8, taste=0.7, form="pairs"),
    Case("ballots: three of eight", 60, 3, taste=1.0, form="ballots"),
    Case("20 rankers", 20, 8, taste=1.0, required=False),
    Case("10 rankers", 10, 10, taste=1.0, required=False),
    Case("10 rankers, uneven numbers", 10, 10, taste=1.0, uneven=True, required=False),
    Case("4 rankers", 4, 20, taste=1.0, required=False),
    Case("2 rankers: too few", 2, 40, taste=1.0, required=False),
    Case("one item by 4 of 60 rankers", 60, 5, taste=1.0, rare=4, required=False),
    Case("one item by 1 of 60 rankers", 60, 5, taste=1.0, rare=1, required=False),
]


def draw(case: Case, rng: np.random.Generator, rankers: int) -> Rankings:
    """A sample."""
    numbers = np.full(rankers, case.each)
    if case.uneven:
        numbers = rng.geometric(1 / case.each, rankers)
    ranker = np.repeat(np.arange(rankers), numbers)
    own = (WORTHS + case.taste * rng.normal(size=(rankers, ITEMS)))[ranker]
    size = {"orders": 4, "pairs": 2, "ballots": ITEMS}[case.form]
    if case.rare is None:
        sets = np.argsort(rng.random(own.shape), axis=1)[:, :size]
    else:  # the last item is in all rankings of some rankers, and in no other
        sets = np.argsort(rng.random((len(own), ITEMS - 1)), axis=1)[:, :size]
        sets[ranker < case.rare, 0] = ITEMS - 1
    utility = np.take_along_axis(own, sets, axis=1)
    order = np.argsort(-(utility + rng.gumbel(size=sets.shape)), axis=1)
    items = np.take_along_axis(sets, order, axis=1)[:, : 3 if case.form == "ballots" else size]
    places = np.tile(np.arange(items.shape[1]), (len(items), 1))
    if case.form == "pairs":  # Davidson's ties with δ = 1: √(ab) / (a + b + √(ab))
        share = 1 / (1 + 2 * np.cosh((utility[:, 0] - utility[:, 1]) / 2))
        places[rng.random(len(items)) < share] = 0
    items, places, ranker = (np.repeat(array, case.copies, axis=0) for array in (items, places, ranker))
    pools: dict[str, Any] = {}
    if case.form == "ballots":
        pools = {"pool": np.zeros(len(items), np.int64), "pools": [np.arange(ITEMS)]}
    return Rankings(
        items=items.ravel(),
        places=places.ravel(),
        offsets=np.arange(len(items) + 1) * items.shape[1],
        rankers=ranker if case.named else None,
        names=list(range(ITEMS)),
        **pools,
    )


def fitted(case: Case, rankings: Rankings) -> PlackettLuce:
    return PlackettLuce("davidson" if case.form == "pairs" else None, n_jobs=1).fit(rankings)


def differences(covariance: np.ndarray) -> np.ndarray:
    """Variances of the differences of all pairs of items."""
    own = np.diagonal(covariance)
    return own[FIRST] + own[SECOND] - 2 * covariance[FIRST, SECOND]


def critical(model: PlackettLuce, kind: str | None) -> float:
    """Standard errors that a 95 % interval reaches."""
    return float((model.intervals(0.95, kind)[0, 1] - model.log_worths_[0]) / model.standard_errors(kind)[0])


def look(case: Case, samples: int) -> tuple[str, bool]:
    """A line, and whether the default covers as required."""
    warnings.simplefilter("ignore", LuceWarning)
    everywhere = case._replace(rare=None if case.rare is None else MANY, copies=1)
    truth = fitted(case, draw(everywhere, np.random.default_rng(1), MANY)).log_worths_
    rng = np.random.default_rng(2)
    kinds: tuple[str | None, ...] = ("observed", "sandwich", None)
    errors, variances, reach, boot, found = [], [], [], [], set()
    compared = slice(None) if case.rare is None else SECOND == ITEMS - 1
    while len(errors) < samples:
        model = fitted(case, draw(case, rng, case.rankers))
        if not model.estimable_.all():
            continue
        off = (model.log_worths_ - truth)[:ITEMS]
        errors.append((off[FIRST] - off[SECOND])[compared])
        of_kinds = [differences(model.covariance(kind))[compared] for kind in kinds]
        variances.append(of_kinds)
        reach.append([critical(model, kind) for kind in kinds])
        found.add(model.error_kind_)
        if len(errors) <= BOOTSTRAPPED:
            boot.append(differences(np.cov(model.bootstrap(60, random_state=len(errors)).T))[compared])
    spread = np.std(errors, axis=0)
    relative = [float(np.mean(np.sqrt(np.mean(each, axis=0)) / spread)) for each in np.swapaxes(variances, 0, 1)[:2]]
    relative.append(float(np.mean(np.sqrt(np.mean(boot, axis=0)) / spread)))
    held = np.abs(errors)[:, None] < np.array(reach)[:, :, None] * np.sqrt(variances)
    covered = held.mean(axis=(0, 2))
    good = not case.required or (0.93 <= covered[2] <= 0.97 and found == {case.kind})
    ratios = "".join(f"{value:10.2f}" for value in relative)
    chosen = " or ".join(sorted(found))
    status = verdict(good) if case.required else "shown"
    return f"{case.name:30}{ratios}   {''.join(f'{share:10.1%}' for share in covered)}  {chosen:22}{status}", good


def llmfao(folder: Path) -> None:
    with open(folder / "llmfao.csv", newline="") as file:
        rows = list(csv.reader(file))[1:]
    left, right, said, worker = ([row[column] for row in rows] for column in (6, 7, 5, 4))
    rankings = Rankings.from_pairs(left, right, said, results=("left", "tie", "right"), rankers=worker)
    model = PlackettLuce("davidson", n_jobs=1).fit(rankings)
    print(f"\nllmfao: {rankings!r}; default errors: {model.error_kind_}, ratio {model.error_ratio_:.2f}")
    boot = model.bootstrap(100).std(axis=0)
    for kind in ("observed", "sandwich"):
        ratio = model.standard_errors(kind) / boot
        print(f"  {kind:9} errors are {ratio.min():.2f} to {ratio.max():.2f} times those of the bootstrap by worker")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="the folder of llmfao.csv")
    parser.add_argument("--samples", type=int, default=200, help="samples of each case (default 200)")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes (default 1)")
    options = parser.parse_args()
    show_machine("luce", "numpy", "scipy")
    begin = time.perf_counter()
    print(f"\n{'':30}errors relative to the spread      95 % intervals that hold the truth")
    columns = "".join(f"{name:>10}" for name in ("observed", "sandwich", "bootstrap"))
    print(f"{'':30}{columns}   {''.join(f'{name:>10}' for name in ('observed', 'sandwich', 'default'))}  default is")
    good = []
    calls = (delayed(look)(case, options.samples) for case in CASES)
    for line, covers in Parallel(n_jobs=options.jobs, return_as="generator")(calls):
        print(line, flush=True)
        good.append(covers)
    if options.data:
        llmfao(options.data)
    print(f"\n{sum(good)} of {len(good)} as required (93 to 97 % by the default); {time.perf_counter() - begin:.0f} s")
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
