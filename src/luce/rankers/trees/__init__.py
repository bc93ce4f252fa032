"""Boosted trees: LightGBM grows them, every objective of the table trains them."""

from luce.rankers.trees.machines import Machines
from luce.rankers.trees.ranker import TreeRanker

__all__ = ["Machines", "TreeRanker"]
