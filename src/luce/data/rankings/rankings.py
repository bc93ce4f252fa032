"""Rankings: who was placed before whom, in flat arrays, checked once and then frozen."""

import os
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from luce.arrays import Integers, frozen, offsets_of_sizes, rows_of_lists
from luce.data.rankings.aggregation import first_equal
from luce.data.rankings.checks import Where, check_codes, check_names, check_parts, check_weights
from luce.data.rankings.choices import parts_of_choices, parts_of_top
from luce.data.rankings.coding import code_values
from luce.data.rankings.connectivity import Connectivity, connectivity
from luce.data.rankings.display import pictured, summary
from luce.data.rankings.long_tables import parts_of_table
from luce.data.rankings.orderings import parts_of_orderings
from luce.data.rankings.pairs import RESULTS, parts_of_pairs
from luce.data.rankings.parts import Parts, without_singles
from luce.data.rankings.preflib import parts_of_preflib
from luce.data.rankings.ranks import parts_of_ranks
from luce.errors import DataError


@dataclass(frozen=True, eq=False, repr=False)
class Rankings:
    """Q rankings of N rows in all, of items 0 … n_items−1; ranking q owns the rows offsets[q]:offsets[q+1].

    Make one by a constructor: `from_orderings`, `from_ranks`, `from_table`, `from_pairs`, `from_top`, `from_choices`
    or `read_preflib`. Frozen: no field and no array changes.

    Attributes:
        items: int64 (N,), item codes, the best of a ranking first.
        places: int64 (N,), the level of the row in its ranking: 0, 0, 1, 2, 2 …; equal = tied.
        offsets: int64 (Q+1,).
        open_end: bool (Q,), the last level is "somewhere below, order unknown" and not a tie.
        pool: int64 (Q,), −1, or the number in `pools` of a set of items of which all that the ranking does not name lie
            below it, order unknown.
        pools: sorted int64 arrays of item codes.
        weights: float64 (Q,), finite, not negative; ones where none were given.
        rankers: int64 (Q,), who made the ranking, or None.
        ranker_names: the name of each ranker, or None.
        names: the name of each item.

    >>> rankings = Rankings.from_orderings([["ann", "bob", "cy"], [["bob", "cy"], "ann"]])
    >>> rankings
    Rankings(2 rankings of 3 items, 3 each, ties in 1)
    >>> rankings.items, rankings.places
    (array([0, 1, 2, 1, 2, 0]), array([0, 1, 2, 0, 0, 1]))
    """

    items: Any
    places: Any
    offsets: Any
    open_end: Any = None
    pool: Any = None
    pools: Any = ()
    weights: Any = None
    rankers: Any = None
    ranker_names: Any = None
    names: Any = None

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in Parts._fields}
        self._complete(check_parts(Parts(**given)), self.weights, self.rankers, self.ranker_names)

    def _complete(self, parts: Parts, weights: Any, rankers: Any, ranker_names: Any) -> None:
        n_rankings = len(parts.offsets) - 1
        self._set(**parts._asdict(), weights=check_weights(weights, n_rankings), rankers=None, ranker_names=None)
        if rankers is not None:
            codes = check_codes("rankers", rankers, n_rankings)
            numbered = range(int(codes.max(initial=-1)) + 1)
            names = check_names("rankers", numbered if ranker_names is None else ranker_names)
            if codes.size and (codes.min() < 0 or codes.max() >= len(names)):
                raise DataError(f"rankers must be numbers of the {len(names)} ranker names. Got others.")
            self._set(rankers=codes, ranker_names=names)

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def _of(cls, parts: Parts, weights: Any, rankers: Any = None, where: Where = "Ranking {}".format) -> "Rankings":
        """The rankings of what a constructor put together; those of one item are left out, with a warning."""
        parts = check_parts(parts, singles=True, where=where)
        n_rankings = len(parts.offsets) - 1
        weights = check_weights(weights, n_rankings)
        codes, ranker_names = (None, None) if rankers is None else code_values("rankers", rankers)
        if codes is not None and len(codes) != n_rankings:
            raise DataError(f"rankers must have {n_rankings} entries, one a ranking. Got {len(codes)}.")
        parts, kept = without_singles(parts)
        rankings = object.__new__(cls)
        rankings._complete(parts, weights[kept], None if codes is None else codes[kept], ranker_names)
        return rankings

    @classmethod
    def from_orderings(
        cls,
        orderings: Iterable[Any],
        *,
        names: Iterable[Hashable] | None = None,
        n_items: int | None = None,
        weights: ArrayLike | None = None,
        rankers: Any = None,
    ) -> "Rankings":
        """Rankings written out, the best item first; a list, tuple or set inside a ranking is a tie.

        An item is named by anything hashable but a tuple or a set. Items that a ranking leaves out were not compared in
        it. `names` gives the items their numbers and may hold items that no ranking has. `n_items` says that the items
        are numbers already, 0 … n_items−1, as choix has them; `names` is then what they are called.

        >>> Rankings.from_orderings([["tea", ["milk", "rum"]], ["rum", "tea"]]).names
        ('tea', 'milk', 'rum')
        >>> Rankings.from_orderings([[2, 0], [0, 1, 2]], n_items=4, weights=[1, 2.5])
        Rankings(2 rankings of 4 items, 2 to 3 each, weights 3.5 in all)
        """
        return cls._of(parts_of_orderings(orderings, names, n_items), weights, rankers)

    @classmethod
    def from_ranks(
        cls,
        ranks: Any,
        *,
        names: Iterable[Hashable] | None = None,
        weights: ArrayLike | None = None,
        rankers: Any = None,
    ) -> "Rankings":
        """Rankings of a matrix of ranks, one row a ranking, one column an item, as R has them: 1 = best, equal = tied.

        0, NaN or null = the item was not in that ranking. A matrix, nested lists, a SciPy sparse matrix, or a data
        frame, whose column names are then the items. Ranks need not be 1, 2, 3 …: only their order counts.

        >>> print(Rankings.from_ranks([[1, 2, 0], [2, 1, 2]], names=["ann", "bob", "cy"]))
        2 rankings of 3 items, 2 to 3 each, ties in 1
          ann > bob
          bob > ann = cy
        """
        return cls._of(parts_of_ranks(ranks, names), weights, rankers)

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
    ) -> "Rankings":
        """Rankings of a long table, one row an item of a ranking: pandas, Polars, DuckDB, Arrow.

        The arguments name columns. The lowest place is best, equal = tied; a row without a place (null or NaN) was not
        ranked. Rows may be in any order. The weight and the ranker must be the same in all rows of a ranking.

        >>> import pyarrow as pa
        >>> table = pa.table({"race": [1, 1, 2, 2], "item": ["a", "b", "b", "a"], "place": [1, 2, 1, 1]})
        >>> Rankings.from_table(table, ranking="race")
        Rankings(2 rankings of 2 items, 2 each, ties in 1)
        """
        return cls._of(*parts_of_table(table, ranking, item, place, weight, ranker))

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
        """Rankings of two, one row a comparison: the winners and the losers; with `outcome`, the first and the second.

        An outcome says how the first did: 1 won, 0.5 tied, 0 lost. `results` gives other words for won, tied and lost,
        each a value or several: ("left", ("tie", "both bad"), "right").

        >>> print(Rankings.from_pairs(["a", "b"], ["b", "c"], ["right", "tie"], results=("left", "tie", "right")))
        2 rankings of 3 items, 2 each, ties in 1
          b > a
          b = c
        """
        return cls._of(parts_of_pairs(winner, loser, outcome, results, names, n_items), weights, rankers)

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
        """Rankings of which the top is known, best first: all else `among` which they were made lies below it.

        `among` is one list of items for all rankings, of which a ranking of k items then costs O(k), or a list of such
        lists, one a ranking. A list inside a ranking is a tie. `names` may hold further items.

        >>> print(Rankings.from_top([["tea"], ["rum", "tea"]], among=["tea", "milk", "rum", "gin"]))
        2 rankings of 4 items, 1 to 2 each, pools in 2
          tea > the other 3
          rum > tea > the other 2
        """
        return cls._of(parts_of_top(orderings, among, names), weights, rankers)

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
        """Rankings of which the first place is known: the item chosen, `among` one list of items or one list a choice.

        >>> print(Rankings.from_choices(["tea", "gin"], among=[["tea", "rum"], ["milk", "gin", "rum"]]))
        2 rankings of 4 items, 2 to 3 each, open ends in 1
          tea > rum
          gin > {milk, rum}
        """
        return cls._of(parts_of_choices(chosen, among, names), weights, rankers)

    @classmethod
    def read_preflib(cls, path: str | os.PathLike[str], *, unlisted: str = "absent") -> "Rankings":
        """Rankings of a PrefLib file: .soc, .soi, .toc or .toi, plain or compressed; the weights are numbers of voters.

        `unlisted` says what an order leaves out: "absent" = not compared (a driver who did not race), "below" = placed
        below all that it lists, order unknown (a ballot). PrefLib's "imbued" .toc files say the second by a tie at the
        end, which is read as an open end. A header that does not fit what follows is an error.

        >>> import pathlib, tempfile
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
        2 rankings of 3 items, 2 to 3 each, pools in 1, weights 5 in all
          rum > tea > the other 1   ×3
          gin > tea > rum   ×2
        """
        return cls._of(*parts_of_preflib(path, unlisted))

    @property
    def n_items(self) -> int:
        return len(self.names)

    @property
    def n_rankings(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_rows(self) -> int:
        return len(self.items)

    @property
    def sizes(self) -> Integers:
        """The number of items that each ranking names."""
        return np.diff(self.offsets)

    @property
    def tied(self) -> NDArray[np.bool_]:
        """Whether each ranking has a tie; an open end is none."""
        rows = np.flatnonzero(self.places[1:] == self.places[:-1]) + 1
        q = np.searchsorted(self.offsets, rows, side="right") - 1
        last = self.places[self.offsets[q + 1] - 1]
        tied = (rows > self.offsets[q]) & ~(self.open_end[q] & (self.places[rows] == last))
        return np.bincount(q[tied], minlength=len(self)) > 0

    @property
    def shape(self) -> tuple[int]:
        """(Q,): with it scikit-learn's splits and cross-validation take rankings as they take an array."""
        return (self.n_rankings,)

    def __len__(self) -> int:
        return self.n_rankings

    def __getitem__(self, key: Any) -> "Rankings":
        """The rankings of a number, a slice, a mask or an array, as `take`; scikit-learn adds an ellipsis."""
        return self.take(np.arange(len(self))[key[0] if isinstance(key, tuple) else key])

    def take(self, indices: ArrayLike) -> "Rankings":
        """These rankings, in this order, of the same items; one may come several times. A mask may be given too.

        >>> Rankings.from_orderings([["a", "b"], ["b", "a"]]).take([1, 1, 0]).items
        array([1, 0, 1, 0, 0, 1])
        """
        wanted = np.atleast_1d(np.asarray(indices))
        chosen = np.arange(len(self))[wanted if wanted.size else np.empty(0, np.int64)]
        rows = rows_of_lists(self.offsets, chosen)
        taken = {name: frozen(getattr(self, name)[rows]) for name in ("items", "places")}
        taken |= {name: frozen(getattr(self, name)[chosen]) for name in ("open_end", "pool", "weights")}
        rankers = None if self.rankers is None else frozen(self.rankers[chosen])
        return self._with(**taken, offsets=frozen(offsets_of_sizes(self.sizes[chosen])), rankers=rankers)

    def _with(self, **values: Any) -> "Rankings":
        """The same with some fields, already checked, in place of others."""
        rankings = object.__new__(Rankings)
        rankings._set(**{field.name: getattr(self, field.name) for field in fields(self)} | values)
        return rankings

    def aggregate(self) -> "Rankings":
        """Equal rankings as one, their weights summed; those of different rankers stay apart.

        Equal are rankings with the same levels, whatever the order inside a level. O(rows). Any fit gives the same
        with the result, in less time.

        >>> Rankings.from_orderings([[0, 1], [1, 0], [0, 1]]).aggregate().weights
        array([2., 1.])
        """
        first = first_equal(self)
        kept = np.flatnonzero(first == np.arange(len(first)))
        weights = np.bincount(first, self.weights, len(first))[kept]
        return self.take(kept)._with(weights=frozen(weights))

    def connectivity(self, *, ties: bool = False) -> Connectivity:
        """Which items are linked by chains of wins, and so which worths can be estimated without a prior.

        `ties` says whether a tie links the tied items both ways, as a win of each: it does in models that learn from
        ties (Davidson, Rao-Kupper). Where a tie means that the order is unknown (`ties="exact"` of `PlackettLuce`) it
        teaches nothing about the tied items themselves, and that is the default. An open end is never a tie. Rankings
        of weight 0 are passed over. O(rows), and O(k log n) for a ranking of k items with a pool of n.

        >>> print(Rankings.from_orderings([["ann", "bob"], ["bob", "cy"], ["cy", "bob"]]).connectivity())
        Not connected: 3 items in 2 parts with no way back between them. Best first:
          ann
          bob, cy
        Never lose: ann
        """
        return connectivity(self, ties)

    def __repr__(self) -> str:
        return f"Rankings({summary(self)})"

    def __str__(self) -> str:
        return pictured(self)
