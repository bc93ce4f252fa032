"""The logistic loss of each item alone: binary cross-entropy."""

from luce.kernels.logistic import cpu
from luce.lists import Evaluation, Lists, evaluate_kernel
from luce.objectives.objective import record


@record(
    "bce",
    family="pointwise",
    formula="Σ_i log(1 + e^{s_i}) − [y_i > 0] s_i",
    paper="logistic regression; the standard loss of multi-label networks",
    cost="n",
    curvature=True,
    uses_ties=True,
    pointwise=True,
    shift_invariant=False,
)
def bce(lists: Lists) -> Evaluation:
    """Binary cross-entropy of the relevance (label > 0) of each item, independent of the rest of the list."""
    return evaluate_kernel(cpu.logistic, lists, lists.weights)
