"""Cross-entropies between a distribution made of the labels and the softmax of the scores."""

from typing import Any

from luce.arrays import Floats, Integers
from luce.kernels.cross_entropy import cross_entropy, softmax
from luce.objectives.objective import record


@record(
    "listnet",
    formula="−Σ_i softmax(y)_i log softmax(s)_i",
    paper="Cao et al. 2007, top-one form; Lan et al. 2014",
    uses_ties=True,
    item_weights=True,
)
def listnet(
    scores: Floats, labels: Floats, offsets: Integers, *, item_weights: Floats | None, draw: Any, n_jobs: int | None
) -> tuple[Floats, Floats]:
    """Cross-entropy of the top-one probabilities that labels and scores give."""
    targets = softmax(labels, offsets, n_jobs=n_jobs)
    if item_weights is not None:
        targets *= item_weights
    return cross_entropy(scores, targets, offsets, n_jobs=n_jobs)
