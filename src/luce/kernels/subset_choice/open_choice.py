"""Successive choices of subsets whose potential is a function: exact by its sum over subsets, or by Markov chains."""

from collections.abc import Callable, Iterator

import numpy as np
from scipy.special import expit, gammaln

from luce.arrays import Floats, Integers
from luce.errors import DataError
from luce.kernels.subset_choice.potentials import LONGEST, Potential, has_log_sum, log_potential, log_sum
from luce.lists import Evaluation, Lists

Chain = Callable[["State", np.random.Generator], None]


def open_choice(lists: Lists, potential: Potential) -> Evaluation:
    """Loss (Q,) = Σ_k log Σ_{∅ ≠ S ⊆ R_k} Φ_k(S) − log Φ_k(S_k), and its gradient."""
    loss, gradient = np.zeros(len(lists.offsets) - 1), np.zeros(len(lists.scores))
    for q in range(len(loss)):
        for stage, (chosen, left) in enumerate(_stages(lists, q), 1):
            if len(left) > LONGEST and not has_log_sum(potential):
                raise DataError(
                    f"Lists of at most {LONGEST} observed items are supported, because all subsets are enumerated. "
                    f"List {q + 1} has {len(left)}. Use pmop-gibbs, or give the potential a method log_sum."
                )
            total, expected = log_sum(potential, lists.scores[left], stage)
            value, derivative = log_potential(potential, lists.scores[chosen], stage)
            loss[q] += total - value
            gradient[left] += expected
            gradient[chosen] -= derivative
    return Evaluation(loss, gradient)


def sampled_open_choice(
    lists: Lists, potential: Potential, chain: Chain, steps: int, chains: int, random_start: bool
) -> Evaluation:
    """Σ_k log Φ_k of the subsets that chains visit − log Φ_k(S_k) (Q,), and its derivative with the subsets held."""
    loss, gradient = np.zeros(len(lists.offsets) - 1), np.zeros(len(lists.scores))
    numbers, seed, step = lists.stream
    for q, number in enumerate(numbers):
        random = np.random.default_rng([seed, step, number])
        for stage, (chosen, left) in enumerate(_stages(lists, q), 1):
            value, derivative = log_potential(potential, lists.scores[chosen], stage)
            loss[q] -= value
            gradient[chosen] -= derivative
            for _ in range(chains):
                members = random_subset(len(left), random) if random_start else np.isin(left, chosen)
                state = State(potential, lists.scores[left], stage, members)
                for _ in range(steps):
                    chain(state, random)
                    value, derivative = log_potential(potential, state.scores[state.members], stage)
                    loss[q] += value / (steps * chains)
                    gradient[left[state.members]] += derivative / (steps * chains)
    return Evaluation(loss, gradient)


def _stages(lists: Lists, q: int) -> Iterator[tuple[Integers, Integers]]:
    """The rows of S_k and of R_k, while there is a choice."""
    rows = np.arange(lists.offsets[q], lists.offsets[q + 1])
    labels = lists.labels[rows]
    for label in np.unique(labels[~np.isnan(labels)])[::-1]:
        left = rows[labels <= label]
        if len(left) > 1:
            yield rows[labels == label], left


class State:
    """A subset of the items of a stage, as a mask, and its log Φ_k."""

    def __init__(self, potential: Potential, scores: Floats, stage: int, members: np.ndarray):
        self.potential, self.scores, self.stage, self.members = potential, scores, stage, members.copy()
        self.value = self.log_potential(members)

    def log_potential(self, members: np.ndarray) -> float:
        return float(log_potential(self.potential, self.scores[members], self.stage)[0])


def random_subset(n: int, random: np.random.Generator) -> np.ndarray:
    """A non-empty subset of n items, all alike, as a mask.

    >>> random_subset(1, np.random.default_rng(0))
    array([ True])
    """
    while True:
        members = random.random(n) < 0.5
        if members.any():
            return members


def gibbs_sweep(state: State, random: np.random.Generator) -> None:
    """Visit the items in a random order; each is taken in with its probability given the others."""
    for item in random.permutation(len(state.scores)):
        other = state.members.copy()
        other[item] = not other[item]
        if other.any():
            value = state.log_potential(other)
            if random.random() < expit(value - state.value):
                state.members, state.value = other, value


def metropolis_step(state: State, random: np.random.Generator, *, corrected: bool) -> None:
    """Propose a size, all alike, and a subset of that size, all alike; take it or stay, as `chains` has it."""
    n = len(state.scores)
    size = int(random.integers(1, n + 1))
    proposal = np.zeros(n, dtype=bool)
    proposal[random.choice(n, size, replace=False)] = True
    value = state.log_potential(proposal)
    log_ratio = value - state.value
    if corrected:
        log_ratio += _log_choices(n, size) - _log_choices(n, int(state.members.sum()))
    if np.log(random.random()) < log_ratio:
        state.members, state.value = proposal, value


def _log_choices(n: int, size: int) -> float:
    """log C(n, size) but for log n!."""
    return float(-gammaln(size + 1) - gammaln(n - size + 1))
