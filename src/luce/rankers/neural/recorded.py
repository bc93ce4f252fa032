"""Steps of a training as CUDA graphs: what the GPU does in a step is recorded once and then repeated at once."""

import warnings
from collections.abc import Callable, Hashable
from typing import Any
from weakref import WeakMethod

import numpy as np
import torch
from torch import Tensor

from luce.arrays import Integers


def capacity_for(n_rows: int, parts: int = 4) -> int:
    """The rows that a recorded step has room for; there are so many capacities between two powers of 2.

    >>> [capacity_for(n) for n in (1, 65, 100, 1_025)]
    [64, 80, 112, 1280]
    """
    power = 1 << max(n_rows - 1, 32).bit_length() - 1
    return max(64, -(-n_rows // (power // parts)) * (power // parts))


class RecordedSteps:
    """Repeats `work(inbox, capacity)`: a step with room for so much, which reads its numbers in `inbox`.

    The host writes them before each step; a shorter inbox is filled up with −1. A step whose capacity is new is run as
    it is, which compiles its kernels; when the capacity comes again the step is recorded.
    """

    def __init__(self, work: Callable[[Tensor, Any], None], device: torch.device):
        self.work = WeakMethod(work)  # of a learner that has these steps: without a cycle its memory is free at once
        self.device, self.inbox = device, torch.zeros(0, device=device)
        self.graphs: dict[Hashable, torch.cuda.CUDAGraph | None] = {}
        self.pool = torch.cuda.graph_pool_handle()
        self.tries = 0

    def run(self, numbers: Integers, capacity: Hashable) -> bool:
        """A step; False where it was not taken, since the host has to read what the GPU finds."""
        if len(numbers) > len(self.inbox):
            self.graphs, room = {}, len(numbers) + len(numbers) // 2
            self.inbox = torch.empty(room, dtype=torch.int64, device=self.device)
        whole = np.full(len(self.inbox), -1)
        whole[: len(numbers)] = numbers
        self.inbox.copy_(torch.from_numpy(whole).pin_memory(), non_blocking=True)
        if capacity in self.graphs and self.tries > 1 and self.graphs[capacity] is None:
            self.graphs[capacity] = self._record(capacity)
        graph = self.graphs.setdefault(capacity)
        if graph is None:
            return self._try(capacity)
        graph.replay()
        return True

    def _try(self, capacity: Hashable) -> bool:
        """Run a step as it will be recorded. What is made once may wait for the GPU in the first one only."""
        mode = torch.cuda.get_sync_debug_mode()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Synchronization debug mode")
            torch.cuda.set_sync_debug_mode("error" if self.tries else mode)
        try:
            self._work(capacity)
        except RuntimeError as error:
            if "synchronizing" not in str(error):
                raise
            return False
        finally:
            torch.cuda.set_sync_debug_mode(mode)
        self.tries += 1
        return True

    def _work(self, capacity: Hashable) -> None:
        work = self.work()
        assert work is not None
        work(self.inbox, capacity)

    def _record(self, capacity: Hashable) -> torch.cuda.CUDAGraph:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self.pool, capture_error_mode="thread_local"):
            self._work(capacity)
        return graph
