"""Does PlackettLuce.goodness_of_fit raise false alarms at its level, what does it detect, and what does it cost?

python benchmarks/goodness_of_fit.py [--replications 100] [--jobs 2]

Rankings are drawn from the model, in the shapes that rankings come in, and then from what the model is not: mixtures of
two groups of rankers, cycles of pairs, lower places chosen with other worths.
"""

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
from joblib import Parallel, delayed

from luce.aggregation import NormalPrior, PlackettLuce, Rankings
from luce.errors import LuceWarning
from measuring import show_machine

SAMPLES = 59
Maker = Callable[[np.random.Generator], tuple[PlackettLuce, Rankings]]


def orders(worths: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    return np.argsort(-(worths + rng.gumbel(size=(count, len(worths)))), axis=1)


def of_orders(ranked: np.ndarray, **settings: object) -> Rankings:
    return Rankings.from_orderings(ranked.tolist(), **settings)


def full(rng: np.random.Generator) -> tuple[PlackettLuce, Rankings]:
    return PlackettLuce(), of_orders(orders(rng.normal(0, 1, 12), 100, rng))


def few(rng: np.random.Generator) -> tuple[PlackettLuce, Rankings]:
    return PlackettLuce(prior=NormalPrior(0, 1)), of_orders(orders(rng.normal(0, 1, 10), 20, rng))


def pairs_of(n_items: int, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    first = rng.integers(0, n_items, count)
    return first, (first + rng.integers(1, n_items, count)) % n_items


def pairs(rng: np.random.Generator) -> tuple[PlackettLuce, Rankings]:
    worths = rng.normal(0, 1, 30)
    a, b = pairs_of(30, 2_000, rng)
    won = worths[a] - worths[b] + rng.logistic(size=len(a)) > 0
    return PlackettLuce(), Rankings.from_pairs(a, b, won.astype(float))


def davidson(rng: np.random.Generator, ties: str = "davidson") -> tuple[PlackettLuce, Rankings]:
    worths = rng.normal(0, 1, 20)
    a, b = pairs_of(20, 2_000, rng)
    odds = np.exp(np.stack([worths[a], worths[b], (worths[a] + worths[b]) / 2]))
    drawn = (odds.cumsum(axis=0) / odds.sum(axis=0) < rng.random(len(a))).sum(axis=0)
    return PlackettLuce(ties), Rankings.from_pairs(a, b, np.array([1, 0, 0.5])[drawn])


def rao_kupper(rng: np.random.Generator) -> tuple[PlackettLuce, Rankings]:
    worths = rng.normal(0, 1, 20)
    a, b = pairs_of(20, 2_000, rng)
    gap = worths[a] - worths[b] + rng.logistic(size=len(a))
    return PlackettLuce("rao-kupper"), Rankings.from_pairs(a, b, np.where(gap > 0.5, 1, np.where(gap < -0.5, 0, 0.5)))


def top(rng: np.random.Generator) -> tuple[PlackettLuce, Rankings]:
    return PlackettLuce(), Rankings.from_top(orders(rng.normal(0, 1, 10), 1_000, rng)[:, :3].tolist(), among=range(10))


def partial(rng: np.random.Generator) -> tuple[PlackettLuce, Rankings]:
    worths = rng.normal(0, 1, 40)
    sets = np.argsort(rng.random((1_000, 40)), axis=1)[:, :5]
    order = np.argsort(-(worths[sets] + rng.gumbel(size=sets.shape)), axis=1)
    return PlackettLuce(), of_orders(np.take_along_axis(sets, order, axis=1))


def tied(rng: np.random.Generator) -> tuple[PlackettLuce, Rankings]:
    ranked = orders(rng.normal(0, 1, 8), 300, rng).tolist()
    return PlackettLuce("exact"), Rankings.from_orderings([[row[:2], row[2], row[3:6], *row[6:]] for row in ranked])


def counted(rng: np.random.Generator) -> tuple[PlackettLuce, Rankings]:
    return PlackettLuce(), of_orders(orders(rng.normal(0, 1, 4), 500, rng)).aggregate()


FROM_THE_MODEL: dict[str, Maker] = {
    "100 full rankings of 12": full,
    "20 full rankings of 10, NormalPrior(0, 1)": few,
    "2,000 pairs of 30": pairs,
    "2,000 pairs of 20, Davidson ties": davidson,
    "the same ties as half wins": lambda rng: davidson(rng, "half-wins"),
    "2,000 pairs of 20, Rao-Kupper ties": rao_kupper,
    "1,000 top-3 ballots of 10": top,
    "1,000 partial rankings, 5 of 40": partial,
    "300 rankings of 8, exact ties of 2 and 3": tied,
    "500 rankings of 4 as weights": counted,
}


def mixture(other: str, share: float, count: int) -> Maker:
    """Full rankings of 10 by two groups, the second with opposed or rotated worths."""

    def make(rng: np.random.Generator) -> tuple[PlackettLuce, Rankings]:
        worths = rng.normal(0, 1, 10)
        second = -worths if other == "opposed" else np.roll(worths, 5)
        n_second = round(share * count)
        groups = [orders(worths, count - n_second, rng), orders(second, n_second, rng)]
        return PlackettLuce(), of_orders(np.concatenate(groups))

    return make


def cycle(strength: float, count: int) -> Maker:
    """Pairs of 9 items of equal worth; each beats the next four in a circle with odds of e^strength."""

    def make(rng: np.random.Generator) -> tuple[PlackettLuce, Rankings]:
        a, b = pairs_of(9, count, rng)
        ahead = np.where((b - a) % 9 <= 4, strength, -strength)
        return PlackettLuce(), Rankings.from_pairs(a, b, (ahead + rng.logistic(size=count) > 0).astype(float))

    return make


def careless(factor: float, count: int) -> Maker:
    """Rankings of 10 whose first three places follow the worths, the others the worths times a factor."""

    def make(rng: np.random.Generator) -> tuple[PlackettLuce, Rankings]:
        worths = rng.normal(0, 1, 10)
        head = orders(worths, count, rng)
        rest = head[:, 3:]
        tail = np.argsort(-(factor * worths[rest] + rng.gumbel(size=rest.shape)), axis=1)
        return PlackettLuce(), of_orders(np.concatenate([head[:, :3], np.take_along_axis(rest, tail, axis=1)], axis=1))

    return make


NOT_FROM_THE_MODEL: dict[str, Callable[[int], Maker]] = {
    "two groups, opposed, 50/50": lambda n: mixture("opposed", 0.5, n),
    "two groups, opposed, 70/30": lambda n: mixture("opposed", 0.3, n),
    "two groups, opposed, 90/10": lambda n: mixture("opposed", 0.1, n),
    "two groups, rotated, 50/50": lambda n: mixture("rotated", 0.5, n),
    "two groups, rotated, 70/30": lambda n: mixture("rotated", 0.3, n),
    "two groups, rotated, 90/10": lambda n: mixture("rotated", 0.1, n),
    "pairs in cycles, odds 1.5": lambda n: cycle(np.log(1.5), n),
    "pairs in cycles, odds 3": lambda n: cycle(np.log(3), n),
    "places 4 to 10 at random": lambda n: careless(0.0, n),
    "places 4 to 10 half as sharp": lambda n: careless(0.5, n),
}


def rejected(what: str, make: Maker, replications: int) -> tuple[np.ndarray, float]:
    """The share of replications with p ≤ 0.05, of both checks together and of each, and the CPU seconds of one."""
    found, cpu = [], 0.0
    warnings.simplefilter("ignore", LuceWarning)
    for seed in range(replications):
        model, rankings = make(np.random.default_rng([seed, *what.encode()]))
        model.fit(rankings)
        start = time.process_time()
        fit = model.goodness_of_fit(n_samples=SAMPLES, random_state=seed)
        cpu += time.process_time() - start
        found.append([fit.p_value, fit.first_choices_p_value, fit.pairs_p_value])
    p_values = np.array(found)
    shares = np.where(np.isnan(p_values).all(axis=0), np.nan, (p_values <= 0.05).mean(axis=0))
    return shares, cpu / replications


def show(makers: dict[str, Maker], replications: int, jobs: int) -> list[float]:
    """Print a line for each; the shares rejected by both checks together."""
    found = Parallel(n_jobs=jobs)(delayed(rejected)(what, make, replications) for what, make in makers.items())
    for what, (shares, cpu) in zip(makers, found, strict=True):
        written = "".join("       –" if np.isnan(share) else f"{100 * share:7.1f}%" for share in shares)
        print(f"  {what:44}{written}{cpu:9.2f} s", flush=True)
    return [float(shares[0]) for shares, _ in found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=100, help="of the model; a fifth of it of what is not")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    options = parser.parse_args()
    show_machine("luce", "numpy", "scipy")
    print(f"\nRejected at 5 %, n_samples={SAMPLES}: both together, first places, pairs; CPU time of a check")
    print(f"\nDrawn from the model, {options.replications} replications")
    shares = show(FROM_THE_MODEL, options.replications, options.jobs)
    print(f"  {'mean':44}{100 * np.mean(shares):7.1f}%")
    fewer = max(1, options.replications // 5)
    for count in (100, 500, 2_000):
        print(f"\nNot from the model, {count:,} rankings, {fewer} replications")
        show({what: of_size(count) for what, of_size in NOT_FROM_THE_MODEL.items()}, fewer, options.jobs)


if __name__ == "__main__":
    main()
