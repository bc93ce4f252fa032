"""The expected gain of a Plackett-Luce policy in plain PyTorch, for devices without Triton."""

import math

import torch
from torch import Tensor

from luce.kernels.expected_gain.samples import DIRECT, EXPOSURE, PLACEMENT
from luce.kernels.padded import CELLS, flat, padded
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
    first_sample: int = 0,
) -> tuple[Tensor, Tensor]:
    """Values (Q,) and gradient (N,) times a factor, float32, of lists of at most `longest` items.

    An item with a score of −∞, or a gain of NaN, is never placed. The rankings are those of `gpu`.
    """
    s = padded(torch.where(gains.isnan(), -torch.inf, scores.double()), offsets, longest, -torch.inf)
    gain = padded(gains.double().nan_to_num(nan=0.0), offsets, longest, 0.0)
    theta = discounts[: s.shape[1]].double()
    values, total, together = s.new_zeros(len(s)), torch.zeros_like(s), max(1, CELLS // max(1, s.numel()))
    for done in range(0, samples, together):
        some = torch.arange(done, min(done + together, samples), device=s.device)
        noise = gumbel_noise(stream, numbers_of(numbers, offsets), first_sample + some, s.shape[1])
        rewards, derivatives = _samples(s[:, None], gain[:, None], theta, noise, estimator)
        values += rewards.sum((1, 2))
        total += derivatives.sum(1)
    return (values / samples).float(), (factor / samples * flat(total, offsets, len(scores))).float()


def _samples(s: Tensor, gain: Tensor, theta: Tensor, noise: Tensor, estimator: int) -> tuple[Tensor, Tensor]:
    """The reward of each sample (Q, samples, 1), and the derivative in each item (Q, samples, items)."""
    keys, left = s + noise, (s > -torch.inf).expand_as(noise).clone()
    reward = keys.new_zeros(*keys.shape[:2], 1)
    chance, paid, before, after = (torch.zeros_like(keys) for _ in range(4))
    live = left[:, :1].sum(2, keepdim=True)
    rest = torch.where(torch.arange(len(theta), device=s.device) < live, theta, 0.0).sum(2, keepdim=True)
    for place, discount in enumerate(theta):
        rest = rest - discount
        behind = rest / (live - place - 1).clamp(min=1) if estimator == EXPOSURE else 0.0
        some = left.any(2, keepdim=True)
        share = torch.where(left & some, s, -torch.inf).softmax(2).nan_to_num(0.0)
        chance += share
        paid += share * (discount - behind)
        before += share * reward
        best = torch.where(left, keys, -torch.inf).argmax(2, keepdim=True)
        chosen = torch.zeros_like(left).scatter(2, best, True) & left
        own = torch.where(chosen, gain, 0.0).sum(2, keepdim=True) * discount
        after -= torch.where(chosen, reward + own if estimator == DIRECT else reward - behind, 0.0)
        reward = reward + own
        left &= ~chosen
    if estimator == EXPOSURE:
        return reward, paid + after
    derivative = torch.where(~left & (s > -torch.inf), reward, 0.0) - reward * chance
    if estimator in (DIRECT, PLACEMENT):
        derivative += after + before
    if estimator == DIRECT:
        derivative += gain * paid
    return reward, derivative


def gumbel_noise(stream: Tensor, numbers: Tensor, samples: Tensor, n_items: int) -> Tensor:
    """Noise (Q, samples, items) from the random bits of `sampled_rankings.numbers`: two items share a block."""
    block = torch.arange((n_items + 1) // 2, device=numbers.device)
    a, b, c, d = random_words(stream[0], stream[1], numbers[:, None, None], samples[:, None], block)
    high, low = (torch.stack(pair, -1).flatten(-2)[..., :n_items] for pair in ((a, c), (b, d)))
    return -((high << 20 | low >> 12).double() * 2.0**-52 + 2.0**-53).log().neg().log()
