"""The most likely ordered partition of a list and samples of one, under the models of ordered partitions."""

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from luce.arrays import Floats, Integers, as_floats, check_offsets
from luce.errors import DataError, OptionError
from luce.kernels.subset_choice import LONGEST as LONGEST_EXACT
from luce.kernels.subset_choice import inference
from luce.kernels.subset_choice.open_choice import gibbs_sweep, metropolis_step
from luce.kernels.subset_choice.potentials import LONGEST, Potential, arithmetic_mean, geometric_mean
from luce.objectives import objective
from luce.objectives.base import Objective, check_finite
from luce.options import integer
from luce.policy.policy import checked_seed
from luce.threads import over_lists

EXACT, SAMPLED = ("pmop-fd", "pmop-exact"), ("pmop-gibbs", "pmop-mh")


def most_likely_partition(
    scores: ArrayLike, offsets: ArrayLike | None = None, model: str | Objective = "pmop-exact", **options: Any
) -> Integers:
    """The most likely ordered partition of each list.

    It is exact for lists of up to 15 items, and for all lists under pmop-fd. For longer lists under pmop-exact it is
    the most likely of the partitions that follow the order of the scores.

    Parameters
    ----------
    scores : array-like of shape (N,)
    offsets : array-like of shape (Q + 1,), optional
        List q owns the rows offsets[q]:offsets[q + 1]; all rows are one list by default.
    model : str or Objective, default="pmop-exact"
        "pmop-fd" or "pmop-exact".
    **options
        Options of the objective, such as `potential` and `direction`.

    Returns
    -------
    ndarray of int of shape (N,)
        The partition as labels, as objectives take them: 0 for the last set, 1 for the one above it, and so on.

    Examples
    --------
    >>> scores = [3.0, 2.8, 2.6, -2.0]
    >>> most_likely_partition(scores)
    array([1, 1, 1, 0])
    >>> import luce
    >>> np.exp(luce.log_prob(scores, [1, 1, 1, 0], model="pmop-exact"))
    array([0.12...])
    """
    chosen = _model(model, EXACT, options)
    rows, bounds = _lists(chosen, scores, offsets)
    potential = _potential(chosen)
    stages = [inference.most_likely(rows[a:b], potential) for a, b in pairwise(bounds)]
    return _labels(chosen, np.concatenate([np.zeros(0, np.int64), *stages]), bounds)


def sample_partitions(
    scores: ArrayLike,
    offsets: ArrayLike | None = None,
    model: str | Objective = "pmop-exact",
    *,
    samples: int = 1,
    seed: int = 0,
    n_jobs: int | None = None,
    **options: Any,
) -> Integers:
    """Sample ordered partitions of each list, set by set.

    Parameters
    ----------
    scores : array-like of shape (N,)
    offsets : array-like of shape (Q + 1,), optional
        List q owns the rows offsets[q]:offsets[q + 1]; all rows are one list by default.
    model : str or Objective, default="pmop-exact"
        "pmop-fd" and "pmop-exact" are sampled exactly. "pmop-gibbs" and "pmop-mh", for lists that are too long for
        pmop-exact, make `steps` steps of their chain from a random subset for each set: use a hundred or more.
    samples : int, default=1
        The number of partitions of each list.
    seed : int, default=0
        The same seed gives the same partitions.
    n_jobs : int, optional
        The number of threads.
    **options
        Options of the objective, such as `potential`, `direction` and `steps`.

    Returns
    -------
    ndarray of int of shape (samples, N)
        The partitions as labels, as objectives take them: 0 for the last set, 1 for the one above it, and so on.

    Examples
    --------
    >>> sample_partitions([1.0, 0.0, -1.0], samples=3, seed=1)
    array([[0, 0, 0],
           [1, 1, 0],
           [0, 0, 0]])
    """
    chosen = _model(model, (*EXACT, *SAMPLED), options)
    rows, bounds = _lists(chosen, scores, offsets)
    integer(1).check("samples", samples)
    stages = np.empty((samples, len(rows)), np.int64)
    potential, number = _potential(chosen), checked_seed(seed)
    if chosen.name in EXACT and potential in (arithmetic_mean, geometric_mean):
        geometric = potential is geometric_mean
        over_lists(inference.draw_stages, bounds, rows, geometric, number, results=[stages], n_jobs=n_jobs)
    else:
        chain, steps = _chain(chosen), chosen.options.get("steps", 0)
        for q in range(len(bounds) - 1):
            random, own = np.random.default_rng([number, q]), slice(bounds[q], bounds[q + 1])
            for sample in range(samples):
                stages[sample, own] = inference.draw_open(rows[own], potential, random, chain, steps)
    return np.array([_labels(chosen, each, bounds) for each in stages])


def _model(model: str | Objective, names: tuple[str, ...], options: dict[str, Any]) -> Objective:
    chosen = objective(model, **options)
    if chosen.name not in names:
        raise OptionError(f"model must be one of {', '.join(names)}. Got {chosen.name!r}.")
    return chosen


def _potential(chosen: Objective) -> Potential:
    given = chosen.options.get("potential", arithmetic_mean)
    potential: Potential = geometric_mean if isinstance(given, str) else given
    return potential


def _chain(chosen: Objective) -> Any:
    if chosen.name == "pmop-gibbs":
        return gibbs_sweep
    return partial(metropolis_step, corrected=chosen.options["corrected"]) if chosen.name == "pmop-mh" else None


def _lists(chosen: Objective, scores: ArrayLike, offsets: ArrayLike | None) -> tuple[Floats, Integers]:
    """The scores, negated where the worst are chosen first, and the offsets."""
    rows = as_floats("scores", scores)
    check_finite(rows)
    bounds = check_offsets([0, len(rows)] if offsets is None else offsets, len(rows))
    if chosen.name == "pmop-exact":
        sizes, limit = np.diff(bounds), LONGEST if callable(chosen.options["potential"]) else LONGEST_EXACT
        if sizes.max(initial=0) > limit:
            raise DataError(
                f"{chosen} supports lists of at most {limit} items here. List {sizes.argmax() + 1} has {sizes.max()}. "
                "sample_partitions with pmop-gibbs has no limit."
            )
    return (-rows if chosen.options["direction"] == "backward" else rows), bounds


def _labels(chosen: Objective, stages: Integers, bounds: Integers) -> Integers:
    """Labels of stages that count from 0 in the order of the choices."""
    if chosen.options["direction"] == "backward":
        return stages
    starts = bounds[:-1][np.diff(bounds) > 0]
    last = np.maximum.reduceat(stages, starts) if len(starts) else stages
    return np.repeat(last, np.diff(bounds)[np.diff(bounds) > 0]) - stages
