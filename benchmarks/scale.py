"""How the cost of training grows with rows, features, labels, ranks and bandwidth.

The time of a unit of work (a tree, an iteration, an epoch) is measured in one thread on data of several sizes, and
constants are fitted to it. Two and three processes on this machine then train together, and what one of them sends in
a unit is recorded. The simulation replays these messages over up to 1,000 ranks and two networks: an exchange takes a
latency for each other rank, since gloo talks to one after the other, and the time of the bytes that a rank receives.

    python benchmarks/scale.py
    python benchmarks/scale.py --picture docs/pictures/scale.svg
"""

import argparse
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

import luce
from luce.data.shards import share_of
from luce.data.synthetic import tagged_documents, web_search
from luce.distributed import LARGE, Group
from luce.files import atomic_write
from measuring import show_machine
from papers.plots import Line, log_lines, panels

RANKS = 1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000
NETWORKS = {"10 Gbit/s": (50e-6, 10e9 / 8), "100 Gbit/s": (15e-6, 100e9 / 8)}
"""Seconds from one rank to another, and bytes in a second."""
THREADS, EFFICIENCY = 16, 0.7
"""Of a rank in the simulation: its threads, and the share of their time that is used."""
LENGTH, HIDDEN = 100, (64, 32)
"""Rows of a list; the widths of the layers of a network."""


class Message(NamedTuple):
    """What one rank gives to all others in an exchange: a summand, its own part, or a part for each of them."""

    kind: str
    size: float

    def seconds(self, ranks: int, latency: float, bandwidth: float) -> float:
        """Of a rank that talks to the others one after the other."""
        others = ranks - 1
        if self.kind == "sum" and self.size >= 8 * LARGE:  # each adds a part, and all gather the parts
            return 3 * others * latency + 2 * self.size * others / ranks / bandwidth
        if self.kind == "parts":
            return others * (latency + self.size / ranks / bandwidth)
        return others * (latency + self.size / bandwidth)


class Learner(NamedTuple):
    """What is trained, and on what.

    `sizes` are the rows of a unit of work, and the features or labels, with which constants are measured; the last is
    also that of the recorded messages. `terms` are what the cost is a sum of, without the constants. `steps` units are
    between two calls of the callback.
    """

    unit: str
    make: Callable[[int, int], Any]
    fit: Callable[[Any, int, Any], Any]
    sizes: Sequence[tuple[int, int]]
    terms: dict[str, Callable[[float, int], float]]
    simulated_rows: int
    width: str = "features"
    steps: int = 1

    def predictors(self, rows: float, width: int) -> list[float]:
        return [term(rows, width) for term in self.terms.values()]

    def train(self, data: Any, rows: int, callback: Callable[[], None]) -> None:
        self.fit(data, rows, lambda record: callback() if float(record["iteration"]).is_integer() else None)


