"""Ordered partitions as successive choices of subsets: the model of Tran, Phung and Venkatesh (2011).

Equal labels are one set; S_1 > … > S_K are the sets of a list, R_k = S_k ∪ … ∪ S_K. At stage k any of the 2^N − 1
non-empty subsets of R_k may be chosen, S with probability Φ(S) / Σ_{S' ⊆ R_k} Φ(S'): to be equal is an outcome too.
The worth of a subset is the mean of its items' worths e^s: the arithmetic one (their "full decomposition"), whose
normaliser is ((2^N − 1)/N) Σ_{R_k} e^s, or the geometric one, e^{mean of s}. The direction "forward" chooses the best
first; "backward" eliminates the worst first: the same model of −s, the sets taken from the last to the first.
"""

import numpy as np

from luce.arrays import Floats, Integers, frozen
from luce.errors import DataError
from luce.kernels.subset_choice import arithmetic, geometric, sampled
from luce.kernels.subset_choice.symmetric import LONGEST
from luce.randomness import Draw
from luce.threads import over_lists


def arithmetic_choice(
    scores: Floats,
    labels: Floats,
    offsets: Integers,
    *,
    direction: str = "forward",
    curvature: bool = False,
    n_jobs: int | None = None,
) -> tuple[Floats, Floats, Floats | None]:
    """Loss (Q,) = Σ_k lse(R_k) − lse(S_k), gradient (N,) and, if asked for, the diagonal of the second derivative (N,).

    O(n) after the sort. A list whose labels are all equal gives 0: the normaliser is then the worth but for a constant.

    >>> loss, gradient, _ = arithmetic_choice(np.zeros(4), np.array([1.0, 0, 0, 0]), np.array([0, 4]))
    >>> np.exp(-loss), gradient
    (array([0.25]), array([-0.75, 0.25, 0.25, 0.25]))
    """
    loss, gradient = np.zeros(len(offsets) - 1), np.zeros(len(scores))
    second = np.zeros(len(scores) if curvature else 0)
    inputs = frozen(offsets), frozen(_turned(scores, direction)), frozen(_turned(labels, direction))
    over_lists(arithmetic.arithmetic_choice, *inputs, loss, gradient, second, n_jobs=n_jobs)
    return loss, _turned(gradient, direction), second if curvature else None


def geometric_choice(
    scores: Floats, labels: Floats, offsets: Integers, *, direction: str = "forward", n_jobs: int | None = None
) -> tuple[Floats, Floats]:
    """Loss (Q,) = Σ_k log Σ_{∅ ≠ S ⊆ R_k} e^{mean of s over S} − mean of s over S_k, and gradient (N,), exactly.

    O(n³) for a list, all stages together; at most 500 observed items. The loss is minus a normalised log-probability.

    >>> loss, gradient = geometric_choice(np.zeros(2), np.array([1.0, 0]), np.array([0, 2]))
    >>> np.exp(-loss).round(12), gradient  # {a}, {b} and {a, b} are alike
    (array([0.33333333]), array([-0.5, 0.5]))
    """
    loss, gradient = np.zeros(len(offsets) - 1), np.zeros(len(scores))
    _geometric(_turned(scores, direction), _turned(labels, direction), offsets, loss, gradient, n_jobs)
    return loss, _turned(gradient, direction)


def sampled_choice(
    scores: Floats,
    labels: Floats,
    offsets: Integers,
    *,
    gibbs: bool = True,
    corrected: bool = True,
    steps: int = 1,
    chains: int = 1,
    direction: str = "forward",
    draw: Draw | None = None,
    n_jobs: int | None = None,
) -> tuple[Floats, Floats]:
    """An estimate of the geometric choice's gradient (N,), and the difference (Q,) of which it is the slope.

    At every stage a chain starts at S_k and makes a few steps, sweeps of Gibbs or proposals of Metropolis-Hastings
    (`corrected` or as printed). The difference is Σ_k mean score of the sampled subsets − mean score of S_k, averaged
    over steps and chains; the slope is taken with the subsets held. O(steps · chains · Σ_k |R_k|).

    >>> labels, offsets = np.array([2.0, 1, 1, 0]), np.array([0, 4])
    >>> difference, gradient = sampled_choice(np.zeros(4), labels, offsets, steps=2_000, chains=20)
    >>> abs(gradient - geometric_choice(np.zeros(4), labels, offsets)[1]).max() < 0.03
    np.True_
    """
    draw = draw or Draw()
    loss, gradient = np.zeros(len(offsets) - 1), np.zeros(len(scores))
    over_lists(
        sampled.sampled_choice,
        frozen(offsets),
        frozen(_turned(scores, direction)),
        frozen(_turned(labels, direction)),
        frozen(draw.list_numbers(len(loss))),
        draw.seed,
        draw.step,
        gibbs,
        corrected,
        steps,
        chains,
        loss,
        gradient,
        n_jobs=n_jobs,
    )
    return loss, _turned(gradient, direction)


def log_probability(
    scores: Floats,
    labels: Floats,
    offsets: Integers,
    *,
    worth: str,
    direction: str = "forward",
    n_jobs: int | None = None,
) -> Floats:
    """log P (Q,) of the ordered partition that the labels give; worth "arithmetic" or "geometric".

    Over all ordered partitions of the observed items the probabilities sum to one.

    >>> two = np.zeros(2), np.array([1.0, 0]), np.array([0, 2])
    >>> [np.exp(log_probability(*two, worth=worth)).round(12) for worth in ("arithmetic", "geometric")]
    [array([0.33333333]), array([0.33333333])]
    """
    loss = np.zeros(len(offsets) - 1)
    s, y = _turned(scores, direction), _turned(labels, direction)
    if worth == "geometric":
        _geometric(s, y, offsets, loss, np.zeros(0), n_jobs)
        return -loss
    over_lists(arithmetic.log_choices, frozen(offsets), frozen(y), loss, n_jobs=n_jobs)
    return -loss - arithmetic_choice(s, y, offsets, n_jobs=n_jobs)[0]


def _geometric(
    scores: Floats, labels: Floats, offsets: Integers, loss: Floats, gradient: Floats, n_jobs: int | None
) -> None:
    observed = np.diff(np.concatenate([[0], np.cumsum(~np.isnan(labels))])[offsets])
    longest = observed.max(initial=0)
    if longest > LONGEST:
        raise DataError(
            f"pmop-exact takes lists of at most {LONGEST} observed items, for its cost grows with their cube. "
            f"List {observed.argmax()} has {longest}. Use pmop-gibbs, whose cost grows with the list."
        )
    inputs = frozen(offsets), frozen(scores), frozen(labels)
    over_lists(geometric.geometric_choice, *inputs, longest, loss, gradient, n_jobs=n_jobs)


def _turned(values: Floats, direction: str) -> Floats:
    """The values, their signs turned for the direction "backward"."""
    return values if direction == "forward" else -values
