"""The Plackett-Luce likelihoods."""

from typing import Any

from luce.arrays import Floats, Integers
from luce.kernels.ordered_likelihood import ordered_likelihood
from luce.objectives.objective import at_least, record


@record(
    "listmle",
    formula="Σ_{j ≤ K} lse(C_j) − s_(j), C_j = the items from place j on in the order of the labels",
    paper="Xia et al. 2008; Lan et al. 2014; PLRank 2019 (l-ListMLE: depth 10)",
    choices={
        "depth": at_least(1, "how many places of the order count; None = all", None),
        "permutations": at_least(1, "over how many shuffles of equal labels to average", 1),
    },
    random=True,
    item_weights=True,
)
def listmle(scores: Floats, labels: Floats, offsets: Integers, **settings: Any) -> tuple[Floats, Floats]:
    """Minus the log-likelihood of the order that the labels give, equal labels in a seeded random order."""
    return ordered_likelihood(scores, labels, offsets, **settings)
