"""The expected gain of a Plackett-Luce policy in plain PyTorch, for devices without Triton."""

import math

import torch
from torch import Tensor

from luce.kernels.expected_gain.samples import DIRECT, PLACEMENT
from luce.kernels.place_sums import BINARY, IDEAL, LENGTH, LINEAR, TOTAL


def list_gains(
    labels: Tensor, offsets: Tensor, discounts: Tensor, longest: int, worth: int, divisor: int, constant: float
) -> Tensor:
    """The gains (N,) of a linear metric, float32: NaN where a label is, 0 in lists whose gains are all alike."""
    here = torch.arange(max(longest, 1), device=labels.device) < offsets.diff()[:, None]
    y = torch.full(here.shape, torch.nan, dtype=torch.float64, device=labels.device)
    y[here] = labels.double()
    seen, y = ~y.isnan(), y.nan_to_num(nan=0.0).clamp(min=0.0)
    gains = (y > 0).double() if worth == BINARY else y if worth == LINEAR else torch.expm1(y * math.log(2.0))
    alike = torch.where(seen, gains, -1.0).amax(1) <= torch.where(seen, gains, torch.inf).amin(1)
    total = torch.full_like(gains[:, 0], constant)
    if divisor == IDEAL:
        top = gains.sort(dim=1, descending=True).values[:, : len(discounts)]
        total = (top * discounts[: top.shape[1]].double()).sum(1)
    elif divisor in (TOTAL, LENGTH):
        total = gains.sum(1) if divisor == TOTAL else seen.sum(1).double()
    gains = torch.where(alike[:, None], 0.0, gains / total[:, None])
    return torch.where(seen, gains, torch.nan)[here].float()


def expected_gain_lists(
    scores: Tensor,
    gains: Tensor,
    offsets: Tensor,
    discounts: Tensor,
    numbers: Tensor | None,
    longest: int,
    *,
    samples: int,
    estimator: int,
    seed: int,
    step: int,
    factor: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """Values (Q,) and gradient (N,) times a factor, float32, of lists of at most `longest` items.

    An item with a score of −∞, or a gain of NaN, is never placed.

    The noise is a generator's of PyTorch, seeded by seed and step; `numbers` play no part.
    """
    here = torch.arange(max(longest, 1), device=scores.device) < offsets.diff()[:, None]
    s = torch.full(here.shape, -torch.inf, dtype=torch.float64, device=scores.device)
    gain = torch.zeros(here.shape, dtype=torch.float64, device=scores.device)
    s[here], gain[here] = torch.where(gains.isnan(), -torch.inf, scores).double(), gains.nan_to_num(nan=0.0).double()
    source = torch.Generator(scores.device).manual_seed(hash((seed, step)) % 2**63)
    noise = s.new_empty(len(s), samples, s.shape[1]).exponential_(generator=source)
    s, gain = s[:, None, :], gain[:, None, :]
    left = (s > -torch.inf).expand_as(noise).clone()
    keys = s - noise.log()
    reward = keys.new_zeros(keys.shape[0], samples, 1)
    chance, paid, before, after = (torch.zeros_like(keys) for _ in range(4))
    for discount in discounts[: s.shape[2]].double():
        some = left.any(2, keepdim=True)
        share = torch.where(left & some, s, -torch.inf).softmax(2).nan_to_num(0.0)
        chance += share
        paid += share * discount
        before += share * reward
        best = torch.where(left, keys, -torch.inf).argmax(2, keepdim=True)
        chosen = torch.zeros_like(left).scatter(2, best, True) & left
        own = torch.where(chosen, gain, 0.0).sum(2, keepdim=True) * discount
        after -= torch.where(chosen, reward + own if estimator == DIRECT else reward, 0.0)
        reward = reward + own
        left &= ~chosen
    derivative = torch.where(~left & (s > -torch.inf), reward, 0.0) - reward * chance
    if estimator in (DIRECT, PLACEMENT):
        derivative += after + before
    if estimator == DIRECT:
        derivative += gain * paid
    return reward.mean((1, 2)).float(), (factor * derivative.mean(1)[here]).float()
