"""Ordered partitions as successive choices of subsets: equal labels are an outcome with a probability of its own."""

from functools import partial
from typing import Any

from luce.arrays import Floats
from luce.kernels.device import device_kernels
from luce.kernels.grade_losses import CHOICE, evaluate_grades
from luce.kernels.subset_choice import (
    LONGEST,
    LONGEST_ON_GPU,
    arithmetic_choice,
    geometric_choice,
    log_probability,
    potential_choice,
    sampled_choice,
)
from luce.lists import DeviceEvaluation, DeviceLists, Evaluation, Lists
from luce.objectives.base import record
from luce.options import Choice, Option, boolean, integer, one_of

FAMILY = "ordered partitions"
PAPER = "Tran, Phung and Venkatesh 2011"
NO_WEIGHTS = "a whole subset is chosen at once, and its probability is not a product over its items."
SAMPLED = (
    "gradient: Σ_k ∂(mean of s over S − mean of s over S_k), averaged over the subsets S that {chain} visits in a few "
    "steps from S_k, the k-th set of equal labels; the loss is that difference of mean scores, not a likelihood; with "
    "a potential, log Φ_k(S) in place of the mean"
)
DIRECTION = one_of(
    "forward",
    "backward",
    default="forward",
    summary="whether the best subset is chosen first, or the worst is eliminated first, which is the model of −s",
    search_space=Choice(("forward", "backward")),
)
GEOMETRIC = "geometric"
POTENTIAL = Option(
    "'geometric' or a function",
    lambda value: callable(value) or (isinstance(value, str) and value == GEOMETRIC),
    GEOMETRIC,
    "worth Φ_k(S) of a subset: e^(mean score), or f(scores, k) = log Φ_k and its derivative, of subsets of one size "
    "along the last axis, at the stage k, which is 1 for the first choice",
)
START = one_of(
    "observed",
    "random",
    default="observed",
    summary="the subset at which a chain starts: that of the labels, or one drawn at random",
)
CHAINS = integer(1, default=1, summary="number of chains over which the gradient is averaged")


def _with_constants(lists: Lists, *, direction: str) -> Floats:
    """log P with the constants log(C_k n_k), C_k = (2^{N_k} − 1) / N_k, that the loss leaves out."""
    return log_probability(lists, "arithmetic", direction)


def _on_device(lists: DeviceLists, *, direction: str) -> DeviceEvaluation:
    return evaluate_grades(_turned(lists, direction), CHOICE)


def _turned(lists: DeviceLists, direction: str) -> DeviceLists:
    if direction == "forward":
        return lists
    return lists._replace(scores=-lists.scores, labels=-lists.labels, factor=-lists.factor)


def _exact_on_device(lists: DeviceLists, *, potential: Any, direction: str) -> DeviceEvaluation:
    if potential != GEOMETRIC or lists.longest > LONGEST:
        return NotImplemented
    return _kernels_of(lists).exact_lists(_turned(lists, direction))


def _sampled_on_device(lists: DeviceLists, *, potential: Any, direction: str, **settings: Any) -> DeviceEvaluation:
    if potential != GEOMETRIC or lists.longest > LONGEST_ON_GPU:
        return NotImplemented
    return _kernels_of(lists).sampled_lists(_turned(lists, direction), **settings)


def _kernels_of(lists: DeviceLists) -> Any:
    return device_kernels("subset_choice", lists.scores.device.type)


@record(
    "pmop-fd",
    family=FAMILY,
    formula="Σ_k (lse(R_k) − lse(S_k)), R_k = S_k ∪ … ∪ S_K, S_1 … S_K the sets of equal labels; worth of a subset = "
    "mean of e^s",
    paper=f"{PAPER}, full decomposition",
    cost="n log n",
    option_specs={"direction": DIRECTION},
    hessian=True,
    log_probability=_with_constants,
    device_lists=_on_device,
    item_weights=False,
    no_item_weights=NO_WEIGHTS,
)
def pmop_fd(lists: Lists, *, direction: str) -> Evaluation:
    """Negative log-likelihood of successive subset choices; the worth of a subset is the mean worth of its items.

    Use it for graded labels where the items of a grade are chosen together. It is the fastest of the models of
    ordered partitions.
    """
    return arithmetic_choice(lists, direction)


