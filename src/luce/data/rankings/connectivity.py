"""Which items have been compared with which, and so which worths can be told apart."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csgraph

from luce.arrays import Integers, frozen
from luce.data.rankings.display import SHOWN, count, listed
from luce.data.rankings.graphs import graph, onward_order
from luce.data.rankings.win_graph import win_graph

if TYPE_CHECKING:
    from luce.data.rankings.rankings import Rankings


@dataclass(frozen=True, eq=False, repr=False)
class Connectivity:
    """The strongly connected parts of the win graph, which has an edge from i to j where i was placed above j.

    Inside a part each item is linked to each other by a chain of wins, so a Plackett-Luce model without a prior has
    finite worths there. Between parts there are wins one way at most, or none, and the data set no finite ratio.

    Attributes:
        names: the name of each item.
        component: int64 (n_items,), the part of each item; no item of a part lost to one of a later part.
        group: int64 (n_items,), equal where items are linked by comparisons of any outcome.
        never_lose: codes of the items that were placed above others and never below one.
        never_win: codes of the items that were placed below others and never above one.
        unseen: codes of the items that were neither: in no ranking, or only in ties that teach nothing.
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
        """Whether all worths can be told apart."""
        return self.n_components <= 1

    @property
    def components(self) -> list[Integers]:
        """The item codes of each part, the best part first."""
        order = np.argsort(self.component, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self.component))[:-1])

    @property
    def largest(self) -> Integers:
        """The item codes of the part with the most items, the first of them when several have as many."""
        return np.flatnonzero(self.component == np.argmax(np.bincount(self.component)))

    def __repr__(self) -> str:
        return f"Connectivity({count(len(self.names), 'item')}, {count(self.n_components, 'component')})"

    def __str__(self) -> str:
        n_items = count(len(self.names), "item")
        if self.is_connected:
            return f"Connected: a chain of wins leads from each of {n_items} to each other."
        lines = [f"Not connected: {n_items} in {self.n_components:,} parts with no way back between them. Best first:"]
        unseen = set(self.unseen.tolist())
        parts = [codes for codes in self.components if int(codes[0]) not in unseen]
        largest = np.sort(np.argsort([-len(codes) for codes in parts], kind="stable")[:SHOWN])
        lines += [f"  {self._called(parts[number])}" for number in largest]
        if len(parts) > SHOWN:
            lines.append(f"  … {len(parts) - SHOWN:,} more, none larger")
        return "\n".join(lines + self._apart())

    def _apart(self) -> list[str]:
        """The items that stand out, a line for each way."""
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


def connectivity(rankings: "Rankings", ties: bool) -> Connectivity:
    """What `Rankings.connectivity` gives."""
    edges, wins, losses = win_graph(rankings, ties)
    n_parts, part = csgraph.connected_components(edges, directed=True, connection="strong")
    rank, group = np.zeros(n_parts, np.int64), part
    if n_parts > 1:
        sources = np.repeat(np.arange(len(part)), np.diff(edges.indptr))
        between = part[sources] != part[edges.indices]
        order = onward_order(graph(part[sources[between]], part[edges.indices[between]], n_parts))
        rank[order] = np.arange(n_parts)
        group = csgraph.connected_components(edges, directed=False)[1]
    n_items = rankings.n_items
    return Connectivity(
        names=rankings.names,
        component=frozen(np.unique(rank[part[:n_items]], return_inverse=True)[1]),
        group=frozen(np.unique(group[:n_items], return_inverse=True)[1]),
        never_lose=frozen(np.flatnonzero(wins & ~losses)),
        never_win=frozen(np.flatnonzero(losses & ~wins)),
        unseen=frozen(np.flatnonzero(~wins & ~losses)),
    )
