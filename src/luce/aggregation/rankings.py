"""Rankings: which items were placed before which, in flat arrays that are checked once and then frozen."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from luce.aggregation.concatenation import concatenated_fields
from luce.aggregation.connectivity import Connectivity, connectivity_of
from luce.aggregation.constructors import RankingsConstructors
from luce.aggregation.conventions import HINTS
from luce.aggregation.names import SHOWN, Where, check_names, count, encode_values, listed, nth_ranking, python_value
from luce.aggregation.ranking_arrays import (
    RankingArrays,
    check_arrays,
    check_codes,
    check_weights,
    drop_singletons,
    first_equal,
)
from luce.arrays import Integers, offsets_of_sizes, read_only, rows_of_lists
from luce.errors import DataError, OptionError, warn


@dataclass(frozen=True, eq=False, repr=False)
class Rankings(RankingsConstructors):
    """Q rankings with N rows in total, of items 0 … n_items−1; ranking q owns the rows offsets[q]:offsets[q+1].

    Constructors are `from_orderings`, `from_ranks`, `from_table`, `from_pairs`, `from_top`, `from_choices` and
    `read_preflib`. Rankings are immutable.

    Parameters
    ----------
    items : ndarray of int64 of shape (N,)
        Item codes, the best of a ranking first.
    places : ndarray of int64 of shape (N,)
        Level of each row in its ranking: 0, 0, 1, 2, 2 …; equal levels are a tie.
    offsets : ndarray of int64 of shape (Q+1,)
        Where the rows of each ranking begin, and the end of the last.
    open_end : ndarray of bool of shape (Q,), optional
        Whether the last level is "somewhere below, order unknown" and not a tie.
    pool : ndarray of int64 of shape (Q,), optional
        −1, or the index in `pools` of a set of items: those that are not in the ranking are below it, in unknown order.
    pools : tuple of ndarray of int64, optional
        Sets of item codes, each sorted.
    weights : ndarray of float64 of shape (Q,), optional
        Finite, not negative; ones by default.
    rankers : ndarray of int64 of shape (Q,), optional
        Who made each ranking.
    ranker_names : tuple, optional
        Name of each ranker.
    names : tuple, optional
        Name of each item.
    left_out : mapping of str to int, optional
        What a constructor did not use, by reason: {"rankings of fewer than two items": 12, "repeated items": 3}.

    Examples
    --------
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
    left_out: Any = None

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in RankingArrays._fields}
        self._complete(check_arrays(RankingArrays(**given)), self.weights, self.rankers, self.ranker_names)

    def _complete(self, arrays: RankingArrays, weights: Any, rankers: Any, ranker_names: Any) -> None:
        n_rankings = len(arrays.offsets) - 1
        self._set(**arrays._asdict(), weights=check_weights(weights, n_rankings), rankers=None, ranker_names=None)
        if rankers is not None:
            codes = check_codes("rankers", rankers, n_rankings)
            numbered = range(int(codes.max(initial=-1)) + 1)
            names = check_names("rankers", numbered if ranker_names is None else ranker_names)
            if codes.size and (codes.min() < 0 or codes.max() >= len(names)):
                raise DataError(
                    f"rankers must be indices of the {len(names)} ranker names. Got {codes.min()} to {codes.max()}."
                )
            self._set(rankers=codes, ranker_names=names)

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def _from_arrays(
        cls, arrays: RankingArrays, weights: Any, rankers: Any = None, where: Where = nth_ranking
    ) -> "Rankings":
        """What the constructors call: rankings of fewer than two items are left out; a warning says what is."""
        arrays = check_arrays(arrays, allow_singletons=True, where=where)
        n_rankings = len(arrays.offsets) - 1
        weights = check_weights(weights, n_rankings)
        codes, ranker_names = (None, None) if rankers is None else encode_values("rankers", rankers)
        if codes is not None and len(codes) != n_rankings:
            raise DataError(f"rankers must have {n_rankings} entries, one per ranking. Got {len(codes)}.")
        for reason, number in arrays.left_out.items():
            warn(f"{reason.capitalize()} are left out: {number:,}.{HINTS.get(reason, '')}")
        arrays, kept = drop_singletons(arrays)
        rankings = object.__new__(cls)
        rankings._complete(arrays, weights[kept], None if codes is None else codes[kept], ranker_names)
        return rankings

    @classmethod
    def concat(cls, parts: "Iterable[Rankings]") -> "Rankings":
        """All rankings of several parts, such as the seasons of a sport; items and rankers of the same name are one.

        What lies below a ranking stays what it was: an item that only another part has was not compared.

        Parameters
        ----------
        parts : iterable of Rankings
            One or more; all with rankers, or all without.

        Returns
        -------
        Rankings
            Its `left_out` is the sum of those of the parts.

        Examples
        --------
        >>> spring, autumn = Rankings.from_orderings([["ann", "bob"]]), Rankings.from_orderings([["cy", "ann"]])
        >>> print(Rankings.concat([spring, autumn]))
        2 rankings of 3 items, 2 each
          ann > bob
          cy > ann
        """
        given = list(parts)
        strange = next((part for part in given if not isinstance(part, Rankings)), None)
        if strange is not None or not given:
            what = "an empty list" if strange is None else repr(strange)
            raise DataError(f"Rankings.concat needs a list of one or more Rankings. Got {what}.")
        return cls(**concatenated_fields(given))

    def with_names(self, names: Mapping[Any, Hashable]) -> "Rankings":
        """The same rankings with other names of the items.

        Parameters
        ----------
        names : mapping
            The new name of an item by its present one. Items that it does not contain keep their names; keys that
            are no items are ignored, unless all are. No two items may get the same name.

        Returns
        -------
        Rankings

        Examples
        --------
        >>> Rankings.from_orderings([[44, 1], [1, 16]]).with_names({44: "Hamilton", 1: "Verstappen"}).names
        ('Hamilton', 'Verstappen', 16)
        """
        if not isinstance(names, Mapping):
            raise OptionError(f"names must map items to their new names, such as a dictionary. Got {names!r}.")
        if names and not any(name in names for name in self.names):
            raise DataError(f"No key of names is an item. The items are {listed(self.names)}; got {listed([*names])}.")
        renamed = tuple(python_value(names.get(name, name)) for name in self.names)
        first: dict[Hashable, Hashable] = {}
        for old, new in zip(self.names, renamed, strict=True):
            if new is None or new != new:
                raise DataError(f"Every item must have a name. The new name of {old!r} is {new!r}.")
            if new in first:
                raise DataError(f"Items must have different names. {first[new]!r} and {old!r} would both be {new!r}.")
            first[new] = old
        return self._with(names=renamed)

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
        """Some of the rankings, of the same items.

        Parameters
        ----------
        indices : array-like of int or bool
            Indices of rankings, in this order, possibly repeated; or a mask.

        Returns
        -------
        Rankings

        Examples
        --------
        >>> Rankings.from_orderings([["a", "b"], ["b", "a"]]).take([1, 1, 0]).items
        array([1, 0, 1, 0, 0, 1])
        """
        wanted = np.atleast_1d(np.asarray(indices))
        chosen = np.arange(len(self))[wanted if wanted.size else np.empty(0, np.int64)]
        rows = rows_of_lists(self.offsets, chosen)
        taken = {name: read_only(getattr(self, name)[rows]) for name in ("items", "places")}
        taken |= {name: read_only(getattr(self, name)[chosen]) for name in ("open_end", "pool", "weights")}
        rankers = None if self.rankers is None else read_only(self.rankers[chosen])
        return self._with(**taken, offsets=read_only(offsets_of_sizes(self.sizes[chosen])), rankers=rankers)

    def _with(self, **values: Any) -> "Rankings":
        """The same with some fields, already checked, in place of others."""
        rankings = object.__new__(Rankings)
        rankings._set(**{field.name: getattr(self, field.name) for field in fields(self)} | values)
        return rankings

    def aggregate(self) -> "Rankings":
        """Merge equal rankings and sum their weights; those of different rankers stay separate.

        Equal are rankings with the same levels, whatever the order inside a level. A fit gives the same with the
        result, in less time. O(rows).

        Returns
        -------
        Rankings

        Examples
        --------
        >>> Rankings.from_orderings([[0, 1], [1, 0], [0, 1]]).aggregate().weights
        array([2., 1.])
        """
        first = first_equal(self)
        kept = np.flatnonzero(first == np.arange(len(first)))
        weights = np.bincount(first, self.weights, len(first))[kept]
        return self.take(kept)._with(weights=read_only(weights))

    def connectivity(self, *, ties: bool = False) -> Connectivity:
        """Which items are linked by chains of wins, and so which worths can be estimated without a prior.

        It is computed once and cached. O(rows), and O(k log n) for a ranking of k items with a pool of n.

        Parameters
        ----------
        ties : bool, default False
            Whether a tie links the tied items both ways, as a win of each: it does in models where a tie counts
            (Davidson, Rao-Kupper, half wins). Where the order is unknown (`ties="exact"` of `PlackettLuce`) a tie
            carries no information about the tied items. An open end is never a tie. Rankings of weight 0 are ignored.

        Returns
        -------
        Connectivity

        Examples
        --------
        >>> print(Rankings.from_orderings([["ann", "bob"], ["bob", "cy"], ["cy", "bob"]]).connectivity())
        Not connected: 3 items in 2 components without chains of wins in both directions. Best first:
          ann
          bob, cy
        Never lose: ann
        """
        known = self.__dict__.setdefault("_connectivity", {})
        if ties not in known:
            known[ties] = connectivity_of(self, ties)
        return known[ties]

    def __getstate__(self) -> dict[str, Any]:
        """The fields, without what is cached; a mapping that cannot be changed cannot be pickled."""
        return {field.name: getattr(self, field.name) for field in fields(self)} | {"left_out": dict(self.left_out)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """NumPy unpickles arrays that can be written to: they are frozen again."""
        self._set(**{name: read_only(each) if isinstance(each, np.ndarray) else each for name, each in state.items()})
        self._set(pools=tuple(map(read_only, self.pools)), left_out=MappingProxyType(self.left_out))

    def __repr__(self) -> str:
        return f"Rankings({_summary(self)})"

    def __str__(self) -> str:
        return _text(self)


def _summary(rankings: Rankings) -> str:
    """What the rankings are, in one line."""
    parts = [f"{count(rankings.n_rankings, 'ranking')} of {count(rankings.n_items, 'item')}"]
    sizes = rankings.sizes
    if sizes.size:
        fewest, most = int(sizes.min()), int(sizes.max())
        parts.append(f"{fewest} each" if fewest == most else f"{fewest} to {most} each")
    kinds = {"ties": rankings.tied, "open ends": rankings.open_end, "pools": rankings.pool >= 0}
    parts += [f"{kind} in {int(flags.sum()):,}" for kind, flags in kinds.items() if flags.any()]
    if not np.all(rankings.weights == 1):
        total = rankings.weights.sum()
        parts.append(f"weights {total:,.0f} in total" if total == round(total) else f"weights {total:,.6g} in total")
    if rankings.rankers is not None:
        parts.append(count(len(rankings.ranker_names), "ranker"))
    return ", ".join(parts)


def _written(rankings: Rankings, q: int) -> str:
    """One ranking: `a > b = c > {d, e}`, the braces an open end; a long one is cut."""
    rows = slice(int(rankings.offsets[q]), int(rankings.offsets[q + 1]))
    places, names = rankings.places[rows], [rankings.names[code] for code in rankings.items[rows][: 2 * SHOWN]]
    shown = 2 * SHOWN if len(places) <= 2 * SHOWN else SHOWN
    end = places[-1] if rankings.open_end[q] else -1
    text = ""
    for row, name in enumerate(names[:shown]):
        tied = row > 0 and places[row] == places[row - 1]
        opening = "{" if places[row] == end and not tied else ""
        text += (", " if places[row] == end else " = ") if tied else " > " if row else ""
        text += f"{opening}{name}"
    text += f" … ({len(places):,} items)" if len(places) > shown else "}" if end >= 0 else ""
    if rankings.pool[q] >= 0:
        text += f" > the other {len(rankings.pools[rankings.pool[q]]) - len(places):,}"
    return text if rankings.weights[q] == 1 else f"{text}   ×{rankings.weights[q]:g}"


def _text(rankings: Rankings) -> str:
    """The summary, the first rankings, and what was left out."""
    lines = [_summary(rankings), *(f"  {_written(rankings, q)}" for q in range(min(SHOWN, len(rankings))))]
    if len(rankings) > SHOWN:
        lines.append(f"  … {len(rankings) - SHOWN:,} more")
    if rankings.left_out:
        lines.append("Left out: " + ", ".join(f"{reason} ({n:,})" for reason, n in rankings.left_out.items()))
    return "\n".join(lines)
