"""The section on training: loss and validation metric by iteration."""

from typing import Any

import numpy as np

from luce.arrays import Floats
from luce.report.charts import curve
from luce.report.contents import Report
from luce.report.results import higher_is_better


def learning(report: Report) -> dict[str, Any] | None:
    """The curves that hold at least one finite value, each with the best iteration marked."""
    iterations = _column(report, "iteration")
    curves = {"loss": _column(report, "loss"), report.validation_metric: _column(report, "validation")}
    curves = {name: values for name, values in curves.items() if np.isfinite(values).any()}
    if not curves:
        return None
    best = best_iteration(curves, report.validation_metric)
    pictures = [
        curve(f"learning-{place}", title, iterations, values, best)
        for place, (title, values) in enumerate(curves.items())
    ]
    by = report.validation_metric if report.validation_metric in curves else "loss"
    return {"pictures": pictures, "best": iterations[best], "by": by, "value": curves[by][best], "last": iterations[-1]}


def best_iteration(curves: dict[str, Floats], validation_metric: str) -> int:
    """The index of the first best value: of the validation metric where there is one, else of the loss.

    >>> best_iteration({"loss": np.array([3.0, 1.0, 2.0]), "ndcg@10": np.array([0.2, np.nan, 0.4])}, "ndcg@10")
    2
    """
    values = curves.get(validation_metric, curves.get("loss"))
    assert values is not None
    upward = validation_metric in curves and higher_is_better(validation_metric)
    badness = np.where(np.isfinite(values), -values if upward else values, np.inf)
    return int(np.argmin(badness))


def _column(report: Report, name: str) -> Floats:
    return np.array([entry.get(name, np.nan) for entry in report.history], dtype=np.float64)
