"""METRICS, evaluation of rankings, and significance tests of the difference between rankers."""

from luce.metrics.base import Metric
from luce.metrics.comparison import Comparisons, compare
from luce.metrics.evaluation import evaluate, measure
from luce.metrics.extreme import LABEL_METRICS, evaluate_labels, label_metric, measure_labels, propensities
from luce.metrics.results import Results
from luce.metrics.significance import (
    Comparison,
    Significance,
    compare_results,
    holm,
    paired_t_test,
    randomization_test,
)
from luce.metrics.table import METRICS, metric, parse_metrics

__all__ = [
    "LABEL_METRICS",
    "METRICS",
    "Comparison",
    "Comparisons",
    "Metric",
    "Results",
    "Significance",
    "compare",
    "compare_results",
    "evaluate",
    "evaluate_labels",
    "holm",
    "label_metric",
    "measure",
    "measure_labels",
    "metric",
    "paired_t_test",
    "parse_metrics",
    "propensities",
    "randomization_test",
]
