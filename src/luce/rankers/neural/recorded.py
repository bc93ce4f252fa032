"""Steps of a training as CUDA graphs: what the GPU does in a step is recorded once and then repeated at once."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from luce.arrays import Integers
from luce.rankers.neural.training import TorchLearner

PARTS = 4
"""Capacities between two powers of 2: a batch has room for at most a quarter more rows than it needs."""


def capacity_for(n_rows: int) -> int:
    """The rows that a recorded step has room for.

    >>> [capacity_for(n) for n in (1, 65, 100, 1_025)]
    [64, 80, 112, 1280]
    """
    power = 1 << max(n_rows - 1, 32).bit_length() - 1
    return max(64, -(-n_rows // (power // PARTS)) * (power // PARTS))


class RecordedSteps:
    """Repeats `work(inbox, capacity)`, a step of a learner with room for so many rows, which reads numbers in `inbox`.

    The host writes them before each step; a shorter inbox is filled up with −1. A capacity is recorded when it first
    comes; recording runs the step, so what that changes is put back.
    """

    def __init__(self, learner: TorchLearner, work: Callable[[Tensor, int], None]):
        self.learner, self.work = learner, work
        self.graphs: dict[int, torch.cuda.CUDAGraph] = {}
        self.pool = torch.cuda.graph_pool_handle()
        self.inbox = torch.zeros(0)

    def run(self, numbers: Integers, n_rows: int, step: int) -> bool:
        """A step; False where it cannot be recorded, since the host has to read what the GPU finds."""
        if len(numbers) > len(self.inbox):
            self.graphs, self.inbox = {}, torch.empty(len(numbers), dtype=torch.int64, device=self.learner.device)
        whole = np.pad(numbers, (0, len(self.inbox) - len(numbers)), constant_values=-1)
        self.inbox.copy_(torch.from_numpy(whole).pin_memory(), non_blocking=True)
        capacity = capacity_for(n_rows)
        if capacity not in self.graphs:
            if not self._record(capacity):
                return False
            self.learner.seed_dropout(step)
        self.graphs[capacity].replay()
        return True

    def _record(self, capacity: int) -> bool:
        """Record a step with room for so many rows."""
        before, mode = self._copies(), torch.cuda.get_sync_debug_mode()
        side = torch.cuda.Stream(self.learner.device)
        side.wait_stream(torch.cuda.current_stream())
        try:
            with torch.cuda.stream(side):
                self.work(self.inbox, capacity)  # it compiles kernels, and makes what is made once
                torch.cuda.set_sync_debug_mode("error")
                self.work(self.inbox, capacity)
        except RuntimeError as error:
            if "synchronizing" not in str(error):
                raise
            return False
        finally:
            torch.cuda.set_sync_debug_mode(mode)
            torch.cuda.current_stream().wait_stream(side)
            self._put_back(before)
        graph = torch.cuda.CUDAGraph()
        self.learner.optimizer.zero_grad()  # gradients of this graph lie in its own memory
        with torch.cuda.graph(graph, pool=self.pool, capture_error_mode="thread_local"):
            self.work(self.inbox, capacity)
        self.graphs[capacity] = graph
        return True

    def _copies(self) -> dict[int, Tensor]:
        return {id(tensor): tensor.detach().clone() for tensor in self._changed()}

    def _put_back(self, before: dict[int, Tensor]) -> None:
        with torch.no_grad():
            for tensor in self._changed():
                if id(tensor) in before:
                    tensor.copy_(before[id(tensor)])
                else:
                    tensor.zero_()  # the optimizer begins with zeros

    def _changed(self) -> list[Tensor]:
        """The tensors that a step changes: parameters, buffers, the state of the optimizer, what is remembered."""
        learner = self.learner
        state = [each for one in learner.optimizer.state.values() for each in one.values() if isinstance(each, Tensor)]
        return [*learner.network.parameters(), *learner.network.buffers(), learner.nuisance, learner.bad_step, *state]
