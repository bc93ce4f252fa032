"""The section on training: the validation metric of every ranker by iteration, the loss where nothing was validated."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from luce.arrays import Floats
from luce.report.charts import curve
from luce.report.contents import Report
from luce.report.multiples import Curve, curves
from luce.report.results import higher_is_better


def learning(report: Report) -> dict[str, Any] | None:
    """Of one ranker the loss and the validation metric; of several the curve that each was stopped by, side by side."""
    learned = [
        told
        for name, history in report.histories.items()
        for told in [told_by(name, history, report.validation_metric)]
        if told is not None
    ]
    if not learned:
        return None
    if len(learned) > 1:
        return {"rows": learned, "told": _common(learned), "pictures": curves("learning", learned), "small": True}
    (one,) = learned
    pictures = [curve("learning-stopped-by", one.told, one.iterations, one.values, one.best)]
    losses = _column(report.histories[one.ranker], "loss")
    if one.told != "loss" and np.isfinite(losses).any():
        pictures.append(curve("learning-loss", "loss", one.iterations, losses, one.best))
    return {"rows": learned, "pictures": pictures, "small": False}


def told_by(ranker: str, history: Sequence[Mapping[str, float]], metric: str) -> Curve | None:
    """The validation metric of a history, or where there is none the loss; the first best value is the best.

    >>> told_by("a", [{"iteration": i, "validation": v} for i, v in enumerate([0.2, 0.4, 0.4])], "ndcg@10").best
    1
    """
    for told, column, upward in ((metric, "validation", higher_is_better(metric)), ("loss", "loss", False)):
        values = _column(history, column)
        if np.isfinite(values).any():
            badness = np.where(np.isfinite(values), -values if upward else values, np.inf)
            return Curve(ranker, told, _column(history, "iteration"), values, int(np.argmin(badness)))
    return None


def _common(learned: Sequence[Curve]) -> str:
    """What all curves tell, nothing where they differ."""
    told = {each.told for each in learned}
    return told.pop() if len(told) == 1 else ""


def _column(history: Sequence[Mapping[str, float]], name: str) -> Floats:
    return np.array([entry.get(name, np.nan) for entry in history], dtype=np.float64)
