"""Sampling of rankings, many of one list at a time, so that random numbers and first choices are vectorized."""

from typing import NamedTuple

import numpy as np

from luce.arrays import Floats, Integers
from luce.compiled import compiled
from luce.kernels.elementary import log
from luce.kernels.label_order import longest_list
from luce.kernels.sampled_rankings.alias import draw_from_table, fill_table, look_up_all
from luce.kernels.sampled_rankings.numbers import Stream, fill_uniforms, later_uniform
from luce.kernels.sampled_rankings.race import MANY, arrive, drawn_arrivals, finish, line_up
from luce.kernels.sampled_rankings.urn import CHEAPEST, KEYS, RACE, TABLE, cheapest, count_live, fill_urn, make_urn

WIDTH, NARROW, LARGE = 64, 8, 1_024
"""Samples drawn at a time, and where each needs more than LARGE numbers; how many changes no digit."""


class Chunk(NamedTuple):
    """Some samples of one list.

    uniforms, items, faster: (rows, width), a column a sample, to draw with. rankings: (width, places), positions in the
    list. masses: (width, places + 1), the share of the list's Σ e^s that is left before each place, and after the last.
    near: (width,), whether those shares can be relied on: they are far above the least number.
    """

    uniforms: Floats
    items: Integers
    faster: Integers
    rankings: Integers
    masses: Floats
    near: np.ndarray


@compiled
def _numbers(n, depth, way):
    """How many random numbers are made ready for each sample, an even number."""
    if way == TABLE:
        return (depth + depth // 2 + 5) // 2 * 2
    return (n + 1 if way == KEYS else depth + 2 * drawn_arrivals(depth) + 1) // 2 * 2


@compiled
def make_chunk(longest, depth, way):
    """Workspace for the samples of lists of up to `longest` items and rankings of up to `depth` places."""
    all_race = longest if way == KEYS else min(longest, 4 * depth)
    rows = max(_numbers(0, depth, TABLE), _numbers(0, depth, RACE), _numbers(all_race, depth, KEYS))
    width = WIDTH if rows <= LARGE else NARROW
    return Chunk(
        np.empty((rows, width)),
        np.empty((rows, width), np.int64),
        np.empty((min(rows, MANY), width), np.int64),
        np.empty((width, depth), np.int64),
        np.empty((width, depth + 1)),
        np.ones(width, np.bool_),
    )


@compiled
def open_urn(workspace, scores, depth, way):
    """The urn of a list, the number of its racers, 0 where a table is to be used, and the weight of the tail."""
    urn = fill_urn(workspace, scores)
    if way == CHEAPEST:
        way = cheapest(urn.weights, depth)
    if way == TABLE:
        fill_table(urn.weights, 1.0, urn.table, urn.placed)
        urn.placed[:] = 0
        return urn, 0, 1.0
    n_racers = depth if way == RACE else len(scores)
    return urn, n_racers, line_up(urn, n_racers)


@compiled
def fill_chunk(urn, n_racers, tail, depth, stream, samples, chunk):
    """Draw the first `samples` rankings of a chunk: those of the stream from its sample on."""
    way = TABLE if n_racers == 0 else KEYS if n_racers == len(urn.scores) else RACE
    numbers = chunk.uniforms[: _numbers(n_racers, depth, way)]
    fill_uniforms(stream, samples, numbers)
    if way == TABLE:
        look_up_all(urn.table, samples, numbers, chunk.items)
        draw_from_table(urn, depth, stream, samples, chunk.items[: len(numbers)], chunk.rankings, chunk.masses)
        chunk.near[:] = True
        return
    items, faster = chunk.items, chunk.faster
    entrants = arrive(urn, n_racers, tail, drawn_arrivals(depth), samples, numbers, items, faster)
    rankings, masses, near = chunk.rankings, chunk.masses, chunk.near
    finish(urn, n_racers, tail, entrants, depth, stream, samples, numbers, items, faster, rankings, masses, near)


@compiled
def sample_rankings(first, last, offsets, scores, numbers, seed, step, first_sample, way, rankings):
    """Write the places that can be filled."""
    longest, n_samples = longest_list(first, last, offsets), rankings.shape[1]
    workspace, chunk = make_urn(longest), make_chunk(longest, rankings.shape[2], way)
    width = len(chunk.near)
    for q in range(first, last):
        own = scores[offsets[q] : offsets[q + 1]]
        depth = min(rankings.shape[2], count_live(own))
        if depth == 0:
            continue
        urn, n_racers, tail = open_urn(workspace, own, depth, way)
        for done in range(0, n_samples, width):
            stream = Stream(seed, step, numbers[q], first_sample + done)
            samples = min(width, n_samples - done)
            fill_chunk(urn, n_racers, tail, depth, stream, samples, chunk)
            for i in range(samples):
                for k in range(depth):
                    rankings[q, done + i, k] = chunk.rankings[i, k]


@compiled
def gumbel_scores(first, last, offsets, scores, numbers, seed, step, samples, noisy):
    for q in range(first, last):
        stream = Stream(seed, step, numbers[q], samples[q])
        for row in range(offsets[q], offsets[q + 1]):
            uniform = later_uniform(stream, 0, row - offsets[q])
            noisy[row] = scores[row] - log(-log(uniform))
