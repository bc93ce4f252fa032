"""The Plackett-Luce likelihoods."""

from luce.kernels.ordered_likelihood import ordered_likelihood
from luce.kernels.partition_likelihood import partition_likelihood
from luce.objectives.objective import Evaluation, Lists, record
from luce.objectives.options import between, whole

FAMILY = "Plackett-Luce likelihood"


@record(
    "listmle",
    family=FAMILY,
    formula="Σ_{j ≤ K} lse(C_j) − s_(j), C_j = the items from place j on in the order of the labels",
    paper="Xia et al. 2008; Lan et al. 2014; PLRank 2019 (l-ListMLE: depth 10)",
    choices={
        "depth": whole(None, 1, "how many places of the order count; None = all"),
        "permutations": whole(1, 1, "over how many shuffles of equal labels to average"),
    },
    random=True,
)
def listmle(lists: Lists, *, depth: int | None, permutations: int) -> Evaluation:
    """Minus the log-likelihood of the order that the labels give, equal labels in a seeded random order."""
    loss, gradient = ordered_likelihood(
        lists.scores,
        lists.labels,
        lists.offsets,
        depth=depth,
        permutations=permutations,
        item_weights=lists.item_weights,
        draw=lists.draw,
        n_jobs=lists.n_jobs,
    )
    return Evaluation(loss, gradient)


@record(
    "pl-partition",
    family=FAMILY,
    formula="−Σ_{m<M} log P(S_m > R_{m+1}), P(S > R) = ∫ e^{−t} Π_{i∈S} (1 − e^{−t a_i}) dt, a_i = e^{s_i − lse(R)}",
    paper="Ma et al. 2020",
    choices={"tolerance": between(1e-9, 1e-14, 1e-3, "largest error of a log-probability")},
    curvature=True,
    item_weights=False,
    no_item_weights="the likelihood of a set is one number, not a sum over its items.",
)
def pl_partition(lists: Lists, *, tolerance: float) -> Evaluation:
    """Minus the exact log-likelihood of the ordered grades, the order inside a grade being unknown."""
    return Evaluation(
        *partition_likelihood(
            lists.scores,
            lists.labels,
            lists.offsets,
            tolerance=tolerance,
            curvature=lists.curvature,
            n_jobs=lists.n_jobs,
        )
    )
