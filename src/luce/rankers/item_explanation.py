"""Why one item is ranked where it is: what sets it apart from the items above it, and which features would move it."""

from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from luce.arrays import Floats, Integers, read_only
from luce.data import Dataset
from luce.data.categories import Categories
from luce.data.ragged import check_dataset
from luce.errors import OptionError
from luce.rankers.explanation import Explainable
from luce.rankers.ranker import Ranker

BLOCK = 2**22
"""Feature values that are scored at a time."""


class ItemFeature(NamedTuple):
    """What one feature does to the rank of an item.

    Attributes
    ----------
    feature : str
        Its name; its number from 1 where it has none.
    value : float or str
        Its value, a text if it is a category; NaN where it is missing, or made from others by a transform.
    typical : float or str
        The median of its values over the items above, one of these values; of a category the most frequent one.
    gap : float
        Its contribution to the score of the item minus its mean contribution over the items above; NaN where the score
        of the ranker is not a sum of contributions.
    new_score, new_rank : float and int
        The score and the rank of the item if it had the typical value and all else stayed; NaN and None for a feature
        that is made from others.
    """

    feature: str
    value: float | str
    typical: float | str
    gap: float
    new_score: float
    new_rank: int | None


class ItemExplanation(NamedTuple):
    """Why an item is not ranked higher; of the first one, why it is not ranked lower.

    Attributes
    ----------
    query, item : str
        The id of the query, and that of the item; its number in the list, from 1, where it has none.
    rank, size : int
        Its rank from 1, and the number of items of the list.
    score : float
        Its score.
    n_compared, compared_score : int and float
        The number of items above it, or of all others where it is the first, and their mean score.
    features : list of ItemFeature
        All features.
    """

    query: str
    item: str
    rank: int
    size: int
    score: float
    n_compared: int
    compared_score: float
    features: list[ItemFeature]

    def gaps(self) -> list[ItemFeature]:
        """The features by gap: what costs the item most first, or of the first item, what helps it most."""
        known = [each for each in self.features if not np.isnan(each.gap)]
        return sorted(known, key=lambda each: self._sign * each.gap)

    def moves(self) -> list[ItemFeature]:
        """The features that would move the item in the direction of interest, furthest first: up, or the first down."""
        moved = [
            (self._sign * each.new_rank, -self._sign * each.new_score, each)
            for each in self.features
            if each.new_rank is not None and self._sign * each.new_rank < self._sign * self.rank
        ]
        return [each for *_, each in sorted(moved, key=lambda found: found[:2])]

    @property
    def _sign(self) -> int:
        return -1 if self.rank == 1 else 1


def explain_item(ranker: Ranker, dataset: Dataset, query: Any, item: Any) -> ItemExplanation:
    """Why an item has its rank: what sets it apart from the items above it, and which features would move it.

    The contributions of each feature are compared with their mean over the items above. Then each feature is set to its
    median over these items, one at a time, and the list is ranked again. The first item is compared with all others.

    Parameters
    ----------
    ranker : Ranker
        A fitted ranker of lists. Of one whose score is not a sum of contributions, such as a network, only the effects
        of changed values are known.
    dataset : Dataset
        The lists.
    query : str or int
        The id of the query, one of `dataset.query_ids`.
    item : str or int
        The id of the item, one of `dataset.document_ids`; where the items have none, its number in the list, from 1.

    Returns
    -------
    ItemExplanation
        Its rank and score, and a record for each feature.

    Examples
    --------
    >>> import luce
    >>> data = luce.from_arrays([[1.0, 0], [3, 1], [2, 0]] * 9, [0, 2, 1] * 9, np.repeat(np.arange(9), 3))
    >>> found = luce.explain_item(luce.LinearRanker().fit(data), data, query=4, item=1)
    >>> found.rank, found.size, found.gaps()[0].feature, found.moves()[0].new_rank
    (3, 3, '1', 2)
    """
    check_dataset(dataset, "explain_item")
    one, _ = ranker.check_input(dataset.take([list_of_query(dataset, query)]))
    place = _place(one, query, item)
    scores = ranker.predict(one)
    rank = int(_ranks(scores[None], place)[0])
    order = np.argsort(-scores, kind="stable")
    compared = order[: rank - 1] if rank > 1 else order[1:]
    values = one.features.toarray() if one.is_sparse else np.asarray(one.features)
    typical = _typical(values[compared], one.categories) if len(compared) else values[place]
    columns = np.flatnonzero(~((values[place] == typical) | (np.isnan(values[place]) & np.isnan(typical))))
    new_scores, new_ranks = np.full(one.n_features, scores[place]), np.full(one.n_features, rank)
    new_scores[columns], new_ranks[columns] = _changed(ranker, one, values, place, columns, typical, scores)
    names = [one.feature_name(column) for column in range(one.n_features)]
    gaps = _gaps(ranker, one, place, compared)
    missing = 0.0 if gaps else np.nan
    shown = [one.category_value(column, value) for column, value in enumerate(typical.tolist())]
    given = [one.feature_value(place, column) for column in range(one.n_features)]
    own = zip(names, given, shown, new_scores.tolist(), new_ranks.tolist(), strict=True)
    features = [ItemFeature(name, value, mid, gaps.pop(name, missing), *new) for name, value, mid, *new in own]
    features += [ItemFeature(name, np.nan, np.nan, gap, np.nan, None) for name, gap in gaps.items()]
    mean = float(scores[compared].mean()) if len(compared) else float(scores[place])
    facts = rank, len(scores), float(scores[place]), len(compared), mean
    return ItemExplanation(str(one.query_ids[0].as_py()), item_name(one, place), *facts, features)


