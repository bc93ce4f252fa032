"""Markov chains over the non-empty subsets of a set whose law is Φ(S) = e^{mean of s over S}, up to a constant.

The Gibbs sweep visits every item once and takes it in with probability Φ(S ∪ i) / (Φ(S ∪ i) + Φ(S \\ i)); the last item
of a subset stays. The Metropolis-Hastings step proposes a size, all alike, and a subset of that size, all alike. Such
a proposal X has probability 1/(N · C(N,|X|)), so Φ is left as it is by the acceptance Φ(X) C(N,|X|) / Φ(S) C(N,|S|); as
printed, Φ(X) / Φ(S), the chain tends to Φ(S) / C(N,|S|).
"""

import math

import numpy as np
from numba import uint32, uint64

from luce.compiled import compiled
from luce.randomness import philox


@compiled
def draw_words(seed, step, list_number, sample, block, words):
    """Fill `words`, a multiple of four, from this block of the stream (seed, step, list, sample); return the next."""
    key0, key1 = uint32(uint64(seed)), uint32(uint64(seed) >> uint64(32))
    for b in range(len(words) // 4):
        words[4 * b], words[4 * b + 1], words[4 * b + 2], words[4 * b + 3] = philox(
            key0, key1, uint32(block + b), uint32(sample), uint32(list_number), uint32(step)
        )
    return block + len(words) // 4


@compiled
def _uniform(word):
    """A number in (0, 1), in steps of 2^−32."""
    return (np.float64(word) + 0.5) * 2.0**-32


@compiled
def _below(n, word, next_word):
    """An integer from 0 to n − 1, all alike: ⌊n u⌋, u of 64 bits."""
    return np.int64((uint64(word) * uint64(n) + ((uint64(next_word) * uint64(n)) >> uint64(32))) >> uint64(32))


@compiled
def random_subset(member, words):
    """Each item with probability ½; one of them, all alike, where that leaves none. At most n + 2 words."""
    n, count = len(member), 0.0
    for i in range(n):
        member[i] = 1.0 if words[i] >> uint32(31) else 0.0
        count += member[i]
    if count == 0.0:
        member[_below(n, words[n], words[n + 1])] = 1.0


@compiled
def gibbs_sweep(scores, member, words):
    """Visit the items in their order; `member` (0.0 or 1.0 each) becomes the next subset. One word an item.

    With T the sum and c the number of the other members, taking the item in has probability 1/(1 + e^−Δ),
    Δ = (s c − T)/(c (c + 1)). That lies between ½ and ½ + Δ/4, so a draw outside of it needs no exponential.
    """
    count, total = 0.0, 0.0
    for i in range(len(scores)):
        count += member[i]
        total += member[i] * scores[i]
    for i in range(len(scores)):
        s, u = scores[i], _uniform(words[i])
        others, rest = count - member[i], total - member[i] * s
        line = 4.0 * u - 2.0
        gain, size = s * others - rest, others * (others + 1.0)
        taken = 1.0 if line < 0.0 else 0.0
        if line * (gain - line * size) > 0.0:
            taken = 1.0 if u < 1.0 / (1.0 + np.exp(-gain / size)) else 0.0
        if others == 0.0:
            taken = 1.0
        member[i] = taken
        count, total = others + taken, rest + taken * s


@compiled
def metropolis_step(scores, member, pool, corrected, words):
    """Propose a subset and take it or stay; `pool` holds 0 … n−1 in any order. At most n + 4 words."""
    n = len(scores)
    count, total, everything = 0.0, 0.0, 0.0
    for i in range(n):
        count += member[i]
        total += member[i] * scores[i]
        everything += scores[i]
    size = 1 + _below(n, words[0], words[1])
    drawn = min(size, n - size)  # the fewer of those in and those left out
    drawn_total = 0.0
    for place in range(drawn):
        other = place + _below(n - place, words[2 * place + 4], words[2 * place + 5])
        pool[place], pool[other] = pool[other], pool[place]
        drawn_total += scores[pool[place]]
    proposed_total = drawn_total if drawn == size else everything - drawn_total
    log_ratio = proposed_total / size - total / count
    if corrected:
        log_ratio += _log_choices(n, size) - _log_choices(n, count)
    if np.log(_uniform(words[2])) < log_ratio:
        member[:] = 0.0 if drawn == size else 1.0
        for place in range(drawn):
            member[pool[place]] = 1.0 - member[pool[place]]


@compiled
def _log_choices(n, size):
    """log C(n, size) but for log n!."""
    return -math.lgamma(size + 1.0) - math.lgamma(n - size + 1.0)
