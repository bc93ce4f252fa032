"""Metrics made smooth: ranks that are sums of sigmoids instead of comparisons."""

import numpy as np

from luce.kernels.device import device_kernels
from luce.kernels.expected_gain import LONGEST_ON_GPU
from luce.kernels.smooth_ranks import cpu
from luce.lists import DeviceEvaluation, DeviceLists, Evaluation, Lists
from luce.objectives.base import record
from luce.objectives.expected import at_rows, gains_on_device
from luce.objectives.linear_metrics import best_first, linear_gains
from luce.options import Range, number
from luce.threads import over_lists


def _on_device(lists: DeviceLists, *, temperature: float) -> DeviceEvaluation:
    scores, labels, offsets, longest = lists[:4]
    settings = gains_on_device("ndcg", False, 1 << longest.bit_length(), scores.device)
    targets = device_kernels("expected_gain", scores.device.type, longest <= LONGEST_ON_GPU)
    gains = targets.list_gains(labels, offsets, settings[0], longest, *settings[1:])
    if lists.item_weights is not None:
        gains = gains * lists.item_weights
    kernels = device_kernels("smooth_ranks", scores.device.type)
    return DeviceEvaluation(*kernels.discounted_gains(scores, gains, offsets, longest, temperature, lists.factor))


@record(
    "approx-ndcg",
    family="smooth metric",
    formula="−Σ_i G_i / log₂(1 + r_i), r_i = 1 + Σ_{j≠i} σ((s_j − s_i) / temperature), G = w (2^y − 1) / ideal DCG, "
    "0 for labels below 0; 0 where all gains of a list are equal",
    paper="Qin, Liu and Li 2010; Bruch, Zoghi, Bendersky and Najork 2019",
    cost="n · items with a gain",
    option_specs={
        "temperature": number(
            1e-6,
            1e6,
            default=0.1,
            summary="scale of the differences of scores, 1 / α of the paper: at a lower one the loss is nearer to "
            "−NDCG, and its gradient vanishes at smaller differences",
            search_space=Range(0.01, 10.0, log=True),
        )
    },
    saturates=True,
    device_lists=_on_device,
)
def approx_ndcg(lists: Lists, *, temperature: float) -> Evaluation:
    """Minus NDCG with smooth ranks, as in TF-Ranking (`ApproxNDCGLoss`) and allRank.

    Use it if NDCG is the metric, mostly in neural networks: the loss is not convex.
    """
    # Items stand from the highest label down, so that the order of the rows does not change the rounding.
    order, offsets = best_first(lists.labels, lists.offsets, lists.n_jobs)
    gains = linear_gains(lists.labels[order], offsets, "ndcg", n_jobs=lists.n_jobs)[0]
    weighted = gains if lists.item_weights is None else gains * lists.item_weights[order]
    loss, gradient = np.zeros(len(offsets) - 1), np.zeros(len(order))
    inputs = lists.scores[order], weighted, float(temperature)
    over_lists(cpu.discounted_gains, offsets, *inputs, results=[loss, gradient], n_jobs=lists.n_jobs)
    return Evaluation(loss, at_rows(order, gradient, lists.scores))
