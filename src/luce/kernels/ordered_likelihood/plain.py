"""The ordered likelihood of ragged lists in plain PyTorch, for devices without Triton."""

import torch
from torch import Tensor

from luce.kernels.ordered_likelihood import LONGEST_ON_GPU, TO_THE_LOWEST
from luce.kernels.padded import flat, padded
from luce.kernels.torch_random import numbers_of, random_words


def ordered_lists(
    scores: Tensor,
    labels: Tensor,
    offsets: Tensor,
    stream: Tensor,
    numbers: Tensor | None,
    longest: int,
    *,
    depth: int,
    sample: int = 0,
    whole_grades: bool = False,
    place_weights: Tensor | None = None,
    halving: bool = False,
    item_weights: Tensor | None = None,
    factor: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """Losses (Q,), and gradient (N,) times a factor, of lists of at most `longest` items; NaN labels are left out.

    Ties are broken as `gpu` breaks them.
    """
    places = torch.arange(max(longest, 1), device=scores.device)
    s, y = padded(scores.double(), offsets, longest, 0.0), padded(labels.double(), offsets, longest, torch.nan)
    y = torch.where(y.isnan(), -torch.inf, y)
    drawn = numbers_of(numbers, offsets)[:, None]
    word, *_ = random_words(stream[0], stream[1], drawn, torch.full_like(drawn, sample), places)
    # The key of a tie has 16 bits on a GPU; a list that does not fit there takes all 32.
    tie = torch.where(offsets.diff()[:, None] <= LONGEST_ON_GPU, word >> 16, word)
    shuffle = tie.argsort(dim=1, stable=True)
    order = shuffle.gather(1, y.gather(1, shuffle).argsort(dim=1, descending=True, stable=True))
    s, y = s.gather(1, order), y.gather(1, order)
    placed = y > -torch.inf
    n, lowest = placed.sum(1, keepdim=True), torch.where(placed, y, torch.inf).amin(1, keepdim=True)
    deep, tied = torch.full_like(n, depth), torch.zeros_like(n, dtype=torch.bool)
    if depth == TO_THE_LOWEST:
        above = y > lowest
        deep, tied = above.sum(1, keepdim=True), (above[:, :-1] & (y[:, :-1] == y[:, 1:])).any(1, keepdim=True)
    elif whole_grades:
        deep = (placed & (y >= y.gather(1, deep.minimum(n).clamp(min=1) - 1))).sum(1, keepdim=True)
    weight = _weights(places, n, deep, halving, place_weights)
    if item_weights is not None:
        weight = weight * padded(item_weights.double(), offsets, longest, 0.0).gather(1, order)
    weight = torch.where(placed & (y[:, :1] > lowest) & ~tied, weight, 0.0)
    lse = torch.where(placed, s, -torch.inf).flip(1).logcumsumexp(1).flip(1)
    loss = torch.where(weight > 0, weight * (lse - s), 0.0).sum(1)
    hazard = (weight.log() - torch.where(placed, lse, 0.0)).logcumsumexp(1)
    gradient = torch.zeros_like(s).scatter(1, order, torch.where(placed, (s + hazard).exp() - weight, 0.0))
    losses = torch.where(tied[:, 0], torch.nan, loss)
    return losses.float(), (factor * flat(gradient, offsets, len(scores))).float()


def _weights(places: Tensor, n: Tensor, deep: Tensor, halving: bool, place_weights: Tensor | None) -> Tensor:
    """The weight of each place, (Q, longest); `deep` (Q, 1) places count."""
    weight = torch.ones(len(n), len(places), dtype=torch.float64, device=places.device)
    if halving:
        last = 2.0 ** (1.0 - n)
        weight = torch.where(n > 1, (0.5**places - last) / (1.0 - last).clamp(min=0.5), 0.0)
    elif place_weights is not None:
        given = place_weights[: len(places)].double()
        weight = weight * torch.nn.functional.pad(given, (0, len(places) - len(given)))
    return torch.where(places < deep, weight, 0.0)
