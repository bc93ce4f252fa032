"""A label network that is trained on tagged rows: one step on a batch."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from luce.arrays import Integers
from luce.data.extreme import TaggedData
from luce.distributed import current_group, gathered, in_share, numbered
from luce.errors import NumericalError
from luce.objectives import Draw, Objective
from luce.rankers.labels.candidates import Negatives, hardest, only_rows
from luce.rankers.labels.network import LabelNetwork
from luce.rankers.labels.prediction import top_labels
from luce.rankers.labels.rows import HostRows, ResidentRows, rows_on
from luce.rankers.neural.entries import Entries
from luce.rankers.neural.training import TorchLearner
from luce.torch import Relevant, fused_linear_loss, label_value_and_gradient

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

    With `negatives`, a batch is scored on the labels that are relevant to any of its rows and on that many others, and
    the last layer is updated in their rows alone: a step costs nothing for the other labels. The Plackett-Luce
    likelihood of a subset of the items has the same parameters, so the model is the same.

    In a process group the rows of all ranks are numbered in the order of ranks, and each rank takes its own of a batch.
    On a GPU without a group a step returns its loss there, and the host does not wait for it.
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
        negative_sampling: str,
        n_jobs: int | None,
        **training: Any,
    ):
        super().__init__(network, (), **training)
        self.objective, self.data, self.n_jobs = objective, data, n_jobs
        self.rows: HostRows | ResidentRows = rows_on(self.device, features, data)
        self.negatives = None
        if negatives is not None:
            self.negatives = Negatives(negatives, negative_sampling, data.labels.indices, data.n_labels, self.seed)
        self.first_row, _ = numbered(data.n_rows)

    def step(self, lists: Integers, epoch: float, step: int) -> Any:
        own = in_share(lists, self.first_row, self.data.n_rows)
        self.begin_step(step)
        features, candidates = self.rows.features(own), None
        if self.negatives is not None:
            labels, n_known, count = self.drawn(own, step)
            there = torch.from_numpy(labels).to(self.device, non_blocking=True)
            candidates = self.candidates(there, n_known, count, features)

        def work() -> Any:
            if not len(own):
                return 0.0
            draw = Draw(self.seed, int(epoch), own + self.first_row, epoch)
            try:
                return self.propagate(features, self.rows.relevant(own), candidates, draw, len(lists))
            except NumericalError as error:
                if step == 0 and all(bool(one.isfinite().all()) for one in self.network.parameters()):
                    raise
                raise self.diverged(step) from error

        return self.watch(self.update_candidates(work, candidates), step)

    def update_candidates(self, work: Callable[[], Any], candidates: Tensor | None) -> Any:
        """One update of the network, of whose last layer only the candidates count, if not all labels."""
        if candidates is None:
            return self.update(work)
        with only_rows(self.network.out, candidates, self.optimizer):
            return self.update(work)

    def top_labels(self, features: Any, k: int) -> Integers:
        """The k labels with the highest scores of rows of this rank."""
        return top_labels(self.network, features, k)[0]

    def drawn(self, rows: Integers, step: int, multiple: int = 1) -> tuple[Integers, int, int]:
        """Labels for a step, first those that are relevant to its rows, how many these are, and how many it takes."""
        assert self.negatives is not None
        labels = np.sort(gathered(self.data.relevant(rows)[0]))
        known = labels[np.flatnonzero(np.diff(labels, prepend=-1))]
        labels, count = self.negatives.draw(known, step, multiple)
        return labels, len(known), count

    def candidates(self, labels: Tensor, n_known: int | Tensor, count: int, features: Tensor | Entries) -> Tensor:
        """The labels that a step takes, in increasing order; the hardest for the network without dropout."""
        if count < len(labels):
            with torch.no_grad():
                hidden = self.network.eval().hidden(features)
                labels = hardest(labels, n_known, count, hidden, self.network.out)
            self.network.train()
        return labels.sort().values

    def propagate(
        self, features: Tensor | Entries, relevant: Relevant, candidates: Tensor | None, draw: Draw, of: int
    ) -> Any:
        """The loss of some rows, which are all or some `of` so many, and the gradients of its mean over all."""
        share = (len(relevant.offsets) - 1) / of
        if candidates is not None:
            relevant = relevant._replace(labels=torch.searchsorted(candidates, relevant.labels.long()))
        with self.autocast():
            hidden, out = self.network.hidden(features), self.network.out
        by_rows = self.objective.label_rows is not None and relevant.grades is None
        if by_rows and is_fused(self.device, len(hidden) * len(out.weight)):
            loss = fused_linear_loss(hidden.float(), out.weight, out.bias, relevant, self.objective)
            (loss * share).backward()
        else:
            with self.autocast():
                scores = self.network.scores(hidden).float()
            loss, gradient = label_value_and_gradient(self.objective, scores, relevant, draw=draw, n_jobs=self.n_jobs)
            scores.backward(gradient if share == 1 else gradient * share)
        loss = loss.detach().double() * share
        return loss if self.device.type == "cuda" and current_group() is None else loss.item()
