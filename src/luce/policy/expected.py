"""The expectation of a metric over the rankings of a policy.

Every metric of one order is a sum over places up to a factor and a constant per list (`metrics.places`). So its mean is
its value for some ranking, plus the factor times the difference between the mean of the sum and its value there.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from luce.arrays import Floats, Integers, as_floats, list_of_row, selected_offsets
from luce.errors import OptionError
from luce.kernels.placements import Expectation, expected_sums, order_sums
from luce.metrics import METRICS, measure
from luce.metrics import metric as metric_named
from luce.metrics.places import places_of


def expected_metric(
    scores: Floats,
    labels: ArrayLike,
    offsets: Integers,
    name: str,
    gain: str,
    max_grade: float | None,
    settings: dict[str, Any],
) -> Expectation:
    """The expectation for each list (Q,); `settings` are for sampling lists that are too long for exact computation."""
    metric = metric_named(name)
    if metric.place_sum is None:
        raise OptionError(
            f"{metric.name} measures a policy as a whole and is not a mean over its rankings: use luce.evaluate. "
            f"Metrics that are means: {', '.join(one.name for one in METRICS.values() if one.place_sum is not None)}."
        )
    given = as_floats("labels", labels, len(scores))
    observed = ~np.isnan(given)
    scores, given = scores[observed], given[observed]
    offsets = selected_offsets(observed, offsets)
    judging: dict[str, Any] = {"gain": gain, "max_grade": max_grade, "n_jobs": settings["n_jobs"]}
    order = np.lexsort((-scores, list_of_row(offsets)))
    decided = np.empty(len(scores))
    decided[order] = -np.arange(len(scores), dtype=np.float64)
    decided[scores == -np.inf] = -np.inf
    value = measure(decided, given, offsets, str(metric), **judging)[str(metric)]
    places = places_of(metric, given, offsets, **judging)
    mean = expected_sums(scores, offsets, places, **settings)
    base = order_sums(decided, offsets, places, n_jobs=settings["n_jobs"])
    return Expectation(value + (mean.value - base), mean.standard_error)
