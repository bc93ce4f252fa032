"""Cross-entropies between a distribution made of the labels and the softmax of the scores."""

from luce.kernels.cross_entropy import cross_entropy, softmax
from luce.objectives.objective import Evaluation, Lists, record


@record(
    "listnet",
    family="softmax",
    formula="−Σ_i softmax(y)_i log softmax(s)_i",
    paper="Cao et al. 2007, top-one form; Lan et al. 2014",
    uses_ties=True,
)
def listnet(lists: Lists) -> Evaluation:
    """Cross-entropy of the top-one probabilities that labels and scores give."""
    targets = softmax(lists.labels, lists.offsets, n_jobs=lists.n_jobs)
    if lists.item_weights is not None:
        targets *= lists.item_weights
    return Evaluation(*cross_entropy(lists.scores, targets, lists.offsets, n_jobs=lists.n_jobs))
