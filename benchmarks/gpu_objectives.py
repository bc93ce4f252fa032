"""What does every objective cost on a GPU, beside plain PyTorch on padded lists and two threads of the CPU?

python benchmarks/gpu.py --only objectives

Milliseconds of loss and gradient: of a call without autograd, and replayed as a CUDA graph where the objective never
waits for the GPU; of the PyTorch form, with autograd, and split where a tensor would have more than 2^28 elements; of
the CPU in float64. Errors are the largest |difference| / largest |gradient| of a list, against the CPU with the same
draw; labels have no ties where the devices would shuffle them differently. `--device cpu` tries it on tiny lists.
"""

import argparse
import math
import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product

import numpy as np
import torch

from gpu_timing import milliseconds, peak, replayed
from luce.errors import LuceError
from luce.lists import DeviceLists
from luce.objectives import OBJECTIVES, Draw, Objective
from luce.objectives.torch_device import device_lists, evaluate_on_device, list_value_and_gradient
from measuring import ScoredLists, make_lists, without_ties
from torch_forms import FORMS
from torch_forms.batch import Batch

SHAPES = {"256": (256, 0), "2,048": (2_048, 0), "64 × 10,000": (64, 10_000)}
"""Lists, and their length; 0: the lengths of MSLR-WEB30K."""

BRIEF = 0.1
MAX_ELEMENTS = 2**28
RIGHT = 1e-5
WORKERS = 8


def sizes_of(shape: str, device: str) -> np.ndarray:
    n_lists, length = SHAPES[shape]
    rng = np.random.default_rng(0)
    as_in_mslr = np.clip(rng.lognormal(math.log(110), 0.5, n_lists), 5, 1_000).astype(int)
    sizes = np.full(n_lists, length) if length else as_in_mslr
    return sizes if device == "cuda" else np.minimum(sizes[:8], 40)


def own_samples(name: str) -> bool:
    """Whether the rankings that are drawn on a GPU are others than those of the CPU."""
    each = OBJECTIVES[name]
    return each.device_lists is not None and each.family == "expected metric"


def on_device(objective: Objective, lists: ScoredLists, device: str) -> DeviceLists:
    scores, labels = (torch.as_tensor(values, dtype=torch.float32, device=device) for values in lists[:2])
    offsets = torch.as_tensor(lists.offsets, device=device)
    return device_lists(objective, scores, labels, offsets, "sum", draw=Draw(0, 1))


def error(device: str, asked: tuple[str, str]) -> float:
    """NaN where there is nothing to compare, infinite where it fails; this also compiles what is timed afterwards."""
    shape, name = asked
    objective, sizes = OBJECTIVES[name], sizes_of(shape, device)
    lists = make_lists(sizes, name)
    if objective.random and objective.device_lists is not None:
        lists = lists._replace(labels=without_ties(sizes))
    try:
        found = evaluate_on_device(objective, on_device(objective, lists, device)).gradient.cpu().double().numpy()
        exact = objective.value_and_gradient(
            lists.scores, lists.labels.astype(np.float32), lists.offsets, draw=Draw(0, 1), n_jobs=2
        ).gradient
    except LuceError:
        return math.nan
    except Exception as failure:  # what does not compile or run must not hide the other objectives
        print(f"  {name}, {shape}: {failure!r}", flush=True)
        return math.inf
    if own_samples(name):
        return math.nan
    gaps, largest = (np.abs(values).reshape(len(exact), -1).max(axis=1) for values in (found - exact, exact))
    gaps, largest = (np.maximum.reduceat(values, lists.offsets[:-1]) for values in (gaps, largest))
    return float((gaps / np.where(largest > 0, largest, 1.0)).max())


def waits(work: Callable[[], object]) -> bool:
    """Whether the work waits for the GPU, so that no graph can be recorded of it."""
    torch.cuda.set_sync_debug_mode("error")
    try:
        work()
    except RuntimeError:
        return True
    finally:
        torch.cuda.set_sync_debug_mode("default")
    return False


