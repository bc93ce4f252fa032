"""Sampling a ranking as a race: an item of weight w arrives after an exponential time of rate w.

The K heaviest items run by themselves. The others, the tail, come as one Poisson stream of their whole weight, each
arrival being an item drawn from an alias table, repeats not counting. At least half of the arrivals count, whatever
the scores: for every item of the tail placed, one of the K heaviest is not, and weighs at least as much.
"""

import numpy as np

from luce.compiled import compiled, summing
from luce.kernels.elementary import log
from luce.kernels.sampled_rankings.alias import fill_table, look_up, look_up_all
from luce.kernels.sampled_rankings.numbers import later_uniform
from luce.kernels.sampled_rankings.sorting import sort_positive

FAR = 1e-280
"""Share of the mass below which weights on the scale of the highest score have lost their digits."""

NOTHING = 1e-300
"""A tail that weighs less is no tail."""

FAR_DRAW = 2**31
"""Numbers of a stream from here on are for places before which less than FAR was left."""

MANY = 100
"""Entrants from which on sorting is quicker than counting, for many samples at once, who was faster."""


@compiled
def drawn_arrivals(depth):
    """How many arrivals of the tail are drawn beforehand, in vectors."""
    return (depth + 2) // 2


@compiled
def line_up(urn, n_racers):
    """Put the heaviest items in front of `racers`, and make the table of the others; return what these weigh."""
    n, racers = len(urn.weights), urn.racers
    if n_racers == n:
        for j in range(n):
            racers[j] = j
        return 0.0
    sort_positive(urn.weights, racers)
    racers[:] = racers[::-1].copy()
    others, tail = urn.weights.copy(), 0.0
    for k in range(n_racers):
        others[racers[k]] = 0.0
    for j in range(n):
        tail += others[j]
    if tail < NOTHING:
        return 0.0
    fill_table(others, tail, urn.table, urn.placed)
    urn.placed[:] = 0
    return tail


@compiled
def arrive(urn, n_racers, tail, arrivals, samples, times, items, faster):
    """Make arrival times of uniform numbers, a row for each racer and then for each arrival of the tail.

    The rows after these become the items of the tail. Returns the number of entrants, which are counted in `faster`.
    """
    for k in range(n_racers):
        _exponential(samples, urn.weights[urn.racers[k]], times[k])
    entrants = n_racers
    if tail > 0.0:
        entrants += arrivals
        for e in range(n_racers, entrants):
            _exponential(samples, tail, times[e])
            for i in range(samples if e > n_racers else 0):
                times[e, i] += times[e - 1, i]
        look_up_all(urn.table, samples, times[entrants : entrants + arrivals], items)
    if entrants < MANY:
        _count_faster(entrants, samples, times, faster)
    return entrants


@summing
def _exponential(samples, rate, numbers):
    """Make exponential times of uniform numbers: −log(u) / rate."""
    pace = 1.0 / rate
    for i in range(samples):
        numbers[i] = -log(numbers[i]) * pace


@summing
def _count_faster(entrants, samples, times, faster):
    """faster[e, i]: how many were faster than entrant e in sample i; of equal ones the first."""
    for e in range(entrants):
        own, before = times[e], faster[e]
        for i in range(samples):
            before[i] = 0
        for j in range(e):
            other, behind = times[j], faster[j]
            for i in range(samples):
                first = np.int64(other[i] <= own[i])
                before[i] += first
                behind[i] += 1 - first


@compiled
def finish(urn, n_racers, tail, entrants, depth, stream, samples, times, items, faster, rankings, masses, near):
    """Fill `depth` places of the first `samples` rankings.

    masses: (rows, places + 1) gets the mass left before each place, and after the last. near: whether the weights
    could tell the items apart that were left at each place.
    """
    racers, weights, placed, order = urn.racers, urn.weights, urn.placed, np.empty(entrants, np.int64)
    for i in range(samples):
        ranking = rankings[i, :depth]
        urn.drawn[0] += 1
        number, place, arrived, gone = urn.drawn[0], 0, 0, 0.0
        if entrants < MANY:
            for e in range(entrants):
                order[faster[e, i]] = e
        else:
            sort_positive(times[:entrants, i].copy(), order)
        while place < depth:
            e = order[arrived]
            arrived += 1
            if e < n_racers:
                ranking[place] = racers[e]
                place += 1
                continue
            item = items[e - n_racers, i]
            if placed[item] != number:
                placed[item], ranking[place] = number, item
                gone += weights[item]
                place += 1
            if e == entrants - 1 and place < depth:
                to_come, places, draw = order[arrived:], ranking[place:], 2 * entrants - n_racers
                more, gone = _follow_stream(urn, tail, stream, i, draw, times[:, i], e, to_come, places, gone)
                arrived, place = arrived + more, depth
        left = max(tail - gone, 0.0)
        for a in range(arrived, entrants):
            left += weights[racers[order[a]]] if order[a] < n_racers else 0.0
        near[i] = add_up(left, weights, ranking, masses[i])
        if not near[i]:
            _finish_far(urn, stream, i, ranking, masses[i])


@compiled
def _follow_stream(urn, tail, stream, i, draw, times, last, to_come, places, gone):
    """Fill the places that are left by the racers to come and by the tail, arriving one by one after entrant `last`.

    Returns how many of these racers arrived, and how much of the tail is gone.
    """
    number, k, place = urn.drawn[0], 0, 0
    arrival = times[last] - log(later_uniform(stream, i, draw)) / tail
    while place < len(places):
        if k < len(to_come) and times[to_come[k]] <= arrival:
            places[place] = urn.racers[to_come[k]]
            k += 1
        else:
            item = look_up(urn.table, later_uniform(stream, i, draw + 1))
            draw += 2
            arrival -= log(later_uniform(stream, i, draw)) / tail
            if urn.placed[item] == number:
                continue
            urn.placed[item], places[place] = number, item
            gone += urn.weights[item]
        place += 1
    return k, gone


@compiled
def add_up(left, weights, ranking, masses):
    """Write the mass before each place, where so much is left after the last; return whether all is above FAR."""
    masses[len(ranking)] = left
    for k in range(len(ranking) - 1, -1, -1):
        left += weights[ranking[k]]
        masses[k] = left
    return masses[len(ranking) - 1] >= FAR


@compiled
def _finish_far(urn, stream, i, ranking, masses):
    """Draw the places anew before which less than FAR was left, each on the scale of the highest score that is left."""
    scores, n = urn.scores, len(urn.scores)
    waiting, left = np.ones(n, np.bool_), np.empty(n)
    for k in range(len(ranking)):
        if masses[k] < FAR:
            highest, total = -np.inf, 0.0
            for j in range(n):
                highest = max(highest, scores[j] if waiting[j] else -np.inf)
            for j in range(n):
                left[j] = np.exp(scores[j] - highest) if waiting[j] else 0.0
                total += left[j]
            ranking[k] = _reached(left, later_uniform(stream, i, FAR_DRAW + k) * total)
        waiting[ranking[k]] = False


@compiled
def _reached(weights, reach):
    """The first item at which the weights so far exceed the reach; the last that weighs anything if none does."""
    last = 0
    for j in range(len(weights)):
        if weights[j] > 0.0:
            last = j
            reach -= weights[j]
            if reach < 0.0:
                break
    return last
