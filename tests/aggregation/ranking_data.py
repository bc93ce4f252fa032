"""Rankings for the tests of rank aggregation: small well-known tables, and made ones."""

import numpy as np

from luce.aggregation import Rankings

FRUIT = ("apple", "banana", "orange", "pear")
FRUIT_RANKS = [[1, 2, 0, 0], [4, 1, 2, 3], [2, 1, 1, 1], [1, 2, 3, 0], [2, 1, 1, 0], [1, 0, 3, 2]]
"""The example of R's PlackettLuce: six partial rankings of four fruits, with ties of two and of three."""

PUDDING = [
    (1, 2, 19, 22, 16),
    (1, 3, 16, 19, 12),
    (2, 3, 19, 19, 10),
    (1, 4, 18, 23, 13),
    (2, 4, 23, 19, 9),
    (3, 4, 19, 20, 15),
    (1, 5, 13, 19, 18),
    (2, 5, 16, 20, 12),
    (3, 5, 16, 15, 17),
    (4, 5, 17, 14, 16),
    (1, 6, 18, 21, 12),
    (2, 6, 22, 20, 12),
    (3, 6, 13, 18, 10),
    (4, 6, 14, 19, 18),
    (5, 6, 11, 21, 12),
]
"""Davidson (1970): brands i and j of pudding, how often i and j were preferred, and neither."""


def orders(rankings):
    """Of each ranking its levels, items by name."""
    found = []
    for q in range(len(rankings)):
        levels: dict[int, list] = {}
        for row in range(rankings.offsets[q], rankings.offsets[q + 1]):
            levels.setdefault(int(rankings.places[row]), []).append(rankings.names[rankings.items[row]])
        found.append([sorted(level) for level in levels.values()])
    return found


def fruit(**settings):
    return Rankings.from_ranks(FRUIT_RANKS, names=FRUIT, **settings)


def pudding():
    i, j, won, lost, tied = map(np.array, zip(*PUDDING, strict=True))
    outcome = np.repeat([1, 0, 0.5], 15)
    weights = np.concatenate([won, lost, tied])
    return Rankings.from_pairs(np.tile(i, 3), np.tile(j, 3), outcome, weights=weights, names=[1, 2, 3, 4, 5, 6])


def strict(n_items=6, n_rankings=80, seed=0, spread=1.0, sizes=(2, 6)):
    """Rankings without ties of random sets of items, drawn from Plackett-Luce; and the log worths."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, spread, n_items)
    orderings = []
    for _ in range(n_rankings):
        items = rng.choice(n_items, int(rng.integers(*sizes)), replace=False)
        orderings.append(items[np.argsort(-(truth[items] + rng.gumbel(size=len(items))))].tolist())
    return Rankings.from_orderings(orderings, n_items=n_items), truth - truth.mean()


def mixed(seed=0, n_rankings=60, ties=True):
    """Rankings of every kind over eight items: whole, tied, with open ends, with pools; uneven weights and rankers."""
    rng = np.random.default_rng(seed)
    parts = {name: [] for name in ("items", "places", "sizes", "open_end", "pool")}
    pools = [np.arange(8), np.arange(0, 8, 2)]
    for _ in range(n_rankings):
        pool = int(rng.integers(-2, 2))
        source = pools[pool] if pool >= 0 else np.arange(8)
        k = int(rng.integers(1 if pool >= 0 else 2, len(source) - (pool >= 0)))
        places = np.arange(k)
        if ties and k > 2:
            places = np.unique(np.sort(rng.integers(0, k, k)), return_inverse=True)[1]
        open_end = pool < 0 and places[-1] > 0 and rng.random() < 0.4
        if pool < 0 and places[-1] == 0:  # all items tied: not used where the order is unknown
            places = np.arange(k)
        parts["items"].append(rng.choice(source, k, replace=False))
        parts["places"].append(places)
        parts["sizes"].append(k)
        parts["open_end"].append(open_end)
        parts["pool"].append(max(pool, -1))
    return Rankings(
        items=np.concatenate(parts["items"]),
        places=np.concatenate(parts["places"]),
        offsets=np.concatenate([[0], np.cumsum(parts["sizes"])]),
        open_end=np.array(parts["open_end"]),
        pool=np.array(parts["pool"]),
        pools=pools,
        weights=rng.random(n_rankings) + 0.5,
        rankers=rng.integers(0, 7, n_rankings),
        names=list("abcdefgh"),
    )
