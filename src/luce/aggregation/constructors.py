"""The constructors of `Rankings`: from orderings, ranks, tables, pairs, top places, choices and PrefLib files."""

import os
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from luce.aggregation.long_tables import LongColumns, arrays_from_table
from luce.aggregation.orderings import arrays_from_choices, arrays_from_orderings, arrays_from_top
from luce.aggregation.preflib import arrays_from_preflib
from luce.aggregation.tables import RESULTS, arrays_from_pairs, arrays_from_ranks

if TYPE_CHECKING:
    from luce.aggregation.rankings import Rankings


class RankingsConstructors:
    """Class methods of `Rankings`; rankings of fewer than two items are left out, with a warning."""

    _from_arrays: Any

    @classmethod
    def from_orderings(
        cls,
        orderings: Iterable[Any],
        *,
        names: Iterable[Hashable] | None = None,
        n_items: int | None = None,
        unlisted: str = "absent",
        repeated: str = "error",
        weights: ArrayLike | None = None,
        rankers: Any = None,
    ) -> "Rankings":
        """Rankings from orderings, best item first.

        Parameters
        ----------
        orderings : iterable of lists
            A list, tuple or set inside an ordering is a tie. An item is any hashable but a tuple or a set.
        names : iterable of hashable, optional
            All items, in the order of their codes; it may contain items that are in no ranking.
        n_items : int, optional
            If given, the items are codes 0 … n_items−1, as in choix; `names` are then their names.
        unlisted : {"absent", "below"}, default "absent"
            What an ordering leaves out of all items (`names`, or those found in the data): "absent" means not compared
            (a driver who did not race), "below" means placed below all that it lists, order unknown (a ballot).
        repeated : {"error", "best"}, default "error"
            What an item is that an ordering contains twice: an error, or in the best of its places. The others are
            dropped, with a warning, and counted in `left_out`.
        weights : array-like of shape (n_rankings,), optional
            Weight of each ranking, such as the number of times it occurred.
        rankers : array-like of shape (n_rankings,), optional
            Who made each ranking.

        Returns
        -------
        Rankings

        Examples
        --------
        >>> from luce.aggregation import Rankings
        >>> Rankings.from_orderings([["tea", ["milk", "rum"]], ["rum", "tea"]]).names
        ('tea', 'milk', 'rum')
        >>> Rankings.from_orderings([[2, 0], [0, 1, 2]], n_items=4, weights=[1, 2.5])
        Rankings(2 rankings of 4 items, 2 to 3 each, weights 3.5 in total)
        >>> print(Rankings.from_orderings([["tea"], ["rum", "tea"]], names=["tea", "rum", "gin"], unlisted="below"))
        2 rankings of 3 items, 1 to 2 each, pools in 2
          tea > the other 2
          rum > tea > the other 1
        """
        arrays = arrays_from_orderings(orderings, names, n_items, unlisted, repeated)
        return cls._from_arrays(arrays, weights, rankers)

    @classmethod
    def from_ranks(
        cls,
        ranks: Any,
        *,
        names: Iterable[Hashable] | None = None,
        unlisted: str = "absent",
        weights: ArrayLike | None = None,
        rankers: Any = None,
    ) -> "Rankings":
        """Rankings from a matrix of ranks, one row per ranking and one column per item, as in R.

        Parameters
        ----------
        ranks : array-like, sparse matrix or data frame of shape (n_rankings, n_items)
            The lowest rank is best, equal ranks are a tie; 0, NaN or null if the ranking does not list the item.
            Only the order of ranks counts. The columns of a data frame name the items.
        names : iterable of hashable, optional
            Names of the items, one per column.
        unlisted : {"absent", "below"}, default "absent"
            What an item without a rank is, as in `from_orderings`.
        weights, rankers : array-like of shape (n_rankings,), optional
            As in `from_orderings`.

        Returns
        -------
        Rankings

        Examples
        --------
        >>> from luce.aggregation import Rankings
        >>> print(Rankings.from_ranks([[1, 2, 0], [2, 1, 2]], names=["ann", "bob", "cy"]))
        2 rankings of 3 items, 2 to 3 each, ties in 1
          ann > bob
          bob > ann = cy
        """
        return cls._from_arrays(arrays_from_ranks(ranks, names, unlisted), weights, rankers)

    @classmethod
    def from_table(
        cls,
        table: Any,
        *,
        ranking: str = "ranking",
        item: str = "item",
        place: str = "place",
        weight: str | None = None,
        ranker: str | None = None,
        names: Iterable[Hashable] | None = None,
        unlisted: str = "absent",
        missing: str = "absent",
        repeated: str = "error",
    ) -> "Rankings":
        """Rankings from a long table with one row per item of a ranking, in any order.

        Parameters
        ----------
        table : pandas, Polars, DuckDB or Arrow table
            The table.
        ranking, item, place : str
            Names of its columns. The lowest place is best, equal places are a tie.
        weight, ranker : str, optional
            Names of columns with the weight and the ranker, the same in all rows of a ranking.
        names, unlisted, repeated : optional
            As in `from_orderings`; an item is unlisted in a ranking where it has no row.
        missing : {"absent", "last"}, default "absent"
            What a row without a place (null or NaN) is, such as a driver who did not finish: "absent" means not ranked,
            "last" means below all that have a place, order unknown. With `unlisted="below"` it is below in any case.
            Rankings without any place are dropped, with a warning, and counted in `left_out`.

        Returns
        -------
        Rankings

        Examples
        --------
        >>> import pyarrow as pa
        >>> from luce.aggregation import Rankings
        >>> table = pa.table({"race": [1, 1, 2, 2], "item": ["a", "b", "b", "a"], "place": [1, 2, 1, 1]})
        >>> Rankings.from_table(table, ranking="race")
        Rankings(2 rankings of 2 items, 2 each, ties in 1)
        >>> table = pa.table({"race": [1] * 4, "item": ["a", "b", "c", "d"], "place": [None, 2, None, 1]})
        >>> print(Rankings.from_table(table, ranking="race", missing="last"))
        1 ranking of 4 items, 4 each, open ends in 1
          d > b > {a, c}
        """
        columns = LongColumns(ranking, item, place, weight, ranker)
        return cls._from_arrays(*arrays_from_table(table, columns, names, unlisted, missing, repeated))

    @classmethod
    def from_pairs(
        cls,
        winner: Any,
        loser: Any,
        outcome: Any = None,
        *,
        results: tuple[Any, Any, Any] = RESULTS,
        names: Iterable[Hashable] | None = None,
        n_items: int | None = None,
        weights: ArrayLike | None = None,
        rankers: Any = None,
    ) -> "Rankings":
        """Rankings of two from paired comparisons.

        Parameters
        ----------
        winner, loser : array-like of shape (n_pairs,)
            The items; with `outcome`, the first and the second of each pair.
        outcome : array-like of shape (n_pairs,), optional
            How the first did: 1 won, 0.5 tied, 0 lost. Or, where not all values are among `results`, the item of each
            pair that won, or the value of `results` for a tie.
        results : tuple of 3, default (1, 0.5, 0)
            The values of `outcome` for won, tied and lost, each one value or several:
            ("left", ("tie", "both bad"), "right").
        names, n_items, weights, rankers : optional
            As in `from_orderings`.

        Returns
        -------
        Rankings

        Examples
        --------
        >>> from luce.aggregation import Rankings
        >>> print(Rankings.from_pairs(["a", "b"], ["b", "c"], ["right", "tie"], results=("left", "tie", "right")))
        2 rankings of 3 items, 2 each, ties in 1
          b > a
          b = c
        >>> Rankings.from_pairs(["a", "b"], ["b", "c"], ["b", "b"]).items
        array([1, 0, 1, 2])
        """
        return cls._from_arrays(arrays_from_pairs(winner, loser, outcome, results, names, n_items), weights, rankers)

    @classmethod
    def from_top(
        cls,
        orderings: Iterable[Any],
        among: Any,
        *,
        names: Iterable[Hashable] | None = None,
        weights: ArrayLike | None = None,
        rankers: Any = None,
    ) -> "Rankings":
        """Top-k rankings: all other items of a set are ranked below the given ones.

        Parameters
        ----------
        orderings : iterable of lists
            The top items, best first; a list inside one is a tie.
        among : list of items, or list of such lists
            The set that was ranked: one for all rankings, so that a ranking of k items costs O(k), or one per ranking.
        names, weights, rankers : optional
            As in `from_orderings`.

        Returns
        -------
        Rankings

        Examples
        --------
        >>> from luce.aggregation import Rankings
        >>> print(Rankings.from_top([["tea"], ["rum", "tea"]], among=["tea", "milk", "rum", "gin"]))
        2 rankings of 4 items, 1 to 2 each, pools in 2
          tea > the other 3
          rum > tea > the other 2
        """
        return cls._from_arrays(arrays_from_top(orderings, among, names), weights, rankers)

    @classmethod
    def from_choices(
        cls,
        chosen: Any,
        among: Any,
        *,
        names: Iterable[Hashable] | None = None,
        weights: ArrayLike | None = None,
        rankers: Any = None,
    ) -> "Rankings":
        """Rankings from choices: the item chosen from a set.

        Parameters
        ----------
        chosen : array-like of shape (n_choices,)
            The item of each choice.
        among : list of items, or list of such lists
            The set that was chosen from: one for all choices, or one per choice.
        names, weights, rankers : optional
            As in `from_orderings`.

        Returns
        -------
        Rankings

        Examples
        --------
        >>> from luce.aggregation import Rankings
        >>> print(Rankings.from_choices(["tea", "gin"], among=[["tea", "rum"], ["milk", "gin", "rum"]]))
        2 rankings of 4 items, 2 to 3 each, open ends in 1
          tea > rum
          gin > {milk, rum}
        """
        return cls._from_arrays(arrays_from_choices(chosen, among, names), weights, rankers)

    @classmethod
    def read_preflib(cls, path: str | os.PathLike[str], *, unlisted: str = "absent") -> "Rankings":
        """Rankings from a PrefLib file; the weights are numbers of voters.

        Parameters
        ----------
        path : path-like
            A .soc, .soi, .toc or .toi file, plain or compressed. A header that does not fit what follows is an error.
        unlisted : {"absent", "below"}, default "absent"
            What an order leaves out, as in `from_orderings`. PrefLib's "imbued" .toc files say that it is below by a
            tie at the end, which is read as an open end.

        Returns
        -------
        Rankings

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from luce.aggregation import Rankings
        >>> text = '''# DATA TYPE: soi
        ... # NUMBER ALTERNATIVES: 3
        ... # NUMBER VOTERS: 5
        ... # NUMBER UNIQUE ORDERS: 2
        ... # ALTERNATIVE NAME 1: tea
        ... # ALTERNATIVE NAME 2: rum
        ... # ALTERNATIVE NAME 3: gin
        ... 3: 2,1
        ... 2: 3,1,2'''
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder) / "drinks.soi"
        ...     _ = path.write_text(text)
        ...     print(Rankings.read_preflib(path, unlisted="below"))
        2 rankings of 3 items, 2 to 3 each, pools in 1, weights 5 in total
          rum > tea > the other 1   ×3
          gin > tea > rum   ×2
        """
        return cls._from_arrays(*arrays_from_preflib(path, unlisted))
