"""Cross-entropies between a distribution made of the labels and the softmax of the scores."""

import numpy as np

from luce.arrays import Floats
from luce.kernels.cross_entropy import cross_entropy, softmax
from luce.objectives.objective import Evaluation, Lists, record
from luce.objectives.targets import gain_targets


def _against(lists: Lists, targets: Floats) -> Evaluation:
    """Cross-entropy with these targets, each multiplied by the weight of its item."""
    if lists.item_weights is not None:
        targets = targets * lists.item_weights
    return Evaluation(
        *cross_entropy(lists.scores, targets, lists.offsets, curvature=lists.curvature, n_jobs=lists.n_jobs)
    )


@record(
    "listnet",
    family="softmax",
    formula="−Σ_i softmax(y)_i log softmax(s)_i",
    paper="Cao et al. 2007, top-one form; Lan et al. 2014",
    curvature=True,
    uses_ties=True,
)
def listnet(lists: Lists) -> Evaluation:
    """Cross-entropy of the top-one probabilities that labels and scores give."""
    return _against(lists, softmax(lists.labels, lists.offsets, n_jobs=lists.n_jobs))


@record(
    "attrank",
    family="softmax",
    formula="−Σ_i t_i log softmax(s)_i, t_i ∝ e^{y_i} where y_i > 0, else 0",
    paper="Ai et al. 2018; Ma et al. 2020",
    curvature=True,
    uses_ties=True,
)
def attrank(lists: Lists) -> Evaluation:
    """Cross-entropy with the attention that labels above zero give; lists without any give nothing."""
    relevant = np.where(lists.labels > 0, lists.labels, np.nan)
    targets = np.nan_to_num(softmax(relevant, lists.offsets, n_jobs=lists.n_jobs))
    return _against(lists, np.where(np.isnan(lists.labels), np.nan, targets))


@record(
    "kl",
    family="softmax",
    formula="−Σ_i (G_i / ΣG) log softmax(s)_i, G = 2^y − 1",
    paper="Ravikumar et al. 2011; PLRank 2019 (KLMART)",
    curvature=True,
    uses_ties=True,
)
def kl(lists: Lists) -> Evaluation:
    """Cross-entropy with the gains as a distribution; lists without gain give nothing."""
    return _against(lists, gain_targets(lists.labels, lists.offsets, "sum", lists.n_jobs))


@record(
    "c-kl",
    family="softmax",
    formula="−Σ_i (G_i / ‖G‖_D) log softmax(s)_i, ‖G‖_D = the ideal DCG of the list",
    paper="Ravikumar et al. 2011; PLRank 2019 (c-KLMART)",
    curvature=True,
    uses_ties=True,
)
def c_kl(lists: Lists) -> Evaluation:
    """Cross-entropy with the gains divided by the ideal DCG, which makes it consistent with NDCG."""
    return _against(lists, gain_targets(lists.labels, lists.offsets, "dcg", lists.n_jobs))
