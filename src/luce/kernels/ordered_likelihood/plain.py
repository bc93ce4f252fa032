"""The ordered likelihood of ragged lists in plain PyTorch, for devices without Triton."""

import torch
from torch import Tensor

from luce.kernels.ordered_likelihood import LONGEST_ON_GPU
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
    sample: int,
    place_weights: Tensor | None = None,
    halving: bool = False,
    factor: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """Losses (Q,), and gradient (N,) times a factor, of lists of at most `longest` items; NaN labels are left out.

    Ties are broken as `gpu` breaks them.
    """
    places = torch.arange(max(longest, 1), device=scores.device)
    here = places < offsets.diff()[:, None]
    s = torch.zeros(here.shape, dtype=torch.float64, device=scores.device)
    y = torch.full(here.shape, -torch.inf, dtype=torch.float64, device=scores.device)
    s[here], y[here] = scores.double(), labels.double().nan_to_num(nan=-torch.inf)
    drawn = numbers_of(numbers, offsets)[:, None]
    word, *_ = random_words(stream[0], stream[1], drawn, torch.full_like(drawn, sample), places)
    # The key of a tie has 17 bits on a GPU; a list that does not fit there takes all 32.
    tie = torch.where(offsets.diff()[:, None] <= LONGEST_ON_GPU, word >> 15, word)
    shuffle = tie.argsort(dim=1, stable=True)
    order = shuffle.gather(1, y.gather(1, shuffle).argsort(dim=1, descending=True, stable=True))
    s, y = s.gather(1, order), y.gather(1, order)
    placed, n = y > -torch.inf, (y > -torch.inf).sum(1, keepdim=True)
    lse = torch.where(placed, s, -torch.inf).flip(1).logcumsumexp(1).flip(1)
    weight = _weights(places, n, depth, halving, place_weights)
    lowest = torch.where(placed, y, torch.inf).amin(1, keepdim=True)
    weight = torch.where(placed & (y[:, :1] > lowest), weight, 0.0)
    loss = torch.where(weight > 0, weight * (lse - s), 0.0).sum(1)
    hazard = (weight.log() - torch.where(placed, lse, 0.0)).logcumsumexp(1)
    gradient = torch.zeros_like(s).scatter(1, order, torch.where(placed, (s + hazard).exp() - weight, 0.0))
    return loss.float(), (factor * gradient[here]).float()


def _weights(places: Tensor, n: Tensor, depth: int, halving: bool, place_weights: Tensor | None) -> Tensor:
    """The weight of each place, (Q, longest)."""
    weight = torch.ones(len(n), len(places), dtype=torch.float64, device=places.device)
    if halving:
        last = 2.0 ** (1.0 - n)
        weight = torch.where(n > 1, (0.5**places - last) / (1.0 - last).clamp(min=0.5), 0.0)
    elif place_weights is not None:
        given = place_weights[: len(places)].double()
        weight = weight * torch.nn.functional.pad(given, (0, len(places) - len(given)))
    return torch.where(places < depth, weight, 0.0)
