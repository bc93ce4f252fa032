"""Cross-entropies between a distribution made of the labels and the softmax of the scores."""

from functools import partial

import numpy as np

from luce.kernels.cross_entropy import cpu
from luce.kernels.device import device_kernels
from luce.kernels.label_targets import target_arguments
from luce.kernels.partition_likelihood import ATTENTION, IDEAL, SOFTMAX
from luce.kernels.target_losses import CROSS_ENTROPY, evaluate_targets
from luce.kernels.top_cross_entropy.cpu import top_cross_entropy
from luce.lists import DeviceEvaluation, DeviceLists, Evaluation, Lists, evaluate_kernel
from luce.objectives.base import record
from luce.objectives.distances import BY_IDEAL, IDEAL_DEPTH
from luce.options import Choice, integer, one_of


def _cross_entropy(lists: Lists, value: str, norm: str, depth: int | None = None) -> Evaluation:
    """Cross-entropy with these targets, each multiplied by the weight of its item."""
    targets = target_arguments(lists.offsets, value, norm, depth)
    return evaluate_kernel(cpu.cross_entropy, lists, lists.weights, *targets, zeroed=False)


_on_device = partial(evaluate_targets, loss=CROSS_ENTROPY)


def _listnet_on_device(lists: DeviceLists, *, depth: int) -> DeviceEvaluation:
    if depth == 1:
        return _on_device(lists, value="exponential", norm="sum")
    kernels = device_kernels("top_cross_entropy", lists.scores.device.type, fits=False)
    weights = {"item_weights": lists.item_weights, "factor": lists.factor}
    return DeviceEvaluation(*kernels.top_cross_entropy(*lists[:4], depth, **weights))


def _softmax_on_device(lists: DeviceLists, *, gain: str) -> DeviceEvaluation:
    if gain == "exponential":
        return _on_device(lists, value="gain")
    labels = lists.labels.clamp(min=0.0)  # NaN stays NaN
    return _on_device(lists._replace(labels=labels.ceil().clamp(max=1.0) if gain == "binary" else labels))


@record(
    "listnet",
    family="softmax",
    formula="−Σ_i softmax(y)_i log softmax(s)_i; with depth k −Σ_g P_y(g) log P_s(g) over the orders g of k items, "
    "P_y and P_s their Plackett-Luce probabilities to be the first k",
    paper="Cao et al. 2007; Lan et al. 2014",
    cost="n, or n² with depth 3",
    option_specs={
        "depth": integer(1, 3, default=1, summary="number of ranks from the top whose probabilities are compared")
    },
    hessian=True,
    uses_ties=True,
    device_lists=_listnet_on_device,
)
def listnet(lists: Lists, *, depth: int) -> Evaluation:
    """Cross-entropy between the top-k probabilities of the labels and of the scores, k = 1 by default.

    Use it for real-valued labels for which e^y is a sensible weight, such as logarithms of counts. A constant added
    to all labels of a list changes nothing; items of grade 0 keep a small target, which those of kl and softmax do
    not.
    """
    if depth == 1:
        return _cross_entropy(lists, "exponential", "sum")
    return evaluate_kernel(top_cross_entropy, lists, lists.weights, depth)


@record(
    "attrank",
    family="softmax",
    formula="−Σ_i t_i log softmax(s)_i, t_i ∝ e^{y_i} where y_i > 0, else 0",
    paper="Ai et al. 2018; Ma et al. 2020",
    cost="n",
    hessian=True,
    uses_ties=True,
    device_lists=partial(_on_device, value="attention", norm="sum"),
    label_rows=ATTENTION,
)
def attrank(lists: Lists) -> Evaluation:
    """Cross-entropy with the softmax of the labels above zero; lists without such labels are ignored.

    Use it where labels above 0 mean relevant and all others irrelevant: irrelevant items have no target.
    """
    return _cross_entropy(lists, "attention", "sum")


@record(
    "kl",
    family="softmax",
    formula="−Σ_i (G_i / ΣG) log softmax(s)_i, G = 2^y − 1, 0 for labels below 0",
    paper="Ravikumar et al. 2011; Xia, Zhai and Wang 2019 (KLMART)",
    cost="n",
    hessian=True,
    uses_ties=True,
    weights_by_gain=True,
    label_rows=ATTENTION,
    device_lists=partial(_on_device, value="gain", norm="sum"),
)
def kl(lists: Lists) -> Evaluation:
    """Cross-entropy with the normalized gains; lists without gain are ignored.

    Use it for grades where every list should count the same, whatever its number of relevant items.
    """
    return _cross_entropy(lists, "gain", "sum")


@record(
    "c-kl",
    family="softmax",
    formula=f"−Σ_i (G_i / ‖G‖_D) log softmax(s)_i, G = 2^y − 1, 0 for labels below 0, {BY_IDEAL}",
    paper="Ravikumar et al. 2011; Xia, Zhai and Wang 2019 (c-KLMART)",
    cost="n log n",
    option_specs={"depth": IDEAL_DEPTH},
    hessian=True,
    uses_ties=True,
    weights_by_gain=True,
    label_rows=IDEAL,
    device_lists=partial(_on_device, value="gain", norm="dcg"),
)
def c_kl(lists: Lists, *, depth: int | None) -> Evaluation:
    """Cross-entropy with the gains divided by the ideal DCG, which makes it consistent with NDCG.

    Use it for grades if NDCG is the metric, and with depth=K if NDCG@K is. It is the default of LinearRanker and
    NeuralRanker. For counts use softmax: with exponential gains only the largest count of a list matters.
    """
    return _cross_entropy(lists, "gain", "dcg", depth)


@record(
    "softmax",
    family="softmax",
    formula="−Σ_i G_i log softmax(s)_i, G = y, 2^y − 1 or [y > 0] by the option gain, 0 for labels below 0",
    paper="Pasumarthi et al. 2019 (TF-Ranking); Bruch et al. 2019 (binary labels)",
    cost="n",
    option_specs={
        "gain": one_of(
            "label",
            "exponential",
            "binary",
            default="label",
            summary="the weight of an item with a label y above 0: y, 2^y − 1, or 1",
            search_space=Choice(("label", "exponential")),
        )
    },
    hessian=True,
    uses_ties=True,
    label_rows=SOFTMAX,
    device_lists=_softmax_on_device,
)
def softmax(lists: Lists, *, gain: str) -> Evaluation:
    """Cross-entropy with the gains, not normalized as in kl: a list weighs as much as the sum of its gains.

    Use it for counts such as clicks or purchases: each of them is a choice of an item from the list.
    """
    if gain == "exponential":
        return _cross_entropy(lists, "gain", "one")
    # The kernel takes labels below 0 as they are; NaN stays NaN.
    gains = np.heaviside(lists.labels, 0.0) if gain == "binary" else np.maximum(lists.labels, 0.0)
    return _cross_entropy(lists._replace(labels=gains), "label", "one")