def lists(rows: int, features: int) -> luce.Dataset:
    return web_search(rows // LENGTH, n_features=features, mean_length=LENGTH, seed=0).dataset


def trees(data: luce.Dataset, _: int, callback: Any) -> None:
    luce.TreeRanker(n_estimators=8, validation_fraction=None, n_jobs=1).fit(data, callback=callback)


def linear(data: luce.Dataset, _: int, callback: Any) -> None:
    luce.LinearRanker("pl-partition", max_iter=8, n_jobs=1).fit(data, callback=callback)


def neural(data: luce.Dataset, rows: int, callback: Any) -> None:
    layers = {"hidden_layer_sizes": HIDDEN, "batch_size": rows // LENGTH}
    luce.NeuralRanker("pl-partition", **layers, **BY_STEP).fit(data, callback=callback)


def labels(data: luce.TaggedData, rows: int, callback: Any) -> None:
    luce.LabelRanker("pl-partition", batch_size=rows, **BY_STEP).fit(data, callback=callback)


STEPS = 8
BY_STEP = {"steps_per_epoch": STEPS, "epochs": 4, "validation_fraction": None, "device": "cpu", "n_jobs": 1}
CELL = {"row and feature": lambda rows, width: rows * width, "row": lambda rows, _: rows}
LEARNERS = {
    "trees": Learner(
        "tree of 7 leaves",
        lists,
        trees,
        ((20_000, 50), (80_000, 50), (20_000, 136), (80_000, 136)),
        CELL | {"feature": lambda _, width: width},
        100_000_000,
    ),
    "linear": Learner(
        "iteration", lists, linear, ((20_000, 50), (80_000, 50), (20_000, 136), (80_000, 136)), CELL, 100_000_000
    ),
    "neural": Learner(
        "step of 4,096 lists",
        lambda rows, width: lists(STEPS * rows, width),
        neural,
        ((1_600, 50), (6_400, 50), (1_600, 136), (6_400, 136)),
        CELL | {"step": lambda *_: 1},
        4_096 * LENGTH,
        steps=STEPS,
    ),
    "labels": Learner(
        "step of 4,096 rows",
        lambda rows, width: tagged_documents(STEPS * rows, n_labels=width),
        labels,
        ((32, 3_000), (128, 3_000), (32, 30_000), (128, 30_000)),
        {"row and label": lambda rows, width: rows * width, "label": lambda _, width: width},
        4_096,
        width="labels",
        steps=STEPS,
    ),
}


def measured(learner: Learner) -> tuple[np.ndarray, float]:
    """The constants of the terms, in seconds of a unit, and the largest relative error of what they predict."""
    costs = []
    for rows, width in learner.sizes:
        stamps: list[float] = []
        learner.train(learner.make(rows, width), rows, lambda stamps=stamps: stamps.append(time.process_time()))
        costs.append(min(np.diff(stamps)) / learner.steps)
    table = np.array([learner.predictors(*size) for size in learner.sizes]) / np.array(costs)[:, None]
    constants, _ = nnls(table, np.ones(len(costs)))  # relative errors count
    return constants, float(np.abs(table @ constants - 1).max())


def recorded(name: str, ranks: int) -> list[Message]:
    """The messages of one of so many ranks, between two calls of the callback."""
    context, pipe = multiprocessing.get_context("spawn"), multiprocessing.Pipe()
    with tempfile.TemporaryDirectory() as folder:
        group = [
            context.Process(target=_train, args=(name, rank, ranks, f"{folder}/store", pipe[1]))
            for rank in range(ranks)
        ]
        for process in group:
            process.start()
        found = pipe[0].recv()
        for process in group:
            process.join()
    return found


def _train(name: str, rank: int, ranks: int, store: str, pipe: Any) -> None:
    import torch.distributed

    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=ranks)
    learner, units = LEARNERS[name], _record_messages()
    rows, width = learner.sizes[-1]
    learner.train(share_of(learner.make(rows, width), rank, ranks), rows, lambda: units.append([]))
    if rank == 0:
        pipe.send(units[-2])
    torch.distributed.destroy_process_group()


def _record_messages() -> list[list[Message]]:
    """A list that grows by the messages of this process, in its last entry."""
    units: list[list[Message]] = [[]]
    busy = []

    def watch(name: str, kind: Callable[[Any], str], size: Callable[[Any], float]) -> None:
        original = getattr(Group, name)

        def call(group: Group, own: Any, *others: Any) -> Any:
            if not busy:
                units[-1].append(Message(kind(own), size(own)))
            busy.append(name)
            try:
                return original(group, own, *others)
            finally:
                busy.pop()

        setattr(Group, name, call)

    watch("sum", lambda own: "sum", lambda own: 8 * np.size(own))
    watch("gather_rows", lambda own: "all", lambda own: own.nbytes)
    watch("broadcast", lambda own: "all", lambda own: own.nbytes)
    watch(
        "exchange",
        lambda own: "all" if own[0] is own[-1] else "parts",
        lambda own: own[0].nbytes if own[0] is own[-1] else sum(part.nbytes for part in own),
    )
    return units


def grown(two: Sequence[Message], three: Sequence[Message]) -> Callable[[int], Iterator[Message]]:
    """The messages of a unit over any number of ranks: those whose size falls with the ranks are a share of a whole."""

    def over(ranks: int) -> Iterator[Message]:
        for a, b in zip(two, three, strict=False):
            shrinks = a.kind == "all" and b.size < 0.8 * a.size
            yield a._replace(size=2 * a.size / ranks) if shrinks else a

    return over


def seconds(learner: Learner, constants: np.ndarray, messages: Any, ranks: int, network: tuple[float, float]) -> float:
    """Of a unit on the simulated data."""
    local = np.dot(constants, learner.predictors(learner.simulated_rows / ranks, learner.sizes[-1][1]))
    return (
        local / (THREADS * EFFICIENCY) + sum(each.seconds(ranks, *network) for each in messages(ranks)) / learner.steps
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--picture", type=Path, metavar="SVG", help="draw the simulation")
    options = parser.parse_args()
    show_machine("torch", "lightgbm")
    pictures = []
    for name, learner in LEARNERS.items():
        constants, error = measured(learner)
        terms = ", ".join(f"{1e9 * each:.3g} ns a {term}" for each, term in zip(constants, learner.terms, strict=True))
        print(f"\n{name}, CPU time of one {learner.unit.partition(' of ')[0]}: {terms}; predicted within {error:.0%}")
        two, three = recorded(name, 2), recorded(name, 3)
        for ranks, messages in ((2, two), (3, three)):
            size = sum(each.size for each in messages) / learner.steps
            print(f"  over {ranks} ranks: {len(messages) / learner.steps:.3g} exchanges of {size / 1e6:.3g} MB in all")
        over, lines = grown(two, three), {}
        for network, speed in NETWORKS.items():
            lines[network] = Line(RANKS, [seconds(learner, constants, over, ranks, speed) for ranks in RANKS])
        lines["divided by ranks"] = Line(RANKS, [lines[network].y[0] / ranks for ranks in RANKS])
        width = f"{learner.sizes[-1][1]:,} {learner.width}"
        print(f"  simulated seconds of one {learner.unit}, {learner.simulated_rows:,} rows, {width}")
        print(f"  {'ranks':20}" + "".join(f"{ranks:>10,}" for ranks in RANKS))
        for network, line in lines.items():
            print(f"  {network:20}" + "".join(f"{value:10.3g}" for value in line.y))
        title = f"{name.capitalize()}: seconds of one {learner.unit}"
        pictures.append(log_lines(f"scale-{name}", title, "ranks", lines))
    if options.picture:
        with atomic_write(options.picture) as partial:
            partial.write_text(panels(pictures) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
