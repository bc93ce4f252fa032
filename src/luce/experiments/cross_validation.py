"""Cross-validation of one combination of parameters: a fit and a score for each fold, and the refit of the best."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Integers
from luce.data.splits import parts
from luce.rankers.ranker import Ranker
from luce.rankers.search_space import with_settings

OnStep = Callable[[int, float, float], None]
"""Called after each iteration with the fold, the fraction of its iterations that is done, 1.0 at its end alone, and the
mean of the metric over the folds so far, of this one by its best iteration."""


class ListNumbers(NamedTuple):
    """The numbers of lists, split as the lists would be, without a copy of the data."""

    numbers: Integers

    @property
    def n_lists(self) -> int:
        return len(self.numbers)

    def take(self, lists: Integers) -> "ListNumbers":
        return ListNumbers(self.numbers[lists])


@dataclass(frozen=True)
class CrossValidation:
    """Scores parameters of a ranker on lists that the fit has not seen: of each fold, or of validation data."""

    ranker: Ranker
    data: Any
    validation: Any
    n_folds: int
    seed: int

    @property
    def n_fits(self) -> int:
        return self.n_folds if self.validation is None else 1

    def splits(self) -> Iterator[tuple[Any, Any]]:
        """Training and held-out data of each fold, one fold at a time in memory."""
        if self.validation is not None:
            yield self.data, self.validation
            return
        everything = np.arange(self.data.n_lists)
        for held_out in parts(ListNumbers(everything), self.n_folds, self.seed):
            yield self.data.take(np.setdiff1d(everything, held_out.numbers)), self.data.take(held_out.numbers)

    def scores(self, params: Mapping[str, Any], on_step: OnStep) -> tuple[list[float], list[int]]:
        """The metric and the best iteration of each fold."""
        higher_is_better = self.ranker.get_metric().higher_is_better
        scores: list[float] = []
        iterations: list[int] = []
        for fold, (train, held_out) in enumerate(self.splits()):
            ranker = with_settings(self.ranker, params)
            best: list[float] = []

            def callback(record: dict[str, float], fold: int = fold, ranker: Any = ranker, best: Any = best) -> None:
                if "validation" in record:
                    best[:] = [(max if higher_is_better else min)([record["validation"], *best])]
                fraction = min(record["iteration"] / ranker.iteration_limit, 1 - 1e-9)
                on_step(fold, fraction, float(np.mean([*scores, *best])) if best else np.nan)

            ranker.fit(train, validation=held_out, callback=callback)
            score = ranker.score(held_out)
            scores.append(score if higher_is_better else -score)
            iterations.append(int(ranker.best_iteration_))
            on_step(fold, 1.0, float(np.mean(scores)))
        return scores, iterations

    def refit(self, params: Mapping[str, Any], n_iterations: int, callback: Any = None) -> Ranker:
        """The ranker fitted on the data: stopped early by the validation data, or for this many iterations."""
        ranker = with_settings(self.ranker, params)
        if self.validation is not None or ranker.n_bags > 1:
            return ranker.fit(self.data, validation=self.validation, callback=callback)
        params = {ranker.max_iter_param: n_iterations}
        if ranker.validation_fraction is not None:
            params["validation_fraction"] = None
        return ranker.set_params(**params).fit(self.data, callback=callback)
