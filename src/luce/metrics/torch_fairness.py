"""The functions of `metrics.fairness` on padded lists of a device, without waiting for it.

Each is called as function(exposures (Q, n), merits (Q, n), item_groups (Q, n) or None, seen (Q, n)) and returns the
value (Q,) of each list and its gradient (Q, n). `seen` is true of items; elsewhere all numbers are 0.
"""

import torch
from torch import Tensor


def disparity(exposures: Tensor, merits: Tensor, item_groups: Tensor | None, seen: Tensor) -> tuple[Tensor, Tensor]:
    """See `fairness.disparity`.

    >>> disparity(torch.tensor([[1.0, 0.5]]), torch.tensor([[3.0, 1.0]]), None, torch.ones(1, 2, dtype=torch.bool))
    (tensor([0.2500]), tensor([[-1.0000,  3.0000]]))
    """
    sizes, squares = seen.sum(1, keepdim=True), (merits * merits).sum(1, keepdim=True)
    common = (merits * exposures).sum(1, keepdim=True) / torch.where(squares > 0, squares, 1.0)
    off = exposures - common * merits
    factors = 2 * squares / (sizes * (sizes - 1)).clamp(min=1)  # 0 · anything of one item
    return (factors * off * off).sum(1), 2 * factors * off


def parity_gap(exposures: Tensor, merits: Tensor, item_groups: Tensor | None, seen: Tensor) -> tuple[Tensor, Tensor]:
    """See `fairness.parity_gap`."""
    return _gap(exposures, seen.to(exposures.dtype), item_groups, seen)


def merit_gap(exposures: Tensor, merits: Tensor, item_groups: Tensor | None, seen: Tensor) -> tuple[Tensor, Tensor]:
    """See `fairness.merit_gap`."""
    return _gap(exposures, merits, item_groups, seen)


def _gap(exposures: Tensor, deserts: Tensor, item_groups: Tensor | None, seen: Tensor) -> tuple[Tensor, Tensor]:
    """Σ_g (x_g − t_g)² as a sum over items, of which each counts as one of its group's size."""
    assert item_groups is not None
    values = torch.stack([exposures, deserts, seen.to(exposures.dtype)])
    totals = values.sum(2, keepdim=True)
    counts = (totals[:2] > 0).all(0)
    of_group = _group_sums(values, item_groups)
    shares, deserved = of_group[:2] / torch.where(counts, totals[:2], 1.0)
    off = torch.where(counts & seen, shares - deserved, 0.0)
    once = off / of_group[2].clamp(min=1)
    drift = (once * shares).sum(1, keepdim=True)
    gradient = 2 * torch.where(counts & seen, off - drift, 0.0) / torch.where(counts, totals[0], 1.0)
    return (once * off).sum(1), gradient


def _group_sums(values: Tensor, item_groups: Tensor) -> Tensor:
    """For each item the sums of the values (K, Q, n) over its group in its list; sorted, so that none are scattered."""
    groups, order = item_groups.sort(dim=1, stable=True)
    running = values.gather(2, order.expand_as(values)).cumsum(2)
    running = torch.nn.functional.pad(running, (1, 0))
    first, last = (torch.searchsorted(groups, item_groups.contiguous(), right=right) for right in (False, True))
    return running.gather(2, last.expand_as(values)) - running.gather(2, first.expand_as(values))


FUNCTIONS = {"disparity": disparity, "parity-gap": parity_gap, "merit-gap": merit_gap}
"""By the names of the metrics."""
