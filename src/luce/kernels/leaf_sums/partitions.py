"""Leaf sums of the partition likelihood: one integral per set, with the moments of its leaves.

For a set S over the rest R, f = Σ_i E[q_i], and ρ the share of a leaf U in R, all items of U moving by one step:
−d² log P = f ρ (1 − ρ) − (Var(Q_U − ρ Q) + (1 − 2ρ) O_U + ρ² O), with Q_U = Σ_{i ∈ S ∩ U} q_i and
O_U = Σ_{i ∈ S ∩ U} E[q_i (1 − x_i − q_i)]; Q and O are sums over all of S. A leaf with no item in S gets
f ρ − (f + Var Q + O) ρ², by prefix sums as in `ordered`.
"""

import numpy as np

from luce.compiled import compiled, inlined
from luce.kernels.label_order import longest_list, sort_into_sets, sorting_space
from luce.kernels.leaf_sums.far import add_far, log_add
from luce.kernels.leaf_sums.moments import leaf_moments
from luce.kernels.partition_likelihood.cpu import sums_from_below
from luce.kernels.partition_likelihood.integral import ROWS, VECTOR


@compiled
def leaf_sums(first, last, offsets, scores, labels, leaves, list_weights, tol, sums):
    longest = longest_list(first, last, offsets)
    order, ends, space = np.empty(longest, np.int64), np.empty(longest, np.int64), sorting_space(longest)
    ordered, share, below = np.empty(longest), np.empty(longest), np.empty(longest + 1)
    moments, scratch = np.empty((4, longest)), np.empty((ROWS + 1, longest + VECTOR))
    group, slot = np.empty(longest + VECTOR, np.int64), np.full(sums.shape[1], -1)
    force, curve = np.empty(longest), np.empty(longest)
    once, twice = np.empty(longest + 1), np.empty(longest + 1)
    log_mass, known = np.full(sums.shape[1], -np.inf), np.zeros(sums.shape[1], np.int64)
    for q in range(first, last):
        scale = list_weights[q] if list_weights.size else 1.0
        sets = sort_into_sets(labels, offsets[q], offsets[q + 1], order, ends, space)
        if sets < 2 or scale == 0.0:
            continue
        sums_from_below(scores, order, ends, sets, ordered, share, below)
        begin = 0
        for m in range(sets - 1):
            end = ends[m]
            n_groups = _groups(leaves, order[begin:end], slot, group)
            for j in range(begin, end):
                scratch[0, j - begin] = ordered[j] - below[m + 1]
            force[m], curve[m] = leaf_moments(end - begin, n_groups, tol, group, moments[:, begin:end], scratch)
            begin = end
        _prefix_logs(sets, force, curve, below, once, twice)
        _add_list(
            order,
            leaves,
            ends,
            sets,
            scale,
            ordered,
            below,
            moments,
            force,
            curve,
            once,
            twice,
            log_mass,
            known,
            slot,
            sums,
        )


@inlined
def _groups(leaves, order, slot, group):
    """Number the leaves of a set as they come; returns how many there are. `slot` is left as it was, all −1."""
    n_groups = np.int64(0)  # inlined, a literal 0 would be a second type for what is called with it
    for j in range(len(order)):
        u = leaves[order[j]]
        if slot[u] < 0:
            slot[u] = n_groups
            n_groups += 1
        group[j] = slot[u]
    for j in range(len(order)):
        slot[leaves[order[j]]] = -1
    return n_groups


@inlined
def _prefix_logs(sets, force, curve, below, once, twice):
    """log Σ_{i<m} f/z and log Σ_{i<m} (f + Var Q + O)/z² over the sets, z the worth of all below a set."""
    once[0] = twice[0] = -np.inf
    for m in range(sets - 1):
        once[m + 1] = log_add(once[m], np.log(force[m]) - below[m + 1])
        twice[m + 1] = log_add(twice[m], np.log(max(force[m] + curve[m], 0.0)) - 2.0 * below[m + 1])


@compiled
def _add_list(
    order, leaves, ends, sets, scale, ordered, below, moments, force, curve, once, twice, log_mass, known, slot, sums
):
    """Up the list: a leaf that loses nothing to a set keeps its mass, and its sums wait until it does."""
    last = sets - 1
    for j in range(ends[last - 1], ends[last]):
        u = leaves[order[j]]
        log_mass[u] = log_add(log_mass[u], ordered[j])
    for m in range(last - 1, -1, -1):
        begin = ends[m - 1] if m else 0
        n_groups = 0
        for j in range(begin, ends[m]):
            u = leaves[order[j]]
            if slot[u] < 0:
                slot[u] = n_groups
                n_groups += 1
                add_far(u, m + 1, last - known[u], scale, log_mass[u], once, twice, sums)
                rho = np.exp(log_mass[u] - below[m + 1])
                _add_set(u, scale, rho, force[m], curve[m], moments[:, begin + slot[u]], sums)
                known[u] = last - m
        for j in range(begin, ends[m]):
            u = leaves[order[j]]
            slot[u] = -1
            log_mass[u] = log_add(log_mass[u], ordered[j])
    for j in range(ends[last]):
        u = leaves[order[j]]
        add_far(u, np.int64(0), last - known[u], scale, log_mass[u], once, twice, sums)
        log_mass[u] = -np.inf
        known[u] = 0


@inlined
def _add_set(u, scale, rho, force, curve, moment, sums):
    """A set to a leaf that has items in it; moment: E[Q_U], Var Q_U, Cov(Q_U, Q), O_U."""
    along = moment[1] + moment[3] - 2.0 * rho * (moment[2] + moment[3]) + rho * rho * curve
    sums[0, u] += scale * (moment[0] + force * rho)
    sums[1, u] += scale * (force * rho * (1.0 - rho) - along)
