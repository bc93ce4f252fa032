"""Do fits of known data agree with what R's PlackettLuce prints, and do intervals cover?

python benchmarks/aggregation_checks.py --data FOLDER

FOLDER holds rankings/ (nascar, pudding, beans, salad, llmfao as CSV) and preflib/ (.soc .soi .toc .toi). Without --data
only what needs none is looked at: coverage in simulation, and ties of thirty among sixty items.
"""

import argparse
import csv
import sys
import time
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from luce.aggregation import PlackettLuce, PseudoRankings, Rankings
from luce.errors import LuceError
from measuring import show_machine, verdict

FAILED: list[str] = []


def check(what: str, ours: Any, theirs: Any, tol: float) -> None:
    """Print both and whether they agree."""
    a, b = np.ravel(ours).astype(float), np.ravel(theirs).astype(float)
    worst = float(np.abs(a - b).max())
    agree = worst <= tol
    if not agree:
        FAILED.append(what)
    shown = np.array2string(a[:6], precision=6, max_line_width=200) + (" …" if len(a) > 6 else "")
    print(f"  {what:52}{verdict(agree):8}off by {worst:.1e} (allowed {tol:.0e})   {shown}")


def rows_of(path: Path) -> list[list[str]]:
    with open(path, newline="") as file:
        return list(csv.reader(file))[1:]


