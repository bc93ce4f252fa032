"""How fast is every objective, and in how much memory: value and gradient beside the same loss in plain PyTorch.

python benchmarks/objectives.py

Short lists and long ones, grades as in MSLR-WEB30K. PyTorch works as it usually does, in float32 on lists padded
beforehand; Luce in float64 on ragged lists. Equal labels are shuffled anew in every evaluation on both sides.
"""

import argparse
import json
import math
import os
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from itertools import count

import numpy as np
import torch

from luce.errors import DataError
from luce.objectives import OBJECTIVES, Draw, Evaluation
from luce.objectives.expected import FAMILY
from measuring import ScoredLists, added_memory, make_lists, seconds, show_machine, thread_counts, verdict, without_ties
from partition_cost import show_floor, show_grid
from torch_forms import FORMS, TorchForm
from torch_forms.batch import Batch

MAX_ELEMENTS = 2**20
"""The size of the largest tensor of a PyTorch batch, unless one list needs more: the fastest setting."""

PAIR_LISTS = 1
"""The number of long lists for the pairwise losses of PyTorch, which take a second or two for each."""

ALLOWED = 1e-4
"""The largest relative difference allowed between the two implementations, in a loss or the gradient."""


@dataclass
class ObjectiveTiming:
    """The time of an objective in ns per item for each number of threads, and its memory in MB."""

    ours: list[float]
    memory: float
    form: str = ""
    theirs: list[float] | None = None
    their_memory: float = math.nan
    difference: float = math.nan

    @property
    def ratios(self) -> list[float]:
        """How many times faster Luce is."""
        return [b / a for a, b in zip(self.ours, self.theirs or [math.nan] * len(self.ours), strict=True)]


def evaluation(objective: str, lists: ScoredLists, threads: int, step: int = 0) -> Evaluation:
    return OBJECTIVES[objective].value_and_gradient(*lists, draw=Draw(0, step), n_jobs=threads)


def our_times(objective: str, lists: ScoredLists, repeats: int) -> list[float]:
    steps = count()
    times = [
        seconds(lambda n=threads: evaluation(objective, lists, n, next(steps)), repeats) for threads in thread_counts()
    ]
    return [time / len(lists.labels) * 1e9 for time in times]


def their_times(form: TorchForm, lists: ScoredLists, repeats: int) -> list[float]:
    batch, times = Batch.of(*lists, torch.float32), []
    for threads in thread_counts():
        torch.set_num_threads(threads)
        times.append(seconds(partial(form.value_and_gradient, batch, MAX_ELEMENTS), repeats) / len(lists.labels) * 1e9)
    return times


def measure(objective: str, sizes: np.ndarray, repeats: int, memory: dict[str, float]) -> list[ObjectiveTiming]:
    """A row for each PyTorch form of the objective, or one without."""
    lists = make_lists(sizes, objective)
    ours = our_times(objective, lists, repeats)
    rows = []
    for form in forms_of(objective):
        given = lists.first(lists_for(form, sizes))
        theirs = their_times(form, given, repeats)
        rows.append(
            ObjectiveTiming(ours, memory[objective], form.name, theirs, memory[key(form)], difference(form, given))
        )
    return rows or [ObjectiveTiming(ours, memory[objective])]


def forms_of(objective: str) -> list[TorchForm]:
    return [form for form in FORMS if form.objective == objective]


def key(form: TorchForm) -> str:
    return f"{form.objective} {form.name} in PyTorch"


def lists_for(form: TorchForm, sizes: np.ndarray) -> int:
    """How many of the lists PyTorch gets."""
    return PAIR_LISTS if form.elements(sizes.max()) > MAX_ELEMENTS else len(sizes)


def difference(form: TorchForm, lists: ScoredLists) -> float:
    """The largest relative difference of a loss or of the gradient, with PyTorch in float64.

    Ties of scores are removed, which the implementations treat differently, and ties of labels that are shuffled. NaN
    where both draw rankings of their own: tests compare the means of those.
    """
    if draws_rankings(form):
        return math.nan
    lists = lists._replace(scores=lists.scores + np.random.default_rng(3).normal(0, 1e-9, lists.scores.shape))
    if OBJECTIVES[form.objective].random:
        lists = lists._replace(labels=without_ties(np.diff(lists.offsets)))
    batch = Batch.of(*lists, torch.float64)
    loss, gradient = form.value_and_gradient(batch, MAX_ELEMENTS)
    ours = evaluation(form.objective, lists, 1)
    gradient_difference = np.linalg.norm(gradient[batch.mask].numpy() - ours.gradient) / np.linalg.norm(ours.gradient)
    return max(float(gradient_difference), float(np.max(np.abs(loss.numpy() - ours.loss) / np.abs(ours.loss))))


def memory_of_all(sizes: np.ndarray, names: list[str]) -> dict[str, float]:
    """The most MB that an evaluation adds, for every objective and form, from a process of its own."""
    command = [sys.executable, __file__, "--measure-memory", json.dumps(sizes.tolist()), "--only", ",".join(names)]
    # With these every large array is mapped and unmapped on its own: none is served from memory that was freed before.
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "0"}
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment).stdout)


