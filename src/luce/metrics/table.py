"""METRICS, the one table of metrics, and how a name such as `ndcg@10` is parsed."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

from luce.errors import OptionError, unknown_name
from luce.metrics.base import Metric

_FAMILIES = "discounted", "cascade", "binary", "pairwise", "fairness"
"""The modules of this package that define metrics."""

METRICS: dict[str, Metric] = {
    record.name: record for family in _FAMILIES for record in import_module(f"luce.metrics.{family}").RECORDS
}


def metric(name: str, table: Mapping[str, Metric] = METRICS) -> Metric:
    """The metric of a name, with its cutoff.

    Parameters
    ----------
    name : str
        A name such as "ndcg@10"; capitals and spaces do not matter.
    table : mapping of str to Metric
        Where the name is looked up.

    Returns
    -------
    Metric
        The record of the table, with the cutoff of the name.

    Raises
    ------
    OptionError
        If there is no such metric, or the cutoff is not allowed.

    Examples
    --------
    >>> ndcg = metric("NDCG@10")
    >>> str(ndcg), ndcg.cutoff, ndcg.higher_is_better
    ('ndcg@10', 10, True)
    >>> metric("arp@5")
    Traceback (most recent call last):
    luce.errors.OptionError: The metric arp has no cutoff: it measures the whole list. Got 'arp@5'; use 'arp'.
    """
    if not isinstance(name, str):
        raise OptionError(f"A metric must be a name such as 'ndcg@10'. Got {name!r}.")
    base, at, cutoff = (part.strip() for part in name.partition("@"))
    record = table.get(base.lower())
    if record is None:
        digits = re.search(r"\d+$", base)
        cut = [f"{known}@{digits[0]}" for known in table] if digits else []
        raise unknown_name("metric", base.lower(), table, cut)
    if not at:
        return record
    if not record.takes_cutoff:
        raise OptionError(
            f"The metric {record.name} has no cutoff: it measures the whole list. Got {name!r}; use {record.name!r}."
        )
    if not (cutoff.isascii() and cutoff.isdigit() and 0 < int(cutoff) < 2**31):
        raise OptionError(
            f"The cutoff of {record.name} must be an integer ≥ 1, as in '{record.name}@10'. Got {name!r}."
        )
    return replace(record, cutoff=int(cutoff))


def higher_is_better(name: str) -> bool:
    """What the table says of this name; a metric of the user's own counts as better when higher.

    >>> higher_is_better("ndcg@10"), higher_is_better("arp"), higher_is_better("my own")
    (True, False, True)
    """
    try:
        return metric(name).higher_is_better
    except OptionError:
        return True


def parse_metrics(metrics: str | Iterable[str], table: Mapping[str, Metric] = METRICS) -> tuple[Metric, ...]:
    """The metrics of one string with commas, or of several names, each once and in their order.

    Parameters
    ----------
    metrics : str or iterable of str
        Such as "ndcg@10, err".
    table : mapping of str to Metric
        Where the names are looked up.

    Returns
    -------
    tuple of Metric

    Examples
    --------
    >>> [str(one) for one in parse_metrics("ndcg@10, err")]
    ['ndcg@10', 'err']
    """
    names: Any = metrics.split(",") if isinstance(metrics, str) else metrics
    if not isinstance(names, Iterable):
        raise OptionError(f"metrics must be names such as 'ndcg@10, err'. Got {metrics!r}.")
    records = {str(one): one for one in (metric(name, table) for name in names)}
    if not records:
        raise OptionError("metrics must name at least one metric, such as 'ndcg@10'. Got none.")
    return tuple(records.values())
