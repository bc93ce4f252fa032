"""Distances between the scores and what the labels say they should be, and the cosine of their angle."""

import numpy as np

from luce.arrays import Floats
from luce.kernels.distances import cosine as cosine_distance
from luce.kernels.distances import squared
from luce.objectives.objective import Evaluation, Lists, record
from luce.objectives.targets import gain_targets, plain_gains, unit_labels

WHOLE_LIST = "the cosine is a property of the whole list, not a sum over its items."


def _angle(lists: Lists, targets: Floats) -> Evaluation:
    return Evaluation(*cosine_distance(lists.scores, targets, lists.offsets, n_jobs=lists.n_jobs))


def _square(lists: Lists, targets: Floats) -> Evaluation:
    loss, gradient = squared(lists.scores, targets, lists.offsets, lists.item_weights, n_jobs=lists.n_jobs)
    if not lists.curvature:
        return Evaluation(loss, gradient)
    weights = np.ones(len(targets)) if lists.item_weights is None else lists.item_weights
    return Evaluation(loss, gradient, np.where(np.isnan(targets), 0.0, 2 * weights))


@record(
    "rankcosine",
    family="cosine",
    formula="½ (1 − ⟨y, s⟩ / (‖y‖ ‖s‖)); ½ where s = 0",
    paper="Qin et al. 2008; Lan et al. 2014",
    uses_ties=True,
    item_weights=False,
    no_item_weights=WHOLE_LIST,
    shift_invariant=False,
)
def rankcosine(lists: Lists) -> Evaluation:
    """The angle between labels and scores."""
    return _angle(lists, unit_labels(lists.labels, lists.offsets, lists.n_jobs))


@record(
    "cosine",
    family="cosine",
    formula="½ (1 − ⟨G, s⟩ / (‖G‖₂ ‖s‖₂)), G = 2^y − 1; ½ where s = 0",
    paper="Ravikumar et al. 2011; PLRank 2019 (CosMART)",
    uses_ties=True,
    item_weights=False,
    no_item_weights=WHOLE_LIST,
    shift_invariant=False,
)
def cosine(lists: Lists) -> Evaluation:
    """The angle between gains and scores; lists without gain give nothing."""
    return _angle(lists, gain_targets(lists.labels, lists.offsets, "length", lists.n_jobs))


@record(
    "c-cosine",
    family="cosine",
    formula="½ (1 − ⟨G, s⟩ / (‖G‖_D ‖s‖₂)), ‖G‖_D = the ideal DCG of the list; ½ where s = 0",
    paper="Ravikumar et al. 2011; PLRank 2019 (c-CosMART)",
    uses_ties=True,
    item_weights=False,
    no_item_weights=WHOLE_LIST,
    shift_invariant=False,
)
def c_cosine(lists: Lists) -> Evaluation:
    """The cosine with the gains divided by the ideal DCG, which makes it consistent with NDCG."""
    return _angle(lists, gain_targets(lists.labels, lists.offsets, "dcg", lists.n_jobs))


@record(
    "squared-gain",
    family="pointwise",
    formula="Σ_i (s_i − (2^{y_i} − 1))²",
    paper="PLRank 2019, Eq. 11 (MART-1)",
    curvature=True,
    uses_ties=True,
    pointwise=True,
    shift_invariant=False,
)
def squared_gain(lists: Lists) -> Evaluation:
    """Regression on the gains."""
    return _square(lists, plain_gains(lists.labels))


@record(
    "squared-label",
    family="pointwise",
    formula="Σ_i (s_i − y_i)²",
    paper="PLRank 2019, Eq. 12 (MART-2)",
    curvature=True,
    uses_ties=True,
    pointwise=True,
    shift_invariant=False,
)
def squared_label(lists: Lists) -> Evaluation:
    """Regression on the labels."""
    return _square(lists, lists.labels)


@record(
    "c-squared",
    family="listwise regression",
    formula="Σ_i (s_i − G_i / ‖G‖_D)², G = 2^y − 1, ‖G‖_D = the ideal DCG of the list",
    paper="Ravikumar et al. 2011; PLRank 2019, Eq. 10 (c-MART-1)",
    curvature=True,
    uses_ties=True,
    pointwise=True,
    shift_invariant=False,
)
def c_squared(lists: Lists) -> Evaluation:
    """Regression on the gains divided by the ideal DCG, consistent with NDCG; lists without gain give nothing."""
    return _square(lists, gain_targets(lists.labels, lists.offsets, "dcg", lists.n_jobs))