def our_times(objective: Objective, lists: DeviceLists) -> tuple[float, float, float]:
    """Eager, as a graph, and the memory in GB; NaN for what is not there."""
    given = objective, lists.scores, lists.labels, lists.offsets, "mean"
    try:
        eager = milliseconds(lambda: list_value_and_gradient(*given, draw=Draw(0, 1), longest=lists.longest), BRIEF)
    except LuceError:
        return math.nan, math.nan, math.nan
    recorded = partial(evaluate_on_device, objective, lists)
    if lists.scores.device.type == "cpu":
        return eager, math.nan, math.nan
    graph = math.nan if objective.device_lists is None or waits(recorded) else replayed(recorded, BRIEF)
    return eager, graph, peak(recorded)


def their_time(name: str, lists: ScoredLists, device: str) -> float:
    """Of the fastest of its forms in PyTorch; NaN without one, or where one list needs too much."""
    longest, times = int(np.diff(lists.offsets).max()), [math.inf]
    for form in FORMS:
        if form.objective == name and form.elements(longest) * 2 < MAX_ELEMENTS // 4:
            batch = Batch.of(*lists, torch.float32, device)
            times.append(milliseconds(partial(form.value_and_gradient, batch, MAX_ELEMENTS), BRIEF))
    return min(times) if len(times) > 1 else math.nan


def cpu_time(objective: Objective, lists: ScoredLists) -> float:
    times = []
    for _ in range(3):
        start = time.perf_counter()
        try:
            objective.value_and_gradient(*lists, draw=Draw(0, 1), n_jobs=2)
        except LuceError:
            return math.nan
        times.append(1_000 * (time.perf_counter() - start))
    return min(times)


def shown(value: float, form: str = "9.3f") -> str:
    return f"{value:{form}}" if math.isfinite(value) else f"{'—':>{form.partition('.')[0]}}"


def compare(device: str = "cuda") -> list[bool]:
    """Print the table; whether nothing is slower than plain PyTorch, and whether gradients are right."""
    print("\nObjectives: milliseconds of loss and gradient")
    asked = list(product(SHAPES, OBJECTIVES))
    with ProcessPoolExecutor(WORKERS if device == "cuda" else 1, multiprocessing.get_context("spawn")) as pool:
        errors = dict(zip(asked, pool.map(partial(error, device), asked), strict=True))
    slower, wrong = [], [each for each, found in errors.items() if found > RIGHT]
    for shape in SHAPES:
        sizes = sizes_of(shape, device)
        print(f"\n  {shape} lists, {sizes.sum():,} items")
        print(f"  {'':22}{'eager':>9}{'graph':>9}{'PyTorch':>9}{'2 threads':>11}{'error':>9}{'GB':>8}   on a GPU")
        for name, objective in OBJECTIVES.items():
            if errors[shape, name] == math.inf:
                continue
            lists = make_lists(sizes, name)
            eager, graph, memory = our_times(objective, on_device(objective, lists, device))
            theirs = their_time(name, lists, device)
            cpu = cpu_time(objective, lists) if shape == "256" else math.nan
            if eager > theirs:
                slower.append((shape, name))
            print(
                f"  {name:22}{shown(eager)}{shown(graph)}{shown(theirs)}{shown(cpu, '11.2f')}"
                f"{shown(errors[shape, name], '9.1e')}{shown(memory, '8.3f')}   {objective.facts()['on a GPU']}",
                flush=True,
            )
    for words, missed in (("slower than plain PyTorch", slower), (f"wrong by more than {RIGHT:.0e}", wrong)):
        print(f"\n  {words}: {', '.join(f'{name} ({shape})' for shape, name in missed) or 'none, met'}")
    return [not slower, not wrong]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    compare(parser.parse_args().device)
