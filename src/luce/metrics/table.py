"""METRICS, the one table of metrics, and how a name such as `ndcg(gain=linear)@10` is parsed."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

from luce.errors import OptionError, unknown_name
from luce.metrics.base import Metric
from luce.metrics.parameters import PARAMETERS, value_of

_FAMILIES = "discounted", "cascade", "binary", "pairwise", "fairness"
"""The modules of this package that define metrics."""

METRICS: dict[str, Metric] = {
    record.name: record for family in _FAMILIES for record in import_module(f"luce.metrics.{family}").RECORDS
}

Metrics = str | Callable[..., float] | Iterable[str | Callable[..., float] | Metric]
"""One or several metrics: names, with commas in one string, or functions of the scores and labels of one list."""

_NAME = re.compile(r"(?P<base>[^@(]*)(?P<given>\([^)]*\)\s*)?(?P<cutoff>@.*)?", re.DOTALL)


def metric(name: str, table: Mapping[str, Metric] = METRICS) -> Metric:
    """The metric of a name, with its parameter and its cutoff.

    Parameters
    ----------
    name : str
        A name such as "ndcg@10" or "rbp(p=0.95)@10"; capitals and spaces do not matter.
    table : mapping of str to Metric
        Where the name is looked up.

    Returns
    -------
    Metric
        The record of the table, with the parameter and the cutoff of the name.

    Raises
    ------
    OptionError
        If there is no such metric, or the parameter or the cutoff is not allowed.

    Examples
    --------
    >>> ndcg = metric("NDCG@10")
    >>> str(ndcg), ndcg.cutoff, ndcg.higher_is_better
    ('ndcg@10', 10, True)
    >>> metric("rbp(p=0.95)").parameters
    {'p': 0.95}
    >>> metric("arp@5")
    Traceback (most recent call last):
    luce.errors.OptionError: The metric arp has no cutoff: it measures the whole list. Got 'arp@5'; use 'arp'.
    """
    if not isinstance(name, str):
        raise OptionError(f"A metric must be a name such as 'ndcg@10'. Got {name!r}.")
    parts = _NAME.fullmatch(name)
    base = (name if parts is None else parts["base"]).strip().lower()
    record = table.get(base)
    if parts is None and name.count("(") != name.count(")"):
        raise OptionError(f"The parentheses of a metric must be closed, as in 'rbp(p=0.95)@10'. Got {name!r}.")
    if record is None or parts is None:
        digits = re.search(r"\d+$", base)
        raise unknown_name("metric", base, table, [f"{known}@{digits[0]}" for known in table] if digits else [])
    if parts["given"]:
        record = replace(record, parameters=_parameters(record, parts["given"].strip()[1:-1]))
    if parts["cutoff"] is None:
        return record
    cutoff = parts["cutoff"][1:].strip()
    if not record.takes_cutoff:
        raise OptionError(
            f"The metric {record.name} has no cutoff: it measures the whole list. Got {name!r}; use {record.name!r}."
        )
    if not (cutoff.isascii() and cutoff.isdigit() and 0 < int(cutoff) < 2**31):
        hint = " Parameters come before the cutoff, as in 'rbp(p=0.95)@10'." if "(" in cutoff else ""
        raise OptionError(
            f"The cutoff of {record.name} must be an integer ≥ 1, as in '{record.name}@10'. Got {name!r}.{hint}"
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


def _parameters(record: Metric, text: str) -> dict[str, Any]:
    """The parameter `name=value` in the parentheses of a name."""
    key, sign, value = (part.strip() for part in text.partition("="))
    known = [name for name in record.options if name in PARAMETERS]
    if not known:
        raise OptionError(f"The metric {record.name} has no parameters. Got '{record.name}({text})'.")
    if not sign:
        raise OptionError(f"A parameter is given as in '{record.name}({known[0]}=…)'. Got '{record.name}({text})'.")
    if key.lower() not in known:
        raise unknown_name(f"parameter of {record.name}", key, known)
    found = value_of(value)
    PARAMETERS[key.lower()].check(f"The parameter {key.lower()} of {record.name}", found)
    return {key.lower(): found}


def _own_metric(function: Callable[..., float]) -> Metric:
    """A function of the scores and labels of one list as a metric."""
    return Metric(
        name=getattr(function, "__name__", type(function).__name__),
        summary=(function.__doc__ or "").strip().partition("\n")[0],
        formula="",
        bounds=(-math.inf, math.inf),
        empty_when="the function returns NaN",
        function=function,
        takes_cutoff=False,
    )


def parse_metrics(metrics: Metrics, table: Mapping[str, Metric] = METRICS) -> tuple[Metric, ...]:
    """The metrics of one string with commas, or of several names and functions, each once and in their order.

    Parameters
    ----------
    metrics : str, callable, or iterable of them
        Such as "ndcg@10, err"; a function has the scores and the labels of one list as arguments.
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
    given: Any = metrics.split(",") if isinstance(metrics, str) else [metrics] if callable(metrics) else metrics
    if not isinstance(given, Iterable):
        raise OptionError(f"metrics must be names such as 'ndcg@10, err', or functions. Got {metrics!r}.")
    records: dict[str, Metric] = {}
    for each in given:
        one = each if isinstance(each, Metric) else _own_metric(each) if callable(each) else metric(each, table)
        if records.setdefault(str(one), one).function is not one.function:
            raise OptionError(f"Two metrics are called {str(one)!r}. Give the functions different names.")
    if not records:
        raise OptionError("metrics must name at least one metric, such as 'ndcg@10'. Got none.")
    return tuple(records.values())
