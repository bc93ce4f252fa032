"""Kernels for tensors on a device: Triton's on a GPU, else plain PyTorch, with one warning where Triton is missing."""

import importlib
import os
import warnings
from functools import cache
from importlib.util import find_spec
from types import ModuleType

from luce.errors import LuceWarning


@cache
def device_kernels(folder: str, device: str, fits: bool = True) -> ModuleType:
    """The module `gpu` of a folder of kernels; `plain` on a CPU, or where the work does not fit a program of the first.

    >>> device_kernels("ordered_likelihood", "cpu").__name__
    'luce.kernels.ordered_likelihood.plain'
    """
    on_gpu = device == "cuda" or os.environ.get("TRITON_INTERPRET") == "1"
    return importlib.import_module(f"luce.kernels.{folder}.{'gpu' if on_gpu and fits and has_triton() else 'plain'}")


@cache
def has_triton() -> bool:
    """Whether Triton is installed; if not, there is a warning the first time."""
    found = find_spec("triton") is not None
    if not found:
        warnings.warn(
            "Triton is not installed: plain PyTorch is used on the GPU, which is slower. To install it: pip "
            "install triton",
            LuceWarning,
            2,
        )
    return found
