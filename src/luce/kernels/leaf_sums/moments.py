"""Moments of q over log time, summed by leaf, on the nodes and chains of the partition likelihood's integral."""

import numpy as np

from luce.compiled import compiled, inlined, summing
from luce.kernels.elementary import span, sum_of_logarithms
from luce.kernels.partition_likelihood.grid import grid
from luce.kernels.partition_likelihood.integral import LARGE, begin_chains, classify, outer_part, start_chain


@compiled
def leaf_moments(n, n_groups, tol, group, moments, scratch):
    """Σ E[q] and Var Q + O of the n items whose log a are in scratch[0]; group (n,) tells the leaf of each.

    `moments` (4, n_groups) gets E[Q_U], Var Q_U, Cov(Q_U, Q) and O_U of each leaf.
    """
    moments[:, :n_groups] = 0.0
    if n == 1:
        return _alone(scratch[0, 0], moments)
    low, high, chains, peak = grid(scratch[0, :n], tol)
    step = np.log(2.0) / chains
    n_active, tiny, tiny_sum = classify(n, low, high, scratch[6:8], scratch)
    constant = _move_groups(n, n_active, group, scratch[6], moments)
    log_a, x, w, q = scratch[0, :n_active], scratch[1, :n_active], scratch[2, :n_active], scratch[3, :n_active]
    own, begin = scratch[4, :n_active], scratch[5, :n_active]
    direct = n_active * (0.7 + max(0.0, -span(log_a)[0] - low)) < 600.0
    outer = np.empty(np.int64((high - low) / step) + 2)
    outer_part(low, step, tiny, tiny_sum - peak, direct, outer)
    begin_chains(log_a, low, begin, q, own, own)
    here = np.zeros(n_groups)
    total = total_q = total_square = 0.0
    for chain in range(chains):
        node, z = chain, low + chain * step
        product = start_chain(np.exp(step), begin, x, w)
        while z < high:
            weight = outer[node] * product if direct else np.exp(outer[node] + sum_of_logarithms(w))
            total += weight
            product, all_q = _advance(weight, x, w, q, own)
            total_q += weight * all_q
            total_square += weight * all_q * all_q
            _add_node(weight, all_q, q, group, here, moments)
            node, z = node + chains, z + chains * step
    mean = total_q / total
    variance = total_square / total - mean * mean
    return mean + constant, variance + _finish(total, mean, own, group, n_active, moments[:, :n_groups])


@inlined
def _alone(log_a, moments):
    f = np.exp(-abs(log_a)) / (1.0 + np.exp(-abs(log_a))) if log_a > 0.0 else 1.0 / (1.0 + np.exp(log_a))
    moments[0, 0], moments[3, 0] = f, -f * (1.0 - f)
    return f, -f * (1.0 - f)


@inlined
def _move_groups(n, n_active, group, waiting, moments):
    """The leaves of the items that have nodes, in the order of `classify`; q = 1 of the tiny goes to no other moment.

    Returns how many are tiny; moments[3] counts those of each leaf, until `_finish`.
    """
    k, constant = 0, 0.0
    for i in range(n):
        if waiting[i] == -1.0:
            group[k] = group[i]
            k += 1
        elif waiting[i] == 1.0:
            moments[3, group[i]] += 1.0
            constant += 1.0
    for i in range(k, n_active):
        group[i] = 0  # those that fill the last vector, of q = 0
    return constant


@summing
def _advance(weight, x, w, q, own):
    """q of every item at this node, and on to the next node of the chain; returns Π w there, and Σ q here."""
    product, total = 1.0, 0.0
    for i in range(len(w)):
        q[i] = x[i] * (1.0 - w[i]) / w[i]
        own[i] += weight * q[i] * (1.0 - x[i] - q[i])
        w[i] *= 2.0 - w[i]
        x[i] = min(2.0 * x[i], LARGE)
    for i in range(len(w)):
        product *= w[i]
    for i in range(len(w)):
        total += q[i]
    return product, total


@inlined
def _add_node(weight, total, q, group, here, moments):
    for i in range(len(q)):
        here[group[i]] += q[i]
    for g in range(len(here)):
        value = weight * here[g]
        moments[0, g] += value
        moments[1, g] += value * here[g]
        moments[2, g] += value * total
        here[g] = 0.0


@inlined
def _finish(total, mean, own, group, n_active, moments):
    """From sums over nodes to moments; returns O."""
    for g in range(moments.shape[1]):
        each, tiny = moments[0, g] / total, moments[3, g]
        moments[0, g] = each + tiny
        moments[1, g] = moments[1, g] / total - each * each
        moments[2, g] = moments[2, g] / total - each * mean
        moments[3, g] = 0.0
    everything = 0.0
    for i in range(n_active):
        moments[3, group[i]] += own[i] / total
        everything += own[i] / total
    return everything
