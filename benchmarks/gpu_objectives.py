"""What does every objective cost on a GPU, beside plain PyTorch on padded lists and two threads of the CPU?

python benchmarks/gpu.py --only objectives --shape 256  # or 2048, 10000

Milliseconds of loss and gradient: eager is a call without autograd, graph its replay as a CUDA graph where it never
waits for the GPU. PyTorch: the fastest of the forms in `torch_forms`, with autograd, split where a tensor would have
more than 2^28 elements; a graph of it only where a call takes less than 100 ms. The CPU computes in float64. An
objective of cost n³ gets the first 500 items of a list. Errors: see `gpu_errors`; they are computed by several
processes before anything is timed. GB: what a call adds on the GPU. `--device cpu` tries it on tiny lists.
"""

import argparse
import gc
import math
import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np
import torch

from gpu_errors import DRAW, THREADS, GradientError, gradient_error, on_device
from gpu_timing import milliseconds, peak, replayed
from luce.lists import DeviceLists
from luce.objectives import OBJECTIVES, Objective
from luce.objectives.torch_device import evaluate_on_device, list_value_and_gradient
from measuring import ScoredLists, make_lists, verdict
from torch_forms import FORMS
from torch_forms.batch import Batch

SHAPES = {"256": (256, 0), "2048": (2_048, 0), "10000": (64, 10_000)}
"""Lists, and their length; 0: the lengths of MSLR-WEB30K."""

CUBIC, CUT = "n³", 500
BRIEF, LONG = 0.1, 100.0
"""Seconds for a time, and milliseconds from which the launches of kernels do not matter."""

MAX_ELEMENTS = 2**28
RIGHT = 1e-5
WORKERS = 8
NOTHING = math.nan


class Row(NamedTuple):
    """Times in milliseconds, NaN where there is none; the memory in GB."""

    name: str
    items: int
    eager: float
    graph: float
    their_eager: float
    their_graph: float
    cpu: float
    memory: float

    @property
    def slower(self) -> list[str]:
        """In which ways it is slower than plain PyTorch."""
        ways = {"eager": (self.eager, self.their_eager), "graph": (self.graph, self.their_graph)}
        return [f"{self.name} ({way} {ours / theirs:.2f})" for way, (ours, theirs) in ways.items() if ours > theirs]


def lists_of(shape: str, objective: Objective, device: str) -> ScoredLists:
    n_lists, length = SHAPES[shape]
    as_in_mslr = np.clip(np.random.default_rng(0).lognormal(math.log(110), 0.5, n_lists), 5, 1_000).astype(int)
    sizes = np.full(n_lists, length) if length else as_in_mslr
    if objective.cost == CUBIC:
        sizes = np.minimum(sizes, CUT)
    return make_lists(sizes if device == "cuda" else np.minimum(sizes[:8], 40), objective.name)


def error(shape: str, device: str, name: str) -> GradientError:
    """Infinite where it fails; this also compiles what is timed afterwards."""
    torch.set_num_threads(THREADS)
    try:
        return gradient_error(OBJECTIVES[name], lists_of(shape, OBJECTIVES[name], device), device)
    except Exception as failure:  # what does not compile or run must not hide the other objectives
        print(f"  {name}: {failure!r}", flush=True)
        return GradientError(math.inf)


def errors_of(names: list[str], shape: str, device: str) -> dict[str, GradientError]:
    names = names[::-1]  # the slow ones first
    with ProcessPoolExecutor(WORKERS if device == "cuda" else 1, multiprocessing.get_context("spawn")) as pool:
        return dict(zip(names, pool.map(partial(error, shape, device), names), strict=True))


def as_graph(work: Callable[[], object], eager: float, device: str) -> float:
    """The time of a graph; NaN where none can be recorded because the work waits for the GPU, or none is needed."""
    if device == "cpu" or eager > LONG:
        return NOTHING
    try:
        torch.cuda.set_sync_debug_mode("error")
        work()
        torch.cuda.set_sync_debug_mode("default")
        return replayed(work, BRIEF)
    except RuntimeError:
        return NOTHING
    finally:
        torch.cuda.set_sync_debug_mode("default")


def our_times(objective: Objective, lists: DeviceLists) -> tuple[float, float, float]:
    """Eager, as a graph, and the memory."""
    given, device = (objective, lists.scores, lists.labels, lists.offsets, "mean"), lists.scores.device.type
    eager = milliseconds(lambda: list_value_and_gradient(*given, draw=DRAW, longest=lists.longest), BRIEF)
    work = partial(evaluate_on_device, objective, lists)
    graph = NOTHING if objective.device_lists is None else as_graph(work, eager, device)
    return eager, graph, NOTHING if device == "cpu" else peak(work)


