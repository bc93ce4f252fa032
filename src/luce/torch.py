"""Luce for PyTorch: `luce.torch.RankingLoss` and `loss` make any objective a loss, `label_loss` on [rows, labels]."""

from luce.errors import load_package

load_package("torch", "neural")

from luce.objectives.label_loss import label_loss, label_value_and_gradient  # noqa: E402
from luce.objectives.label_rows import fused_linear_loss  # noqa: E402
from luce.objectives.relevant import Relevant  # noqa: E402
from luce.objectives.torch_bridge import loss, value_and_gradient  # noqa: E402
from luce.objectives.torch_distribution import PlackettLuceDistribution  # noqa: E402
from luce.objectives.torch_module import RankingLoss  # noqa: E402

__all__ = [
    "PlackettLuceDistribution",
    "RankingLoss",
    "Relevant",
    "fused_linear_loss",
    "label_loss",
    "label_value_and_gradient",
    "loss",
    "value_and_gradient",
]
