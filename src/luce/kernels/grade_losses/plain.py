"""The losses of sets of equal labels in plain PyTorch, for devices without Triton."""

import torch
from torch import Tensor

from luce.kernels.grade_losses import BOUND
from luce.kernels.padded import flat, padded


def grade_lists(
    scores: Tensor,
    labels: Tensor,
    offsets: Tensor,
    longest: int,
    kind: int,
    item_weights: Tensor | None = None,
    factor: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """Losses (Q,) and gradient (N,) times a factor of lists of at most `longest` items; NaN labels are not observed."""
    s, y = padded(scores.double(), offsets, longest, 0.0), padded(labels.double(), offsets, longest, torch.nan)
    w = torch.ones_like(s) if item_weights is None else padded(item_weights.double(), offsets, longest, 0.0)
    loss, gradient = s.new_zeros(len(s)), torch.zeros_like(s)
    left = ~y.isnan()
    level = torch.where(left, y, -torch.inf).amax(1, keepdim=True)
    rest = left & (y < level)
    while bool(rest.any()):
        chosen = left & (y == level) & rest.any(1, keepdim=True)
        log_p = torch.where(left, s, -torch.inf).log_softmax(1)
        if kind == BOUND:
            own = torch.where(chosen, w, 0.0)
            total = own.sum(1, keepdim=True)
            loss -= torch.where(chosen, own * log_p, 0.0).sum(1) + torch.lgamma(total[:, 0] + 1.0)
            gradient += torch.where(total > 0, total * log_p.exp(), 0.0) - own
        else:
            among = torch.where(chosen, s, -torch.inf).log_softmax(1)
            loss += torch.where(chosen, among - log_p, 0.0).amax(1)  # the same for every item chosen
            gradient += torch.where(rest.any(1, keepdim=True), log_p.exp() - among.exp(), 0.0)
        left = rest
        level = torch.where(rest, y, -torch.inf).amax(1, keepdim=True)
        rest = rest & (y < level)
    return loss.float(), (factor * flat(gradient, offsets, len(scores))).float()