def their_times(name: str, lists: ScoredLists, device: str) -> tuple[float, float]:
    """Eager and as a graph, each of the fastest of its forms in PyTorch."""
    best = [math.inf, math.inf]
    for form in FORMS:
        if form.objective != name:
            continue
        work = partial(form.value_and_gradient, Batch.of(*lists, torch.float32, device), MAX_ELEMENTS)
        try:
            eager = milliseconds(work, BRIEF)
            best = [min(best[0], eager), np.fmin(best[1], as_graph(work, eager, device))]
        except torch.OutOfMemoryError:
            print(f"  {name}: the form in PyTorch needs more memory than there is", flush=True)
    return best[0], best[1]


def cpu_time(objective: Objective, lists: ScoredLists) -> float:
    """The least of three calls, or of as many as fit into 20 seconds."""
    work = partial(objective.value_and_gradient, draw=DRAW, n_jobs=THREADS)
    work(*lists.first(1))  # compiles
    times: list[float] = []
    while len(times) < 3 and sum(times) < 20:
        start = time.perf_counter()
        work(*lists)
        times.append(time.perf_counter() - start)
    return 1_000 * min(times)


def measure(objective: Objective, shape: str, device: str) -> Row:
    lists = lists_of(shape, objective, device)
    eager, graph, memory = our_times(objective, on_device(objective, lists, device))
    theirs = their_times(objective.name, lists, device)
    if device == "cuda":
        gc.collect()
        torch.cuda.empty_cache()
    return Row(objective.name, len(lists.labels), eager, graph, *theirs, cpu_time(objective, lists), memory)


def shown(value: float, form: str = "9.3f") -> str:
    return f"{value:{form}}" if math.isfinite(value) else f"{'—':>{form.partition('.')[0]}}"


def show(row: Row, found: GradientError, objective: Objective) -> None:
    times = "".join(map(shown, (row.eager, row.graph, row.their_eager, row.their_graph)))
    name = f"{row.name} ({CUT} items)" if objective.cost == CUBIC else row.name
    left_out = f", {found.left_out} lists left out of the error" if found.left_out else ""
    print(
        f"  {name:23}{times}{shown(row.cpu, '11.2f')}{shown(found.worst, '9.1e')}{shown(row.memory, '8.3f')}"
        f"   {objective.facts()['on a GPU']}{left_out}",
        flush=True,
    )


def compare(shape: str | None = None, names: list[str] | None = None, device: str = "cuda") -> list[bool]:
    """Print the table of a shape, or of all; whether nothing is slower than PyTorch, and whether errors are small."""
    names = names or list(OBJECTIVES)
    print("\nObjectives: milliseconds of loss and gradient")
    without = set(OBJECTIVES) - {form.objective for form in FORMS}
    print(f"  No form in plain PyTorch is in use for {', '.join(sorted(without))}.")
    return [met for each in ([shape] if shape else SHAPES) for met in table(each, names, device)]


def table(shape: str, names: list[str], device: str) -> list[bool]:
    sizes = np.diff(lists_of(shape, OBJECTIVES["listmle"], device).offsets)
    print(f"\n  {len(sizes):,} lists of {sizes.min():,} to {sizes.max():,} items, {sizes.sum():,} in all", flush=True)
    start = time.perf_counter()
    errors = errors_of(names, shape, device)
    print(f"  errors in {time.perf_counter() - start:.0f} s")
    print(f"  {'':23}{'Luce on the GPU':>18}{'PyTorch':>18}{'CPU,':>11}")
    columns = f"{'eager':>9}{'graph':>9}" * 2
    print(f"  {'':23}{columns}{'2 threads':>11}{'error':>9}{'GB':>8}   on a GPU", flush=True)
    rows = []
    for name in names:
        if errors[name].worst < math.inf:
            rows.append(measure(OBJECTIVES[name], shape, device))
            show(rows[-1], errors[name], OBJECTIVES[name])
    slower = [way for row in rows for way in row.slower]
    wrong = [f"{name} ({found.worst:.1e})" for name, found in errors.items() if found.worst > RIGHT]
    print(f"\n  slower than plain PyTorch, and how many times as long: {', '.join(slower) or 'none'}: ", end="")
    print(f"{verdict(not slower)}\n  errors above {RIGHT:.0e}: {', '.join(wrong) or 'none'}: {verdict(not wrong)}")
    most = max(rows, key=lambda row: np.nan_to_num(row.memory) / row.items)  # NaN where there is no GPU
    each = f"{1e9 * most.memory / most.items:,.0f} bytes an item, {most.name}"
    print(f"  most memory: {each} (a square of float32 would take {4 * sizes.max():,})", flush=True)
    return [not slower, not wrong]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--shape", choices=SHAPES)
    parser.add_argument("--names", nargs="*", choices=OBJECTIVES, help="some of the objectives")
    chosen = parser.parse_args()
    compare(chosen.shape, chosen.names, chosen.device)
