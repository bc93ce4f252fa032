"""The training of a label network on a GPU: steps that are repeated as CUDA graphs."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from luce.arrays import Integers
from luce.distributed import current_group
from luce.kernels.device import has_triton
from luce.objectives import Draw
from luce.objectives.label_rows import LARGEST_SET
from luce.rankers.labels.learner import LabelLearner
from luce.rankers.labels.rows import ResidentRows
from luce.rankers.neural.recorded import RecordedSteps, capacity_for
from luce.rankers.neural.training import ON_GPU

TOGETHER = 256
"""With negatives a step has a multiple of this many labels, so that a recorded step fits again."""

PARTS = 32
"""Capacities between two powers of 2: the last row of a batch gets what its entries leave free, and should not be long.
"""


class RecordedLabelLearner(LabelLearner):
    """Records its steps, unless the rows do not fit on the GPU or a step needs the host or other ranks."""

    rows: ResidentRows

    def __init__(self, *given: Any, optimizer: str, **settings: Any):
        super().__init__(*given, optimizer=optimizer, **settings)
        self.loss = torch.zeros((), dtype=torch.float64, device=self.device)
        there = isinstance(self.rows, ResidentRows) and not self.rows.graded and current_group() is None
        drawn = self.negatives is None or self.negatives.sampling != "hard"
        kernels = self.objective.label_rows is not None and has_triton() and self.data.sizes.max() <= LARGEST_SET
        fixed = there and drawn and kernels and optimizer in ON_GPU
        self.recorded = RecordedSteps(self._recorded_step, self.device) if fixed else None

    def step(self, lists: Integers, epoch: float, step: int) -> Any:
        if self.recorded is not None:
            self.begin_step(step)
            labels = lists[:0] if self.negatives is None else np.concatenate(self.drawn(lists, step, TOGETHER))
            if len(labels) % TOGETHER:  # of few labels
                return super().step(lists, epoch, step)
            entries, relevant = (capacity_for(count, PARTS) for count in self.rows.counts(lists))
            numbers = np.concatenate([[step], lists, np.sort(labels)])
            if self.recorded.run(numbers, (len(lists), entries, relevant, len(labels))):
                return self.loss
            self.recorded = None
        return super().step(lists, epoch, step)

    def _recorded_step(self, inbox: Tensor, capacity: tuple[int, ...]) -> None:
        """A step whose number, rows and candidates are in the inbox."""
        n_rows, entries, n_relevant, n_candidates = capacity
        rows, candidates = inbox[1 : 1 + n_rows], inbox[1 + n_rows : 1 + n_rows + n_candidates]

        def work() -> Any:
            features, relevant = self.rows.features_there(rows, entries), self.rows.relevant_there(rows, n_relevant)
            return self.propagate(features, relevant, candidates if n_candidates else None, Draw(), n_rows)

        self.loss.copy_(self.watch(self.update_candidates(work, candidates if n_candidates else None), inbox[0]))