def list_of_query(dataset: Dataset, query: Any) -> int:
    """The number of the list of a query; an OptionError where there is none."""
    known = list(map(str, dataset.query_ids.to_pylist()))
    if str(query) in known:
        return known.index(str(query))
    raise OptionError(f"There is no query {str(query)!r} among the {len(known):,}: {_some(known)}.")


def item_name(one: Dataset, place: int) -> str:
    """The id of an item of a single list; its number from 1 where it has none."""
    known = None if one.document_ids is None else one.document_ids[place].as_py()
    return str(place + 1) if known is None else str(known)


def _place(one: Dataset, query: Any, item: Any) -> int:
    names = [item_name(one, place) for place in range(one.n_rows)]
    if str(item) in names:
        return names.index(str(item))
    numbered = " The data have no document column, so items are numbered: name it with document=, on the command line "
    numbered = numbered + "--read document=NAME." if one.document_ids is None else ""
    raise OptionError(
        f"There is no item {str(item)!r} among the {len(names):,} of query {query}: {_some(names)}.{numbered}"
    )


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (", …" if len(names) > 5 else "")


def _typical(values: Floats, categories: Categories | None) -> Floats:
    """The median of each column without its missing values, the lower one of two; of a category the most frequent
    value; NaN where all are missing."""
    known = (~np.isnan(values)).sum(axis=0)
    found: Floats = np.sort(values, axis=0)[np.maximum(known - 1, 0) // 2, np.arange(values.shape[1])]
    for column, texts in enumerate(categories or ()):
        if texts is not None and known[column]:
            codes = values[~np.isnan(values[:, column]), column].astype(np.int64)
            found[column] = np.bincount(codes).argmax()
    return found


def _ranks(scores: Floats, place: int) -> Integers:
    """The rank of an item in each of some lists of scores, (K, N); of equal scores the earlier row is first."""
    own = scores[:, place, None]
    ranks: Integers = 1 + (scores > own).sum(axis=1) + (scores[:, :place] == own).sum(axis=1)
    return ranks


def _changed(
    ranker: Ranker, one: Dataset, values: Floats, place: int, columns: Integers, typical: Floats, scores: Floats
) -> tuple[Floats, Integers]:
    """The score and the rank of the item with one feature at a time set to its typical value."""
    # Where the score of an item depends on the others, the whole list is scored again for each change.
    rows = np.arange(len(values)) if ranker.list_context else np.array([place])
    at = place if ranker.list_context else 0
    size, found = max(1, BLOCK // (len(rows) * values.shape[1])), np.tile(scores, (len(columns), 1))
    for start in range(0, len(columns), size):
        some = columns[start : start + size]
        variants = np.repeat(values[rows][None], len(some), axis=0)
        variants[np.arange(len(some)), at, some] = typical[some]
        flat = variants.reshape(-1, values.shape[1])
        lists = Dataset.unchecked(
            features=sparse.csr_array(flat) if one.is_sparse else read_only(flat),
            labels=np.zeros(len(flat)),
            offsets=np.arange(len(some) + 1) * len(rows),
            feature_names=one.feature_names,
            categories=one.categories,
        )
        found[start : start + size, rows] = ranker.predict(lists).reshape(len(some), len(rows))
    return found[:, place], _ranks(found, place)


def _gaps(ranker: Ranker, one: Dataset, place: int, compared: Integers) -> dict[str, float]:
    """What each transformed feature adds to the item and not to those compared; nothing where that is not known."""
    with suppress(OptionError):  # an expected grade, or a member of an ensemble that is no sum
        if isinstance(ranker, Explainable):
            why = ranker.explain(one)
            others = why.contributions[compared].mean(axis=0) if len(compared) else why.contributions[place]
            return dict(zip(why.names, (why.contributions[place] - others).tolist(), strict=True))
    return {}
