"""A label network that is trained on tagged rows: one step on a batch."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from luce.arrays import Integers
from luce.data.extreme import TaggedData
from luce.distributed import current_group, gathered, in_share, numbered
from luce.errors import NumericalError
from luce.objectives import Draw, Objective
from luce.rankers.labels.candidates import Negatives, only_rows
from luce.rankers.labels.network import LabelNetwork
from luce.rankers.labels.prediction import top_labels
from luce.rankers.labels.rows import rows_on
from luce.rankers.neural.training import TorchLearner
from luce.torch import fused_linear_loss, label_value_and_gradient

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
        self.rows = rows_on(self.device, features, data)
        self.negatives = None
        if negatives is not None:
            self.negatives = Negatives(negatives, negative_sampling, data.label_counts, self.seed)
        self.first_row, _ = numbered(data.n_rows)

    def step(self, lists: Integers, epoch: float, step: int) -> Any:
        own = in_share(lists, self.first_row, self.data.n_rows)
        if self.negatives is None:
            return self._step(own, None, epoch, step, len(lists))
        known = np.unique(gathered(np.unique(self.data.relevant(own)[0])))
        candidates = self._candidates(known, own, step)
        with only_rows(self.network.out, candidates, self.optimizer):
            return self._step(own, candidates[: len(known)], epoch, step, len(lists))

    def top_labels(self, features: Any, k: int) -> Integers:
        """The k labels with the highest scores of rows of this rank."""
        return top_labels(self.network, features, k)[0]

    def _candidates(self, known: Integers, rows: Integers, step: int) -> Tensor:
        """The labels of a step: those relevant to its rows, in increasing order, and others."""
        assert self.negatives is not None
        drawn = self.negatives.draw(known, step)
        labels = torch.from_numpy(np.concatenate([known, drawn])).to(self.device, non_blocking=True)
        if self.negatives.sampling != "hard":
            return labels
        with torch.no_grad():
            hidden = self.network.eval().hidden(self.rows.features(rows))
            hard = self.negatives.hardest(labels[len(known) :], hidden, self.network.out)
        return torch.cat([labels[: len(known)], hard])

    def _step(self, rows: Integers, known: Tensor | None, epoch: float, step: int, of: int) -> Any:
        """One update of the network, whose last layer has the rows of the known labels first, if not of all."""
        self.seed_dropout(step)
        self.network.train()

        def work() -> Any:
            return self._propagate(rows, known, epoch, step, of) if len(rows) else 0.0

        return self.update(work)

    def _propagate(self, rows: Integers, known: Tensor | None, epoch: float, step: int, of: int) -> Any:
        """The loss of these rows, which are all or some `of` so many, and the gradients of its mean over all."""
        relevant, share = self.rows.relevant(rows), len(rows) / of
        if known is not None:
            relevant = relevant._replace(labels=torch.searchsorted(known, relevant.labels.long()))
        hidden, out = self.network.hidden(self.rows.features(rows)), self.network.out
        by_rows = self.objective.label_rows is not None and relevant.grades is None
        if by_rows and is_fused(self.device, len(rows) * len(out.weight)):
            loss = fused_linear_loss(hidden, out.weight, out.bias, relevant, self.objective)
            (loss * share).backward()
        else:
            scores = self.network.scores(hidden)
            draw = Draw(self.seed, int(epoch), rows + self.first_row, epoch)
            try:
                loss, gradient = label_value_and_gradient(
                    self.objective, scores, relevant, draw=draw, n_jobs=self.n_jobs
                )
            except NumericalError as error:
                if step == 0 and bool(scores.isfinite().all()):
                    raise
                raise self.diverged(step) from error
            scores.backward(gradient if share == 1 else gradient * share)
        loss = loss.detach().double() * share
        if self.device.type != "cpu" and current_group() is None:
            return loss
        value = loss.item()
        if not np.isfinite(value):  # kernels do not look at the scores
            raise self.diverged(step)
        return value
