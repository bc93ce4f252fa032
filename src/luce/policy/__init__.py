"""Stochastic ranking: a Plackett-Luce distribution over the rankings of each list, to sample from and to evaluate."""

from luce.kernels.placements import Expectation
from luce.policy.policy import Policy

__all__ = ["Expectation", "Policy"]
