"""The section on features: what each is worth to the rankers for which that was measured."""

from typing import Any

from luce.metrics import METRICS
from luce.report.contents import Report
from luce.report.explanation import importance_picture
from luce.report.wording import short

FEATURES = 12
"""Features of each picture."""


def features(report: Report) -> dict[str, Any] | None:
    """A picture for each ranker, its most important features first."""
    known = {name: found for name, found in report.importances.items() if len(found.names)}
    if not known:
        return None
    pictures = [
        importance_picture(found, f"importance-{place}", short(name, 40), FEATURES)
        for place, (name, found) in enumerate(known.items())
    ]
    measures = list(dict.fromkeys(found.measure for found in known.values()))
    lost = [measure for measure in measures if measure.partition("@")[0] in METRICS]
    return {"pictures": pictures, "shuffled": lost, "trees": not {"gain", "split"}.isdisjoint(measures)}
