"""How a reproduction is run: its settings, its progress, and its points, computed in processes and resumed."""

import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from luce.threads import thread_count
from papers.checkpoint import Checkpoint

Settings = Mapping[str, Any]
"""Of one point: what tells it from the others, in words and numbers that JSON can hold."""


def _silent(share: float, words: str = "") -> None:
    pass


@dataclass
class Run:
    """How to run a reproduction, and the checkpoint of its finished points.

    Attributes:
        name: of the reproduction.
        data: folder with the public data; None: synthetic data.
        quick: fewer seeds, points and steps: minutes on two cores.
        seed: the first; a reproduction of several seeds counts on from it.
        n_jobs: processes or threads; None: all cores.
        keep: file of finished points; a run that finds them there resumes from them.
        tell: hears the share done, from 0 to 1, and words.
    """

    name: str
    data: Path | None = None
    quick: bool = False
    seed: int = 0
    n_jobs: int | None = None
    keep: str | os.PathLike[str] | None = None
    tell: Callable[[float, str], None] = _silent
    checkpoint: Checkpoint = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.checkpoint = Checkpoint(self.name, self.keep)

    def points(
        self,
        compute: Callable[..., Any],
        settings: Sequence[Settings],
        *,
        effort: Callable[[Settings], float] = lambda _: 1.0,
        span: tuple[float, float] = (0.0, 1.0),
        processes: int | None = 1,
        fresh: bool = False,
        **given: Any,
    ) -> list[Any]:
        """The results of `compute(**settings, **given)` for each of the settings, in their order.

        A result must be what JSON can hold. Finished points are kept and not computed again: `settings` must say all
        that a result depends on, `given` holds the rest, such as a dataset or a number of threads. The `effort` of a
        point, in any unit, makes the time left honest; `span` is the part of the run that these points are.

        With `processes` = 1 the points run here, one after the other; else over a pool of processes (None: `n_jobs`),
        the longest first, and `compute` must be a function of a module. `fresh` gives each point a process of its own,
        one at a time, so that its time and its memory are its own.
        """
        efforts = [effort(each) for each in settings]
        left = [number for number, each in enumerate(settings) if self.checkpoint.get(each) is None]
        workers = 1 if fresh else thread_count(self.n_jobs) if processes is None else processes
        if workers > 1:
            left.sort(key=lambda number: -efforts[number])

        def told(words: str) -> None:
            share = 1 - sum(efforts[number] for number in sorted(left)) / max(sum(efforts), 1e-300)
            self.tell(span[0] + (span[1] - span[0]) * share, words)

        told(words_of(settings[left[0]]) if left else "")
        tasks = {number: partial(compute, **settings[number], **given) for number in left}
        for number, result in _in_turn(tasks) if workers == 1 and not fresh else _over_pool(tasks, workers, fresh):
            self.checkpoint.put(settings[number], result)
            left.remove(number)
            told(words_of(settings[number]))
        return [self.checkpoint.get(each) for each in settings]


def _in_turn(tasks: Mapping[int, Callable[[], Any]]) -> Iterator[tuple[int, Any]]:
    for number, task in tasks.items():
        yield number, task()


def _over_pool(tasks: Mapping[int, Callable[[], Any]], workers: int, fresh: bool) -> Iterator[tuple[int, Any]]:
    """The results as they come; where one fails or the run is stopped, those not begun are given up."""
    context = multiprocessing.get_context("spawn")  # threads and compiled code do not survive a fork
    pool = ProcessPoolExecutor(workers, mp_context=context, max_tasks_per_child=1 if fresh else None)
    try:
        waiting = {pool.submit(task): number for number, task in tasks.items()}
        for future in as_completed(waiting):
            yield waiting[future], future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def words_of(settings: Settings) -> str:
    """The settings of a point as progress tells them.

    >>> words_of({"method": "listmle", "items": 1000})
    'listmle, items 1,000'
    """
    scalars = {name: each for name, each in settings.items() if isinstance(each, str | int | float)}
    return ", ".join(each if isinstance(each, str) else f"{name} {each:,}" for name, each in scalars.items())
