"""The label ranker: a network with one score a label, for the relevant few of up to millions of labels."""

from luce.rankers.labels.ranker import LabelRanker

__all__ = ["LabelRanker"]
