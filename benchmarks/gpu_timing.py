"""Times and memory of work on a GPU."""

import gc
from collections.abc import Callable

import torch
from torch.utils.benchmark import Timer


def milliseconds(work: Callable[[], object], seconds: float = 0.5) -> float:
    """The median of blocks of runs, one after the other without waiting in between, as a training makes them."""
    work()  # what the first run compiles must not decide how long a block is
    timer = Timer("work()", globals={"work": work})
    return 1_000 * timer.blocked_autorange(min_run_time=seconds).median


def replayed(work: Callable[[], object], seconds: float = 0.5) -> float:
    """The same as one CUDA graph."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return milliseconds(graph.replay, seconds)


def peak(work: Callable[[], object]) -> float:
    """GB that the work adds at most to what lies on the GPU."""
    gc.collect()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    work()
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_allocated() - before) / 1e9
