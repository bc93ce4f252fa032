"""How a reproduction runs: its settings, its progress, and its points, computed in processes and cached."""

import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from luce.threads import thread_count
from papers.datasets import DatasetSpec
from papers.result_cache import ResultCache

Settings = Mapping[str, Any]
"""The settings of one point, serializable as JSON: the key of its result in the cache."""


def _no_progress(share: float, message: str = "") -> None:
    pass


@dataclass
class Run:
    """The settings of a reproduction, and the cache of its finished points.

    Attributes
    ----------
    name
        The name of the reproduction.
    data
        The folder of the public data; None for synthetic data.
    quick
        Whether to use fewer seeds, points and steps.
    seed
        The first seed; a reproduction with several uses those that follow.
    n_jobs
        The number of processes or threads; None for all cores.
    cache_path
        The file of finished points, from which an interrupted run resumes.
    on_progress
        Called with the share done, from 0 to 1, and a message.
    """

    name: str
    data: Path | None = None
    quick: bool = False
    seed: int = 0
    n_jobs: int | None = None
    cache_path: str | os.PathLike[str] | None = None
    on_progress: Callable[[float, str], None] = _no_progress
    cache: ResultCache = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.cache = ResultCache(self.name, self.cache_path)

    def points(
        self,
        compute: Callable[..., Any],
        settings: Sequence[Settings],
        *,
        effort: Callable[[Settings], float] = lambda _: 1.0,
        span: tuple[float, float] = (0.0, 1.0),
        processes: int | None = 1,
        isolated: bool = False,
        **common: Any,
    ) -> list[Any]:
        """The results of `compute(**settings, **common)` for each of the settings, in their order.

        Results are cached, and must be serializable as JSON. `settings` must hold everything that a result depends on,
        `common` the rest, such as a number of threads. The `effort` of a point, in any unit, is used to estimate the
        remaining time; `span` is the share of the whole run that these points take.

        With `processes` = 1 the points are computed in this process one after the other, else in a pool of processes
        (None: `n_jobs` of them), the longest first; `compute` must then be a function of a module. With `isolated` each
        point gets a new process, one at a time, so that its time and memory can be measured.
        """
        efforts = [effort(each) for each in settings]
        left = [number for number, each in enumerate(settings) if self.cache.get(each) is None]
        workers = 1 if isolated else thread_count(self.n_jobs) if processes is None else processes
        if workers > 1:
            left.sort(key=lambda number: -efforts[number])

        def report(message: str) -> None:
            share = 1 - sum(efforts[number] for number in sorted(left)) / max(sum(efforts), 1e-300)
            self.on_progress(span[0] + (span[1] - span[0]) * share, message)

        report(describe_point(settings[left[0]]) if left else "")
        calls = {number: partial(compute, **settings[number], **common) for number in left}
        in_pool = workers > 1 or isolated
        for number, result in _in_pool(calls, workers, isolated) if in_pool else _in_sequence(calls):
            self.cache.put(settings[number], result)
            left.remove(number)
            report(describe_point(settings[number]))
        return [self.cache.get(each) for each in settings]


def _in_sequence(calls: Mapping[int, Callable[[], Any]]) -> Iterator[tuple[int, Any]]:
    for number, call in calls.items():
        yield number, call()


def _in_pool(calls: Mapping[int, Callable[[], Any]], workers: int, isolated: bool) -> Iterator[tuple[int, Any]]:
    """The results as they complete; after an error or an interrupt the pending calls are cancelled."""
    context = multiprocessing.get_context("spawn")  # threads and compiled code do not survive a fork
    pool = ProcessPoolExecutor(workers, mp_context=context, max_tasks_per_child=1 if isolated else None)
    try:
        futures = {pool.submit(call): number for number, call in calls.items()}
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        pool.shutdown(cancel_futures=True)


def describe_point(settings: Settings) -> str:
    """The settings of a point as a progress message.

    >>> describe_point({"method": "listmle", "items": 1000})
    'listmle, items 1,000'
    """
    shown = {name: each for name, each in settings.items() if isinstance(each, str | int | float | DatasetSpec)}
    return ", ".join(
        str(each) if isinstance(each, str | DatasetSpec) else f"{name} {each:,}" for name, each in shown.items()
    )
