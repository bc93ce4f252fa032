"""The terms of draws in the loss of a list, Rao-Kupper's or Davidson's, that need only one pass over the items."""

import numpy as np

from luce.compiled import compiled

NO_DRAWS, RAO_KUPPER, DAVIDSON = 0, 1, 2


@compiled
def own_share(draws, parameter):
    """∂ log θ / ∂ α = e^α / (1 + e^α), the factor from the sum of all derivatives to that in Rao-Kupper's parameter."""
    return 1.0 / (1.0 + np.exp(-parameter)) if draws == RAO_KUPPER else 0.0


@compiled
def constants_of_draws(n, ends, starts, draws, parameter, middle, ordered, weight, derivative, hessian):
    """Loss and derivative of the tie parameter to add; adds to the derivatives, takes from the hessians.

    Takes off the pairs of an item with itself, met by loops that go by twos wherever an item's partners start before
    its end; empty `starts` say that there were none.
    """
    tied, shift, own = 0.0, 0.0, 0.0  # over draws Σ w_i w_j and Σ w_i w_j δ/2; over items with themselves Σ w²
    log_own, own_derivative, own_hessian, log_tied, tied_derivative = terms_of_draws(draws, parameter)
    begin = 0
    while begin < n:
        total, before = 0.0, 0.0
        for k in range(begin, ends[begin]):
            total += weight[k]
        for k in range(begin, ends[begin]):
            w = weight[k]
            if draws == DAVIDSON:
                change = 0.5 * w * (total - w - 2.0 * before)
                derivative[k] += change
                shift += change * (ordered[k] - middle)
            tied += w * before
            before += w
            if len(starts) and starts[k] <= k:
                own += w * w
                hessian[k] -= 2.0 * w * w * own_hessian
        begin = ends[begin]
    return shift - tied * log_tied - own * log_own, -tied * tied_derivative - own * own_derivative


@compiled
def terms_of_draws(draws, parameter):
    """Loss of an item with itself, its derivative in the tie parameter, its second derivative; the first two of a draw.

    Rao-Kupper, θ = 1 + e^α: log(1 + θ) and log(θ² − 1) = α + log(2 + e^α). Davidson, ν = e^β: log(2 + ν) and β.
    """
    power = np.exp(parameter)
    rest = 1.0 / (2.0 + power)
    log_own, share = np.log(2.0 + power), power * rest
    if draws == RAO_KUPPER:
        return log_own, share, (1.0 + power) * rest * rest, parameter + log_own, 1.0 + share
    return log_own, share, rest * rest + 0.25 * share * (1.0 - share), parameter, 1.0
