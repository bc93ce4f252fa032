"""How fast are Plackett-Luce worths found, and in how much memory, beside choix and evalica on the same rankings?

pip install choix evalica
python benchmarks/aggregation.py

Log worths are normal, sets of items random, orders drawn from the model. g is the largest difference of observed and
expected wins at what was returned, by plain NumPy. Seconds are of the CPU, all threads together, so that other work on
the machine changes little; conversions to what each package takes are not counted, but for the last line of pairs.
choix makes a Python loop over rankings; of its two quickest ways, I-LSR and MM, the one that is quicker counts. On the
third shape one iteration of each is measured and multiplied by the number that the second shape took; --full runs it.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from luce.aggregation import PlackettLuce, Rankings
from measuring import show_machine, verdict

SHAPES = ((100, 10_000, 10), (1_000, 100_000, 10), (10_000, 200_000, 20))
PAIRS = (1_000, 1_000_000, 2)
LARGE = {"ten million pairs": (10_000, 10_000_000, 2), "one million rankings of 20": (10_000, 1_000_000, 20)}
TIMES_FASTER = 50
MOST_MEMORY = 4e9
BLOCK = 20_000


class Run(NamedTuple):
    """CPU seconds, the largest gradient, and a note."""

    seconds: float
    gradient: float
    note: str = ""


def made(n_items: int, n_rankings: int, size: int, seed: int = 0) -> np.ndarray:
    """Orders (rankings, size), the best item first."""
    rng = np.random.default_rng(seed)
    worths, orders = rng.normal(size=n_items), np.empty((n_rankings, size), np.int64)
    for begin in range(0, n_rankings, BLOCK):
        end = min(begin + BLOCK, n_rankings)
        items = rng.integers(0, n_items, (end - begin, size))
        while (twice := np.flatnonzero((np.diff(np.sort(items, axis=1), axis=1) == 0).any(axis=1))).size:
            items[twice] = rng.integers(0, n_items, (len(twice), size))
        place = np.argsort(-(worths[items] + rng.gumbel(size=items.shape)), axis=1)
        orders[begin:end] = np.take_along_axis(items, place, axis=1)
    return orders


def largest_gradient(log_worths: np.ndarray, orders: np.ndarray) -> float:
    """The largest difference of observed and expected wins."""
    n, count = len(log_worths), len(orders)
    expected = np.zeros(n)
    for begin in range(0, count, BLOCK):
        block = orders[begin : begin + BLOCK]
        worths = np.exp(log_worths[block] - log_worths.max())
        left = np.cumsum(worths[:, ::-1], axis=1)[:, ::-1][:, :-1]
        pushes = np.cumsum(1 / left, axis=1)
        pushes = np.concatenate([pushes, pushes[:, -1:]], axis=1)
        expected += np.bincount(block.ravel(), (worths * pushes).ravel(), minlength=n)
    wins = np.bincount(orders[:, :-1].ravel(), minlength=n)
    return float(np.abs(wins - expected).max())


def cpu_seconds(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """The least CPU seconds of several runs, and the last result."""
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        result = work()
        times.append(time.process_time() - begin)
    return min(times), result


def luce_run(orders: np.ndarray, n_items: int, repeats: int) -> Run:
    rankings = Rankings.from_orderings(orders, n_items=n_items)
    PlackettLuce(None).fit(rankings.take(np.arange(min(len(rankings), 20_000))))  # compiles
    seconds, model = cpu_seconds(lambda: PlackettLuce(None).fit(rankings), repeats)
    note = f"{model.convergence_.iterations} iterations, {model.convergence_.products} products"
    return Run(seconds, largest_gradient(model.log_worths_, orders), note)


def choix_runs(orders: np.ndarray, n_items: int) -> dict[str, Run]:
    """I-LSR and MM to their own default tolerance."""
    import choix

    data = [tuple(order) for order in orders.tolist()]
    runs = {}
    for name, fit in (("I-LSR", choix.ilsr_rankings), ("MM", choix.mm_rankings)):
        seconds, found = cpu_seconds(lambda fit=fit: fit(n_items, data), 1)
        runs[name] = Run(seconds, largest_gradient(found, orders))
    return runs


def choix_estimates(orders: np.ndarray, n_items: int, iterations: dict[str, int]) -> dict[str, Run]:
    """One iteration of each, times the iterations of another shape."""
    import choix

    data = [tuple(order) for order in orders.tolist()]
    runs = {}
    for name, fit in (("I-LSR", choix.ilsr_rankings), ("MM", choix.mm_rankings)):

        def once(fit: Any = fit) -> None:
            try:
                fit(n_items, data, max_iter=1)
            except RuntimeError:  # not converged, of course
                return

        seconds, _ = cpu_seconds(once, 1)
        runs[name] = Run(seconds * iterations[name], np.nan, f"{iterations[name]} × {seconds:.1f} s, estimated")
    return runs


def choix_iterations(orders: np.ndarray, n_items: int) -> dict[str, int]:
    """How many iterations each takes: the least number with which it does not give up."""
    import choix

    data = [tuple(order) for order in orders.tolist()]
    found = {}
    for name, fit, low, high in (("I-LSR", choix.ilsr_rankings, 1, 30), ("MM", choix.mm_rankings, 1, 200)):
        while low < high:
            middle = (low + high) // 2
            try:
                fit(n_items, data, max_iter=middle)
                high = middle
            except RuntimeError:
                low = middle + 1
        found[name] = low
    return found


def show(title: str, run: Run) -> None:
    gradient = "–" if np.isnan(run.gradient) else f"{run.gradient:.1e}"
    print(f"  {title:28}{run.seconds:12.4f} s   g {gradient:>8}   {run.note}", flush=True)


def compare_rankings(shape: tuple[int, int, int], repeats: int, full: bool) -> bool:
    n_items, n_rankings, size = shape
    print(f"\n{n_items:,} items, {n_rankings:,} rankings of {size}")
    orders = made(*shape)
    ours = luce_run(orders, n_items, repeats)
    show("Luce", ours)
    if shape == SHAPES[2] and not full:
        # As many iterations as a tenth of the second shape takes: the number hardly depends on the size.
        smaller = made(SHAPES[1][0], SHAPES[1][1] // 10, SHAPES[1][2])
        theirs = choix_estimates(orders, n_items, choix_iterations(smaller, SHAPES[1][0]))
    else:
        theirs = choix_runs(orders, n_items)
    for name, run in theirs.items():
        show(f"choix {name}", run)
    quickest = min(theirs.values(), key=lambda run: run.seconds)
    ratio = quickest.seconds / ours.seconds
    met = ratio >= TIMES_FASTER and not ours.gradient > quickest.gradient
    print(f"  {ratio:,.0f} times faster than choix's quickest: {verdict(met)} (at least {TIMES_FASTER}, g no larger)")
    return met


def compare_pairs(repeats: int) -> bool:
    import evalica

    n_items, count, _ = PAIRS
    print(f"\n{n_items:,} items, {count:,} pairs")
    orders = made(*PAIRS)
    ours = luce_run(orders, n_items, repeats)
    show("Luce", ours)
    xs, ys, winners = orders[:, 0].tolist(), orders[:, 1].tolist(), [evalica.Winner.X] * count
    for tol in (1e-6, 1e-8):
        seconds, found = cpu_seconds(lambda t=tol: evalica.bradley_terry(xs, ys, winners, tolerance=t), repeats)
        theirs = Run(seconds, largest_gradient(np.log(found.scores.sort_index().to_numpy()), orders))
        show(f"evalica, tolerance {tol:.0e}", theirs)
        if tol == 1e-6:
            quickest = theirs
    first, second = orders.T.copy()
    seconds, _ = cpu_seconds(
        lambda: PlackettLuce(None).fit(Rankings.from_pairs(first, second, n_items=n_items)), repeats
    )
    show("Luce, from two columns", Run(seconds, ours.gradient))
    met = seconds <= quickest.seconds and ours.gradient <= quickest.gradient
    ratios = (
        f"{quickest.seconds / ours.seconds:.1f} times as fast as evalica, {quickest.seconds / seconds:.1f} from columns"
    )
    print(f"  {ratios}: {verdict(met)} (at least 1)")
    return met


def show_growth(repeats: int) -> None:
    print("\n1,000 items, rankings of 10: CPU nanoseconds per row of a complete fit")
    for count in (25_000, 50_000, 100_000, 200_000, 400_000):
        run = luce_run(made(1_000, count, 10), 1_000, repeats)
        print(f"  {count:10,} rankings {run.seconds / count / 10 * 1e9:8.1f} ns   {run.note}", flush=True)


def show_memory() -> bool:
    print("\nHighest memory of a process that makes the data, the rankings and the fit")
    met = True
    for name, shape in LARGE.items():
        command = [sys.executable, __file__, "--measure-memory", json.dumps(shape)]
        found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
        within = found["highest"] < MOST_MEMORY
        met &= within
        figures = f"{found['highest'] / 1e9:6.2f} GB, fit {found['seconds']:.1f} CPU s, {found['end']}"
        print(f"  {name:28}{figures}: {verdict(within)} (less than {MOST_MEMORY / 1e9:.0f} GB)")
    return met


def measure_memory(shape: list[int]) -> dict[str, Any]:
    orders = made(*shape)
    rankings = Rankings.from_orderings(orders, n_items=shape[0])
    del orders
    seconds, model = cpu_seconds(lambda: PlackettLuce(None).fit(rankings), 1)
    highest = 1024 * int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
    return {"highest": highest, "seconds": seconds, "end": str(model.convergence_)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--full", action="store_true", help="let choix run to the end on the third shape: minutes, 3 GB"
    )
    parser.add_argument("--repeat", type=int, default=5, help="number of runs, of which the best counts (default 5)")
    parser.add_argument("--measure-memory", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure_memory:
        print(json.dumps(measure_memory(json.loads(options.measure_memory))))
        return
    show_machine("luce", "numpy", "numba", "choix", "evalica")
    met = [compare_rankings(shape, options.repeat, options.full) for shape in SHAPES]
    met.append(compare_pairs(options.repeat))
    show_growth(options.repeat)
    met.append(show_memory())
    sys.exit(0 if all(met) else 1)


if __name__ == "__main__":
    main()
