"""Which items are linked by chains of wins, and so which worths can be estimated without a prior."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csgraph

from luce.aggregation.names import SHOWN, count, listed
from luce.aggregation.win_graph import win_graph
from luce.arrays import Integers, read_only
from luce.data.partial_orders import graph, topological_order
from luce.errors import DataError, warn

if TYPE_CHECKING:
    from luce.aggregation.rankings import Rankings

OFFER = "Fit with prior='auto' (--prior auto), which gives every item a worth."
NAMED = 12
"""Names written out in a message."""

SAMPLED = (20, 100, 500)
"""Rows per item that are examined first: if these link all items, so do all rows."""


@dataclass(frozen=True, eq=False, repr=False)
class Connectivity:
    """The strongly connected components of the win graph, which has an edge from i to j if i was placed above j.

    Inside a component each item is linked to each other by a chain of wins, so a Plackett-Luce model without a prior
    has finite worths there. Between components there are wins in one direction at most, and the data do not determine
    a finite ratio of worths. `Rankings.connectivity` returns it.

    Attributes
    ----------
    names : tuple
        Name of each item.
    component : ndarray of int64 of shape (n_items,)
        Component of each item; no item of a component lost to one of a later component.
    group : ndarray of int64 of shape (n_items,)
        Equal for items that are linked by comparisons of any outcome.
    never_lose : ndarray of int64
        Codes of the items that were placed above others and never below one.
    never_win : ndarray of int64
        Codes of the items that were placed below others and never above one.
    unseen : ndarray of int64
        Codes of the items that were neither: in no ranking, or only in ties without information.
    """

    names: tuple[Any, ...]
    component: Integers
    group: Integers
    never_lose: Integers
    never_win: Integers
    unseen: Integers

    @property
    def n_components(self) -> int:
        return int(self.component.max(initial=-1)) + 1

    @property
    def n_groups(self) -> int:
        return int(self.group.max(initial=-1)) + 1

    @property
    def is_connected(self) -> bool:
        """Whether all worths can be estimated without a prior."""
        return self.n_components <= 1

    @property
    def components(self) -> list[Integers]:
        """The item codes of each component, the best first."""
        order = np.argsort(self.component, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self.component))[:-1])

    @property
    def largest(self) -> Integers:
        """The item codes of the component with the most items, the first of them when several have as many."""
        return np.flatnonzero(self.component == np.argmax(np.bincount(self.component)))

    def __repr__(self) -> str:
        return f"Connectivity({count(len(self.names), 'item')}, {count(self.n_components, 'component')})"

    def __str__(self) -> str:
        n_items = count(len(self.names), "item")
        if self.is_connected:
            return f"Connected: a chain of wins leads from every item to every other ({n_items})."
        lines = [
            f"Not connected: {n_items} in {self.n_components:,} components without chains of wins in both directions. "
            "Best first:"
        ]
        unseen = set(self.unseen.tolist())
        components = [codes for codes in self.components if int(codes[0]) not in unseen]
        largest = np.sort(np.argsort([-len(codes) for codes in components], kind="stable")[:SHOWN])
        lines += [f"  {self._called(components[number])}" for number in largest]
        if len(components) > SHOWN:
            lines.append(f"  … {len(components) - SHOWN:,} more, none larger")
        return "\n".join(lines + self._outside())

    def _outside(self) -> list[str]:
        """Lines about the items outside the main component, one for each reason."""
        seen = np.setdiff1d(np.arange(len(self.names)), self.unseen)
        main = np.argmax(np.bincount(self.group[seen])) if seen.size else -1
        kinds = {
            "Never lose": self.never_lose,
            "Never win": self.never_win,
            "Never compared with the others": seen[self.group[seen] != main],
            "In no comparison": self.unseen,
        }
        return [f"{kind}: {self._called(codes)}" for kind, codes in kinds.items() if codes.size]

    def _called(self, codes: Integers) -> str:
        return listed([self.names[code] for code in codes])


def connectivity_of(rankings: "Rankings", ties: bool) -> Connectivity:
    """What `Rankings.connectivity` gives: of some of the rankings if these link all items already, else of all."""
    for rows_per_item in SAMPLED:
        every = rankings.n_rows // (rows_per_item * max(rankings.n_items, 1))
        if every < 2:
            break
        result = _connectivity(rankings.take(np.arange(0, len(rankings), every)), ties)
        if result.is_connected:
            return result
    return _connectivity(rankings, ties)


def _connectivity(rankings: "Rankings", ties: bool) -> Connectivity:
    edges, wins, losses = win_graph(rankings, ties)
    n_components, component = csgraph.connected_components(edges, directed=True, connection="strong")
    rank, group = np.zeros(n_components, np.int64), component
    if n_components > 1:
        sources = np.repeat(np.arange(len(component)), np.diff(edges.indptr))
        between = component[sources] != component[edges.indices]
        order = topological_order(graph(component[sources[between]], component[edges.indices[between]], n_components))
        rank[order] = np.arange(n_components)
        group = csgraph.connected_components(edges, directed=False)[1]
    n_items = rankings.n_items
    return Connectivity(
        names=rankings.names,
        component=read_only(np.unique(rank[component[:n_items]], return_inverse=True)[1]),
        group=read_only(np.unique(group[:n_items], return_inverse=True)[1]),
        never_lose=read_only(np.flatnonzero(wins & ~losses)),
        never_win=read_only(np.flatnonzero(losses & ~wins)),
        unseen=read_only(np.flatnonzero(~wins & ~losses)),
    )


def estimable_items(rankings: "Rankings", ties: bool) -> tuple[NDArray[np.bool_], dict[Hashable, str]]:
    """Which items can be estimated without a prior (n_items,), and why the others cannot, by name.

    If one component alone has several items, these are estimated, with a warning that names the others; if none has,
    or more than one, that is an error.
    """
    links = rankings.connectivity(ties=ties)
    if links.is_connected:
        return np.ones(rankings.n_items, bool), {}
    if links.unseen.size == rankings.n_items:
        raise DataError(
            "These rankings carry no information: each ties all its items, and with ties='exact' (--ties exact) the "
            "order is unknown. Use ties='davidson' (--ties davidson), where a tie is an outcome."
        )
    sizes = np.bincount(links.component)
    if (sizes > 1).sum() != 1:
        raise _no_component_error(links, sizes)
    keep = links.component == np.argmax(sizes)
    why = {links.names[code]: _why(links, code) for code in np.flatnonzero(~keep).tolist()}
    warn(
        f"{count(len(why), 'item')} of {rankings.n_items:,} cannot be estimated and "
        f"{'is' if len(why) == 1 else 'are'} left out: {_by_reason(why)}. {OFFER}",
    )
    return keep, why


def _why(links: Connectivity, code: int) -> str:
    if code in links.never_win:
        return "never placed above another item"
    if code in links.never_lose:
        return "never placed below another item"
    if code in links.unseen:
        return "in no comparison"
    return "no chain of wins both ways to the others"


def _by_reason(why: dict[Hashable, str]) -> str:
    reasons = dict.fromkeys(why.values())
    named = {reason: [repr(name) for name, own in why.items() if own == reason] for reason in reasons}
    return "; ".join(f"{reason}: {listed(names, NAMED)}" for reason, names in named.items())


def _no_component_error(links: Connectivity, sizes: NDArray[np.int64]) -> DataError:
    """The error when there is no single component to fit."""
    extremes = {"Never placed below another": links.never_lose, "Never placed above another": links.never_win}
    details = [f"{words}: {_names(links, codes)}" for words, codes in extremes.items() if codes.size]
    if links.unseen.size:
        details.append(f"In no comparison: {_names(links, links.unseen)}")
    if sizes.max(initial=0) <= 1:
        what = "no two items have each been placed above the other, directly or by a chain of rankings"
    else:
        several = np.flatnonzero(sizes > 1)
        components = [f"{{{_names(links, np.flatnonzero(links.component == each))}}}" for each in several]
        how = "never compared with each other" if links.n_groups > 1 else "with wins one way only"
        what = f"the items fall into components {how}: {listed(components, NAMED)}"
    said = "".join(f"{text}. " for text in details)
    return DataError(f"These rankings do not determine finite worths: {what}. {said}{OFFER}")


def _names(links: Connectivity, codes: NDArray[np.int64]) -> str:
    return listed([repr(links.names[code]) for code in codes], NAMED)
