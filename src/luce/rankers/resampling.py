"""Fits on some of the lists: bags whose rankers are averaged, or a part held out to choose the number of iterations."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from luce.arrays import Floats, Integers, rows_of_lists
from luce.data import Dataset
from luce.options import integer, number, or_none
from luce.rankers.checkpoint import Checkpoint
from luce.threads import thread_count

FEWEST = 10
"""Lists with something to learn from below which none are held out."""
WORTH_A_PROCESS = 3.0
"""Seconds that a bag takes at least where the others are fitted in processes, which take about as long to start."""
BAGGING = {
    "n_bags": integer(1),
    "max_samples": number(above=0, high=1),
    "max_features": number(above=0, high=1),
}
VALIDATION_FRACTION = or_none(number(above=0, below=1))


class TrainingData(NamedTuple):
    """The lists to learn from and those to validate on, if any, each with its transformed features."""

    dataset: Any
    features: Any
    validation: Any
    validation_features: Any

    def take(self, lists: Integers, rest: Integers | None = None) -> "TrainingData":
        """Some of the lists to learn from; to validate on the given ones, or the rest."""
        judged = (self.validation, self.validation_features) if rest is None else self._some(rest)
        return TrainingData(*self._some(lists), *judged)

    def _some(self, lists: Integers) -> tuple[Any, Any]:
        some = self.dataset.take(lists)
        if self.features is self.dataset.features:
            return some, some.features
        rows = rows_of_lists(self.dataset.offsets, lists) if isinstance(self.dataset, Dataset) else lists
        return some, self.features[rows]

    def masked(self, mask: NDArray[np.bool_]) -> "TrainingData":
        """The same with features outside the mask set to zero; of data that nobody else holds."""
        return (
            self
            if mask.all()
            else self._replace(
                features=_masked(self.features, mask),
                validation_features=None if self.validation is None else _masked(self.validation_features, mask),
            )
        )


def _masked(features: Any, mask: NDArray[np.bool_]) -> Any:
    if sparse.issparse(features):
        return (features @ sparse.diags_array(mask.astype(features.dtype))).tocsr()
    return np.where(mask, features, features.dtype.type(0))


def fit_resampled(ranker: Any, training: TrainingData, callback: Any, checkpoint: Any, **more: Any) -> None:
    """Train a ranker: as bags, with a part of the lists held out, or on all of them as they are.

    `more` goes to its method `train`.
    """
    informative = np.flatnonzero(ranker.informative_lists(training.dataset))
    if checkpoint is not None and not isinstance(checkpoint, Checkpoint):
        checkpoint = Checkpoint(checkpoint)
    if ranker.n_bags > 1 and len(informative):
        _Bagging(ranker, training, informative, callback, checkpoint, more).fit()
    elif training.validation is None and ranker.validation_fraction is not None and len(informative) >= FEWEST:
        _HoldOut(ranker, training, informative, callback, checkpoint, more).fit()
    else:
        ranker.train(training, callback=callback, checkpoint=checkpoint, **more)


@dataclass
class _Resampling:
    """A ranker to fit to some of the lists, drawn from those with something to learn from."""

    ranker: Any
    training: TrainingData
    informative: Integers
    callback: Any
    checkpoint: Checkpoint | None
    more: dict[str, Any]

    def shuffled(self, rng: np.random.Generator, share: float) -> Integers:
        """A share of the informative lists, at least one."""
        chosen = rng.permutation(self.informative)[: max(1, round(share * len(self.informative)))]
        return np.sort(chosen)

    def numbered(self, place: int) -> Checkpoint | None:
        return None if self.checkpoint is None else self.checkpoint.numbered(place)


class _HoldOut(_Resampling):
    """The number of iterations is chosen by lists that are held out, then all lists are trained on for as many."""

    def fit(self) -> None:
        seed = self.ranker.get_seed()
        held_out = self.shuffled(np.random.default_rng((seed, 0)), self.ranker.validation_fraction)
        others = np.setdiff1d(np.arange(self.training.dataset.n_lists), held_out)
        search = self.ranker.unfitted_copy(random_state=seed)
        try:
            part = self.training.take(others, held_out)
            search.train(part, callback=self.callback, checkpoint=self.numbered(0), **self.more)
            fitted = {"callback": self.callback, "checkpoint": self.checkpoint, "like": search}
            self.ranker.train(self.training, **fitted, **self.more)
        except KeyboardInterrupt:
            if hasattr(search, "history_"):
                self.ranker.take_over(search)
            raise
        self.ranker.history_, self.ranker.best_iteration_ = search.history_, search.best_iteration_


class _Bag(NamedTuple):
    """A ranker to fit, on which lists and features, and its checkpoint; `rest` to validate on, if not what is given."""

    ranker: Any
    lists: Integers
    mask: NDArray[np.bool_]
    rest: Integers | None
    checkpoint: Checkpoint | None

    def fit(self, training: TrainingData, callback: Any = None) -> Any:
        """The fitted ranker, which ignores the other features."""
        own = training.take(self.lists, self.rest).masked(self.mask)
        self.ranker.train(own, callback=callback, checkpoint=self.checkpoint)
        self.ranker.ignore_features(~self.mask)
        return self.ranker


class _Bagging(_Resampling):
    """A ranker is fitted to each of several random parts of the lists and features, and their mean is kept."""

    def fit(self) -> None:
        ranker, bags = self.ranker, list(self.draw())
        validation = _BagValidation(ranker, self.training, [bag.rest for bag in bags])
        report = ranker.logged(self.callback)
        parts: list[Any] = []
        history: list[dict[str, float]] = []
        try:
            for part in self.fitted(bags):
                parts.append(part)
                history.append({"iteration": len(parts), "loss": part.best_loss} | validation.add(part))
                report({**history[-1], "iteration": len(parts) * part.iteration_limit})
        finally:  # an interrupt keeps those that are fitted
            if parts:
                ranker.combine(parts, np.full(len(parts), 1 / len(parts)))
                ranker.history_, ranker.best_iteration_ = history, len(parts)

    def draw(self) -> Iterator[_Bag]:
        ranker, width, seed = self.ranker, self.training.features.shape[1], self.ranker.get_seed()
        for place in range(ranker.n_bags):
            rng = np.random.default_rng((seed, 1, place))
            lists = self.shuffled(rng, ranker.max_samples)
            mask = np.zeros(width, dtype=bool)
            mask[rng.permutation(width)[: max(1, round(ranker.max_features * width))]] = True
            rest = np.setdiff1d(self.informative, lists)
            out_of_bag = self.training.validation is None and ranker.validation_fraction is not None and len(rest) > 0
            own = ranker.unfitted_copy(n_bags=1, random_state=int(rng.integers(2**31)))
            yield _Bag(own, lists, mask, rest if out_of_bag else None, self.numbered(place))

    def fitted(self, bags: Sequence[_Bag]) -> Iterator[Any]:
        """The fitted ranker of each: of the first, and where that took long, of the others in their own processes."""
        start = time.perf_counter()
        yield bags[0].fit(self.training, self.counted(bags, 0))
        threads, others = thread_count(self.ranker.n_jobs), bags[1:]
        if threads == 1 or time.perf_counter() - start < WORTH_A_PROCESS:
            for place, bag in enumerate(others, 1):
                yield bag.fit(self.training, self.counted(bags, place))
            return
        from joblib import Parallel, delayed

        processes = min(threads, len(others))
        for bag in others:
            bag.ranker.n_jobs = max(1, threads // processes)
        yield from Parallel(processes, return_as="generator")(delayed(bag.fit)(self.training) for bag in others)

    def counted(self, bags: Sequence[_Bag], place: int) -> Any:
        """The callback, with iterations counted over all bags."""

        def report(record: dict[str, float]) -> None:
            self.callback({**record, "iteration": record["iteration"] + place * bags[place].ranker.iteration_limit})

        return None if self.callback is None else report


class _BagValidation:
    """The validation score of the mean of the bags so far; without validation data, of each list by the bags that it
    was not in."""

    def __init__(self, ranker: Any, training: TrainingData, rests: Sequence[Integers | None]):
        self.ranker, self.training, self.rests = ranker, training, rests
        out_of_bag = rests[0] is not None
        self.lists = training.dataset if out_of_bag else training.validation
        self.features = training.features if out_of_bag else training.validation_features
        n_rows, n_lists = (0, 0) if self.lists is None else (self.lists.n_rows, self.lists.n_lists)
        self.sums, self.counts, self.seen = np.zeros(n_rows), np.zeros(n_rows), np.zeros(n_lists, dtype=bool)
        self.done = 0

    def add(self, part: Any) -> dict[str, float]:
        """Count in the scores of the next bag; the score as an entry of a record, or nothing without such lists."""
        if self.lists is None:
            return {}
        rest, self.done = self.rests[self.done], self.done + 1
        lists = np.arange(self.lists.n_lists) if rest is None else rest
        rows, some = rows_of_lists(self.lists.offsets, lists), self.lists.take(lists)
        self.sums[rows] += part.compute_scores(self.features[rows], some.offsets)
        self.counts[rows] += 1
        self.seen[lists] = True
        seen = np.flatnonzero(self.seen)
        rows = rows_of_lists(self.lists.offsets, seen)
        scores: Floats = self.sums[rows] / self.counts[rows]
        return {"validation": self.ranker.validation_score(scores, self.lists.take(seen))}
