"""The stages of a list on a GPU: its items from the highest label down, and where each set of equal labels begins."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from luce.lists import DeviceEvaluation, DeviceLists

PROGRAMS, AT_ONCE = 4_096, 16
"""So many programs keep a GPU busy; the stages of a list are shared by at most so many of them."""


def sums_of_workers(lists: DeviceLists) -> tuple[Tensor, int]:
    """Zeros for the losses, then the gradient, of each of the programs that share a list; and how many these are."""
    n_lists = len(lists.offsets) - 1
    workers = max(1, min(AT_ONCE, PROGRAMS // max(1, n_lists)))
    return lists.scores.new_zeros((workers, n_lists + len(lists.scores)), dtype=torch.float64), workers


def evaluation_of(sums: Tensor, lists: DeviceLists) -> DeviceEvaluation:
    """Their sum; no atomic additions: the same draw gives the same bits."""
    n_lists, whole = len(lists.offsets) - 1, sums.sum(0)
    return DeviceEvaluation(whole[:n_lists].float(), (whole[n_lists:] * lists.factor).float())


@triton.jit
def stages_of(labels, order, begin, count, places):
    """Which places of a list hold the first item of a set, the number of each place's set, and the observed items.

    Then the number of stages: of sets after which, or in which, another item is left to choose from.
    """
    here, after_first = places < count, (places > 0) & (places < count)
    y = tl.load(labels + tl.load(order + begin + places, mask=here, other=0), mask=here, other=float("nan"))
    above = tl.load(order + begin + places - 1, mask=after_first, other=0)
    opens = (y == y) & (y != tl.load(labels + above, mask=after_first, other=float("nan")))
    n = tl.sum((y == y).to(tl.int32), 0)
    stages = tl.sum((opens & (places < n - 1)).to(tl.int32), 0)
    return opens, tl.cumsum(opens.to(tl.int32), 0) - 1, n, stages
