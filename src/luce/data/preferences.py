"""Preferences between the items of a list as labels: generalized rank-breaking."""

from typing import Any

import numpy as np

from luce.arrays import Floats, Integers, list_of_row, offsets_of_sizes, read_only
from luce.data.partial_orders import cycle_in_words, find_cycle, graph, level_starts, topological_order
from luce.data.ragged import Dataset, check_dataset
from luce.errors import DataError
from luce.options import integer, or_none

ORDER = or_none(integer(1))


def rank_breaking(dataset: Dataset, edges: Any, *, order: int | None = None) -> Dataset:
    """Lists with graded labels, made of preferences between pairs of items of a list.

    An edge (a, b) means that row a is preferred to row b of the same list, and preference is transitive. The items
    that edges connect become a list, in the most levels S₁ > S₂ > … such that every item of a level is preferred to
    every item of the next; the label counts the levels below. Items that no edges connect say nothing of each other,
    and go into different lists. Edges inside a level are set aside (Ma et al. 2020, section 3.3), as are connected
    items of one level only. Train on the result with the objective pl-partition.

    With `order` M, only the levels of at most M items are used (Khetan and Oh 2018): their log-likelihood is
    Σ log P(S_a above S_{a+1} ∪ S_{a+2} ∪ …) over the levels S_a of at most M items. After a larger level another list
    begins, of the items below it, so that a row may be in several lists.

    Parameters
    ----------
    dataset : Dataset
        The items; its labels are not used.
    edges : array-like of int of shape (E, 2)
        Row indices (better, worse) of the dataset, from 0. A pair may occur several times.
    order : int, optional
        The most items of a level that is used; by default all levels are.

    Returns
    -------
    Dataset
        Its lists are in the order of the given lists, their items in the order of the given rows. The query id and
        the weight of a list are those of the list that its items come from.

    Raises
    ------
    DataError
        When the preferences of a list contain a cycle, or no two levels are found in any list.

    Examples
    --------
    >>> data = Dataset([[0.1], [0.2], [0.3], [0.4], [0.5]], labels=[np.nan] * 5, offsets=[0, 5])
    >>> lists = rank_breaking(data, [(0, 1), (0, 2), (1, 3), (2, 3)])  # nothing is known of row 4
    >>> lists.labels, lists.features.ravel()
    (array([2., 1., 1., 0.]), array([0.1, 0.2, 0.3, 0.4], dtype=float32))
    >>> rank_breaking(data, [(0, 1), (0, 2), (1, 3), (2, 3)], order=1).labels
    array([1., 0., 0., 0.])
    """
    from scipy.sparse.csgraph import connected_components

    check_dataset(dataset, "rank_breaking")
    ORDER.check("order", order)
    better, worse = _checked_edges(edges, dataset)
    preferred = graph(better, worse, dataset.n_rows)
    preferred.sum_duplicates()
    rows = topological_order(preferred)
    if len(rows) < dataset.n_rows:
        raise _cycle_error(preferred, rows, dataset)
    part = connected_components(preferred, directed=False)[1]
    rows = rows[np.argsort(part[rows], kind="stable")]
    bounds = offsets_of_sizes(np.bincount(part))
    starts = level_starts(preferred, rows, bounds)
    places, labels, offsets = _lists(np.flatnonzero(starts), bounds, order)
    if len(offsets) == 1:
        raise DataError(
            "No list has two levels of which each item of the first is preferred to each of the second"
            + ("." if order is None else f", the first with at most {order:,} items. Use a higher order, or None.")
        )
    chosen = rows[places]
    as_given = np.lexsort((chosen, list_of_row(offsets)))
    lists = list_of_row(dataset.offsets)[chosen[offsets[:-1]]]
    made = dataset._rows(chosen[as_given], offsets, lists)
    return Dataset.unchecked(**{**vars(made), "labels": read_only(labels[as_given])})


def _lists(starts: Integers, bounds: Integers, order: int | None) -> tuple[Integers, Floats, Integers]:
    """The places and labels of the lists, and their offsets; starts: of the levels, bounds: of connected items."""
    sizes = np.diff(np.append(starts, bounds[-1]))
    end = bounds[np.searchsorted(bounds, starts, side="right")]
    is_used = starts + sizes < end  # nothing is below the last level
    if order is not None:
        is_used &= sizes <= order
    first = np.flatnonzero(is_used & ~np.append(False, is_used[:-1]))
    unused = np.flatnonzero(~is_used)
    rest = unused[np.searchsorted(unused, first)]  # the first level that is not used: with all below it the last one
    lengths = end[first] - starts[first]
    offsets = offsets_of_sizes(lengths)
    places = np.arange(offsets[-1]) + np.repeat(starts[first] - offsets[:-1], lengths)
    level = np.repeat(np.arange(len(starts)), sizes)[places]
    return places, np.maximum(np.repeat(rest, lengths) - level, 0).astype(np.float64), offsets


def _checked_edges(edges: Any, dataset: Dataset) -> Integers:
    """The better rows and the worse rows (2, E)."""
    try:
        rows = np.asarray(edges)
    except ValueError as error:
        raise DataError(f"edges must be pairs of rows, integers (E, 2). {error}") from error
    if rows.size == 0:
        raise DataError("At least one edge is needed. Got none.")
    if rows.ndim != 2 or rows.shape[1] != 2 or rows.dtype.kind not in "iu":
        raise DataError(f"edges must be pairs of rows, integers (E, 2). Got {rows.dtype} of shape {rows.shape}.")
    wrong = np.flatnonzero(((rows < 0) | (rows >= dataset.n_rows)).any(axis=1))
    if wrong.size:
        a, b = rows[wrong[0]]
        last = dataset.n_rows - 1
        raise DataError(f"Edges must be row indices from 0 to {last:,}. Edge {wrong[0] + 1} is ({a}, {b}).")
    list_number = list_of_row(dataset.offsets)[rows]
    wrong = np.flatnonzero(list_number[:, 0] != list_number[:, 1])
    if wrong.size:
        a, b = rows[wrong[0]]
        first, second = (dataset.query_ids[int(q)].as_py() for q in list_number[wrong[0]])
        raise DataError(
            f"An edge must join two rows of one list. Edge {wrong[0] + 1} is ({a}, {b}), of the queries {first} and "
            f"{second} ({wrong.size:,} in total)."
        )
    return rows.T.astype(np.int64)


def _cycle_error(preferred: Any, order: Integers, dataset: Dataset) -> DataError:
    """The error that names a cycle of the first list that has one."""
    after = np.ones(dataset.n_rows, bool)
    after[order] = False
    q = int(list_of_row(dataset.offsets)[np.argmax(after)])
    own = dataset.rows(q)
    cycle = [own.start + node for node in find_cycle(preferred[own, own])[0]]
    return DataError(
        f"Preferences must not contain a cycle. Those of query {dataset.query_ids[q].as_py()} do: row indices "
        f"{cycle_in_words(cycle)}. Leave out an edge of it."
    )
