"""Documents as JSON objects by feature name, ranked best first."""

from collections.abc import Sequence
from itertools import chain
from operator import itemgetter
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from luce.arrays import Floats
from luce.data.categories import Categories
from luce.errors import DataError
from luce.serve.inference import ScoredRequest
from luce.serve.model import Model
from luce.serve.settings import EXPLAINED_ROWS, Settings
from luce.serve.values import NUMBERS, check_fields, expect, kind_of, parse_object

FIELDS = ("documents", "top", "explain")

SHOWN = 5
"""Values of a category that are named where the model does not know them."""


def rank(name: str, model: Model, body: bytes, settings: Settings) -> ScoredRequest:
    """The answer to a ranking request; a LuceError for one that is not valid."""
    request = parse_object(body)
    check_fields(request, FIELDS)
    documents = expect(request.get("documents"), list, "documents")
    if len(documents) > settings.max_rows:
        raise DataError(f"A request may have at most {settings.max_rows:,} documents. Got {len(documents):,}.")
    top = expect(request.get("top", max(1, len(documents))), int, "top")
    if top < 1:
        raise DataError(f"'top' must be at least 1. Got {top}.")
    ids, rows = read_documents(documents, model.feature_names)
    unknown = encode(rows, model.feature_names, model.scorer.categories)
    features = as_matrix(rows, model.feature_names)
    missing = missing_everywhere(documents, model.feature_names)
    scores = model.score(features, np.array([0, len(ids)]))
    order = np.argsort(-scores, kind="stable")[:top]
    ranking: list[dict[str, Any]] = [{"id": ids[row], "score": scores[row]} for row in order.tolist()]
    answer: dict[str, Any] = {"model_name": name, "model_version": model.version, "ranking": ranking}
    answer |= {"missing_features": missing} if missing else {}
    answer |= {"unknown_values": unknown} if unknown else {}
    if expect(request.get("explain", False), bool, "explain") and ranking:
        _explain(model, features, order, ranking)
    return ScoredRequest(orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY), len(ids))


def read_documents(documents: Sequence[Any], names: Sequence[str]) -> tuple[list[Any], list[list[Any]]]:
    """The id of each document and its features, None where it lacks one; other keys are ignored.

    >>> read_documents([{"id": "a", "price": 2, "shop": "x"}, {"id": "b", "price": 1, "age": 3}], ["age", "price"])
    (['a', 'b'], [[None, 2], [3, 1]])
    """
    pick = itemgetter("id", *names)
    ids, rows = [], []
    for number, document in enumerate(documents, 1):
        if type(document) is not dict:
            raise DataError(f"Document {number} must be an object. Got {kind_of(document)}.")
        try:
            id_, *row = pick(document)
        except KeyError:
            id_, *row = document.get("id"), *map(document.get, names)
        if type(id_) not in (str, int):
            raise DataError(f"The 'id' of document {number} must be a string or an integer. Got {kind_of(id_)}.")
        ids.append(id_)
        rows.append(row)
    return ids, rows


def encode(rows: list[list[Any]], names: Sequence[str], categories: Categories | None) -> dict[str, list[str]]:
    """Replace the values of categories by their numbers; those that the model does not know become None.

    Returns some of these by feature.

    >>> rows = [["red"], ["pink"], [7]]
    >>> encode(rows, ["color"], [("blue", "red", "7")]), rows
    ({'color': ['pink']}, [[1], [None], [2]])
    """
    unknown: dict[str, set[str]] = {}
    for column, values in enumerate(categories or ()):
        if values is None:
            continue
        codes = {value: code for code, value in enumerate(values)}
        for row in rows:
            text = _text(row[column])
            row[column] = codes.get(text) if text is not None else None
            if text and row[column] is None and len(found := unknown.setdefault(names[column], set())) < SHOWN:
                found.add(text[:100])
    return {name: sorted(found) for name, found in unknown.items()}


def _text(value: Any) -> str | None:
    """The value of a category as tables have it; what is no value of one is left to be unknown."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"
    return None if value is None else str(value)


def as_matrix(rows: Sequence[Sequence[Any]], names: Sequence[str]) -> NDArray[np.float64]:
    """Rows of numbers as an array, NaN for None.

    >>> as_matrix([[1, None]], ["age", "price"])
    array([[ 1., nan]])
    """
    values = list(chain.from_iterable(rows))
    wrong = set(map(type, values)) - NUMBERS
    if wrong:
        at = next(place for place, value in enumerate(values) if type(value) in wrong)
        row, column = divmod(at, len(names))
        raise DataError(
            f"Feature '{names[column]}' of document {row + 1} must be a number, or null where it is missing. Got "
            f"{kind_of(values[at])}."
        )
    return np.array(values, dtype=np.float64).reshape(len(rows), len(names))


def missing_everywhere(documents: Sequence[dict[str, Any]], names: Sequence[str]) -> list[str]:
    """The features that no document has, not even as null; an error where these are all, which is a misspelling.

    >>> missing_everywhere([{"id": "a", "price": 2}, {"id": "b", "price": None}], ["age", "price"])
    ['age']
    """
    missing = set(names) if documents else set()
    for document in documents:
        if not missing:
            return []
        missing -= document.keys()
    if len(missing) == len(names):
        shown = ", ".join(map(repr, names[:5])) + (", …" if len(names) > 5 else "")
        raise DataError(f"No document has a feature of this model, which are: {shown}.")
    return [name for name in names if name in missing]


def _explain(model: Model, features: Floats, order: NDArray[np.intp], ranking: list[dict[str, Any]]) -> None:
    """Add to each ranked document what its features contribute to its score."""
    whole = bool(model.scorer.needs_lists)
    rows = np.arange(len(features)) if whole else order
    if len(rows) > EXPLAINED_ROWS:
        advice = "send fewer documents" if whole else "set 'top'"
        raise DataError(f"At most {EXPLAINED_ROWS} documents can be explained at a time, here {len(rows):,}: {advice}.")
    found = model.explain(features[rows], np.array([0, len(rows)]))
    places = order.tolist() if whole else range(len(order))
    for entry, place in zip(ranking, places, strict=True):
        contributions = dict(zip(found.names, found.contributions[place].tolist(), strict=True))
        entry |= {"base": found.base[place], "contributions": contributions}
