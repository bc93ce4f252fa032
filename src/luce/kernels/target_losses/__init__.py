"""Losses of lists against targets made of the labels, on a device: cross-entropy, cosine, squared and logistic.

With t the targets of `label_targets`, w item weights and p the softmax of the observed scores:

    CROSS_ENTROPY  −Σ w t log p                        gradient (Σ w t) p − w t
    COSINE         ½ (1 − ⟨t, s⟩ / ‖s‖); ½ where s = 0          ½ (⟨t, s⟩ s / ‖s‖² − t) / ‖s‖
    SQUARED        Σ w (s − t)²                                 2 w (s − t)
    LOGISTIC       Σ w (log(1 + e^s) − [y > 0] s)               w (1 / (1 + e^{−s}) − [y > 0])

On a CPU each has its own kernel.
"""

from luce.kernels.device import device_kernels
from luce.kernels.label_targets import NORMS, VALUES
from luce.lists import DeviceEvaluation, DeviceLists

CROSS_ENTROPY, COSINE, SQUARED, LOGISTIC = range(4)

LONGEST_ON_GPU = 16_384
"""Items of a list that a program holds; longer lists run in plain PyTorch."""


def evaluate_targets(
    lists: DeviceLists, *, loss: int, value: str = "label", norm: str = "one", depth: int | None = None
) -> DeviceEvaluation:
    """Losses and gradient; `value`, `norm` and `depth` as `label_targets` takes them."""
    scores, labels, offsets, longest, _, factor, *_ = lists
    kernels = device_kernels("target_losses", scores.device.type, longest <= LONGEST_ON_GPU)
    found = kernels.target_lists(
        scores, labels, offsets, longest, loss=loss, value=VALUES[value], norm=NORMS[norm], depth=depth or longest,
        item_weights=lists.item_weights, factor=factor,
    )  # fmt: skip
    return DeviceEvaluation(*found)
