"""REPRODUCTIONS, the one table of what the papers report and can be run again here."""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from luce.errors import unknown_name
from luce.reproductions.reproduction import Outcome, Reproduction, Run

__all__ = ["REPRODUCTIONS", "Outcome", "Reproduction", "Run", "reproduce", "reproduction"]

_2011 = "Tran, Phung and Venkatesh (2011), Probabilistic models over ordered partitions"
_2014 = "Lan, Zhu, Guo, Niu and Cheng (2014), Position-aware ListMLE"
_2019 = "Xia, Zhai and Wang (2019), Plackett-Luce model for learning-to-rank task"
_2020 = "Ma, Yi, Tang, Zhao, Hong, Chi and Mei (2020), Learning-to-rank with partitioned preference"
_2021 = "Oosterhuis (2021), Computationally efficient optimization of Plackett-Luce ranking models"

_TAGGED = ("delicious", "eurlex-4k", "wiki10-31k", "delicious-200k")

REPRODUCTIONS = {
    each.name: each
    for each in (
        Reproduction("partition-simulation", _2020, "Figures 1–3", (), "partition_simulation", (4, 120)),
        Reproduction("partition-labels", _2020, "Tables 1–4", _TAGGED, "partition_labels", (4, 240)),
        Reproduction("ordered-partitions", _2011, "Tables 1 and 2", ("yahoo-set1",), "ordered_partitions", (2, 60)),
        Reproduction(
            "plrank",
            _2019,
            "Tables 1, 3, 4 and 5, Figures 1–3",
            ("yahoo-set1", "mslr-web30k"),
            "plrank",
            (4, 300),
        ),
        Reproduction(
            "pl-rank",
            _2021,
            "Tables 1 and 2, Figures 1–3",
            ("yahoo-set1", "mslr-web30k", "istella"),
            "pl_rank",
            (4, 400),
        ),
        Reproduction(
            "position-aware",
            _2014,
            "Figure 1; the consistency theorem in simulation",
            ("mq2007-list", "mq2008-list"),
            "position_aware",
            (2, 60),
        ),
    )
}
"""By name; a row for each, and nothing heavy loads until one runs."""


def reproduction(name: str) -> Reproduction:
    """The reproduction of this name.

    >>> reproduction("partition-simulation").shows
    'Figures 1–3'
    """
    if name not in REPRODUCTIONS:
        raise unknown_name("reproduction", name, REPRODUCTIONS)
    return REPRODUCTIONS[name]


def reproduce(
    name: str,
    *,
    data: str | os.PathLike[str] | None = None,
    quick: bool = False,
    seed: int = 0,
    n_jobs: int | None = None,
    keep: str | os.PathLike[str] | None = None,
    tell: Callable[[float, str], None] | None = None,
) -> Outcome:
    """Run a paper's protocol; printing the outcome shows ours beside theirs and the claims with their verdicts.

    Needs no more than the base install: `print(reproduce("partition-simulation", quick=True))`. Progress goes to
    standard error unless `tell` hears it.
    """
    folder = None if data is None else Path(data)
    run = Run(name, folder, quick, seed, n_jobs, keep, tell or _teller(name))
    return reproduction(name).run(run)


def _teller(name: str) -> Callable[[float, str], None]:
    """Prints how far the run is and the time left, a line for each word it hears, at most one a second."""
    start, last = time.monotonic(), 0.0
    begun: float | None = None

    def tell(share: float, words: str) -> None:
        nonlocal last, begun
        begun = share if begun is None else begun  # what an earlier run had done took no time of this one
        now = time.monotonic()
        if now - last < 1 and share < 1:
            return
        last = now
        left = (now - start) * (1 - share) / (share - begun) if share > begun else None
        hours = "" if left is None else f", {left / 60:.1f} minutes left"
        print(f"{name}: {share:.1%}{hours}  {words}", file=sys.stderr, flush=True)

    return tell
