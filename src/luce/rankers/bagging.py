"""Bagging: rankers fitted to random parts of the lists and features, whose mean is one ranker."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats, Integers, rows_of_lists
from luce.compilation import working_time
from luce.distributed import current_group, in_share, numbered, summed
from luce.rankers.checkpoint import Checkpoint
from luce.rankers.training_data import TrainingData

WORTH_A_PROCESS = 3.0
"""Seconds that a bag takes at least where the next ones are fitted in processes, which take about as long to start."""


class Bag(NamedTuple):
    """A ranker to fit, its lists and features, and its checkpoint; `held_out` replace the lists to validate on."""

    ranker: Any
    lists: Integers
    mask: NDArray[np.bool_]
    held_out: Integers | None
    checkpoint: Checkpoint | None

    def fit(self, training: TrainingData, callback: Any = None) -> Any:
        """The fitted ranker, which ignores the other features."""
        own = training.take(self.lists, self.held_out).masked(self.mask)
        self.ranker.train(own, callback=callback, checkpoint=self.checkpoint)
        self.ranker.ignore_features(~self.mask)
        return self.ranker


@dataclass
class Bagging:
    """Fits a ranker as the mean of bags drawn from the candidates, lists with something to learn from.

    Each bag is validated on the validation data, or without any on the judged lists outside of it, if there are some.
    """

    ranker: Any
    training: TrainingData
    candidates: Integers
    judged: Integers
    callback: Any
    checkpoint: Checkpoint | None

    def fit(self) -> Any:
        """Fit all bags; an interrupt keeps the mean of those that are fitted. Returns the lists they are scored on."""
        bags = self.draw()
        scores = BagScores(self.ranker, self.training, [bag.held_out for bag in bags])
        report = self.ranker.logged(self.callback)
        parts: list[Any] = []
        history: list[dict[str, float]] = []
        try:
            for part in self.fitted(bags):
                history.append({"iteration": len(parts) + 1, "loss": part.best_loss} | scores.add(part))
                parts.append(part)
                report({**history[-1], "iteration": len(parts) * part.iteration_limit})
        except KeyboardInterrupt:
            self.keep(parts, history)
            raise
        self.keep(parts, history)
        return scores.scored_lists

    def keep(self, parts: Sequence[Any], history: list[dict[str, float]]) -> None:
        """Make the ranker the mean of these parts."""
        if parts:
            self.ranker.combine(parts, np.full(len(parts), 1 / len(parts)))
            self.ranker.history_, self.ranker.best_iteration_ = history[: len(parts)], len(parts)

    def draw(self) -> list[Bag]:
        """The bags; each is drawn by its number, whatever the others."""
        ranker, width, seed = self.ranker, self.training.features.shape[1], self.ranker.get_seed()
        before, total = numbered(len(self.candidates))
        bags = []
        for place in range(ranker.n_bags):
            rng = np.random.default_rng((seed, 1, place))
            drawn = _share(rng, np.arange(total), ranker.max_samples)
            lists = np.sort(self.candidates[in_share(drawn, before, len(self.candidates))])
            mask = np.isin(np.arange(width), _share(rng, np.arange(width), ranker.max_features))
            own = ranker.unfitted_copy(n_bags=1, random_state=int(rng.integers(2**31)))
            checkpoint = None if self.checkpoint is None else self.checkpoint.numbered(place)
            bags.append(Bag(own, lists, mask, None, checkpoint))
        outside = [np.setdiff1d(self.judged, bag.lists) for bag in bags]
        if not summed([len(lists) for lists in outside]).all():
            return bags
        return [bag._replace(held_out=lists) for bag, lists in zip(bags, outside, strict=True)]

    def fitted(self, bags: Sequence[Bag]) -> Iterator[Any]:
        """The fitted ranker of each bag, in order; once one took long, the rest are fitted in processes."""
        processes = self.ranker.n_processes if current_group() is None else 1
        for place, bag in enumerate(bags):
            start = working_time()
            part = bag.fit(self.training, self.counted(place * bag.ranker.iteration_limit))
            took_long = working_time() - start >= WORTH_A_PROCESS
            yield part
            if took_long and processes > 1:
                yield from self.fitted_in_processes(bags[place + 1 :], processes)
                return

    def fitted_in_processes(self, bags: Sequence[Bag], processes: int) -> Iterator[Any]:
        """The same with several bags at a time, which share the threads; callbacks do not reach into processes."""
        from joblib import Parallel, delayed

        used = max(1, min(processes, len(bags)))
        for bag in bags:
            bag.ranker.n_jobs = processes // used
        yield from Parallel(used, return_as="generator")(delayed(bag.fit)(self.training) for bag in bags)

    def counted(self, before: int) -> Any:
        """The callback, with so many iterations counted before those of a bag."""

        def report(record: dict[str, float]) -> None:
            self.callback({**record, "iteration": record["iteration"] + before})

        return None if self.callback is None else report


def _share(rng: np.random.Generator, numbers: Integers, share: float) -> Integers:
    """A random share of the numbers, at least one of them."""
    return rng.permutation(numbers)[: max(1, round(share * len(numbers)))]


class BagScores:
    """The validation score of the mean of the bags so far; without validation data, of each list by the bags that it
    is outside of."""

    def __init__(self, ranker: Any, training: TrainingData, held_out: Sequence[Integers | None]):
        self.ranker, self.held_out = ranker, iter(held_out)
        self.lists, self.features = training.validation, training.validation_features
        if held_out[0] is not None:
            self.lists, self.features = training.dataset, training.features
        self.sums: Floats | float = 0.0
        self.counts = np.zeros(0 if self.lists is None else self.lists.n_lists)

    @property
    def scored_lists(self) -> Any:
        """The lists that count in the score."""
        return None if self.lists is None else self.lists.take(np.flatnonzero(self.counts))

    def add(self, part: Any) -> dict[str, float]:
        """Count in the next bag; the score as an entry of a record, or nothing without lists to validate on."""
        held_out = next(self.held_out)
        if self.lists is None:
            return {}
        scored = np.arange(self.lists.n_lists) if held_out is None else held_out
        rows, some = rows_of_lists(self.lists.offsets, scored), self.lists.take(scored)
        outputs = part.compute_outputs(self.features[rows], some.offsets)
        added = np.zeros((self.lists.n_rows, *outputs.shape[1:]))
        added[rows] = outputs
        self.sums = self.sums + added
        self.counts[scored] += 1
        return {"validation": self._score(self.sums, np.flatnonzero(self.counts))}

    def _score(self, sums: Floats, lists: Integers) -> float:
        """The score of the mean outputs of these lists."""
        rows, some = rows_of_lists(self.lists.offsets, lists), self.lists.take(lists)
        counts = np.repeat(self.counts[lists], some.sizes)
        outputs: Floats = sums[rows] / counts.reshape(-1, *[1] * (sums.ndim - 1))
        score: float = self.ranker.validation_score(self.ranker.combine_outputs(outputs), some)
        return score