def fitted(rankings: Rankings, *arguments: Any, **settings: Any) -> PlackettLuce:
    """A fit, its warnings printed."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = PlackettLuce(*arguments, **settings).fit(rankings)
    for warning in caught:
        print(f"    warned: {warning.message}")
    return model


def relative(model: PlackettLuce, first: Any, names: list[Any]) -> list[float]:
    """Log worths of some items less that of one."""
    worths = dict(zip(model.names_, model.log_worths_.tolist(), strict=True))
    return [worths[name] - worths[first] for name in names]


def nascar(folder: Path) -> None:
    print("\nnascar: 36 races of 43 of 87 drivers")
    drivers = [row[1] for row in rows_of(folder / "nascar_drivers.csv")]
    races = [[int(float(cell)) - 1 for cell in row[1:] if cell] for row in rows_of(folder / "nascar.csv")]
    rankings = Rankings.from_orderings(races, n_items=87, names=drivers)
    known = ["PJ Jones", "Scott Pruett", "Mark Martin", "Dave Marcis", "Dick Trickle", "Joe Varde"]
    model = fitted(rankings, None)
    check("without a prior: drivers fitted", int(model.estimable_.sum()), 83, 0)
    check(
        "log worths as in Hunter (2004)",
        relative(model, drivers[0], known),
        [4.15, 3.62, 2.08, 0.03, -0.31, -0.15],
        6e-3,
    )
    print(f"    log-likelihood {model.log_likelihood_:.6f}; {model.convergence_}")
    model = fitted(rankings, None, prior=PseudoRankings(0.5))
    check(
        "PseudoRankings(0.5): log worths",
        relative(model, drivers[0], known),
        [3.20, 2.77, 1.91, 0.02, -0.38, -0.12],
        6e-3,
    )
    last = [-2.170992, -1.744559, -1.590652, -1.768502]
    check(
        "PseudoRankings(0.5): drivers 84 to 87 (R's search: 2e-4)",
        relative(model, drivers[0], drivers[83:]),
        last,
        3e-4,
    )
    errors = model.standard_errors(reference=drivers[0])[83:]
    check("PseudoRankings(0.5): their standard errors", errors, [1.812948, 1.855245, 1.881637, 1.904798], 2e-4)
    low, high = model.quasi_standard_errors().worst
    print(f"    log-likelihood {model.log_likelihood_:.6f}; quasi standard errors are off by {low:.1%} to {high:+.1%}")


def pudding(folder: Path) -> None:
    print("\npudding: pairs with ties")
    i, j, _, won, lost, tied = np.array([row[1:] for row in rows_of(folder / "pudding.csv")], float).T
    outcome, weights = np.repeat([1, 0, 0.5], len(i)), np.concatenate([won, lost, tied])
    rankings = Rankings.from_pairs(np.tile(i, 3), np.tile(j, 3), outcome, weights=weights, names=[1, 2, 3, 4, 5, 6])
    model = fitted(rankings, "davidson")
    printed = [0.1388005, 0.1729985, 0.1617420, 0.1653930, 0.1586805, 0.2023855]
    check("worths (R after 7 iterations)", model.worths_, printed, 3e-5)
    check("tie parameter", model.tie_parameters_["tie2"], 0.7468147, 1e-5)
    check("deviance and AIC", [-2 * model.log_likelihood_, model.aic_], [1619.4, 1631.4], 0.05)
    printed = [0, 0.1872, 0.1935, 0.1882, 0.1927, 0.1924]
    check("standard errors, first brand as reference", model.standard_errors(reference=1), printed, 6e-5)
    printed = [0.121939, 0.121813, 0.126818, 0.121998, 0.127049, 0.126580]
    check("standard errors, mean as reference", model.standard_errors(), printed, 2e-5)
    printed = [0.1328834, 0.1327324, 0.1395693, 0.1330195, 0.1399200, 0.1391874]
    check("quasi standard errors", model.quasi_standard_errors().errors, printed, 3e-5)
    other = fitted(rankings, "rao-kupper")
    print(f"    AIC {model.aic_:.3f} by Davidson, {other.aic_:.3f} by Rao-Kupper ({other.tie_parameters_})")


def salad(folder: Path) -> None:
    print("\nsalad: four dressings, features")
    ranks = [[int(cell) for cell in row[1:]] for row in rows_of(folder / "salad.csv")]
    rankings = Rankings.from_ranks(ranks, names=list("ABCD"))
    model = fitted(rankings, None, features={"A": [0.5, 0], "B": [0.5, 10], "C": [1, 0], "D": [0, 10]})
    check("coefficients (R's ADMM ends at 1e-4)", list(model.coefficients_.values()), [3.2743081, 0.2739226], 5e-4)
    check("their standard errors", list(model.coefficient_standard_errors().values()), [0.57650, 0.04505], 1e-4)
    check("worths", model.worths_, [0.04060714, 0.62839568, 0.20874175, 0.12224363], 1e-4)
    check("deviance and AIC", [-2 * model.log_likelihood_, model.aic_], [152.9, 156.9], 0.05)


def beans(folder: Path) -> None:
    print("\nbeans: best and worst of three, and each against the local variety")
    orderings: list[list[str]] = []
    farmers: list[int] = []
    for number, row in enumerate(rows_of(folder / "beans.csv")):
        trial = dict(zip("ABC", row[1:4], strict=True))
        best, worst = row[4], row[5]
        middle = next(letter for letter in "ABC" if letter not in (best, worst))
        orderings.append([trial[best], trial[middle], trial[worst]])
        orderings += [
            [trial[letter], "Local"] if said == "Better" else ["Local", trial[letter]]
            for letter, said in zip("ABC", row[6:9], strict=True)
        ]
        farmers += [number] * 4
    rankings = Rankings.from_orderings(orderings, rankers=farmers)
    model = fitted(rankings, None, prior=PseudoRankings(0.5))
    gradient = np.abs(model._posterior.value_and_gradient(model._point)[1]).max()
    check("gradient at the optimum", gradient, 0, 1e-8)
    check("log worths against L-BFGS", model.log_worths_, by_lbfgs(model), 1e-8)
    ratio = model.standard_errors("sandwich") / model.standard_errors("observed")
    clustered = f"errors clustered by farmer are {ratio.min():.2f} to {ratio.max():.2f} times the others"
    print(f"    log-likelihood {model.log_likelihood_:.6f}; {clustered}")


def by_lbfgs(model: PlackettLuce) -> np.ndarray:
    """The log worths by SciPy's L-BFGS from zero, a few hundred steps of it."""
    from scipy.optimize import minimize

    function = model._posterior.value_and_gradient
    found = minimize(
        function, np.zeros(len(model._point)), jac=True, method="L-BFGS-B", options={"ftol": 0, "gtol": 1e-9}
    )
    own = model._posterior.parametrization.log_worths(found.x)
    return own - own.mean()


def llmfao(folder: Path) -> None:
    print("\nllmfao: battles of language models, with ties, by workers")
    rows = rows_of(folder / "llmfao.csv")
    left, right, said, worker = ([row[column] for row in rows] for column in (6, 7, 5, 4))
    rankings = Rankings.from_pairs(left, right, said, results=("left", "tie", "right"), rankers=worker)
    for ties in ("davidson", "rao-kupper"):
        begin = time.perf_counter()
        model = fitted(rankings, ties)
        seconds = time.perf_counter() - begin
        print(f"  {ties:12} AIC {model.aic_:.3f}, {model.tie_parameters_}, {model.convergence_}, {seconds:.3f} s")
        check(f"{ties}: log worths against BFGS", model.log_worths_, own_optimum(model), 1e-5)


