"""Stochastic ranking: distributions over the rankings of each list, with and without ties, to sample and evaluate."""

from luce.kernels.placements import Expectation
from luce.policy.partitions import most_likely_partition, sample_partitions
from luce.policy.policy import Policy

__all__ = ["Expectation", "Policy", "most_likely_partition", "sample_partitions"]
