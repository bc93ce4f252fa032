"""What a combination of settings is worth: its ranker fitted on each fold, given up early where it falls behind."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from luce.arrays import Integers
from luce.data.splits import parts
from luce.rankers.ranker import Ranker
from luce.rankers.search_space import with_settings

SPAN = 1_000_000
"""Steps of a fold; its last stands for its end."""
REPORTS, FEWEST = 4, 5
"""A trial is held against others after each fold; one of a single fit when it has done a quarter of its iterations,
half and three quarters; and against no fewer than five. More looks, or fewer others, would give up what is no worse."""


class Numbered(NamedTuple):
    """The numbers of lists, which are split as the lists are."""

    lists: Integers

    @property
    def n_lists(self) -> int:
        return len(self.lists)

    def take(self, lists: Integers) -> "Numbered":
        return Numbered(self.lists[lists])


Watch = Callable[[int, float, float, bool], None]
"""Told the fold, the share of its iterations, the mean of the metric so far, and whether the fold has ended."""


@dataclass(frozen=True)
class Judge:
    """Judges settings of a ranker by the metric on lists that the fit has not seen: of folds, or of validation data."""

    ranker: Ranker
    data: Any
    validation: Any
    n_folds: int
    seed: int

    def folds(self) -> Iterator[tuple[Any, Any]]:
        """What to learn from and what judges it, in turn; made when it is its turn, so that one is in memory."""
        if self.validation is not None:
            yield self.data, self.validation
            return
        held_out = [part.lists for part in parts(Numbered(np.arange(self.data.n_lists)), self.n_folds, self.seed)]
        for turn in held_out:
            rest = np.setdiff1d(np.arange(self.data.n_lists), turn)
            yield self.data.take(rest), self.data.take(turn)

    @property
    def n_fits(self) -> int:
        return self.n_folds if self.validation is None else 1

    def figures(self, settings: Mapping[str, Any], watch: Watch) -> tuple[list[float], list[int]]:
        """The metric of each fold and the best iteration of each."""
        values: list[float] = []
        iterations: list[int] = []
        better = max if self.ranker.get_metric().higher_is_better else min
        for number, (train, held_out) in enumerate(self.folds()):
            ranker = with_settings(self.ranker, settings)
            seen: list[float] = []

            def after(record: dict[str, float], number: int = number, ranker: Any = ranker, seen: Any = seen) -> None:
                if "validation" in record:
                    seen.append(better([record["validation"], *seen[-1:]]))
                share = record["iteration"] / ranker.iteration_limit
                watch(number, share, float(np.mean([*values, *seen[-1:]])) if seen else np.nan, False)

            ranker.fit(train, validation=held_out, callback=after)
            score = ranker.score(held_out)
            values.append(score if self.ranker.get_metric().higher_is_better else -score)
            iterations.append(int(ranker.best_iteration_))
            watch(number, 1.0, float(np.mean(values)), True)
        return values, iterations

    def fitted(self, settings: Mapping[str, Any], rounds: int, callback: Any = None) -> Ranker:
        """The ranker of these settings: stopped by the validation data, or on all lists for so many iterations."""
        ranker = with_settings(self.ranker, settings)
        if self.validation is not None:
            return ranker.fit(self.data, validation=self.validation, callback=callback)
        return ranker.set_params(**{ranker.max_iter_param: rounds}).fit(self.data, callback=callback)


def step_of(fold: int, share: float, ended: bool) -> int:
    """The step of a point of a trial, the same for all trials; the first of a fold is no step yet.

    >>> step_of(0, 0.2, False), step_of(0, 0.6, False), step_of(1, 0.3, False), step_of(1, 0.5, True)
    (0, 2, 1000001, 1999999)
    """
    return fold * SPAN + (SPAN - 1 if ended else int(share * REPORTS))


def falls_behind(value: float, step: int, others: Iterable[Mapping[int, float]], higher_is_better: bool) -> bool:
    """Whether three in four of the other trials that came so far had reached more by this step.

    >>> quick, slow = {1: 0.5, 2: 0.5, 3: 0.5}, {1: 0.3, 2: 0.4, 3: 0.6}
    >>> [falls_behind(0.45, step, others, True) for step in (1, 3) for others in ([quick] * 5 + [slow], [slow])]
    [True, False, True, False]
    """
    reached = [found for found in (_reached(reports, step) for reports in others) if found is not None]
    if len(reached) < FEWEST:
        return False
    return bool(value < np.quantile(reached, 0.25) if higher_is_better else value > np.quantile(reached, 0.75))


def _reached(reports: Mapping[int, float], step: int) -> float | None:
    """What a trial had reached in the same fold by a step; None where it did not come so far."""
    if step > max(reports, default=-1):
        return None
    steps: Sequence[int] = [each for each in reports if step - step % SPAN <= each <= step]
    return reports[max(steps)] if steps else None
