"""What a tree costs beside LightGBM's own objectives, grown by the same LightGBM in the same run.

600,000 rows × 136 features in 5,000 lists, 31 and 255 leaves, one thread and all. Ours is listmle of the top ten with
exact leaves, one and three permutations of equal labels. Each system grows a tree in turn; the figures are medians, in
seconds of processor time for one thread and of the clock for several. Beside LightGBM's tree, ours spends its time on
the gradient, the leaf of each row, the leaf sums and the scores; their share is what is not spent inside LightGBM.
Peak memory is that of a process of its own.

    python benchmarks/trees.py            # all of it, about fifteen minutes on two cores
    python benchmarks/trees.py --quick    # a tenth of the data
"""

import argparse
import json
import os
import subprocess
import sys
import time
from statistics import median

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that wait let others work

import lightgbm
import numpy as np

import luce
from luce.data.synthetic import web_search
from luce.rankers import TreeRanker
from luce.threads import thread_count
from measuring import show_machine, verdict

TREES, WARM = 12, 2
BOUNDS = {31: 0.8, 255: 0.85}
"""Of the time of lambdarank, by leaves."""


class Ours:
    """Our trees, timed inside and outside LightGBM."""

    def __init__(self, data: luce.Dataset, leaves: int, threads: int, permutations: int):
        objective = luce.objective("listmle", depth=10, permutations=permutations)
        ranker = TreeRanker(objective, num_leaves=leaves, n_jobs=threads)
        training = ranker.prepare_training_data(data, None, None, None, None)
        self.learner = ranker._learner(training, None)
        self.round, self.inside, self.clock = 0, 0.0, clock_of(threads)
        update = self.learner.grower._update

        def timed(*arguments):
            start = self.clock()
            finished = update(*arguments)
            self.inside = self.clock() - start
            return finished

        self.learner.grower._update = timed

    def grow(self) -> float:
        start = self.clock()
        self.learner.grow(self.round)
        self.round += 1
        return self.clock() - start


class Theirs:
    """LightGBM with an objective of its own and its defaults."""

    def __init__(self, data: luce.Dataset, leaves: int, threads: int, objective: str):
        parameters = {"objective": objective, "num_leaves": leaves, "num_threads": threads, "verbosity": -1}
        rows = lightgbm.Dataset(data.features, data.labels, group=data.sizes, params={**parameters, "metric": "None"})
        self.booster, self.clock = lightgbm.Booster({**parameters, "metric": "None"}, rows), clock_of(threads)

    def grow(self) -> float:
        start = self.clock()
        self.booster.update()
        return self.clock() - start


SYSTEMS = {
    "regression": lambda *given: Theirs(*given, "regression"),
    "lambdarank": lambda *given: Theirs(*given, "lambdarank"),
    "rank_xendcg": lambda *given: Theirs(*given, "rank_xendcg"),
    "ours, 1 permutation": lambda *given: Ours(*given, 1),
    "ours, 3 permutations": lambda *given: Ours(*given, 3),
}


def clock_of(threads):
    return time.process_time if threads == 1 else time.perf_counter


def made(n_lists: int) -> luce.Dataset:
    data = web_search(n_lists, n_features=136, mean_length=120, seed=0).dataset
    return data.with_features(np.nan_to_num(data.features))


def compare(data: luce.Dataset, leaves: int, threads: int, trees: int) -> None:
    systems = {name: make(data, leaves, threads) for name, make in SYSTEMS.items()}
    times: dict[str, list[float]] = {name: [] for name in systems}
    shares: dict[str, list[float]] = {name: [] for name in systems if name.startswith("ours")}
    for tree in range(trees + WARM):
        for name, system in systems.items():
            taken = system.grow()
            if tree >= WARM:
                times[name].append(taken)
                if name in shares:
                    shares[name].append(1 - system.inside / taken)
    middle = {name: median(values) for name, values in times.items()}
    kind = "processor" if threads == 1 else "clock"
    print(f"\n{leaves} leaves, {threads} thread{'s' * (threads > 1)}: seconds a tree ({kind})")
    print(f"  {'':22}{'':8}  lambdarank, regression in the same run = 1")
    for name, value in middle.items():
        ratios = value / middle["lambdarank"], value / middle["regression"]
        line = f"  {name:22}{value:8.3f}   ×{ratios[0]:5.2f}  ×{ratios[1]:5.2f}"
        if name in shares:
            share, most = median(shares[name]), 0.13 if name.startswith("ours, 3") else 0.1
            line += f"   gradient and leaves {share:6.1%} ({verdict(share <= most)})"
            line += f", ≤ {BOUNDS[leaves]} lambdarank {verdict(ratios[0] <= BOUNDS[leaves])}"
            line += f", ≤ 1.15 regression {verdict(ratios[1] <= 1.15)}"
        print(line, flush=True)


def peak(name: str, n_lists: int, threads: int) -> None:
    """In a process of its own: the memory that data and training took at most, in MB, beyond the data itself."""
    data = made(n_lists)
    status = "/proc/self/status"
    with open("/proc/self/clear_refs", "w") as forget:
        forget.write("5")
    system = SYSTEMS[name](data, 31, threads)
    for _ in range(5):
        system.grow()
    with open(status) as lines:
        print(json.dumps(int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1e3))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the data")
    parser.add_argument("--trees", type=int, default=TREES)
    parser.add_argument("--peak", help=argparse.SUPPRESS)
    given = parser.parse_args()
    n_lists = 500 if given.quick else 5_000
    if given.peak:
        peak(given.peak, n_lists, 1)
        return
    show_machine("luce", "lightgbm", "numpy", "numba")
    data = made(n_lists)
    print(data)
    for threads in sorted({1, thread_count()}):
        for leaves in (31, 255):
            compare(data, leaves, threads, given.trees)
    del data
    memory = {}
    for name in ("lambdarank", "ours, 1 permutation"):
        words = [sys.executable, __file__, "--peak", name, *["--quick"] * given.quick]
        memory[name] = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
    ratio = memory["ours, 1 permutation"] / memory["lambdarank"]
    print("\nPeak memory, MB: " + ", ".join(f"{name} {value:,.0f}" for name, value in memory.items()), end="")
    print(f", ×{ratio:.2f} ({verdict(ratio <= 1.2)})")


if __name__ == "__main__":
    main()
