"""Markov chains over subsets on a GPU: the draws, and so the subsets, of the CPU, in parallel over the items.

A program walks some of the chains of a list. What goes from item to item on the CPU is a fixed point here: a Gibbs
sweep is repeated with the running sums of the decisions before until none changes, and each time at least one more of
the first ones is right; swaps one after the other are followed back from where they end.
"""

import torch
import triton
import triton.language as tl

from luce.kernels.padded import best_first
from luce.kernels.shuffles import FIRST_SPARE_BLOCK
from luce.kernels.subset_choice.gpu_exact import exact_lists
from luce.kernels.subset_choice.gpu_stages import evaluation_of, stages_of, sums_of_workers
from luce.lists import DeviceEvaluation, DeviceLists

__all__ = ["exact_lists", "sampled_lists"]

SPARE = tl.constexpr(FIRST_SPARE_BLOCK)
LOW = tl.constexpr(0xFFFFFFFF)


def sampled_lists(
    lists: DeviceLists,
    *,
    gibbs: bool = True,
    corrected: bool = True,
    steps: int = 1,
    chains: int = 1,
    start: str = "observed",
) -> DeviceEvaluation:
    """As `sampled_choice`."""
    scores, labels, offsets, longest, _, _, stream, numbers, *_ = lists
    n_lists, n_rows = len(offsets) - 1, len(scores)
    found, workers = sums_of_workers(lists)
    order = best_first(labels, offsets)
    shuffled = order.new_empty((1 + chains, n_rows), dtype=torch.int32)
    scratch = order.new_empty((1 if gibbs else workers, 3 * n_rows), dtype=torch.int32)
    factorials = torch.arange(1, longest + 2, dtype=torch.float64, device=scores.device).lgamma()
    given, numbered = offsets if numbers is None else numbers, numbers is not None
    size = triton.next_power_of_2(max(longest, 128))
    warps = max(4, min(16, size // 256))
    if n_lists:
        _shuffle_ties[(n_lists,)](
            labels, order, offsets, given, shuffled, scratch, stream, n_rows, chains, numbered, size,
            num_warps=warps,
        )  # fmt: skip
        _walk[(n_lists * workers,)](
            scores, labels, order, offsets, given, shuffled, scratch, factorials, found, stream, n_rows, n_lists,
            chains, steps, workers, numbered, gibbs, corrected, int(start == "random"), size, num_warps=warps,
        )  # fmt: skip
    return evaluation_of(found / chains, lists)


@triton.jit
def _words(seed, step, number, sample, block):
    """Four 32-bit words of each block of a stream, as `draw_words` takes them."""
    zero = block.to(tl.int64) * 0
    return tl.philox(seed, block.to(tl.uint32), (zero + sample).to(tl.uint32), (zero + number).to(tl.uint32),
                     (zero + step).to(tl.uint32))  # fmt: skip


@triton.jit
def _picked(a, b, c, d, which):
    """One of four words, as int64."""
    return tl.where(which < 2, tl.where(which == 0, a, b), tl.where(which == 2, c, d)).to(tl.int64)


@triton.jit
def _word(seed, step, number, sample, block, index):
    """The words of some indices of the stream from this block on."""
    a, b, c, d = _words(seed, step, number, sample, block + index // 4)
    return _picked(a, b, c, d, index % 4)


@triton.jit
def _below(n, word, next_word):
    """An integer from 0 to n − 1, as `chains` has it."""
    return ((word * n + ((next_word * n) >> 32)) >> 32).to(tl.int32)


@triton.jit
def _uniform(word):
    return (word.to(tl.float64) + 0.5) * 2.3283064365386963e-10


@triton.jit
def _swap(other, places, n, scratch, size: tl.constexpr):
    """Swap each place with an `other`, not before it, from the first on: where what ends at each place comes from.

    A place takes in what the last swap with the same `other` put there, the item that its own place held, or the item
    that began there. What a place holds at its turn is followed back in the same way, by `links`.
    """
    here, heads, links = places < n, scratch + n, scratch + 2 * n
    tl.store(scratch + places, -1, mask=here)
    tl.store(heads + places, -1, mask=here)
    tl.store(links + places, -1, mask=here)
    tl.debug_barrier()
    waiting, slot, turn = here, n + other, 0
    while tl.max(waiting.to(tl.int32), 0) > 0:  # of all places with the same `other`, the last one; the one before; …
        tl.atomic_max(links + other, turn * size + places, mask=waiting, sem="relaxed")
        tl.debug_barrier()
        last = tl.load(links + other, mask=waiting, other=0) % size
        tl.store(scratch + slot, places, mask=waiting & (last == places))
        waiting, slot, turn = waiting & (last != places), last, turn + 1
        tl.debug_barrier()
    before = tl.load(scratch + places, mask=here, other=-1)
    link = tl.where(other == places, before, tl.load(heads + places, mask=here, other=-1))
    link = tl.where(link < 0, places, link)
    changed = n
    while changed > 0:  # twice as far back each time
        tl.store(links + places, link, mask=here)
        tl.debug_barrier()
        further = tl.load(links + link, mask=here, other=0)
        changed = tl.sum((here & (further != link)).to(tl.int32), 0)
        link = further
        tl.debug_barrier()
    return tl.where(before < 0, other, tl.load(links + tl.maximum(before, 0), mask=here, other=0))


@triton.jit
def _shuffle_ties(
    labels, order, offsets, numbers, shuffled, scratch, stream, n_rows, chains, numbered: tl.constexpr,
    size: tl.constexpr,
):  # fmt: skip
    """An eighth of the workspace, or half of it, where that holds the list."""
    row = tl.program_id(0)
    begin = tl.load(offsets + row)
    count = (tl.load(offsets + row + 1) - begin).to(tl.int32)
    number = row.to(tl.int64)
    if numbered:
        number = tl.load(numbers + row)
    scratch, out = scratch + 3 * begin, shuffled + begin
    if count <= size // 8:
        _shuffle_list(labels, order, begin, count, number, stream, scratch, out, n_rows, chains, size // 8)
    elif count <= size // 2:
        _shuffle_list(labels, order, begin, count, number, stream, scratch, out, n_rows, chains, size // 2)
    else:
        _shuffle_list(labels, order, begin, count, number, stream, scratch, out, n_rows, chains, size)


@triton.jit
def _shuffle_list(labels, order, begin, count, number, stream, scratch, out, n_rows, chains, size: tl.constexpr):
    """Write the items of a list from the highest label down, then, for each chain, `shuffle_ties` of those before."""
    seed, step, places = tl.load(stream), tl.load(stream + 1), tl.arange(0, size)
    opens, _stage, n, _stages = stages_of(labels, order, begin, count, places)
    # Sets end where the next one begins, which is the least place after this one that opens a set.
    tl.store(scratch + places, tl.where(opens, places, n), mask=places < n)
    tl.debug_barrier()
    following = tl.load(scratch + places + 1, mask=places + 1 < n, other=size)
    end = tl.minimum(tl.associative_scan(following, 0, _smaller, reverse=True), n)
    tl.debug_barrier()
    choices = tl.maximum(end - places, 1).to(tl.int64)
    limit = (4294967296 - choices) % choices
    blocks = tl.maximum((n + 3) // 4, 1)
    item = tl.load(order + begin + places, mask=places < n, other=0) - begin
    tl.store(out + places, item.to(tl.int32), mask=places < n)
    tl.debug_barrier()
    for chain in range(chains):
        a, b, c, d = _words(seed, step, number, 2 * chain, places % blocks)
        product = _picked(a, b, c, d, places // blocks) * choices
        rejected, spare = (product & LOW) < limit, 16 * places.to(tl.int64) + SPARE
        while tl.max(rejected.to(tl.int32), 0) > 0:
            word, _, _, _ = _words(seed, step, number, 2 * chain, spare)
            product = tl.where(rejected, word.to(tl.int64) * choices, product)
            rejected, spare = (product & LOW) < limit, spare + 1
        source = _swap(places + (product >> 32).to(tl.int32), places, n, scratch, size)
        tl.store(out + n_rows + places, tl.load(out + source, mask=places < n, other=0), mask=places < n)
        tl.debug_barrier()
        out += n_rows


@triton.jit
def _smaller(one, other):
    return tl.minimum(one, other)


@triton.jit
def _walk(
    scores, labels, order, offsets, numbers, shuffled, scratch, factorials, found, stream, n_rows, n_lists, chains,
    steps, workers, numbered: tl.constexpr, gibbs: tl.constexpr, corrected: tl.constexpr, random: tl.constexpr,
    size: tl.constexpr,
):  # fmt: skip
    """An eighth of the workspace, or half of it, where that holds the list."""
    row, worker = tl.program_id(0) // workers, tl.program_id(0) % workers
    begin = tl.load(offsets + row)
    count = (tl.load(offsets + row + 1) - begin).to(tl.int32)
    number = row.to(tl.int64)
    if numbered:
        number = tl.load(numbers + row)
    scratch += 3 * (worker.to(tl.int64) * n_rows + begin)
    shuffled, scores = shuffled + n_rows + begin, scores + begin
    found += worker.to(tl.int64) * (n_lists + n_rows)
    loss, shares = found + row, found + n_lists + begin
    if count <= size // 8:
        _walk_list(scores, labels, order, begin, count, number, shuffled, scratch, factorials, loss, shares, stream,
                   n_rows, chains, steps, worker, workers, gibbs, corrected, random, size // 8)  # fmt: skip
    elif count <= size // 2:
        _walk_list(scores, labels, order, begin, count, number, shuffled, scratch, factorials, loss, shares, stream,
                   n_rows, chains, steps, worker, workers, gibbs, corrected, random, size // 2)  # fmt: skip
    else:
        _walk_list(scores, labels, order, begin, count, number, shuffled, scratch, factorials, loss, shares, stream,
                   n_rows, chains, steps, worker, workers, gibbs, corrected, random, size)  # fmt: skip


@triton.jit
def _walk_list(
    scores, labels, order, begin, count, number, shuffled, scratch, factorials, loss, shares, stream, n_rows,
    chains, steps, worker, workers, gibbs: tl.constexpr, corrected: tl.constexpr, random: tl.constexpr,
    size: tl.constexpr,
):  # fmt: skip
    """The share of a worker of the chains of all stages."""
    seed, step, places = tl.load(stream), tl.load(stream + 1), tl.arange(0, size)
    opens, stage, n, stages = stages_of(labels, order, begin, count, places)
    blocks = tl.where(opens, (n - places + 7) // 4, 0)  # of words, for one step of a stage
    difference = n.to(tl.float64) * 0.0
    for job in range(worker, chains * stages, workers):
        chain, k = job // stages, job % stages
        first = tl.sum(tl.where(opens & (stage == k), places, 0), 0)
        block = tl.sum(tl.where(places < first, blocks, 0), 0).to(tl.int64) * (steps + random)
        inside, local, length = (places >= first) & (places < n), tl.maximum(places - first, 0), n - first
        item = tl.load(shuffled + chain.to(tl.int64) * n_rows + places, mask=inside, other=0)
        s = tl.load(scores + item, mask=inside, other=0.0).to(tl.float64)
        s = tl.where(inside, s - tl.sum(s, 0) / length, 0.0)
        member, place = tl.where(inside & (stage == k), 1.0, 0.0).to(tl.float64), places
        held = tl.sum(member, 0)
        difference -= tl.sum(member * s, 0) / held
        share = -member / held
        if random:
            member = _random_subset(inside, local, length, seed, step, number, 2 * chain + 1, block)
            block += (length + 7) // 4
        for _ in range(steps):
            if gibbs:
                word = _word(seed, step, number, 2 * chain + 1, block, local)
                member = _sweep(s, member, _uniform(word), inside, length)
            else:
                member, place = _propose(s, member, place, places, inside, first, length, n, seed, step, number,
                                         2 * chain + 1, block, scratch, factorials, corrected, size)  # fmt: skip
            block += (length + 7) // 4
            held = tl.sum(member, 0) * steps
            difference += tl.sum(member * s, 0) / held
            share += member / held
        tl.store(shares + item, tl.load(shares + item, mask=inside, other=0.0) + share, mask=inside)
        tl.debug_barrier()  # the next stage has the items at other places
    tl.store(loss, difference)


@triton.jit
def _random_subset(inside, local, length, seed, step, number, sample, block):
    """As `chains.random_subset`."""
    taken = inside & (_word(seed, step, number, sample, block, local) >> 31 == 1)
    word = _word(seed, step, number, sample, block, length)
    only = _below(length, word, _word(seed, step, number, sample, block, length + 1))
    taken |= inside & (local == only) & (tl.sum(taken.to(tl.int32), 0) == 0)
    return tl.where(taken, 1.0, 0.0).to(tl.float64)


@triton.jit
def _sweep(s, member, uniform, inside, length):
    """As `chains.gibbs_sweep`, every item at once, until no decision changes; `length` times are always enough."""
    count, total = tl.sum(member, 0), tl.sum(member * s, 0)
    taken, left = member, length + 1
    while left > 0:
        others = count + tl.cumsum(taken - member, 0) - taken
        rest = total + tl.cumsum((taken - member) * s, 0) - taken * s
        gain = (s * others - rest) / tl.maximum(others * (others + 1.0), 1.0)
        now = tl.where(inside & ((others == 0.0) | (uniform < 1.0 / (1.0 + tl.exp(-gain)))), 1.0, 0.0).to(tl.float64)
        changed = tl.max((now != taken).to(tl.int32), 0)
        taken, left = now, (left - 1) * changed
    return taken


@triton.jit
def _propose(
    s, member, place, places, inside, first, length, n, seed, step, number, sample, block, scratch, factorials,
    corrected: tl.constexpr, size: tl.constexpr,
):  # fmt: skip
    """As `chains.metropolis_step`; `place` says where in the pool each item is."""
    a, b, c, _ = _words(seed, step, number, sample, block)
    proposed = 1 + _below(length, a.to(tl.int64), b.to(tl.int64))
    drawn = tl.minimum(proposed, length - proposed)
    local = places - first
    w, x, y, z = _words(seed, step, number, sample, block + 1 + tl.maximum(local, 0) // 2)
    odd = local % 2 == 1
    jump = _below(n - places, tl.where(odd, y, w).to(tl.int64), tl.where(odd, z, x).to(tl.int64))
    source = _swap(places + tl.where((local >= 0) & (local < drawn), jump, 0), places, n, scratch, size)
    tl.store(scratch + source, places, mask=places < n)
    tl.debug_barrier()
    place = tl.load(scratch + place, mask=places < n, other=0)
    tl.debug_barrier()
    held, chosen = tl.sum(member, 0), inside & ((place - first < drawn) == (drawn == proposed))
    proposal = tl.where(chosen, 1.0, 0.0).to(tl.float64)
    log_ratio = tl.sum(proposal * s, 0) / proposed - tl.sum(member * s, 0) / held
    if corrected:
        now = held.to(tl.int32)
        log_ratio += tl.load(factorials + now) + tl.load(factorials + length - now)
        log_ratio -= tl.load(factorials + proposed) + tl.load(factorials + length - proposed)
    accepted = tl.log(_uniform(c.to(tl.int64))) < log_ratio
    return tl.where(accepted, proposal, member), place
