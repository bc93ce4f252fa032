"""How good is a ranking: METRICS, evaluation over lists, and tests of the difference between rankers."""

from luce.metrics.evaluate import evaluate, measure
from luce.metrics.metric import METRICS, Metric, metric, parse_metrics
from luce.metrics.results import Results
from luce.metrics.significance import Comparison, Significance, compare, holm, paired_t_test, randomisation_test

__all__ = [
    "METRICS",
    "Comparison",
    "Metric",
    "Results",
    "Significance",
    "compare",
    "evaluate",
    "holm",
    "measure",
    "metric",
    "paired_t_test",
    "parse_metrics",
    "randomisation_test",
]
