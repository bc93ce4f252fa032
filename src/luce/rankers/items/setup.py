"""From settings and rankings to the function that a fit maximises."""

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats, Integers
from luce.data.rankings import Rankings
from luce.errors import DataError, OptionError
from luce.rankers.items.estimable import estimable_items
from luce.rankers.items.item_features import features_of_items
from luce.rankers.items.likelihood import TIE_MODELS, TIES, Likelihood
from luce.rankers.items.observed import Observed, observe
from luce.rankers.items.pair_part import ghost_counts
from luce.rankers.items.posterior import Posterior
from luce.rankers.items.priors import Normal, Pseudo
from luce.rankers.items.worths import LinearWorths, TeamWorths


class Setup(NamedTuple):
    """The function to maximise and whose worths its parameters are.

    names: of the items whose worths are estimated, or the members of teams; keep: which of all names they are; why:
    the reasons for those that are not; feature_names: of the features, if any.
    """

    posterior: Posterior
    names: tuple[Hashable, ...]
    keep: NDArray[np.bool_]
    why: dict[Hashable, str]
    feature_names: list[str]


def set_up(rankings: Rankings, *, ties: str | None, prior: Any, features: Any, teams: Any, n_jobs: int | None) -> Setup:
    """Check the settings against the rankings and put the posterior together."""
    check_settings(ties, prior, features, teams)
    if ties is None and (tied := rankings.tied & (rankings.weights > 0)).any():
        raise DataError(
            f"ties=None takes no ties, but ranking {np.flatnonzero(tied)[0]} has one ({tied.sum():,} in all). "
            "Use ties='exact' (order unknown), 'davidson' or 'rao-kupper' (a tie is an outcome)."
        )
    if not (rankings.weights > 0).any():
        raise DataError(f"There is nothing to learn from in {rankings!r}: no ranking has a weight above 0.")
    free = prior is None and features is None and teams is None
    keep = np.ones(rankings.n_items, bool)
    why: dict[Hashable, str] = {}
    if free:
        keep, why = estimable_items(rankings, ties in TIE_MODELS)
    observed = observe(rankings, keep)
    likelihood = Likelihood(observed, ties, n_jobs)
    names = tuple(rankings.names) if all(keep) else tuple(np.array(rankings.names, dtype=object)[keep])
    if teams is not None:
        members, sets = _members(teams, rankings.names)
        _tell_apart(sets, members, observed, prior)
        worths: Any = TeamWorths(sets, len(members), isinstance(prior, Pseudo))
        return Setup(_posterior(likelihood, worths, prior, members), members, np.ones(len(members), bool), {}, [])
    table, feature_names = (None, []) if features is None else _features(features, names)
    effects = features is None or isinstance(prior, Normal)
    worths = LinearWorths(len(names), table, effects, isinstance(prior, Pseudo))
    return Setup(_posterior(likelihood, worths, prior, names), names, keep, why, feature_names)


def check_settings(ties: Any, prior: Any, features: Any, teams: Any) -> None:
    """Refuse settings that no data could go with."""
    if ties not in TIES:
        raise OptionError(f"ties must be one of {', '.join(map(repr, TIES))}. Got {ties!r}.")
    if not (prior is None or isinstance(prior, (Normal, Pseudo))):
        raise OptionError(f"prior must be None, luce.Normal(…) or luce.Pseudo(…). Got {prior!r}.")
    if teams is not None and features is not None:
        raise OptionError("features describe items and teams are made of them: give one of the two.")


def _posterior(likelihood: Likelihood, worths: Any, prior: Any, names: tuple[Hashable, ...]) -> Posterior:
    mean, precision = np.zeros(worths.n_parameters), np.zeros(worths.n_parameters)
    pseudo_item = None
    if isinstance(prior, Normal):
        centre, sd = prior.values(names)
        mean[: len(names)], precision[: len(names)] = centre, 1 / sd**2
    if isinstance(prior, Pseudo):
        before = worths.n_scores - len(names) - 1
        pseudo_item = likelihood.pair_part(ghost_counts(before, len(names), prior.wins))
    return Posterior(likelihood, worths, pseudo_item, mean, precision)


def _features(features: Any, names: tuple[Hashable, ...]) -> tuple[Floats, list[str]]:
    """Features less their means, which no ranking shows."""
    table, feature_names = features_of_items(features, names)
    constant = np.flatnonzero(np.ptp(table, axis=0) == 0)
    if constant.size:
        raise DataError(f"{feature_names[constant[0]]!r} is the same for all items: no ranking tells its weight.")
    centred = table - table.mean(axis=0)
    if np.linalg.matrix_rank(centred) < centred.shape[1]:
        raise DataError(
            f"The {centred.shape[1]} features of {len(names)} items depend on each other: their weights cannot be told "
            "apart. Leave some out."
        )
    return centred, feature_names


def _members(teams: Any, names: tuple[Hashable, ...]) -> tuple[tuple[Hashable, ...], list[Integers]]:
    """The members of all teams, in the order they first come, and the members of each item of the rankings."""
    if not isinstance(teams, Mapping):
        raise OptionError(f"teams must map each team to its members. Got {type(teams).__name__}.")
    sets = []
    for name in names:
        own = list(teams.get(name, [name]))
        if not own or len(set(own)) < len(own):
            raise DataError(f"A team must have members, each once. Team {name!r} has {own!r}.")
        sets.append(own)
    members = tuple(dict.fromkeys(member for own in sets for member in own))
    number = {member: code for code, member in enumerate(members)}
    return members, [np.array([number[member] for member in own]) for own in sets]


def _tell_apart(sets: list[Integers], members: tuple[Hashable, ...], observed: Observed, prior: Any) -> None:
    """Refuse members who were in no comparison, or always together: no data tell their worths apart."""
    if prior is not None:
        return
    seen = np.unique(np.concatenate([observed.items, observed.pool_items[: observed.pool_offsets[-1]]]))
    teams_of: dict[int, tuple[int, ...]] = {}
    for team in seen.tolist():
        for member in sets[team].tolist():
            teams_of[member] = (*teams_of.get(member, ()), team)
    unseen = [name for code, name in enumerate(members) if code not in teams_of]
    if unseen:
        raise DataError(f"No ranking has a team of {unseen[0]!r}: give a prior, luce.Normal(…) or luce.Pseudo(…).")
    first: dict[tuple[int, ...], int] = {}
    for member, own in teams_of.items():
        other = first.setdefault(own, member)
        if other != member:
            raise DataError(
                f"{members[other]!r} and {members[member]!r} are always in the same teams: their worths cannot be told "
                "apart without a prior, luce.Normal(…) or luce.Pseudo(…)."
            )