@record(
    "pmop-exact",
    family=FAMILY,
    formula="Σ_k log(Σ_{∅ ≠ S ⊆ R_k} e^{mean of s over S}) − mean of s over S_k, R_k = S_k ∪ … ∪ S_K, S_1 … S_K "
    "the sets of equal labels; lists of at most 500 observed items; with a potential, log Φ_k(S) in place of the mean",
    paper=f"{PAPER}, general model; normalizer by elementary symmetric polynomials",
    cost="n³",
    option_specs={"potential": POTENTIAL, "direction": DIRECTION},
    loss_is_log_probability=True,
    uses_ties=True,
    device_lists=_exact_on_device,
    item_weights=False,
    no_item_weights=NO_WEIGHTS,
)
def pmop_exact(lists: Lists, *, potential: Any, direction: str) -> Evaluation:
    """Exact negative log-likelihood of successive subset choices; the worth of a subset is e^(mean score).

    Use it for graded labels in short lists, for a potential of your own, and to check the sampled versions. Longer
    lists need pmop-gibbs, pmop-mh or pmop-fd. A potential is a function, of which all subsets of at most 15 items are
    enumerated; with a method log_sum(scores, k), the logarithm of the sum over all subsets and its derivative, lists
    may have any length.
    """
    if potential == GEOMETRIC:
        return geometric_choice(lists, direction)
    return potential_choice(lists, potential, direction)


def _sampled(lists: Lists, potential: Any, **settings: Any) -> Evaluation:
    return sampled_choice(lists, potential=None if potential == GEOMETRIC else potential, **settings)


@record(
    "pmop-gibbs",
    family=FAMILY,
    formula=SAMPLED.format(chain="Gibbs sampling"),
    paper=f"{PAPER}, Algorithm 1",
    cost="n · grades · steps · chains",
    option_specs={
        "steps": integer(1, default=1, summary="Gibbs sweeps over the remaining items at each stage"),
        "chains": CHAINS,
        "start": START,
        "potential": POTENTIAL,
        "direction": DIRECTION,
    },
    random=True,
    uses_ties=True,
    device_lists=_sampled_on_device,
    item_weights=False,
    no_item_weights=NO_WEIGHTS,
    gradient_only=True,
)
def pmop_gibbs(lists: Lists, **options: Any) -> Evaluation:
    """Gradient of pmop-exact, estimated by a few Gibbs sweeps from the observed subset, for lists of any length.

    Use it instead of pmop-exact for long lists. The gradient is noisy, and biased because the chains do not start in
    the model: more chains reduce the noise, and more steps the bias.
    """
    return _sampled(lists, **options)


@record(
    "pmop-mh",
    family=FAMILY,
    formula=SAMPLED.format(chain="a Metropolis-Hastings chain"),
    paper=f"{PAPER}, Algorithm 1",
    cost="n · grades · steps · chains",
    option_specs={
        "steps": integer(1, default=3, summary="number of proposals at each stage"),
        "chains": CHAINS,
        "start": START,
        "potential": POTENTIAL,
        "corrected": boolean(
            default=True,
            summary="use the acceptance probability whose limit is the model; False: as published, whose limit differs",
        ),
        "direction": DIRECTION,
    },
    random=True,
    uses_ties=True,
    device_lists=partial(_sampled_on_device, gibbs=False),
    item_weights=False,
    no_item_weights=NO_WEIGHTS,
    gradient_only=True,
)
def pmop_mh(lists: Lists, **options: Any) -> Evaluation:
    """Gradient of pmop-exact, estimated by a few Metropolis-Hastings steps from the observed subset.

    Use it instead of pmop-exact for long lists, and to reproduce the paper; pmop-gibbs is the alternative.
    """
    return _sampled(lists, gibbs=False, **options)
