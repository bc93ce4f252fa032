"""Which column of a table has which role: known by its usual name, or named."""

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import NamedTuple

import pyarrow as pa

from luce.data.categories import is_text
from luce.data.leakage import suspicious_name
from luce.errors import DataError, OptionError, did_you_mean, nearest_names, words_of

ColumnName = str | Sequence[str | None] | None
"""A column: its name, or several names of which the table has one (or none, if None is among them), or None."""

QUERY = ("query", "qid", "query_id")
LABEL = ("label", "relevance", "grade")
DOCUMENT = ("document", "docid", "document_id", "doc_id")
WEIGHT = ("weight",)
LIST_WEIGHT = ("list_weight",)
ITEM_GROUP = ("item_group",)

LIKELY = {
    "query": re.compile(r"q ?id|(query|qry|search|srch|session|request|impression|user|list|group)( ?id)?"),
    "label": re.compile(r"y|(\w+ )?(labels?|relevance|rel|grades?|ratings?|target|judge?ments?)"),
}
"""The words of names that columns of these roles often have; they are proposed, and never taken unasked."""


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
    exclude: Sequence[str] = (),
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
    # A model that uses the region of an item can so be audited by region.
    also_feature = {named["item_group"]}.intersection(features or ())
    taken = [name for name in named.values() if name is not None and name not in also_feature]
    chosen = feature_columns(table, taken, features, exclude)
    return Columns(features=chosen, **named)  # type: ignore[arg-type]


def _find(table: Table, role: str, choice: ColumnName) -> str | None:
    names = table.schema.names
    if choice is None:
        return None
    if isinstance(choice, str):
        if choice not in names:
            raise DataError(f"{table.name} has no column {choice!r} for {role}=.{_guess(role, choice, names)}")
        return choice
    present = [name for name in choice if name is not None and name in names]
    if len(present) > 1:
        raise DataError(
            f"{table.name} has columns {' and '.join(map(repr, present))}: choose one with {role}={present[0]!r}, on "
            f"the command line --read {role}={present[0]}."
        )
    if not present and role in ("query", "label") and None not in choice:
        none = " (label=None where there are no labels)" if role == "label" else ""
        usual = ", ".join(map(str, choice))
        raise DataError(
            f"{table.name} has no {role} column ({usual}): name it by {role}='NAME', on the command line "
            f"--read {role}=NAME{none}.{_guess(role, role, names)}{_no_header(names)}"
        )
    return present[0] if present else None


def _no_header(names: list[str]) -> str:
    """A hint where the names of columns look like the values of a row."""
    numbers = any(name.replace(".", "", 1).isdigit() for name in names)
    return " The first line of a file must be a header with the names of its columns." if numbers else ""


def _guess(role: str, wanted: str, names: list[str]) -> str:
    """The columns that were probably meant, if any, and which there are; a doubtful feature is not proposed."""
    likely = LIKELY.get(role)
    near = [name for name in nearest_names(wanted, names) if _same_words(wanted, name)]
    near += [name for name in names if likely is not None and likely.fullmatch(" ".join(words_of(name)))]
    meant = [name for name in dict.fromkeys(near) if role != "features" or suspicious_name(name) is None]
    shown = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
    return f"{did_you_mean(meant[:3])} Columns: {shown}."


def _same_words(one: str, other: str) -> bool:
    """Whether names have the same words, up to typos: `query_len` is no `query_id`, though most letters agree."""
    words, others = words_of(one), words_of(other)
    if len(words) != len(others):
        return "".join(words) == "".join(others)
    return all(get_close_matches(word, [each], cutoff=0.7) for word, each in zip(words, others, strict=True))


def feature_columns(
    table: Table, taken: list[str], features: Sequence[str] | None, exclude: Sequence[str] = ()
) -> list[str]:
    """The feature columns: those named, or all that are not taken, less those excluded; each must be of a type that a
    feature can have."""
    left_out = {*taken, *matching_columns(table, "exclude", exclude)}
    chosen = table.schema.names if features is None else matching_columns(table, "features", features, taken)
    chosen = [name for name in chosen if name not in left_out]
    wrong = [name for name in chosen if not is_feature(table.schema.field(name).type)]
    if wrong:
        types = ", ".join(f"{name!r} ({table.schema.field(name).type})" for name in wrong[:5])
        raise DataError(
            f"Features must be numbers, text, dates or booleans. {table.name} has {len(wrong)} column(s) of other "
            f"types: {types}. {features_hint(name for name in chosen if name not in wrong)}, or convert these."
        )
    return chosen


def matching_columns(table: Table, option: str, given: Sequence[str], taken: Sequence[str] = ()) -> list[str]:
    """The columns of these names or shell patterns, each once; those that are taken cannot be named."""
    if isinstance(given, str):
        raise OptionError(f"{option} must be a list of column names. Got the one string {given!r}.")
    names = table.schema.names
    known, found = set(names), dict[str, None]()
    for each in given:
        if each in taken:
            raise OptionError(
                f"Column {each!r} cannot be a feature: it is already the query, label, document or weight."
            )
        matched = [each] if each in known else [name for name in names if fnmatchcase(name, each)]
        if not matched:
            kind = "that matches " if any(mark in each for mark in "*?[") else ""
            raise DataError(f"{table.name} has no column {kind}{each!r} for {option}=.{_guess(option, each, names)}")
        found |= dict.fromkeys(matched)
    return list(found)


def features_hint(numbers: Iterable[str]) -> str:
    """How to name the columns that can be features, less those whose names make them suspicious.

    >>> features_hint(["price", "age", "click_count"])
    "Name those to use by features=['price', 'age'], on the command line --read features=price,age"
    """
    names = [name for name in numbers if suspicious_name(name) is None]
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
