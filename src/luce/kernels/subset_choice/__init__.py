"""Ordered partitions as successive choices of subsets: the model of Tran, Phung and Venkatesh (2011).

Equal labels are one set; S_1 > … > S_K are the sets of a list, R_k = S_k ∪ … ∪ S_K. At stage k any of the 2^N − 1
non-empty subsets of R_k may be chosen, S with probability Φ(S) / Σ_{S' ⊆ R_k} Φ(S'): to be equal is an outcome too.
The worth of a subset is the mean of its items' worths e^s: the arithmetic one (their "full decomposition"), whose
normalizer is ((2^N − 1)/N) Σ_{R_k} e^s, or the geometric one, e^{mean of s}; or it is a function Φ_k of the user's,
whose normalizer is the sum over all subsets. The direction "forward" chooses the best
first; "backward" eliminates the worst first: the same model of −s, the sets taken from the last to the first.
"""

from functools import partial

import numpy as np

from luce.arrays import Floats, selected_offsets
from luce.errors import DataError
from luce.kernels.subset_choice import arithmetic, geometric, open_choice, sampled
from luce.kernels.subset_choice.potentials import Potential
from luce.kernels.subset_choice.symmetric import LONGEST
from luce.lists import Evaluation, Lists, evaluate_kernel
from luce.threads import over_lists

LONGEST_ON_GPU = 16_384
"""Items of a list that a program for the chains holds."""


def arithmetic_choice(lists: Lists, direction: str = "forward") -> Evaluation:
    """Loss (Q,) = Σ_k lse(R_k) − lse(S_k), its gradient and the diagonal of its second derivative.

    O(n) after the sort. A list whose labels are all equal gives 0: the normalizer is then the worth but for a constant.

    >>> found = arithmetic_choice(Lists(np.zeros(4), np.array([1.0, 0, 0, 0]), np.array([0, 4])))
    >>> np.exp(-found.loss), found.gradient
    (array([0.25]), array([-0.75, 0.25, 0.25, 0.25]))
    """
    return _turned_back(evaluate_kernel(arithmetic.arithmetic_choice, _turned(lists, direction)), direction)


def geometric_choice(lists: Lists, direction: str = "forward") -> Evaluation:
    """Loss (Q,) = Σ_k log Σ_{∅ ≠ S ⊆ R_k} e^{mean of s over S} − mean of s over S_k, and its gradient, exactly.

    O(n³) for a list, all stages together; at most 500 observed items. The loss is minus a normalized log-probability.

    >>> found = geometric_choice(Lists(np.zeros(2), np.array([1.0, 0]), np.array([0, 2])))
    >>> np.exp(-found.loss).round(12), found.gradient  # {a}, {b} and {a, b} are alike
    (array([0.33333333]), array([-0.5, 0.5]))
    """
    longest = _longest(lists)
    found = evaluate_kernel(geometric.geometric_choice, _turned(lists, direction), longest, has_hessian=False)
    return _turned_back(found, direction)


def potential_choice(lists: Lists, potential: Potential, direction: str = "forward") -> Evaluation:
    """Loss (Q,) = Σ_k log Σ_{∅ ≠ S ⊆ R_k} Φ_k(S) − log Φ_k(S_k) for Φ_k of a function, and its gradient.

    The sum is that of `potential.log_sum`, or over all subsets of at most 15 observed items.

    >>> from luce.kernels.subset_choice.potentials import geometric_mean
    >>> lists = Lists(np.arange(3.0), np.array([1.0, 0, 0]), np.array([0, 3]))
    >>> bool(np.isclose(potential_choice(lists, geometric_mean).loss, geometric_choice(lists).loss)[0])
    True
    """
    return _turned_back(open_choice.open_choice(_turned(lists, direction), potential), direction)


def sampled_choice(
    lists: Lists,
    *,
    potential: Potential | None = None,
    gibbs: bool = True,
    corrected: bool = True,
    steps: int = 1,
    chains: int = 1,
    start: str = "observed",
    direction: str = "forward",
) -> Evaluation:
    """An estimate of the gradient (N,) of a choice; the loss is the difference (Q,) that it is derived from.

    At every stage a chain starts at S_k, or at a random subset, and makes a few steps, sweeps of Gibbs or proposals of
    Metropolis-Hastings (`corrected` or as printed). The difference is Σ_k log Φ_k of the sampled subsets less that of
    S_k, averaged over steps and chains; its derivative is taken with the subsets held. Without a potential it is that
    of the geometric choice, in O(steps · chains · Σ_k |R_k|).

    >>> lists = Lists(np.zeros(4), np.array([2.0, 1, 1, 0]), np.array([0, 4]))
    >>> found = sampled_choice(lists, steps=2_000, chains=20)
    >>> abs(found.gradient - geometric_choice(lists).gradient).max() < 0.03
    np.True_
    """
    turned, random_start = _turned(lists, direction), start == "random"
    if potential is None:
        settings = *lists.stream, gibbs, corrected, steps, chains, random_start
        found = evaluate_kernel(sampled.sampled_choice, turned, *settings, has_hessian=False)
    else:
        chain = open_choice.gibbs_sweep if gibbs else partial(open_choice.metropolis_step, corrected=corrected)
        found = open_choice.sampled_open_choice(turned, potential, chain, steps, chains, random_start)
    return _turned_back(found, direction)


def log_probability(lists: Lists, worth: str, direction: str = "forward") -> Floats:
    """log P (Q,) of the ordered partition that the labels give; worth "arithmetic" or "geometric".

    Over all ordered partitions of the observed items the probabilities sum to one.

    >>> two = Lists(np.zeros(2), np.array([1.0, 0]), np.array([0, 2]))
    >>> [np.exp(log_probability(two, worth)).round(12) for worth in ("arithmetic", "geometric")]
    [array([0.33333333]), array([0.33333333])]
    """
    turned, loss = _turned(lists, direction), np.zeros(len(lists.offsets) - 1)
    scores, labels, offsets = turned[:3]
    if worth == "geometric":
        results = loss, np.zeros(0)
        over_lists(
            geometric.geometric_choice, offsets, scores, labels, _longest(lists), results=results, n_jobs=lists.n_jobs
        )
        return -loss
    over_lists(arithmetic.log_choices, offsets, labels, results=[loss], n_jobs=lists.n_jobs)
    return -loss - arithmetic_choice(turned).loss


def _longest(lists: Lists) -> int:
    """The most observed items of a list; an error where they are too many."""
    observed = np.diff(selected_offsets(~np.isnan(lists.labels), lists.offsets))
    longest = int(observed.max(initial=0))
    if longest > LONGEST:
        raise DataError(
            f"pmop-exact supports lists of at most {LONGEST} observed items, because its cost grows with their cube. "
            f"List {observed.argmax() + 1} has {longest}. Use pmop-gibbs, which has a linear cost."
        )
    return longest


def _turned(lists: Lists, direction: str) -> Lists:
    """The lists, the signs of scores and labels turned for the direction "backward"."""
    return lists if direction == "forward" else lists._replace(scores=-lists.scores, labels=-lists.labels)


def _turned_back(found: Evaluation, direction: str) -> Evaluation:
    """The gradient in the scores as they were given."""
    return found if direction == "forward" else found._replace(gradient=-found.gradient)
