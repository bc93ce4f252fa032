"""From parameters of the estimator and rankings to the posterior that a fit maximizes."""

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from luce.aggregation.connectivity import estimable_items
from luce.aggregation.likelihood import TIE_MODELS, TIES, Likelihood
from luce.aggregation.likelihood_terms import pseudo_item_counts
from luce.aggregation.observed import ObservedRankings, observe
from luce.aggregation.parameters import LinearParametrization, TeamParametrization, features_of_items
from luce.aggregation.posterior import Posterior
from luce.aggregation.priors import PRIORS, NormalPrior, PseudoRankings
from luce.aggregation.rankings import Rankings
from luce.arrays import Floats, Integers
from luce.errors import DataError, OptionError


class Setup(NamedTuple):
    """The posterior to maximize, and whose worths its parameters are.

    names: of the items whose worths are estimated, or the members of teams; estimable: which of all names
    they are; not_estimable: the reasons for those that are not; feature_names: of the features, if any.
    """

    posterior: Posterior
    names: tuple[Hashable, ...]
    estimable: NDArray[np.bool_]
    not_estimable: dict[Hashable, str]
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
    keep = np.ones(rankings.n_items, bool)
    reasons: dict[Hashable, str] = {}
    if prior is None and features is None and teams is None:
        keep, reasons = estimable_items(rankings, ties in TIE_MODELS)
    observed = observe(rankings, keep)
    likelihood = Likelihood(observed, ties, n_jobs)
    names = tuple(rankings.names) if all(keep) else tuple(np.array(rankings.names, dtype=object)[keep])
    if teams is not None:
        members, sets = _members(teams, rankings.names)
        _check_members(sets, members, observed, prior)
        parametrization: Any = TeamParametrization(sets, len(members), isinstance(prior, PseudoRankings))
        return Setup(
            _posterior(likelihood, parametrization, prior, members), members, np.ones(len(members), bool), {}, []
        )
    table, feature_names = (None, []) if features is None else _features(features, names)
    effects = features is None or isinstance(prior, NormalPrior)
    parametrization = LinearParametrization(len(names), table, effects, isinstance(prior, PseudoRankings))
    return Setup(_posterior(likelihood, parametrization, prior, names), names, keep, reasons, feature_names)


def check_settings(ties: Any, prior: Any, features: Any, teams: Any) -> None:
    """Refuse settings that no data could go with."""
    if ties not in TIES:
        raise OptionError(f"ties must be one of {', '.join(map(repr, TIES))}. Got {ties!r}.")
    if not (prior is None or isinstance(prior, (NormalPrior, PseudoRankings))):
        raise OptionError(f"prior must be None, {PRIORS}. Got {prior!r}.")
    if teams is not None and features is not None:
        raise OptionError("features describe items and teams are made of them: give one of the two.")


def _posterior(likelihood: Likelihood, parametrization: Any, prior: Any, names: tuple[Hashable, ...]) -> Posterior:
    mean, precision = np.zeros(parametrization.n_parameters), np.zeros(parametrization.n_parameters)
    pseudo_item = None
    if isinstance(prior, NormalPrior):
        center, sd = prior.values(names)
        mean[: len(names)], precision[: len(names)] = center, 1 / sd**2
    if isinstance(prior, PseudoRankings):
        before = parametrization.n_scores - len(names) - 1
        pseudo_item = likelihood.pair_term(pseudo_item_counts(before, len(names), prior.npseudo))
    return Posterior(likelihood, parametrization, pseudo_item, mean, precision)


def _features(features: Any, names: tuple[Hashable, ...]) -> tuple[Floats, list[str]]:
    """Features less their means, which no ranking shows."""
    table, feature_names = features_of_items(features, names)
    constant = np.flatnonzero(np.ptp(table, axis=0) == 0)
    if constant.size:
        raise DataError(f"{feature_names[constant[0]]!r} is the same for all items: no ranking shows its coefficient.")
    centered = table - table.mean(axis=0)
    if np.linalg.matrix_rank(centered) < centered.shape[1]:
        raise DataError(
            f"The {centered.shape[1]} features of {len(names)} items are linearly dependent: their coefficients "
            "cannot be estimated. Leave some out."
        )
    return centered, feature_names


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


def _check_members(sets: list[Integers], members: tuple[Hashable, ...], observed: ObservedRankings, prior: Any) -> None:
    """Without a prior, refuse members who were in no comparison, or always together: they cannot be told apart."""
    if prior is not None:
        return
    seen = np.unique(np.concatenate([observed.items, observed.pool_items[: observed.pool_offsets[-1]]]))
    teams_of: dict[int, tuple[int, ...]] = {}
    for team in seen.tolist():
        for member in sets[team].tolist():
            teams_of[member] = (*teams_of.get(member, ()), team)
    unseen = [name for code, name in enumerate(members) if code not in teams_of]
    if unseen:
        raise DataError(f"No ranking has a team of {unseen[0]!r}: give a prior, {PRIORS}.")
    first: dict[tuple[int, ...], int] = {}
    for member, own in teams_of.items():
        other = first.setdefault(own, member)
        if other != member:
            raise DataError(
                f"{members[other]!r} and {members[member]!r} are always in the same teams: their worths cannot be told "
                f"apart without a prior, {PRIORS}."
            )
