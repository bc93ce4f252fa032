"""Fits on some of the lists: bags whose rankers are averaged, or a part held out to choose the number of iterations."""

from typing import Any

import numpy as np

from luce.arrays import Integers
from luce.distributed import in_share, numbered, summed, together
from luce.errors import MachineError
from luce.options import integer, number, or_none
from luce.rankers.bagging import Bagging
from luce.rankers.checkpoint import Checkpoint
from luce.rankers.training_data import TrainingData

FEWEST = 10
"""Lists with something to learn from below which none are held out."""
BAGGING = {
    "n_bags": integer(1),
    "max_samples": number(above=0, high=1),
    "max_features": number(above=0, high=1),
}
VALIDATION_FRACTION = or_none(number(above=0, below=1))


@together()
def fit_resampled(ranker: Any, training: TrainingData, callback: Any, checkpoint: Any, **more: Any) -> Any:
    """Train a ranker: as bags, with a part of the lists held out, or on all of them as they are.

    `more` goes to its method `train`. Returns the lists that its validation score is measured on, if there is one.
    """
    if checkpoint is not None and not isinstance(checkpoint, Checkpoint):
        checkpoint = Checkpoint(checkpoint)
    has_signal = ranker.informative_lists(training.dataset)
    judged = np.zeros(0, dtype=np.int64)
    fraction = None if ranker.get_objective().beyond_relevance else ranker.validation_fraction
    if training.validation is None and fraction is not None:
        judged = np.flatnonzero(has_signal & ranker.measurable_lists(training.dataset))
    if ranker.n_bags > 1 and summed(np.count_nonzero(has_signal)):
        return Bagging(ranker, training, np.flatnonzero(has_signal), judged, callback, checkpoint).fit()
    if summed(len(judged)) >= FEWEST:
        return _fit_held_out(ranker, training, judged, callback, checkpoint, more)
    ranker.train(training, callback=callback, checkpoint=checkpoint, **more)
    return training.validation


def _fit_held_out(
    ranker: Any, training: TrainingData, judged: Integers, callback: Any, checkpoint: Checkpoint | None, more: Any
) -> Any:
    """Hold out some of the judged lists to choose the number of iterations by, then train on all for as many."""
    seed, (before, total) = ranker.get_seed(), numbered(len(judged))
    size = min(max(1, round(ranker.validation_fraction * total)), total - 1)
    chosen = np.sort(np.random.default_rng((seed, 0)).permutation(total)[:size])
    held_out = judged[in_share(chosen, before, len(judged))]
    others = np.setdiff1d(np.arange(training.dataset.n_lists), held_out)
    search = ranker.unfitted_copy(random_state=seed)
    first = None if checkpoint is None else checkpoint.numbered(0)
    searched = training.take(others, held_out)
    try:
        search.train(searched, callback=callback, checkpoint=first, **more)
        final = search.unfitted_copy(**search.found_params())
        final.train(training, callback=callback, checkpoint=checkpoint, **more)
    except (KeyboardInterrupt, MachineError):
        if hasattr(search, "history_"):
            ranker.take_over(search)
        raise
    ranker.take_over(final)
    ranker.history_ = search.history_
    return searched.validation
