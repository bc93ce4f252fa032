"""The parameters of a fit: log worths themselves, coefficients of item features, or members of teams."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from luce.aggregation.observed import ObservedRankings
from luce.arrays import Floats, Integers, list_of_row, offsets_of_sizes
from luce.errors import DataError, OptionError

ITEM = "item"
"""The column of a table of features that names the item of each row."""


USABLE = "prior=luce.aggregation.NormalPrior(sd=2) or prior=luce.aggregation.PseudoRankings(0.5)"
"""The priors of members of teams, as messages offer them."""


class LinearParametrization:
    """Scores = item effects + X β, either of which may be missing; then, if asked for, one of a hypothetical item.

    The parameters are the effects (n,), the coefficients of the features (F,) and the score of the hypothetical item.
    """

    def __init__(self, n_items: int, features: Floats | None, effects: bool, pseudo_item: bool):
        self.n_items, self.effects, self.pseudo_item = n_items, effects, pseudo_item
        self.features = np.zeros((n_items, 0)) if features is None else features
        self.n_effects = n_items if effects else 0
        self.n_parameters = self.n_effects + self.features.shape[1] + pseudo_item
        self.n_scores = n_items + pseudo_item
        self.free = effects and features is None

    def scores(self, parameters: Floats) -> Floats:
        """The score of each item, and of the hypothetical one."""
        return self.jacobian_product(parameters, parameters)

    def jacobian_product(self, parameters: Floats, direction: Floats) -> Floats:
        """The Jacobian of the scores times a direction of the parameters."""
        if self.free:
            return direction
        end = self.n_effects + self.features.shape[1]
        scores = self.features @ direction[self.n_effects : end]
        if self.effects:
            scores = scores + direction[: self.n_effects]
        return np.concatenate([scores, direction[end:]])

    def jacobian_transpose_product(self, parameters: Floats, gradient: Floats) -> Floats:
        """The gradient in the parameters of what has this gradient in the scores."""
        if self.free:
            return gradient
        own = gradient[: self.n_items]
        return np.concatenate([own[: self.n_effects], self.features.T @ own, gradient[self.n_items :]])

    def hessian_product(self, parameters: Floats, gradient: Floats, direction: Floats) -> Floats:
        """Σ gradient · second derivative of the scores, times a direction: 0."""
        return np.zeros(len(direction))

    def diagonal(self, parameters: Floats, diagonal: Floats) -> Floats:
        """About the diagonal of that second derivative, from the diagonal in the scores."""
        if self.free:
            return diagonal
        own = diagonal[: self.n_items]
        return np.concatenate([own[: self.n_effects], (self.features**2).T @ own, diagonal[self.n_items :]])

    def matrix(self, parameters: Floats, matrix: Floats, gradient: Floats) -> Floats:
        """The second derivative in the parameters of what has this second derivative and gradient in the scores."""
        if self.free:
            return matrix
        jacobian = self.score_jacobian(parameters)
        return jacobian.T @ matrix @ jacobian

    def log_worths(self, parameters: Floats) -> Floats:
        """The log worth of each item."""
        return self.scores(parameters)[: self.n_items]

    def jacobian(self, parameters: Floats) -> Floats:
        """∂ log worth of each item / ∂ parameters (n_items, parameters)."""
        return self.score_jacobian(parameters)[: self.n_items]

    def score_jacobian(self, parameters: Floats) -> Floats:
        """∂ scores / ∂ parameters (n_scores, parameters)."""
        return np.stack([self.jacobian_product(parameters, unit) for unit in np.eye(self.n_parameters)], axis=1)


class TeamParametrization:
    """The worth of a team is the sum of its members' worths: score = lse of their log worths.

    The parameters are the log worths of the members (M,) and, if asked for, of a hypothetical one. The scores are
    those of the teams and then, with a hypothetical member, of every member alone and of it.
    """

    def __init__(self, teams: Sequence[Integers], n_members: int, pseudo_item: bool):
        alone = [np.array([member]) for member in range(n_members + 1)] if pseudo_item else []
        sets = [*teams, *alone]
        self.n_members, self.n_teams, self.pseudo_item = n_members, len(teams), pseudo_item
        self.n_parameters, self.n_scores = n_members + pseudo_item, len(sets)
        offsets = offsets_of_sizes([len(team) for team in sets])
        self.team_of_row, self.members = list_of_row(offsets), np.concatenate(sets)
        self.offsets = offsets
        self.free = False
        self.n_items = self.n_effects = n_members

    def scores(self, parameters: Floats) -> Floats:
        """The log worth of each team."""
        rows = parameters[self.members]
        highest = np.maximum.reduceat(rows, self.offsets[:-1])
        return highest + np.log(np.add.reduceat(np.exp(rows - highest[self.team_of_row]), self.offsets[:-1]))

    def _shares(self, parameters: Floats) -> Floats:
        """The share of each member in the worth of its team."""
        return np.exp(parameters[self.members] - self.scores(parameters)[self.team_of_row])

    def _jacobian(self, parameters: Floats) -> sparse.csr_array:
        shape = self.n_scores, self.n_parameters
        return sparse.csr_array((self._shares(parameters), self.members, self.offsets), shape=shape)

    def jacobian_product(self, parameters: Floats, direction: Floats) -> Floats:
        """The Jacobian of the scores times a direction of the parameters."""
        return self._jacobian(parameters) @ direction

    def jacobian_transpose_product(self, parameters: Floats, gradient: Floats) -> Floats:
        """The gradient in the parameters of what has this gradient in the scores."""
        return self._jacobian(parameters).T @ gradient

    def hessian_product(self, parameters: Floats, gradient: Floats, direction: Floats) -> Floats:
        """Σ gradient · second derivative of the scores, diag share − share shareᵀ for a team, times a direction."""
        jacobian = self._jacobian(parameters)
        return (jacobian.T @ gradient) * direction - jacobian.T @ (gradient * (jacobian @ direction))

    def diagonal(self, parameters: Floats, diagonal: Floats) -> Floats:
        """About the diagonal of that second derivative, from the diagonal in the scores."""
        return self._jacobian(parameters).power(2).T @ diagonal

    def matrix(self, parameters: Floats, matrix: Floats, gradient: Floats) -> Floats:
        """The second derivative in the parameters of what has this second derivative and gradient in the scores."""
        jacobian = self.score_jacobian(parameters)
        own = np.diag(jacobian.T @ gradient) - (jacobian.T * gradient) @ jacobian
        return jacobian.T @ matrix @ jacobian - own

    def log_worths(self, parameters: Floats) -> Floats:
        """The log worth of each member."""
        return parameters[: self.n_members]

    def jacobian(self, parameters: Floats) -> Floats:
        """∂ log worth of each member / ∂ parameters."""
        return np.eye(self.n_members, self.n_parameters)

    def score_jacobian(self, parameters: Floats) -> Floats:
        """∂ scores / ∂ parameters (n_scores, parameters)."""
        return self._jacobian(parameters).toarray()


def features_of_items(given: Any, names: Sequence[Hashable]) -> tuple[Floats, list[str]]:
    """The features (n_items, F) and their names.

    Given as a mapping from item to its row of numbers; as a table (pandas, Polars, Arrow) with a column "item", its
    other columns being features; or as an array with one row per item, in the order of `names`.

    >>> features_of_items({"a": [1, 2], "b": [3, 4]}, ["b", "a"])
    (array([[3., 4.],
           [1., 2.]]), ['feature 1', 'feature 2'])
    """
    if isinstance(given, Mapping):
        rows, columns = _in_order(list(given), list(given.values()), names), None
    elif hasattr(given, "__arrow_c_stream__") or hasattr(given, "to_pydict"):
        rows, columns = _of_table(given, names)
    else:
        rows, columns = given, None
    try:
        features = np.ascontiguousarray(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"The features of items must be numbers. {error}") from error
    if features.ndim != 2 or len(features) != len(names):
        raise DataError(f"There must be one row of features for each of {len(names)} items. Got {features.shape}.")
    bad = np.argwhere(~np.isfinite(features))
    if len(bad):
        raise DataError(f"The features must be finite. Item {names[bad[0][0]]!r} has {features[tuple(bad[0])]}.")
    return features, columns or [f"feature {number + 1}" for number in range(features.shape[1])]


def _of_table(given: Any, names: Sequence[Hashable]) -> tuple[Any, list[str]]:
    table = given if isinstance(given, pa.Table) else pa.table(given)
    if ITEM not in table.column_names:
        raise DataError(f"A table of features needs a column {ITEM!r}. It has: {', '.join(table.column_names)}.")
    columns = [name for name in table.column_names if name != ITEM]
    rows = list(zip(*(table[name].to_pylist() for name in columns), strict=True))
    return _in_order(table[ITEM].to_pylist(), rows, names), columns


def _in_order(items: list[Any], rows: list[Any], names: Sequence[Hashable]) -> list[Any]:
    number = {name: row for row, name in enumerate(items)}
    missing = [name for name in names if name not in number]
    if missing:
        raise DataError(f"There are no features for {missing[0]!r} ({len(missing)} items without features in total).")
    return [rows[number[name]] for name in names]


def centered_features(features: Any, names: tuple[Hashable, ...]) -> tuple[Floats, list[str]]:
    """Features less their means, which no ranking shows."""
    table, feature_names = features_of_items(features, names)
    constant = np.flatnonzero(np.ptp(table, axis=0) == 0)
    if constant.size:
        raise DataError(
            f"{feature_names[constant[0]]!r} is the same for all items: its coefficient cannot be estimated. Leave it "
            "out."
        )
    centered = table - table.mean(axis=0)
    if np.linalg.matrix_rank(centered) < centered.shape[1]:
        raise DataError(
            f"The {centered.shape[1]} features of {len(names)} items are linearly dependent: their coefficients "
            "cannot be estimated. Leave some out."
        )
    return centered, feature_names


def team_members(teams: Any, names: tuple[Hashable, ...]) -> tuple[tuple[Hashable, ...], list[Integers]]:
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


def check_members(sets: list[Integers], members: tuple[Hashable, ...], observed: ObservedRankings, prior: Any) -> None:
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
        raise DataError(
            f"No ranking has a team of {unseen[0]!r}: leave it out of teams, or give it a worth with {USABLE}."
        )
    first: dict[tuple[int, ...], int] = {}
    for member, own in teams_of.items():
        other = first.setdefault(own, member)
        if other != member:
            raise DataError(
                f"{members[other]!r} and {members[member]!r} are always in the same teams: their worths cannot be "
                f"distinguished without a prior. Use {USABLE}."
            )
