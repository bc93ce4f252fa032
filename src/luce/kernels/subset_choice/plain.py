"""In plain PyTorch the choice by the geometric worth has no form: the CPU computes it."""

from typing import Any

from luce.lists import DeviceLists


def exact_lists(lists: DeviceLists) -> Any:
    """Not here."""
    return NotImplemented


def sampled_lists(lists: DeviceLists, **settings: Any) -> Any:
    """Not here."""
    return NotImplemented
