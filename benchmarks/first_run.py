"""What does the first run cost, when no kernel has been compiled, and what does a process pay to load a model?

python benchmarks/first_run.py

CPU seconds of each command, user and system together, in a process of its own: first with an empty numba cache of its
own, then with what the first run compiled. The peer is the import of scikit-learn's base classes and of numba, which
every model needs.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from measuring import show_machine

PEER = "import sklearn.base, numba"
FUNCTIONS = 5
"""The slowest functions to show."""

RUN = """
import atexit, json, sys, time
from numba.core import event

class Listener(event.Listener):
    def __init__(self):
        self.inner, self.compiled = [], []

    def on_start(self, event):
        self.inner.append([time.process_time(), 0.0])

    def on_end(self, event):
        start, nested = self.inner.pop()
        seconds = time.process_time() - start
        if self.inner:
            self.inner[-1][1] += seconds
        function = event.data["dispatcher"].py_func
        self.compiled.append((seconds - nested, f"{function.__module__}.{function.__qualname__}"))

listener = Listener()
event.register("numba:compile", listener)
report = sys.argv.pop(1)
atexit.register(lambda: open(report, "w").write(json.dumps(listener.compiled)))
from luce.cli import main
main()
"""


class Cost(NamedTuple):
    """CPU seconds of a process, and the seconds and the name of each function that it compiled."""

    seconds: float
    compiled: list[tuple[float, str]]


def run(words: Sequence[str], cache: Path) -> Cost:
    """What a command of Luce costs with this numba cache."""
    report = cache.parent / "compiled.json"
    if "-o" in words:
        Path(words[-1]).unlink(missing_ok=True)  # a model is not replaced unasked
    seconds = cpu_seconds(["-c", RUN, str(report), *words], cache)
    return Cost(seconds, [(own, name) for own, name in json.loads(report.read_text())])


def cpu_seconds(words: Sequence[str], cache: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def show_commands(folder: Path) -> None:
    """Each command with a cache of its own, which is empty at first."""
    data, votes = str(folder / "data.txt"), folder / "votes.csv"
    votes.write_text(
        "\n".join(
            [
                "model_a,model_b,winner",
                *["ant,bee,model_a", "bee,cat,tie", "cat,ant,model_b", "bee,ant,model_a"] * 8,
                "",
            ]
        )
    )
    commands = {
        "train linear": ["train", data, "--model", "linear", "-o", str(folder / "linear.luce")],
        "train trees": [
            "train",
            data,
            "--model",
            "trees",
            "--set",
            "n-estimators=10",
            "-o",
            str(folder / "trees.luce"),
        ],
        "evaluate": ["evaluate", str(folder / "linear.luce"), data],
        "rank": ["rank", str(folder / "linear.luce"), data, "-o", str(folder / "ranking.csv")],
        "aggregate": ["aggregate", str(votes)],
    }
    print(f"{'luce':24}{'nothing compiled':>18}{'compiled':>12}{'functions':>12}")
    slowest: list[tuple[float, str]] = []
    for number, (name, words) in enumerate(commands.items()):
        cache = folder / f"cache-{number}"
        first, warm = run(words, cache), run(words, cache)
        slowest += first.compiled
        print(f"{name:24}{first.seconds:16.1f} s{warm.seconds:10.1f} s{len(first.compiled):12}", flush=True)
    print("\nslowest to compile, without the functions they call")
    for own, name in sorted(set(slowest), reverse=True)[:FUNCTIONS]:
        print(f"{own:8.2f} s  {name}")


def show_fits(folder: Path) -> None:
    """The first fit of rankings without features, and its summary, less the import that they begin with."""
    begin = "import random; from luce.aggregation import PlackettLuce, Rankings; random.seed(0)"
    orders = "[random.sample(range(12), 12) for _ in range(200)]"
    tied = f"[[each[0], each[1:4], *each[4:]] for each in {orders}]"
    pairs = f"Rankings.from_pairs(*zip(*(each[:2] for each in {orders})), [0.5, 1, 0, 1] * 50)"
    given = {"rankings": orders, "rankings with ties": tied, "pairs with ties": pairs}
    print(f"\n{'first fit of 200':24}{'nothing compiled':>18}{'compiled':>12}")
    for number, (name, rankings) in enumerate(given.items()):
        cache = folder / f"cache-fit-{number}"
        code = f"{begin}; PlackettLuce().fit({rankings}).summary()"
        imports = min(cpu_seconds(["-c", begin], cache) for _ in range(3))
        first, warm = (cpu_seconds(["-c", code], cache) - imports for _ in range(2))
        print(f"{name:24}{first:16.1f} s{warm:10.1f} s", flush=True)


def show_loads(folder: Path, repeats: int) -> None:
    """Loading, and the first prediction after it, in fresh processes; the least of a few."""
    cache = folder / "cache-loads"
    data = str(folder / "data.txt")
    cpu_seconds(
        ["-m", "luce", "train", data, "--model", "neural", "--set", "epochs=2", "-o", str(folder / "neural.luce")],
        cache,
    )
    peer = min(cpu_seconds(["-c", PEER], cache) for _ in range(repeats))
    print(f"\n{PEER:40}{peer:8.2f} s")
    for kind in ("linear", "trees", "neural"):
        load = f"import luce; model = luce.load({str(folder / f'{kind}.luce')!r})"
        predict = f"{load}; import numpy; model.predict(numpy.zeros((3, model.n_features_in_)), qid=[1, 1, 1])"
        for what, code in (("luce.load", load), ("luce.load and predict", predict)):
            cpu_seconds(["-c", code], cache)  # compiles
            seconds = min(cpu_seconds(["-c", code], cache) for _ in range(repeats))
            print(f"{what + ', ' + kind:40}{seconds:8.2f} s{seconds / peer:8.2f} ×", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lists", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    show_machine("luce", "numba", "scikit-learn", "lightgbm", "torch")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        make = "import sys, luce; from luce.data.synthetic import web_search as make"
        cpu_seconds(
            [
                "-c",
                f"{make}; luce.write(make(int(sys.argv[1])).dataset, sys.argv[2])",
                str(given.lists),
                str(folder / "data.txt"),
            ],
            folder / "cache-data",
        )
        show_commands(folder)
        show_fits(folder)
        show_loads(folder, given.repeats)


if __name__ == "__main__":
    main()
