"""What the parameters of a fit are: the log worths themselves, weights of features, or members of teams."""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from luce.arrays import Floats, Integers, list_of_row


class LinearWorths:
    """Scores = item effects + X β, either of which may be missing; then, if asked for, one of a hypothetical item.

    The parameters are the effects (n,), the weights of the features (F,) and the score of the hypothetical item.
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
        return self.push(parameters, parameters)

    def push(self, parameters: Floats, direction: Floats) -> Floats:
        """How the scores move with the parameters."""
        if self.free:
            return direction
        end = self.n_effects + self.features.shape[1]
        scores = self.features @ direction[self.n_effects : end]
        if self.effects:
            scores = scores + direction[: self.n_effects]
        return np.concatenate([scores, direction[end:]])

    def pull(self, parameters: Floats, gradient: Floats) -> Floats:
        """A gradient in the scores as one in the parameters."""
        if self.free:
            return gradient
        own = gradient[: self.n_items]
        return np.concatenate([own[: self.n_effects], self.features.T @ own, gradient[self.n_items :]])

    def bend(self, parameters: Floats, gradient: Floats, direction: Floats) -> Floats:
        """What the scores' own second derivative adds: nothing."""
        return np.zeros(len(direction))

    def diagonal(self, parameters: Floats, diagonal: Floats) -> Floats:
        """About the diagonal in the parameters of what has this diagonal in the scores."""
        if self.free:
            return diagonal
        own = diagonal[: self.n_items]
        return np.concatenate([own[: self.n_effects], (self.features**2).T @ own, diagonal[self.n_items :]])

    def matrix(self, parameters: Floats, matrix: Floats, gradient: Floats) -> Floats:
        """A matrix over the scores as one over the parameters."""
        if self.free:
            return matrix
        columns = np.stack([self.push(parameters, unit) for unit in np.eye(self.n_parameters)], axis=1)
        return columns.T @ matrix @ columns

    def log_worths(self, parameters: Floats) -> Floats:
        """The log worth of each item."""
        return self.scores(parameters)[: self.n_items]

    def jacobian(self, parameters: Floats) -> Floats:
        """∂ log worth of each item / ∂ parameters (n_items, parameters)."""
        units = np.eye(self.n_parameters)
        return np.stack([self.push(parameters, unit)[: self.n_items] for unit in units], axis=1)


class TeamWorths:
    """The worth of a team is the sum of its members' worths: score = lse of their log worths.

    The parameters are the log worths of the members (M,) and, if asked for, of a hypothetical one. The scores are
    those of the teams and then, with a hypothetical member, of every member alone and of it.
    """

    def __init__(self, teams: Sequence[Integers], n_members: int, pseudo_item: bool):
        alone = [np.array([member]) for member in range(n_members + 1)] if pseudo_item else []
        sets = [*teams, *alone]
        self.n_members, self.n_teams, self.pseudo_item = n_members, len(teams), pseudo_item
        self.n_parameters, self.n_scores = n_members + pseudo_item, len(sets)
        offsets = np.concatenate([[0], np.cumsum([len(team) for team in sets])])
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
        """The part of its team's worth that each member brings."""
        return np.exp(parameters[self.members] - self.scores(parameters)[self.team_of_row])

    def _map(self, parameters: Floats) -> sparse.csr_array:
        shape = self.n_scores, self.n_parameters
        return sparse.csr_array((self._shares(parameters), self.members, self.offsets), shape=shape)

    def push(self, parameters: Floats, direction: Floats) -> Floats:
        """How the scores move with the parameters."""
        return self._map(parameters) @ direction

    def pull(self, parameters: Floats, gradient: Floats) -> Floats:
        """A gradient in the scores as one in the parameters."""
        return self._map(parameters).T @ gradient

    def bend(self, parameters: Floats, gradient: Floats, direction: Floats) -> Floats:
        """Σ over teams of gradient · (diag share − share shareᵀ) · direction."""
        moved = self._map(parameters)
        return (moved.T @ gradient) * direction - moved.T @ (gradient * (moved @ direction))

    def diagonal(self, parameters: Floats, diagonal: Floats) -> Floats:
        """About the diagonal in the parameters of what has this diagonal in the scores."""
        return self._map(parameters).power(2).T @ diagonal

    def matrix(self, parameters: Floats, matrix: Floats, gradient: Floats) -> Floats:
        """A matrix over the scores as one over the parameters, less what the teams' own curvature takes away."""
        moved = self._map(parameters).toarray()
        curved = np.diag(moved.T @ gradient) - (moved.T * gradient) @ moved
        return moved.T @ matrix @ moved - curved

    def log_worths(self, parameters: Floats) -> Floats:
        """The log worth of each member."""
        return parameters[: self.n_members]

    def jacobian(self, parameters: Floats) -> Floats:
        """∂ log worth of each member / ∂ parameters."""
        return np.eye(self.n_members, self.n_parameters)
