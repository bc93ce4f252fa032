"""Boosted trees: LightGBM grows them, every objective of the table trains them."""

from luce.rankers.trees.ranker import TreeRanker

__all__ = ["TreeRanker"]
