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
"""Capacities between two powers of 2: what the entries of a batch leave free is computed too, and should be little."""


class RecordedLabelLearner(LabelLearner):
    """Records its steps, unless the rows do not fit on the GPU or a step needs the host or other ranks."""

    rows: ResidentRows

    def __init__(self, *given: Any, optimizer: str, **settings: Any):
        super().__init__(*given, optimizer=optimizer, **settings)
        self.loss = torch.zeros((), dtype=torch.float64, device=self.device)
        there = isinstance(self.rows, ResidentRows) and not self.rows.graded and current_group() is None
        kernels = self.objective.label_rows is not None and has_triton() and self.data.sizes.max() <= LARGEST_SET
        fixed = there and kernels and optimizer in ON_GPU
        self.recorded = RecordedSteps(self._recorded_step, self.device) if fixed else None

    def step(self, lists: Integers, epoch: float, step: int) -> Any:
        if self.recorded is not None:
            self.begin_step(step)
            labels, n_known, count = lists[:0], 0, 0
            if self.negatives is not None:
                labels, n_known, count = self.drawn(lists, step, TOGETHER)
            if len(labels) % TOGETHER or (self.negatives is not None and len(labels) == n_known):  # of few labels
                return super().step(lists, epoch, step)
            entries, relevant = (capacity_for(size, PARTS) for size in self.rows.counts(lists))
            numbers = np.concatenate([[step, n_known], lists, labels])
            if self.recorded.run(numbers, (len(lists), entries, relevant, len(labels), count)):
                return self.loss
            self.recorded = None
        return super().step(lists, epoch, step)

    def _recorded_step(self, inbox: Tensor, capacity: tuple[int, ...]) -> None:
        """A step whose number, count of known labels, rows and labels are in the inbox."""
        n_rows, entries, n_relevant, n_labels, count = capacity
        rows, labels = inbox[2 : 2 + n_rows], inbox[2 + n_rows : 2 + n_rows + n_labels]
        features, relevant = self.rows.features_there(rows, entries), self.rows.relevant_there(rows, n_relevant)
        candidates = self.candidates(labels, inbox[1], count, features) if count else None

        def work() -> Any:
            return self.propagate(features, relevant, candidates, Draw(), n_rows)

        self.loss.copy_(self.watch(self.update_candidates(work, candidates), inbox[0]))
