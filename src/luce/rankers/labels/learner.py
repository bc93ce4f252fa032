"""A label network that is trained on tagged rows: one step on a batch."""

from typing import Any

import numpy as np
import torch

from luce.arrays import Integers
from luce.data.extreme import TaggedData
from luce.distributed import gathered, in_share, numbered
from luce.errors import NumericalError
from luce.objectives import Draw, Objective
from luce.rankers.labels.network import LabelNetwork, rows_to
from luce.rankers.neural.training import TorchLearner
from luce.torch import Relevant, fused_linear_loss, label_loss

LARGE = 2**25
"""Scores of a batch above which a GPU computes the last layer and the loss together, without storing them all."""


def is_fused(device: torch.device, n_scores: int) -> bool:
    """Whether the last layer and the loss of so many scores are computed together.

    >>> is_fused(torch.device("cuda"), 1_000 * 100_000), is_fused(torch.device("cpu"), 1_000 * 100_000)
    (True, False)
    """
    return device.type != "cpu" and n_scores > LARGE


class LabelLearner(TorchLearner):
    """Trains a network on tagged rows; a step minimizes the mean loss over the rows of a batch.

    With `negatives`, a batch is scored on the labels that are relevant to any of its rows and on that many others,
    drawn at random. The Plackett-Luce likelihood of a subset of the items has the same parameters, so the model is the
    same; the cost of a step grows with the labels it scores.

    In a process group the rows of all ranks are numbered in the order of ranks, and each rank takes its own of a batch.
    """

    network: LabelNetwork

    def __init__(
        self,
        network: LabelNetwork,
        objective: Objective,
        features: Any,
        data: TaggedData,
        *,
        negatives: int | None,
        n_jobs: int | None,
        **training: Any,
    ):
        super().__init__(network, (), **training)
        self.objective, self.features, self.data = objective, features, data
        self.negatives, self.n_jobs = negatives, n_jobs
        self.first_row, _ = numbered(data.n_rows)

    def step(self, lists: Integers, epoch: float, step: int) -> float:
        own = in_share(lists, self.first_row, self.data.n_rows)
        self.seed_dropout(step)
        self.network.train()
        candidates = None
        if self.negatives is not None:
            others = np.random.default_rng((self.seed, step)).integers(self.data.n_labels, size=self.negatives)
            candidates = np.union1d(gathered(np.unique(self.data.relevant(own)[0])), others)

        def work() -> float:
            return self._propagate(own, candidates, epoch, step, len(lists)) if len(own) else 0.0

        return self.update(work)

    def _propagate(self, rows: Integers, candidates: Integers | None, epoch: float, step: int, of: int) -> float:
        """The loss of these rows, which are all or some `of` so many, and the gradients of its mean over all."""
        labels, offsets, grades = self.data.relevant(rows)
        chosen = None
        if candidates is not None:
            labels = np.searchsorted(candidates, labels)
            chosen = torch.from_numpy(candidates).to(self.device)
        graded = not (grades == 1).all()
        on_device = self.objective.label_rows is not None and not graded
        loss_device = self.device if on_device else torch.device("cpu")
        relevant = Relevant(
            torch.from_numpy(labels).to(loss_device),
            torch.from_numpy(offsets).to(loss_device),
            torch.from_numpy(grades).to(loss_device) if graded else None,
            int(np.diff(offsets).max()),
        )
        hidden = self.network.hidden(rows_to(self.features, rows, self.device))
        if on_device and chosen is None and is_fused(self.device, len(rows) * self.data.n_labels):
            out = self.network.out
            loss = fused_linear_loss(hidden, out.weight, out.bias, relevant, self.objective)
        else:
            scores = self.network.scores(hidden, chosen).to(loss_device)
            draw = Draw(self.seed, int(epoch), rows + self.first_row, epoch)
            try:
                loss = label_loss(self.objective, scores, relevant, draw=draw, n_jobs=self.n_jobs)
            except NumericalError as error:
                if step == 0 and bool(scores.isfinite().all()):
                    raise
                raise self.diverged(step) from error
        if len(rows) < of:
            loss = loss * (len(rows) / of)
        value = loss.item()
        if not np.isfinite(value):  # a GPU does not look at the scores
            raise self.diverged(step)
        loss.backward()
        return value
