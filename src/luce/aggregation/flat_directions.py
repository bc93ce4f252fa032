"""Coefficients of features and members of teams that the rankings leave without an estimate.

Worths of single items are checked before a fit, by the connectivity; here only the fit itself shows it.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from scipy.linalg import eigh

from luce.aggregation.covariance import shift_of_worths
from luce.aggregation.names import listed
from luce.aggregation.parameters import USABLE, LinearParametrization
from luce.aggregation.posterior import Posterior
from luce.arrays import Floats
from luce.errors import DataError

FLAT = 1e-6
"""Information below it, a standard error above a thousand: in this direction the likelihood has no maximum."""


def refuse_flat_directions(posterior: Posterior, point: Floats, names: Sequence[Hashable]) -> None:
    """Raise if the rankings leave a coefficient, or a member of a team, without an estimate; by name.

    Where worths are equal nothing is separated: a direction without information there has none anywhere.
    """
    at_end, at_start = (_information(posterior, each) for each in (point, posterior.initial_point()))
    values, vectors = eigh(at_end)
    lost = vectors[:, values < FLAT]
    if not lost.size:
        return
    values, vectors = eigh(at_start)
    flat = vectors[:, np.abs(values) < FLAT]
    flat = flat[:, np.einsum("ij,ij->j", flat, at_end @ flat) < FLAT]
    moved = np.flatnonzero((np.abs(flat if flat.size else lost) > 0.1).any(axis=1)).tolist()
    which = listed([repr(names[place]) for place in moved], 12)
    raise DataError(_message(posterior, which, len(moved), bool(flat.size)))


def _information(posterior: Posterior, point: Floats) -> Floats:
    """The information of the coefficients, in standard deviations of their features, or of the members of teams."""
    parametrization: Any = posterior.parametrization
    n = parametrization.n_parameters
    information = posterior.hessian(point).matrix()[:n, :n]
    shift = shift_of_worths(posterior, n)
    information = information + np.diagonal(information).max(initial=1.0) * np.outer(shift, shift)
    if not isinstance(parametrization, LinearParametrization):
        return information
    coefficients = slice(parametrization.n_effects, n)
    scale = parametrization.features.std(axis=0)
    return information[coefficients, coefficients] / np.outer(scale, scale)


def _message(posterior: Posterior, which: str, count: int, flat: bool) -> str:
    """What is wrong, and what helps: a normal prior holds members of teams, but no coefficients of features."""
    nothing = f"These rankings carry no information about {which}"
    infinite = f"These rankings do not determine a finite value of {which}: the further from 0, the better the fit"
    if not isinstance(posterior.parametrization, LinearParametrization):
        what = f"{nothing}, compared with the others" if flat else infinite
        return f"{what}. Use {USABLE}."
    out = f"Leave {'it' if count == 1 else 'one of them'} out"
    if flat:
        differ = "in it" if count == 1 else "in a combination of them"
        return f"{nothing}: items that were compared do not differ {differ}. {out}."
    why = " A normal prior holds the effects of items, not the coefficients." if posterior.precision.any() else ""
    return f"{infinite}.{why} {out}, or use prior=luce.aggregation.PseudoRankings(0.5)."
