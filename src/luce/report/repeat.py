"""The section that lets someone do it again: the command, the settings, the versions, the machine."""

import platform
import sys
from importlib.metadata import version
from typing import Any

from luce.report.contents import Report
from luce.threads import thread_count

ENGINES = "torch", "lightgbm", "xgboost", "catboost"
"""Told of where they were used."""


def repeat(report: Report) -> dict[str, Any]:
    """The command, the settings and the versions behind the figures."""
    return {"command": report.command, "settings": report.settings, "versions": versions()}


def versions() -> dict[str, str]:
    """Versions of what computes, and the machine."""
    packages = {package: version(package) for package in ("luce", "numpy", "scipy", "numba")}
    packages |= {package: str(sys.modules[package].__version__) for package in ENGINES if sys.modules.get(package)}
    machine = {"platform": platform.platform(), "cores": str(thread_count(-1))}
    return {"python": platform.python_version(), **packages, **machine}
