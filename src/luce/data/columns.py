"""Which column of a table has which role: known by its usual name, or named."""

import difflib
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import pyarrow as pa

from luce.data.categories import is_text
from luce.errors import DataError, OptionError

ColumnName = str | Sequence[str | None] | None
"""A column: its name, or several names of which the table has one (or none, if None is among them), or None."""

QUERY = ("query", "qid", "query_id")
LABEL = ("label", "relevance", "grade")
DOCUMENT = ("document", "docid", "document_id", "doc_id")
WEIGHT = ("weight",)
LIST_WEIGHT = ("list_weight",)
ITEM_GROUP = ("item_group",)


class Table(NamedTuple):
    """A table that can be walked through several times: `batches(columns)` gives those columns in record batches."""

    name: str
    schema: pa.Schema
    n_rows: int
    batches: Callable[[list[str]], Iterable[pa.RecordBatch]]


class Columns(NamedTuple):
    """Which column has which role."""

    query: str
    label: str | None
    features: list[str]
    document: str | None
    weight: str | None
    list_weight: str | None
    item_group: str | None


def choose_columns(
    table: Table,
    query: ColumnName = QUERY,
    label: ColumnName = LABEL,
    features: Sequence[str] | None = None,
    document: ColumnName = DOCUMENT,
    weight: ColumnName = WEIGHT,
    list_weight: ColumnName = LIST_WEIGHT,
    item_group: ColumnName = ITEM_GROUP,
) -> Columns:
    """Which column of a table has which role; a missing, doubled or unusable column is an error that names it."""
    names = table.schema.names
    twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    if twice:
        raise DataError(f"{table.name} has more than one column named {twice[0]!r}; names must differ.")
    roles = {"query": query, "label": label, "document": document, "weight": weight}
    roles |= {"list_weight": list_weight, "item_group": item_group}
    named = {role: _find(table, role, choice) for role, choice in roles.items()}
    if named["query"] is None:
        raise OptionError("query must name a column: it says which rows belong together. Got None.")
    taken = [name for name in named.values() if name is not None]
    chosen = feature_columns(table, taken, features)
    return Columns(features=chosen, **named)  # type: ignore[arg-type]


def _find(table: Table, role: str, choice: ColumnName) -> str | None:
    names = table.schema.names
    if choice is None:
        return None
    if isinstance(choice, str):
        if choice not in names:
            raise DataError(f"{table.name} has no column {choice!r} for {role}=. {_columns_there(choice, names)}")
        return choice
    present = [name for name in choice if name is not None and name in names]
    if len(present) > 1:
        raise DataError(f"{table.name} has columns {' and '.join(map(repr, present))}: say which by {role}=….")
    if not present and role in ("query", "label") and None not in choice:
        none = " (label=None where there are no labels)" if role == "label" else ""
        usual = ", ".join(map(str, choice))
        raise DataError(
            f"{table.name} has no {role} column ({usual}): name it by {role}='NAME', on the command line "
            f"--read {role}=NAME{none}. {_columns_there(role, names)}"
        )
    return present[0] if present else None


def _columns_there(wanted: str, names: list[str]) -> str:
    nearest = difflib.get_close_matches(wanted, names, n=1)
    guess = f"Did you mean {nearest[0]!r}? " if nearest else ""
    shown = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
    return f"{guess}Columns: {shown}."


def feature_columns(table: Table, taken: list[str], features: Sequence[str] | None) -> list[str]:
    """The feature columns: those named, or all that are not taken; each must be of a type that a feature can have."""
    if isinstance(features, str):
        raise OptionError(f"features must be a list of column names. Got the one string {features!r}.")
    names = table.schema.names
    for name in features or ():
        if name not in names:
            raise DataError(f"{table.name} has no column {name!r} for features=. {_columns_there(name, names)}")
        if name in taken:
            raise OptionError(
                f"Column {name!r} cannot be a feature: it is already the query, label, document, weight or item group."
            )
    chosen = [name for name in names if name not in taken] if features is None else list(features)
    wrong = [name for name in chosen if not is_feature(table.schema.field(name).type)]
    if wrong:
        types = ", ".join(f"{name!r} ({table.schema.field(name).type})" for name in wrong[:5])
        raise DataError(
            f"Features must be numbers, text, dates or booleans. {table.name} has {len(wrong)} column(s) of other "
            f"types: {types}. {features_hint(name for name in chosen if name not in wrong)}, or convert these."
        )
    return chosen


def features_hint(numbers: Iterable[str]) -> str:
    """How to name the columns that can be features.

    >>> features_hint(["price", "age"])
    "Name those to use by features=['price', 'age'], on the command line --read features=price,age"
    """
    names = list(numbers)
    few = 0 < len(names) <= 20
    listed, words = (repr(names), ",".join(names)) if few else ("[…]", "NAME,NAME,…")
    return f"Name those to use by features={listed}, on the command line --read features={words}"


def is_number(kind: pa.DataType) -> bool:
    """Whether a column of this Arrow type holds numbers or booleans; a column of nulls does."""
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal, pa.types.is_null)
    return any(test(kind) for test in tests)


def is_feature(kind: pa.DataType) -> bool:
    """Whether a column of this Arrow type can be a feature: a number, a category, or a date, time or duration."""
    times = (pa.types.is_date, pa.types.is_timestamp, pa.types.is_duration, pa.types.is_time)
    return is_number(kind) or is_text(kind) or any(test(kind) for test in times)
