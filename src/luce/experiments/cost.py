"""What a ranker takes."""

import math
from typing import NamedTuple


class Cost(NamedTuple):
    """Seconds of a fit and of a prediction, and the most memory above the data alone; NaN where it was not measured."""

    fit_seconds: float
    predict_seconds: float = math.nan
    peak_bytes: float = math.nan
