"""Rankings drawn from the model: of the same items as given ones, with the same levels or with ties as they fall."""

import numpy as np

from luce.arrays import Floats, list_of_row
from luce.kernels.davidson_ties import draw_tied_rankings
from luce.rankers.items.davidson_part import log_deltas, written_out
from luce.rankers.items.likelihood import Likelihood
from luce.rankers.items.observed import Observed


def simulated(likelihood: Likelihood, scores: Floats, ties: Floats, random: np.random.Generator) -> Observed:
    """The rankings of a likelihood drawn anew: of the same items, or from the same pools.

    Where ties are outcomes they are drawn too; else the drawn order is cut into levels as the ranking was.
    """
    if likelihood.ties == "rao-kupper":
        return _drawn_pairs(likelihood.observed, scores, float(ties[0]), random)
    if likelihood.ties == "davidson":
        return _drawn_ties(likelihood, scores, ties, random)
    return _drawn_orders(likelihood.observed, scores, random)


def _drawn_ties(likelihood: Likelihood, scores: Floats, ties: Floats, random: np.random.Generator) -> Observed:
    """Sets of Davidson-Luce; as many levels as before where the ranking had an open end or a pool."""
    seen = written_out(likelihood.observed)
    levels = np.where(seen.open_end, seen.n_choices, seen.sizes)
    seed = int(random.integers(2**62))
    rows = seen.offsets, seen.items, scores[seen.items]
    model = likelihood.orders, log_deltas(ties)
    items, places, is_open = draw_tied_rankings(*rows, *model, levels, seed, n_jobs=likelihood.n_jobs)
    return seen.replace(items=items, places=places, open_end=is_open)


def _drawn_orders(observed: Observed, scores: Floats, random: np.random.Generator) -> Observed:
    """Items sorted by score plus Gumbel noise, those of a pool cut to what the ranking named."""
    whole = observed.written_out()
    q = list_of_row(whole.offsets)
    noisy = scores[whole.items] + random.gumbel(size=len(q))
    order = np.lexsort((-noisy, q))
    pooled = observed.pool >= 0
    if not pooled.any():
        return observed.replace(items=whole.items[order])
    place_in_ranking = np.arange(len(q)) - whole.offsets[q]
    kept = place_in_ranking < observed.sizes[q]
    return observed.replace(items=whole.items[order][kept])


def _drawn_pairs(observed: Observed, scores: Floats, margin: float, random: np.random.Generator) -> Observed:
    """Outcomes of Rao and Kupper's model: the second ahead by more than the margin, the first, or neither."""
    first, second = observed.items[::2], observed.items[1::2]
    gap = scores[first] - scores[second] + random.logistic(size=len(first))
    won, lost = gap > margin, gap < -margin
    items = np.stack([np.where(lost, second, first), np.where(lost, first, second)], axis=1).ravel()
    places = np.stack([np.zeros(len(first), np.int64), (won | lost).astype(np.int64)], axis=1).ravel()
    return observed.replace(items=items, places=places, open_end=np.zeros(len(first), bool))
