"""Helpers of the benchmarks: synthetic lists, the shortest of several runs, memory, a description of the machine."""

import math
import os
import platform
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from luce.experiments.cache import version_of
from luce.objectives import OBJECTIVES
from luce.threads import thread_count

sys.path.append(str(Path(__file__).parent.parent))  # some of the scripts import from papers/

GRADES = (0.52, 0.32, 0.13, 0.02, 0.01)
"""Shares of the grades 0 to 4 in MSLR-WEB30K."""


class ScoredLists(NamedTuple):
    scores: np.ndarray
    labels: np.ndarray
    offsets: np.ndarray

    def first(self, lists: int) -> "ScoredLists":
        offsets = self.offsets[: lists + 1]
        return ScoredLists(self.scores[: offsets[-1]], self.labels[: offsets[-1]], offsets)


def make_lists(sizes: np.ndarray, objective: str, correlation: float = 0.3) -> ScoredLists:
    """Lists of these sizes; scores are normal plus `correlation` times the grade, and exact in float32."""
    rng = np.random.default_rng(0)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    labels = rng.choice(len(GRADES), offsets[-1], p=GRADES).astype(np.float64)
    scores = rng.normal(size=len(labels)) + correlation * labels
    if objective == "pl-topk":  # needs an order above the lowest grade
        labels += (labels > 0) * without_ties(sizes) / (2 * sizes.max())
    if OBJECTIVES[objective].one_output_per_grade:
        scores = rng.normal(size=(len(labels), len(GRADES)))
    return ScoredLists(scores.astype(np.float32).astype(np.float64), labels, offsets)


def without_ties(sizes: np.ndarray) -> np.ndarray:
    """0, 1, 2, … in random order, list after list."""
    rng = np.random.default_rng(1)
    return np.concatenate([rng.permutation(size) for size in sizes]).astype(np.float64)


def thread_counts() -> tuple[int, ...]:
    """1 and all."""
    return tuple(sorted({1, thread_count()}))


def seconds(work: Callable[[], Any], repeats: int, budget: float = 1.0) -> float:
    """The shortest of several runs after a warm-up: more if they are short, fewer once the budget is spent."""
    work()
    times: list[float] = []
    while not times or (sum(times) < budget and (len(times) < repeats or sum(times) < 0.1)):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def added_memory(work: Callable[[], Any]) -> float:
    """The peak increase of the memory of this process in MB; NaN where the system does not report it."""
    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not reset.exists():
        return math.nan
    reset.write_text("5")  # resets the peak
    before = _peak(status)
    work()
    return max(0, _peak(status) - before) / 1e6


def _peak(status: Path) -> int:
    return 1024 * int(status.read_text().partition("VmHWM:")[2].split()[0])


def show_machine(*packages: str) -> None:
    model = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    print(", ".join(f"{name} {_version(name)}" for name in packages), f"Python {platform.python_version()}", sep=", ")
    print(f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.release()}")


def _version(package: str) -> str:
    try:
        return version_of(package)
    except PackageNotFoundError:  # imported from a checkout that is not installed
        return "(checkout)"


def verdict(met: bool) -> str:
    return "met" if met else "missed"
