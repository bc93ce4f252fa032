"""Luce for PyTorch: `luce.torch.loss` makes any objective a differentiable loss."""

from luce.errors import load_package

load_package("torch", "neural")

from luce.objectives.torch_bridge import loss  # noqa: E402

__all__ = ["loss"]
