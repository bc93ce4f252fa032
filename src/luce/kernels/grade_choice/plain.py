"""The softmax over grades in plain PyTorch, for devices."""

import torch
from torch import Tensor

from luce.kernels.padded import padded


def grade_lists(
    scores: Tensor,
    labels: Tensor,
    offsets: Tensor,
    longest: int,
    item_weights: Tensor | None = None,
    factor: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """Losses (Q,) and gradient (N, grades) times a factor; NaN labels are not observed.

    The loss of a list is NaN, and its gradient any, where a label is not an integer from 0 below the number of grades.
    """
    n_grades = scores.shape[1]
    labels = labels.double()
    w = torch.where(labels.isnan(), 0.0, 1.0 if item_weights is None else item_weights.double())
    grades = labels.nan_to_num(nan=0.0)
    log_p = scores.double().log_softmax(1)
    chosen = grades.clamp(0, n_grades - 1).long()[:, None]
    right = (grades >= 0) & (grades < n_grades) & (grades == grades.floor())
    terms = torch.where(right, -w * log_p.gather(1, chosen)[:, 0], torch.nan)
    gradient = w[:, None] * (log_p.exp() - torch.zeros_like(log_p).scatter(1, chosen, 1.0))
    return padded(terms, offsets, longest, 0.0).sum(1).float(), (factor * gradient).float()
