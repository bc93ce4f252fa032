"""Losses of the sets of equal labels that are log-sum-exps alone, on a device: one round for each label of a list.

With S_1 … S_M the sets, best first, R_m = S_m and all below, W_m the weight of S_m, summed over m < M:

    BOUND   Σ_{i∈S_m} w_i (lse(R_m) − s_i) − log Γ(W_m + 1)      the lower bound of `partition_likelihood`
    CHOICE  lse(R_m) − lse(S_m)                                  the arithmetic choice of `subset_choice`

The time is that of n operations for each label: for few grades less than a sort, for a list without ties n².
"""

from luce.kernels.device import device_kernels
from luce.lists import DeviceEvaluation, DeviceLists

BOUND, CHOICE = range(2)

LONGEST_ON_GPU = 16_384
"""Items of a list that a program holds; longer lists run in plain PyTorch."""


def evaluate_grades(lists: DeviceLists, kind: int) -> DeviceEvaluation:
    """Losses and gradient."""
    scores, labels, offsets, longest, _, factor, *_ = lists
    kernels = device_kernels("grade_losses", scores.device.type, longest <= LONGEST_ON_GPU)
    return DeviceEvaluation(*kernels.grade_lists(scores, labels, offsets, longest, kind, lists.item_weights, factor))
