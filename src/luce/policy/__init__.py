"""Rankings as chances: a Plackett-Luce distribution over the rankings of each list, to sample from and to measure."""

from luce.kernels.placements import Expectation
from luce.policy.policy import Policy

__all__ = ["Expectation", "Policy"]
