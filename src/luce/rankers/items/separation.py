"""Weights of features, members of teams and tie parameters that run to infinity: refused, or warned about, by name."""

import warnings
from collections.abc import Hashable, Sequence

import numpy as np
from scipy.linalg import eigh

from luce.arrays import Floats
from luce.data.rankings.display import listed
from luce.errors import DataError, LuceWarning
from luce.rankers.items.information import shift_of_worths
from luce.rankers.items.posterior import Posterior

FLAT = 1e-6
"""Information below it: a standard error above a thousand. The search has ended on a slope that never ends."""

RUNAWAY = 15.0
"""A log δ or a margin above it: ties were all that was seen where they were possible."""


def refuse_flat_directions(posterior: Posterior, point: Floats, names: Sequence[Hashable]) -> None:
    """Raise if the data do not set every weight of a feature, or every member of a team; names are theirs.

    Free worths are looked at before a fit, by the links between items; here only the fit itself shows it.
    """
    information = posterior.curvature(point).matrix()
    size = len(information)
    shift = shift_of_worths(posterior, size)
    scale = float(np.max(np.diagonal(information), initial=1.0))
    values, vectors = eigh(information + scale * np.outer(shift, shift))
    flat = vectors[:, values < FLAT]
    if flat.size:
        moved = np.flatnonzero((np.abs(flat) > 0.1).any(axis=1)).tolist()
        lost = [repr(names[place]) for place in moved if place < len(names)] or ["the tie parameters"]
        raise DataError(
            f"These rankings set no finite value for {listed(lost, 12)}: a larger one always fits better. "
            "Give a prior, luce.Normal(…) or luce.Pseudo(…)."
        )


def warn_of_runaway_ties(names: Sequence[str], ties: Floats) -> None:
    """Warn of tie parameters without a finite estimate."""
    lost = [name for name, value in zip(names, ties.tolist(), strict=True) if value > RUNAWAY]
    if lost:
        warnings.warn(
            f"{listed(lost)} has no finite estimate: wherever such a tie was possible, it came about. "
            "Its value is only the end of a search; leave these ties out, or use ties='exact'.",
            LuceWarning,
            stacklevel=4,  # the call of fit
        )
