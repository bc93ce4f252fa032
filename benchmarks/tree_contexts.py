"""What several orders of tied labels cost in trees: the gradient and the leaf sums of 1, 3, 6, 15 and 21 orders.

Orders of equal labels share contexts, the sets of items that remain to be chosen: `distinct` is the share of different
ones (Table 3 of the 2019 paper). `cost` is the time of n orders over n times that of one: 1 if nothing is shared, and
below `distinct` if more is saved than shared contexts, such as the sorting of a list. Lists without ties, synthetic
web-search lists and, with --data, MQ2008 (its part S1.txt); the top ten places count, 31 leaves, one thread,
microseconds a list.
Memory is what 21 orders of one list of a million items add to the peak of the process.

    python benchmarks/tree_contexts.py --data DIR
    python benchmarks/tree_contexts.py --data DIR --base COMMIT    # beside the kernels of another commit, by turns
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import luce
from luce.data.synthetic import web_search
from luce.kernels.leaf_sums import ordered_leaf_sums
from luce.kernels.ordered_likelihood import Order, ordered_likelihood
from luce.lists import Lists
from measuring import added_memory, show_machine, without_ties
from papers.listmle_trees_2019.contexts import context_compression

ROOT = Path(__file__).parent.parent
ORDERS = 1, 3, 6, 15, 21
DEPTH, LEAVES, ROUNDS = 10, 31, 20
KINDS = "gradient", "leaf sums"


def datasets(folder: str | None) -> dict[str, luce.Dataset]:
    """The lists, by name."""
    long, short = (web_search(400, n_features=1, mean_length=size, seed=0).dataset for size in (120, 20))
    labels = without_ties(long.sizes)
    found = {
        "without ties, 120 items": luce.Dataset(long.features, labels, long.offsets),
        "synthetic web search, 120 items": long,
        "synthetic web search, 20 items": short,
    }
    return found | ({"MQ2008": luce.read(Path(folder) / "mq2008" / "S1.txt")} if folder else {})


def memory() -> list[float]:
    """Of the gradient and of the leaf sums, in MB."""
    rng = np.random.default_rng(0)
    n, order = 1_000_000, Order(depth=DEPTH, permutations=ORDERS[-1])
    lists = Lists(rng.normal(size=n), rng.integers(0, 100_000, n).astype(float), np.array([0, n]), n_jobs=1)
    leaves = rng.integers(0, LEAVES, n).astype(np.int32)
    return [
        added_memory(lambda: ordered_likelihood(lists, order)),
        added_memory(lambda: ordered_leaf_sums(lists, leaves, LEAVES, order=order)),
    ]


def times(folder: str | None) -> dict[str, list[list[float]]]:
    """For each of the lists the shortest time of the gradient and of the leaf sums, by number of orders."""
    rng, found = np.random.default_rng(0), {}
    for name, data in datasets(folder).items():
        scores = rng.normal(size=data.n_rows) + 0.3 * np.minimum(data.labels, 4)
        lists = Lists(scores, data.labels, data.offsets, n_jobs=1)
        leaves = rng.integers(0, LEAVES, data.n_rows).astype(np.int32)
        rows: list[list[float]] = [[], []]
        for permutations in ORDERS:
            order = Order(depth=DEPTH, permutations=permutations)
            works = (
                lambda lists=lists, order=order: ordered_likelihood(lists, order),
                lambda lists=lists, order=order, leaves=leaves: ordered_leaf_sums(lists, leaves, LEAVES, order=order),
            )
            for row, work in zip(rows, works, strict=True):
                row.append(1e6 * shortest(work) / data.n_lists)
        found[name] = rows
    return found


def shortest(work) -> float:
    work()
    taken = []
    for _ in range(10):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)


class Worker:
    """A process that times the kernels of one checkout whenever it is asked to."""

    def __init__(self, source: Path, cache: Path, data: str | None):
        words = [sys.executable, __file__, "--worker", *(["--data", data] if data else [])]
        path = os.pathsep.join(map(str, (source / "src", ROOT, ROOT / "benchmarks")))
        environment = os.environ | {"PYTHONPATH": path, "NUMBA_CACHE_DIR": str(cache)}
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        assert self.process.stdout
        self.memory: list[float] = json.loads(self.process.stdout.readline())
        self.best: dict[str, np.ndarray] = {}

    def measure(self) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write("again\n")
        self.process.stdin.flush()
        for name, rows in json.loads(self.process.stdout.readline()).items():
            self.best[name] = np.minimum(self.best.get(name, np.inf), rows)


def answer(folder: str | None) -> None:
    """Of a worker: a line of times for each line that it is sent."""
    print(json.dumps(memory()), flush=True)
    for _ in sys.stdin:
        print(json.dumps(times(folder)), flush=True)


def show(data: luce.Dataset, name: str, checkouts: dict[str, Worker]) -> None:
    print(f"\n{name}: {data}")
    print(f"  {'orders':26}" + "".join(f"{n:8}" for n in ORDERS))
    ratios = [context_compression(data, n, depth=DEPTH, n_jobs=1).ratio for n in ORDERS]
    print(f"  {'distinct':26}" + "".join(f"{ratio:8.3f}" for ratio in ratios))
    for k, kind in enumerate(KINDS):
        for version, worker in checkouts.items():
            row = worker.best[name][k]
            print(f"  {f'{kind} {version}, µs':26}" + "".join(f"{value:8.2f}" for value in row))
            cost = row / (row[0] * np.array(ORDERS))
            print(f"  {f'{kind} {version}, cost':26}" + "".join(f"{value:8.3f}" for value in cost))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder with mq2008/S1.txt")
    parser.add_argument("--base", help="a commit whose kernels are timed beside these")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        answer(given.data)
        return
    show_machine("luce", "numpy", "numba")
    with tempfile.TemporaryDirectory() as folder:
        checkouts = {"now": Worker(ROOT, Path(folder) / "cache", given.data)}
        if given.base:
            source = Path(folder) / "base"
            subprocess.run(["git", "worktree", "add", "--quiet", "--detach", source, given.base], check=True, cwd=ROOT)
            checkouts = {"before": Worker(source, Path(folder) / "cache of base", given.data)} | checkouts
        try:
            for _ in range(given.rounds):
                for worker in checkouts.values():
                    worker.measure()
            for name, data in datasets(given.data).items():
                show(data, name, checkouts)
            for version, worker in checkouts.items():
                used = ", ".join(f"{kind} {value:.0f} MB" for kind, value in zip(KINDS, worker.memory, strict=True))
                print(f"\nMemory of 21 orders of a list of a million items, {version}: {used}", end="")
            print()
        finally:
            for worker in checkouts.values():
                worker.process.communicate()
            if given.base:
                subprocess.run(["git", "worktree", "remove", "--force", source], check=True, cwd=ROOT)


if __name__ == "__main__":
    main()
