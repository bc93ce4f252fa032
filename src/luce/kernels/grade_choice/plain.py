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
    chosen = labels[:, None] == torch.arange(scores.shape[1], device=scores.device)
    log_p, missing = scores.double().log_softmax(1), labels.isnan()
    terms = torch.where(chosen.any(1) | missing, -torch.where(chosen, log_p, 0.0).sum(1), torch.nan)
    gradient = torch.where(missing[:, None], 0.0, factor * (log_p.exp() - chosen.double()))
    if item_weights is not None:
        terms, gradient = terms * item_weights, gradient * item_weights[:, None]
    return padded(terms, offsets, longest, 0.0).sum(1).float(), gradient.float()
