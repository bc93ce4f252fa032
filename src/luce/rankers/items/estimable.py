"""Which items have a worth that the data alone can set: those of one part in which chains of wins lead everywhere."""

import warnings
from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from luce.data.rankings import Rankings
from luce.data.rankings.connectivity import Connectivity
from luce.data.rankings.display import count, listed
from luce.errors import DataError, LuceWarning

OFFER = "A prior gives every item a worth: prior=luce.Pseudo(0.5), or prior=luce.Normal(sd=3)."
NAMED = 12
"""Names written out in a message."""

SAMPLED = (20, 100, 500)
"""Rows an item that are looked at first: if these link all items, so do all rows."""


def estimable_items(rankings: Rankings, ties: bool) -> tuple[NDArray[np.bool_], dict[Hashable, str]]:
    """Which items can be estimated without a prior (n_items,), and why the others cannot, by name.

    Parts between which wins go one way at most have no finite ratio of worths. If one part alone has several items, it
    is fitted, with a warning that names the others; if none has, or more than one, that is an error.
    """
    if _linked_by_some(rankings, ties):
        return np.ones(rankings.n_items, bool), {}
    links = rankings.connectivity(ties=ties)
    if links.is_connected:
        return np.ones(rankings.n_items, bool), {}
    sizes = np.bincount(links.component)
    if (sizes > 1).sum() != 1:
        raise DataError(_no_part(links, sizes))
    keep = links.component == np.argmax(sizes)
    why = {links.names[code]: _why(links, code) for code in np.flatnonzero(~keep).tolist()}
    warnings.warn(
        f"{count(len(why), 'item')} of {rankings.n_items:,} cannot be estimated and "
        f"{'is' if len(why) == 1 else 'are'} left out: {_by_reason(why)}. {OFFER}",
        LuceWarning,
        stacklevel=5,  # the call of fit
    )
    return keep, why


def _linked_by_some(rankings: Rankings, ties: bool) -> bool:
    """Whether a few of many rankings link all items already."""
    for rows in SAMPLED:
        every = rankings.n_rows // (rows * max(rankings.n_items, 1))
        if every < 2:
            return False
        if rankings.take(np.arange(0, len(rankings), every)).connectivity(ties=ties).is_connected:
            return True
    return False


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


def _no_part(links: Connectivity, sizes: NDArray[np.int64]) -> str:
    """The message when there is no one part to fit."""
    extremes = {"Never placed below another": links.never_lose, "Never placed above another": links.never_win}
    told = [f"{words}: {_names(links, codes)}" for words, codes in extremes.items() if codes.size]
    if links.unseen.size:
        told.append(f"In no comparison: {_names(links, links.unseen)}")
    if sizes.max(initial=0) <= 1:
        what = "no two items have each been placed above the other, directly or by a chain of rankings"
    else:
        parts = [f"{{{_names(links, np.flatnonzero(links.component == part))}}}" for part in np.flatnonzero(sizes > 1)]
        how = "never compared with each other" if links.n_groups > 1 else "with wins one way only"
        what = f"the items fall into parts {how}: {listed(parts, NAMED)}"
    return f"These rankings set no finite worths: {what}. " + "".join(f"{text}. " for text in told) + OFFER


def _names(links: Connectivity, codes: NDArray[np.int64]) -> str:
    return listed([repr(links.names[code]) for code in codes], NAMED)