def own_optimum(model: PlackettLuce) -> np.ndarray:
    """The same from the point of the fit, disturbed."""
    from scipy.optimize import minimize

    start = model._point + np.random.default_rng(0).normal(0, 0.1, len(model._point))
    found = minimize(
        model._posterior.value_and_gradient, start, jac=True, method="BFGS", options={"gtol": 1e-7, "maxiter": 5_000}
    )
    own = model._posterior.parametrization.log_worths(model._posterior.split(found.x)[0])
    return own - own.mean()


def preflib(folder: Path) -> None:
    print("\nPrefLib: every file fits, or says why not; with PseudoRankings(0.5) every one fits")
    for path in sorted(folder.glob("*.[st]o[ci]")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rankings = Rankings.read_preflib(path)
            for prior in (None, PseudoRankings(0.5)):
                try:
                    model = PlackettLuce(prior=prior).fit(rankings)
                    said = f"{int(model.estimable_.sum())} of {rankings.n_items} items, {model.convergence_}"
                    good = model.convergence_.converged
                except LuceError as error:
                    said, good = str(error)[:100] + "…", prior is None
                if not good:
                    FAILED.append(f"{path.name} {prior}")
                print(f"  {path.name:22}{prior!s:20}{said}")


def coverage(count: int) -> None:
    print(f"\nCoverage of 95 % intervals, {count:,} fits each")
    rng, truth = np.random.default_rng(0), np.linspace(-1, 1, 10)
    sets = [rng.choice(10, 4, replace=False) for _ in range(150)]
    kinds = ("observed", "sandwich")
    alone: dict[str, list[Any]] = {kind: [] for kind in kinds}
    repeated: dict[str, list[Any]] = {kind: [] for kind in kinds}
    for _ in range(count):
        drawn = [items[np.argsort(-(truth[items] + rng.gumbel(size=4)))].tolist() for items in sets]
        model = PlackettLuce(None).fit(Rankings.from_orderings(drawn, n_items=10))
        said = [np.argsort(-(truth[:6] + rng.gumbel(size=6))).tolist() for _ in range(60)]
        rankers = np.repeat(np.arange(60), 5)
        again = PlackettLuce(None).fit(Rankings.from_orderings([said[r] for r in rankers], n_items=6, rankers=rankers))
        for kind in kinds:
            alone[kind].append(held(model, truth, kind))
            repeated[kind].append(held(again, truth[:6] - truth[:6].mean(), kind))
    for kind in kinds:
        check(f"{kind}, independent rankings", np.mean(alone[kind]), 0.95, 0.02)
    check("sandwich, rankers who say everything five times", np.mean(repeated["sandwich"]), 0.95, 0.02)
    print(f"    observed errors there cover {np.mean(repeated['observed']):.1%}")


def held(model: PlackettLuce, truth: np.ndarray, kind: str) -> np.ndarray:
    bounds = model.intervals(0.95, kind)
    return (bounds[:, 0] < truth) & (truth < bounds[:, 1])


def large_ties() -> None:
    print("\n200 rankings of 60 items with ties of up to 30")
    rng = np.random.default_rng(0)
    truth, orderings = rng.normal(size=60), []
    for _ in range(200):
        order, cuts = np.argsort(-(truth + rng.gumbel(size=60))), [0]
        while cuts[-1] < 60:
            cuts.append(min(60, cuts[-1] + int(rng.integers(1, 31))))
        orderings.append([order[a:b].tolist() for a, b in pairwise(cuts)])
    rankings = Rankings.from_orderings(orderings, n_items=60)
    for ties in ("davidson", "exact"):
        PlackettLuce(ties, prior=PseudoRankings(0.5)).fit(rankings.take([0]))  # compiles
        begin, cpu = time.perf_counter(), time.process_time()
        model = PlackettLuce(ties).fit(rankings)
        wall, cpu = time.perf_counter() - begin, time.process_time() - cpu
        print(f"  {ties:10}{wall:7.2f} s ({cpu:.2f} CPU s), {model.convergence_}")
        if not model.convergence_.converged:
            FAILED.append(f"large ties {ties}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="the folder with rankings/ and preflib/")
    parser.add_argument("--fits", type=int, default=1_000, help="fits for the coverage (default 1,000)")
    options = parser.parse_args()
    show_machine("luce", "numpy", "scipy")
    if options.data:
        for look in (nascar, pudding, salad, beans, llmfao):
            look(options.data / "rankings")
        preflib(options.data / "preflib")
    large_ties()
    coverage(options.fits)
    print(f"\n{'all agree' if not FAILED else f'NOT: {FAILED}'}")
    sys.exit(1 if FAILED else 0)


if __name__ == "__main__":
    main()