def draws_rankings(form: TorchForm) -> bool:
    return OBJECTIVES[form.objective].family == FAMILY


def measure_memory(sizes: np.ndarray, names: list[str]) -> dict[str, float]:
    memory = {}
    threads = thread_counts()[-1]
    for name in names:
        lists = make_lists(sizes, name)
        evaluation(name, lists, threads)
        memory[name] = added_memory(partial(evaluation, name, lists, threads))
        for form in forms_of(name):
            batch = Batch.of(*lists.first(lists_for(form, sizes)), torch.float32)
            form.value_and_gradient(batch.part(0, 1), MAX_ELEMENTS)
            memory[key(form)] = added_memory(partial(form.value_and_gradient, batch, MAX_ELEMENTS))
    return memory


def takes(objective: str, sizes: np.ndarray) -> bool:
    """Whether the objective accepts lists of this length."""
    try:
        evaluation(objective, make_lists(sizes[:1], objective), 1)
    except DataError:
        return False
    return True


def show_table(sizes: np.ndarray, names: list[str], repeats: int) -> dict[str, list[ObjectiveTiming]]:
    span = f"{sizes.min():,}" if sizes.min() == sizes.max() else f"{sizes.min():,} to {sizes.max():,}"
    print(f"\n{len(sizes):,} lists of {span} items, {sizes.sum():,} in all; best of {repeats}, ns per item")
    usable = [name for name in names if takes(name, sizes)]
    memory = memory_of_all(sizes, usable)
    show_heads()
    table = {}
    for name in names:
        if name not in usable:
            print(f"{name:36}   does not accept lists of this length")
            continue
        table[name] = measure(name, sizes, repeats, memory)
        for row in table[name]:
            show_row(name, row)
    return table


def show_heads() -> None:
    counts = thread_counts()
    groups = ("Luce, threads", 11), ("PyTorch, threads", 11), ("times faster", 9)
    print(f"{'':32}" + "".join(f"{name:>{width * len(counts)}}" for name, width in groups) + f"{'peak memory, MB':>18}")
    columns = "".join(f"{n:{width}}" for _, width in groups for n in counts)
    print(f"{'objective':32}{columns}{'Luce':>8}{'PyTorch':>10}{'difference':>12}")


def show_row(name: str, row: ObjectiveTiming) -> None:
    title = f"{name} ({row.form})" if row.form else name
    times = [*row.ours, *(row.theirs or [math.nan] * len(row.ours))]
    text = f"{title:32}" + "".join(f"{time:11,.1f}" for time in times) + "".join(f"{r:9,.1f}" for r in row.ratios)
    text += f"{row.memory:8.1f}{row.their_memory:10.1f}{row.difference:12.0e}"
    print(text.replace("nan", "  –"), flush=True)


def show_summary(table: dict[str, list[ObjectiveTiming]], long: bool) -> bool:
    """How the table stands to what was wanted; returns whether the two sides agree."""
    for row, target in zip(table.get("listmle", []), (10, 5), strict=False):
        ratios = " and ".join(f"{ratio:.1f}" for ratio in row.ratios)
        print(f"listmle is {ratios} × the {row.form} form: {verdict(min(row.ratios) >= target)} (at least {target})")
    if {"listmle", "pl-partition"} <= table.keys():
        ratio, target = table["pl-partition"][0].ours[0] / table["listmle"][0].ours[0], 10 if long else 8
        print(f"pl-partition takes {ratio:.1f} × the time of listmle: {verdict(ratio <= target)} (at most {target})")
    compared = [(min(row.ratios), name, row.difference) for name in table for row in table[name] if row.theirs]
    if not compared:
        return True
    ratio, name, _ = min(compared)
    print(f"least ratio to PyTorch: {ratio:.1f} × ({name}): {verdict(ratio >= 1)} (at least 1)")
    differing = [
        f"{name} ({difference:.0e})"
        for _, name, difference in compared
        if not (difference <= ALLOWED or OBJECTIVES[name].family == FAMILY)
    ]
    print(f"both sides agree to {ALLOWED:.0e}" if not differing else f"NOT THE SAME LOSS: {', '.join(differing)}")
    return not differing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the lists, fewer repeats")
    parser.add_argument("--only", default=",".join(OBJECTIVES), help="comma-separated names of objectives")
    parser.add_argument("--repeat", type=int, default=7, help="number of runs, of which the best counts (default 7)")
    parser.add_argument("--measure-memory", help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = options.only.split(",")
    if options.measure_memory:
        print(json.dumps(measure_memory(np.array(json.loads(options.measure_memory)), names)))
        return
    show_machine("luce", "numpy", "numba", "torch")
    repeats, part = (2, 10) if options.quick else (options.repeat, 1)
    agree = True
    for sizes in (np.random.default_rng(2).integers(80, 161, 1_000 // part), np.full(64 // part, 5_000)):
        table = show_table(sizes, names, repeats)
        agree &= show_summary(table, long=sizes.max() > 1_000)
        if "pl-partition" in table:
            show_floor(sizes, table["pl-partition"][0].ours[0])
            show_grid(sizes, table["pl-partition"][0].ours[-1], repeats)
    sys.exit(0 if agree else 1)


if __name__ == "__main__":
    main()
