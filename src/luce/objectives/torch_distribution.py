"""Rankings as a distribution of PyTorch: batched, ragged, on any device, log-probabilities that can be trained on."""

from typing import Any

import torch
from torch import Tensor
from torch.distributions import Distribution, constraints

from luce.errors import DataError

BELOW = 1_000.0
"""An item so far below all others weighs nothing at all: e^−1000 is 0 in float64."""


class _Chances(constraints.Constraint):
    """Scores: numbers, or −∞ for an item that is never placed."""

    def check(self, value: Tensor) -> Tensor:
        return value < torch.inf


class _Rankings(constraints.Constraint):
    """Different items by their positions from 0 on, then nothing but −1."""

    is_discrete = True
    event_dim = 1

    def __init__(self, n_items: int) -> None:
        self.n_items = n_items

    def check(self, value: Tensor) -> Tensor:
        ordered = value.sort(dim=-1).values
        repeated = (ordered[..., 1:] == ordered[..., :-1]) & (ordered[..., 1:] >= 0)
        resumed = (value[..., :-1] < 0) & (value[..., 1:] >= 0)
        outside = (value < -1) | (value >= self.n_items)
        return ~(repeated.any(-1) | resumed.any(-1) | outside.any(-1))


class PlackettLuceDistribution(Distribution):
    """Rankings of n items with P(y) = Π_k e^{s(y_k)} / Σ e^s over the items not placed before k.

    A ranking of shape (..., n) holds the indices of the items, best first, then −1 once no item is left to place.
    Computations are in float64 on the device of the scores; samples come from PyTorch's random number generator.

    Parameters
    ----------
    scores : Tensor of shape (..., n)
        Log worths; −inf for an item that is never placed.
    mask : bool Tensor of shape (..., n), optional
        True at items, for lists of different lengths in one batch; the others are never placed.
    validate_args : bool, optional
        Whether to check arguments; by default as PyTorch's distributions do.

    Examples
    --------
    >>> policy = PlackettLuceDistribution(torch.tensor([2.0, 1.0, 1.0]).log())
    >>> policy.log_prob(torch.tensor([0, 2, 1])).exp()
    tensor(0.2500)
    >>> policy.log_prob(torch.tensor([[0], [1]])).exp()  # of the first place alone
    tensor([0.5000, 0.2500])
    >>> mask = torch.tensor([[True, True, True], [True, True, False]])
    >>> PlackettLuceDistribution(torch.zeros(2, 3), mask).sample((5,)).shape
    torch.Size([5, 2, 3])
    """

    arg_constraints = {"scores": constraints.independent(_Chances(), 1)}  # noqa: RUF012
    has_rsample = False

    def __init__(self, scores: Tensor, mask: Tensor | None = None, validate_args: bool | None = None) -> None:
        if not isinstance(scores, Tensor) or not scores.is_floating_point() or scores.ndim == 0 or not scores.shape[-1]:
            got = f"{scores.dtype} {tuple(scores.shape)}" if isinstance(scores, Tensor) else type(scores).__name__
            raise DataError(f"scores must be a floating-point tensor [..., items]. Got {got}.")
        if mask is not None and (mask.dtype != torch.bool or mask.shape[-1:] != scores.shape[-1:]):
            raise DataError(f"mask must be boolean, of shape [..., {scores.shape[-1]}]. Got {mask.dtype} {mask.shape}.")
        self.scores = scores if mask is None else torch.where(mask, scores, -torch.inf)
        checked = Distribution._validate_args if validate_args is None else validate_args
        if checked and not bool((self.scores < torch.inf).all()):
            bad = self.scores[~(self.scores < torch.inf)][0].item()
            raise DataError(f"scores must be numbers, or −inf for an item that is never placed. Got {bad}.")
        super().__init__(self.scores.shape[:-1], self.scores.shape[-1:], validate_args=validate_args)

    @classmethod
    def of_lists(cls, scores: Tensor, offsets: Tensor, validate_args: bool | None = None) -> "PlackettLuceDistribution":
        """A batch of Q lists from flat scores of shape (N,) and offsets of shape (Q + 1,).

        Examples
        --------
        >>> PlackettLuceDistribution.of_lists(torch.zeros(5), torch.tensor([0, 2, 5])).batch_shape
        torch.Size([2])
        """
        sizes = offsets.diff()
        if scores.ndim != 1 or not bool((sizes >= 0).all()) or offsets[0] != 0 or offsets[-1] != len(scores):
            raise DataError(
                f"offsets must increase from 0 to the number of scores, {len(scores)}. Got {offsets.tolist()}."
            )
        places = torch.arange(max(int(sizes.max()), 1), device=scores.device)
        mask = places < sizes.to(scores.device)[:, None]
        return cls(scores.new_full(mask.shape, -torch.inf).masked_scatter(mask, scores), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> constraints.Constraint:
        return _Rankings(self.event_shape[0])

    @property
    def mode(self) -> Tensor:
        """The likeliest ranking."""
        return self._ended(self.scores.detach().argsort(dim=-1, descending=True, stable=True))

    def expand(self, batch_shape: Any, _instance: Any = None) -> "PlackettLuceDistribution":
        new = self._get_checked_instance(PlackettLuceDistribution, _instance)
        new.scores = self.scores.expand(torch.Size(batch_shape) + self.event_shape)
        super(PlackettLuceDistribution, new).__init__(torch.Size(batch_shape), self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def sample(self, sample_shape: Any = (), *, generator: torch.Generator | None = None) -> Tensor:
        """Draw rankings: an int64 tensor, whose shape is `sample_shape`, the batch shape and n."""
        shape = self._extended_shape(torch.Size(sample_shape))
        with torch.no_grad():
            scores = self._wide().expand(shape)
            times = torch.empty_like(scores, memory_format=torch.contiguous_format).exponential_(generator=generator)
            keys = torch.where(scores > -torch.inf, scores - times.log(), -torch.inf)
            return self._ended(keys.argsort(dim=-1, descending=True))

    def log_prob(self, value: Tensor) -> Tensor:
        """The log-probability of rankings, differentiable with respect to the scores.

        Parameters
        ----------
        value : int64 Tensor of shape (..., K)
            Rankings, broadcast with the batch. With K < n, or −1 at the end, the probability is that of all rankings
            that begin so. It is −inf where an item is placed that never can be.

        Returns
        -------
        Tensor of shape (...,)
        """
        if self._validate_args:
            self._validate_sample(value)
        batch = torch.broadcast_shapes(value.shape[:-1], self.batch_shape)
        value, scores = value.long().expand(batch + value.shape[-1:]), self._wide().expand(batch + self.event_shape)
        live, placed, items = scores > -torch.inf, value >= 0, value.clamp(min=0)
        lowest = torch.where(live, scores.detach(), torch.inf).amin(-1, keepdim=True)
        # In place of −inf, whose derivative is no number; so far below the others it changes no digit.
        floor = torch.where(lowest < torch.inf, lowest, 0.0) - BELOW
        scores = torch.where(live, scores, floor)
        own = torch.where(placed, scores.gather(-1, items), floor)
        used = torch.zeros_like(scores, dtype=torch.int64).scatter_add(-1, items, placed.long()) > 0
        rest = torch.where(used, floor, scores).logsumexp(-1, keepdim=True)
        left = torch.cat([rest, own.flip(-1)], -1).logcumsumexp(-1)[..., 1:].flip(-1)
        total = torch.where(placed, own - left, 0.0).sum(-1)
        possible = (live.gather(-1, items) | ~placed).all(-1)
        return torch.where(possible, total, -torch.inf).to(self.scores.dtype)

    def _wide(self) -> Tensor:
        return self.scores.to(torch.float64)

    def _ended(self, rankings: Tensor) -> Tensor:
        """−1 from where no item is left that can be placed."""
        places = torch.arange(rankings.shape[-1], device=rankings.device)
        return torch.where(places < (self.scores > -torch.inf).sum(-1, keepdim=True), rankings, -1)

    def _validate_sample(self, value: Tensor) -> None:
        """The first K of a ranking will do, so its length need not be that of the event."""
        if not isinstance(value, Tensor) or value.is_floating_point() or value.ndim == 0:
            raise DataError("A ranking must be a tensor of integers [..., ranks], the positions of the items.")
        if value.shape[-1] > self.event_shape[0]:
            raise DataError(f"A ranking has at most {self.event_shape[0]} ranks. Got {value.shape[-1]}.")
        try:
            torch.broadcast_shapes(value.shape[:-1], self.batch_shape)
        except RuntimeError as error:
            shapes = f"{tuple(value.shape[:-1])} for the policy's {tuple(self.batch_shape)}"
            raise DataError(
                f"A batch of rankings must be broadcastable to that of the policy. Got {shapes}."
            ) from error
        good = self.support.check(value)
        if not bool(good.all()):
            raise DataError(
                f"A ranking must contain different items, by their positions, 0 to {self.event_shape[0] - 1}, and −1 "
                "only "
                f"after the last. Got {value[~good][0].tolist()}."
            )
