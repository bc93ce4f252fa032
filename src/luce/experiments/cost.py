"""What a fit costs, and the memory of this process by which that is measured; NaN where the system reports none."""

import math
import sys
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

STATUS = Path("/proc/self/status")
"""Linux: what getrusage says there begins with the peak of whoever started the process, not with its own."""


class Cost(NamedTuple):
    """Seconds of a fit and of a prediction, and peak memory above the data alone; NaN where it was not measured."""

    fit_seconds: float
    predict_seconds: float = math.nan
    peak_bytes: float = math.nan


def present_bytes() -> float:
    """What is resident now; where the system reports the peak alone, that."""
    return _status("VmRSS") if STATUS.exists() else _max_rss()


def peak_bytes() -> float:
    """The most that was resident, since the start or since the peak was last forgotten.

    >>> 1e6 < peak_bytes() < 1e12 or peak_bytes() != peak_bytes()
    True
    """
    return _status("VmHWM") if STATUS.exists() else _max_rss()


def forget_peak() -> None:
    """Let the peak begin anew at what is resident now, where the system can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _status(name: str) -> float:
    for line in STATUS.read_text().splitlines():
        if line.startswith(f"{name}:"):
            return 1024.0 * int(line.split()[1])
    return math.nan


def _max_rss() -> float:
    try:
        import resource
    except ImportError:  # Windows
        return math.nan
    unit = 1 if sys.platform == "darwin" else 1024
    return float(unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
