"""Successive choices of subsets against a few steps of a Markov chain from the observed subset or a random one."""

import numpy as np

from luce.compiled import compiled
from luce.kernels.label_order import longest_list, sort_into_sets, sorting_space
from luce.kernels.shuffles import shuffle_ties, shuffling_space
from luce.kernels.subset_choice.chains import draw_words, gibbs_sweep, metropolis_step, random_subset


@compiled
def sampled_choice(
    first,
    last,
    offsets,
    scores,
    labels,
    numbers,
    seed,
    step,
    gibbs,
    corrected,
    steps,
    chains,
    random_start,
    loss,
    gradient,
):
    longest = longest_list(first, last, offsets)
    order, ends, pool = np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(longest, np.int64)
    ordered, member, derivative = np.empty(longest), np.empty(longest), np.empty(longest)
    words, space, shuffle = np.empty(longest + 8, np.uint32), sorting_space(longest), shuffling_space(longest)
    for q in range(first, last):
        sets = sort_into_sets(labels, offsets[q], offsets[q + 1], order, ends, space)
        n = ends[sets - 1] if sets else 0
        for chain in range(chains):
            # A sweep goes through the items in order: equal labels are shuffled, so that no row is favoured.
            shuffle_ties(order, ends, sets, n, seed, step, numbers[q], 2 * chain, shuffle)
            for j in range(n):
                ordered[j], derivative[j] = scores[order[j]] - scores[order[0]], 0.0
            begin, block = 0, 0
            for m in range(sets):
                if n - begin < 2:
                    break  # one item is one subset: nothing to choose
                part, used = slice(begin, n), (n - begin + 7) // 4 * 4
                difference = _observe(ends[m] - begin, ordered[part], member[part], pool[part], derivative[part])
                if random_start:
                    block = draw_words(seed, step, numbers[q], 2 * chain + 1, block, words[:used])
                    random_subset(member[part], words)
                for _ in range(steps):
                    block = draw_words(seed, step, numbers[q], 2 * chain + 1, block, words[:used])
                    if gibbs:
                        gibbs_sweep(ordered[part], member[part], words)
                    else:
                        metropolis_step(ordered[part], member[part], pool[part], corrected, words)
                    difference += _add_mean(ordered[part], member[part], 1.0 / steps, derivative[part])
                loss[q] += difference / chains
                begin = ends[m]
            for j in range(n):
                gradient[order[j]] += derivative[j] / chains


@compiled
def _observe(chosen, scores, member, pool, derivative):
    """Start at the observed subset, the first `chosen` items, which counts −1."""
    for i in range(len(scores)):
        pool[i] = i
        member[i] = 1.0 if i < chosen else 0.0
    return _add_mean(scores, member, -1.0, derivative)


@compiled
def _add_mean(scores, member, weight, derivative):
    """`weight` times the mean score of the members; its derivative is added to `derivative`."""
    count, total = 0.0, 0.0
    for i in range(len(scores)):
        count += member[i]
        total += member[i] * scores[i]
    for i in range(len(scores)):
        derivative[i] += weight / count * member[i]
    return weight * total / count
