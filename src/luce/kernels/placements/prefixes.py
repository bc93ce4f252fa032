"""The mass left before each place of a ranking, as a logarithm, for any distance between scores."""

import numpy as np

from luce.compiled import compiled

NOWHERE = 2**62
"""The place of an item that has none."""


@compiled
def fill_places(ranking, places):
    """places: (n,) gets the place of each item; returns how many have one, or −1 where the ranking is none.

    A ranking has no item twice, and ends with its first −1, after which there is nothing else.
    """
    length = 0
    places[:] = NOWHERE
    for k in range(len(ranking)):
        item = ranking[k]
        if item == -1:
            continue
        if item < 0 or item >= len(places) or places[item] != NOWHERE or length < k:
            return -1
        places[item] = k
        length += 1
    return length


@compiled
def fill_left(scores, ranking, places, left):
    """left[k] = log Σ e^s over the items not placed before k, k up to len(ranking); returns the entropy of the choices.

    That is Σ_k of the entropy of the choice of the item at k from those left. Items join from the last place up: with
    a share p of the new total, an item that joins makes of an entropy h   (1 − p)(h − log(1 − p)) − p log p.
    """
    depth, highest, total, short = len(ranking), -np.inf, 0.0, 0.0
    for j in range(len(scores)):
        if places[j] == NOWHERE:
            highest = max(highest, scores[j])
    for j in range(len(scores)):
        if places[j] == NOWHERE and scores[j] > -np.inf:
            weight = np.exp(scores[j] - highest)
            total += weight
            short += weight * (highest - scores[j])
    left[depth] = highest + np.log(total) if total > 0.0 else -np.inf
    own = np.log(total) + short / total if total > 0.0 else 0.0
    entropy = 0.0
    for k in range(depth - 1, -1, -1):
        score, rest = scores[ranking[k]], left[k + 1]
        left[k] = _add(rest, score)
        if score > -np.inf and rest > -np.inf:
            share, other = np.exp(score - left[k]), np.exp(rest - left[k])
            own = other * (own + left[k] - rest) + share * (left[k] - score)
        entropy += own
    return entropy


@compiled
def _add(a, b):
    """log(e^a + e^b)."""
    high, low = max(a, b), min(a, b)
    return high if low == -np.inf else high + np.log1p(np.exp(low - high))


@compiled
def log_probabilities(first, last, offsets, scores, rankings, values):
    """values: (Q, S), NaN where a ranking is none."""
    left = np.empty(rankings.shape[2] + 1)
    for q in range(first, last):
        own = scores[offsets[q] : offsets[q + 1]]
        places = np.empty(len(own), np.int64)
        for sample in range(rankings.shape[1]):
            length = fill_places(rankings[q, sample], places)
            values[q, sample] = np.nan
            if length >= 0:
                ranking = rankings[q, sample, :length]
                fill_left(own, ranking, places, left)
                values[q, sample] = _log_probability(own, ranking, left)


@compiled
def _log_probability(scores, ranking, left):
    total = 0.0
    for k in range(len(ranking)):
        if scores[ranking[k]] == -np.inf:
            return -np.inf
        total += scores[ranking[k]] - left[k]
    return total
