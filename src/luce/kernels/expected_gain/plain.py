"""The expected gain of a Plackett-Luce policy in plain PyTorch, for devices without Triton."""

import math

import torch
from torch import Tensor

from luce.kernels.expected_gain.samples import DIRECT, PLACEMENT
from luce.kernels.padded import flat, padded
from luce.kernels.place_sums import BINARY, IDEAL, LENGTH, LINEAR, TOTAL
from luce.kernels.torch_random import numbers_of, random_words


def list_gains(
    labels: Tensor, offsets: Tensor, discounts: Tensor, longest: int, worth: int, divisor: int, constant: float
) -> Tensor:
    """The gains (N,) of a linear metric, float32: NaN where a label is, 0 in lists whose gains are all alike."""
    y = padded(labels.double(), offsets, longest, torch.nan)
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
    return flat(torch.where(seen, gains, torch.nan), offsets, len(labels)).float()


def expected_gain_lists(
    scores: Tensor,
    gains: Tensor,
    offsets: Tensor,
    discounts: Tensor,
    stream: Tensor,
    numbers: Tensor | None,
    longest: int,
    *,
    samples: int,
    estimator: int,
    factor: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """Values (Q,) and gradient (N,) times a factor, float32, of lists of at most `longest` items.

    An item with a score of −∞, or a gain of NaN, is never placed. The rankings are those of `gpu`.
    """
    s = padded(torch.where(gains.isnan(), -torch.inf, scores.double()), offsets, longest, -torch.inf)
    gain = padded(gains.double().nan_to_num(nan=0.0), offsets, longest, 0.0)
    noise = gumbel_noise(stream, numbers_of(numbers, offsets), samples, s.shape[1])
    s, gain = s[:, None, :], gain[:, None, :]
    left = (s > -torch.inf).expand_as(noise).clone()
    keys = s + noise
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
    return reward.mean((1, 2)).float(), (factor * flat(derivative.mean(1), offsets, len(scores))).float()


def gumbel_noise(stream: Tensor, numbers: Tensor, samples: int, n_items: int) -> Tensor:
    """Noise (Q, samples, items) from the random bits of `sampled_rankings.numbers`: two items share a block."""
    sample = torch.arange(samples, device=numbers.device)[:, None]
    block = torch.arange((n_items + 1) // 2, device=numbers.device)
    a, b, c, d = random_words(stream[0], stream[1], numbers[:, None, None], sample, block)
    high, low = (torch.stack(pair, -1).flatten(-2)[..., :n_items] for pair in ((a, c), (b, d)))
    return -((high << 20 | low >> 12).double() * 2.0**-52 + 2.0**-53).log().neg().log()
