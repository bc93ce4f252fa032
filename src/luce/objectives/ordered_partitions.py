"""Ordered partitions as successive choices of subsets: equal labels are an outcome with a probability of its own."""

from luce.arrays import Floats
from luce.kernels.subset_choice import arithmetic_choice, geometric_choice, log_probability, sampled_choice
from luce.lists import Evaluation, Lists
from luce.objectives.base import record
from luce.options import Choice, boolean, integer, one_of

FAMILY = "ordered partitions"
PAPER = "Tran, Phung and Venkatesh 2011"
NO_WEIGHTS = "a whole subset is chosen at once, and its probability is not a product over its items."
SAMPLED = (
    "gradient: Σ_k ∂(mean of s over S − mean of s over S_k), averaged over the subsets S that {chain} visits in a few "
    "steps from S_k, the k-th set of equal labels; the loss is that difference of mean scores, not a likelihood"
)
DIRECTION = one_of(
    "forward",
    "backward",
    default="forward",
    summary="whether the best subset is chosen first, or the worst is eliminated first, which is the model of −s",
    search_space=Choice(("forward", "backward")),
)
CHAINS = integer(1, default=1, summary="number of chains over which the gradient is averaged")


def _with_constants(lists: Lists, *, direction: str) -> Floats:
    """log P with the constants log(C_k n_k), C_k = (2^{N_k} − 1) / N_k, that the loss leaves out."""
    return log_probability(lists, "arithmetic", direction)


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
    "the sets of equal labels; lists of at most 500 observed items",
    paper=f"{PAPER}, general model; normalizer by elementary symmetric polynomials",
    cost="n³",
    option_specs={"direction": DIRECTION},
    loss_is_log_probability=True,
    uses_ties=True,
    item_weights=False,
    no_item_weights=NO_WEIGHTS,
)
def pmop_exact(lists: Lists, *, direction: str) -> Evaluation:
    """Exact negative log-likelihood of successive subset choices; the worth of a subset is e^(mean score).

    Use it for graded labels in short lists, and to check the sampled versions. Longer lists need pmop-gibbs,
    pmop-mh or pmop-fd.
    """
    return geometric_choice(lists, direction)


@record(
    "pmop-gibbs",
    family=FAMILY,
    formula=SAMPLED.format(chain="Gibbs sampling"),
    paper=f"{PAPER}, Algorithm 1",
    cost="n · grades · steps · chains",
    option_specs={
        "steps": integer(1, default=1, summary="Gibbs sweeps over the remaining items at each stage"),
        "chains": CHAINS,
        "direction": DIRECTION,
    },
    random=True,
    uses_ties=True,
    item_weights=False,
    no_item_weights=NO_WEIGHTS,
    gradient_only=True,
)
def pmop_gibbs(lists: Lists, *, steps: int, chains: int, direction: str) -> Evaluation:
    """Gradient of pmop-exact, estimated by a few Gibbs sweeps from the observed subset, for lists of any length.

    Use it instead of pmop-exact for long lists. The gradient is noisy, and biased because the chains start at the
    observed subset: more chains reduce the noise, and more steps the bias.
    """
    return sampled_choice(lists, steps=steps, chains=chains, direction=direction)


@record(
    "pmop-mh",
    family=FAMILY,
    formula=SAMPLED.format(chain="a Metropolis-Hastings chain"),
    paper=f"{PAPER}, Algorithm 1",
    cost="n · grades · steps · chains",
    option_specs={
        "steps": integer(1, default=3, summary="number of proposals at each stage"),
        "chains": CHAINS,
        "corrected": boolean(
            default=True,
            summary="use the acceptance probability whose limit is the model; False: as published, whose limit differs",
        ),
        "direction": DIRECTION,
    },
    random=True,
    uses_ties=True,
    item_weights=False,
    no_item_weights=NO_WEIGHTS,
    gradient_only=True,
)
def pmop_mh(lists: Lists, *, steps: int, chains: int, corrected: bool, direction: str) -> Evaluation:
    """Gradient of pmop-exact, estimated by a few Metropolis-Hastings steps from the observed subset.

    Use it instead of pmop-exact for long lists, and to reproduce the paper; pmop-gibbs is the alternative.
    """
    return sampled_choice(lists, gibbs=False, corrected=corrected, steps=steps, chains=chains, direction=direction)
