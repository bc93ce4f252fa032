"""The parameters of metrics, as in `rbp(p=0.95)` and `ndcg(gain=linear)@10`."""

from collections.abc import Mapping
from typing import Any

from luce.metrics.gains import GAINS
from luce.options import Option, number, one_of

PARAMETERS: Mapping[str, Option] = {
    "gain": one_of(*GAINS, default="exponential", summary="gain of a label y: 2^y − 1, or y; 0 for labels below 0"),
    "max_grade": number(0, summary="highest grade of the scale; by default the largest label, and at least 1"),
    "p": number(0, below=1, default=0.8, summary="probability that a reader goes on to the next item"),
}
"""Their allowed values, defaults and meanings; a record names those that the metric reads."""


def value_of(text: str) -> Any:
    """A number, or a word in lower case.

    >>> value_of("0.95"), value_of(" Linear")
    (0.95, 'linear')
    """
    try:
        return float(text)
    except ValueError:
        return text.strip().lower()
