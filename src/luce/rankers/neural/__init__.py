"""The neural ranker: a PyTorch network on the flat rows of ragged lists, trained by any objective."""

from luce.rankers.neural.ranker import NeuralRanker

__all__ = ["NeuralRanker"]
