"""How well do Luce's rankers rank by default, compared with their former defaults, LightGBM, XGBoost and CatBoost?

All lists of a dataset are pooled. A rotation carves them anew into five parts and tests each part once: three parts
train, one stops training early by its NDCG@10, one is tested. The seed of training is the number of the rotation. The
peers have our number of trees, learning rate and early stopping, at two tree sizes, and at ours also bagged as our
trees are. `--tune N` adds rows for the best of N draws of leaves and learning rate by the validation lists, the same
draws for every system. Measured are the NDCG@10 of each test list with a relevant item, and the CPU seconds of a fit.

    python benchmarks/quality.py --data DIR --jobs 16 --cache quality.jsonl
    python benchmarks/quality.py --data DIR --quick              # one fold of one rotation, few rounds

Results are appended to the cache, from which an interrupted run resumes; those of other settings, data or versions are
computed again. Standard errors are explained in quality_statistics.py.
"""

import argparse
import dataclasses
import json
import math
import multiprocessing
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from luce.data import Dataset, concatenate, parts, read, rotations
from luce.data.fingerprint import fingerprint
from luce.data.splits import Fold
from luce.experiments.peers import PEERS, is_installed
from measuring import show_machine
from quality_report import show
from quality_statistics import Results
from quality_systems import System, all_systems, ndcg

FILES = {
    "mq2008": [f"S{part}.txt" for part in range(1, 6)],
    "mslr-sample": ["train.txt", "test.txt"],
    "lightgbm-rank": ["rank.train", "rank.test"],
}
READ_OPTIONS: dict[str, dict[str, Any]] = {"lightgbm-rank": {"n_features": 301}}
N_FOLDS = 5
ONE_THREAD = ("LUCE_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")


class Task(NamedTuple):
    """One system, fitted to one fold."""

    dataset: str
    rotation: int
    fold: int
    seed: int
    system: System

    @property
    def key(self) -> str:
        return f"{self.dataset} | rotation {self.rotation} | fold {self.fold} | seed {self.seed} | {self.system.name}"


class Record(NamedTuple):
    """The NDCG@10 of the test lists, which are numbered as in the pool, and the CPU seconds of the fit."""

    lists: list[int]
    values: list[float | None]
    cpu_seconds: float


@lru_cache
def load(folder: Path, name: str) -> Dataset:
    """All lists of a dataset; their ids are their numbers."""
    files = [folder / name / file for file in FILES[name]]
    pool = concatenate([read(file, **READ_OPTIONS.get(name, {})) for file in files])
    return dataclasses.replace(pool, query_ids=np.arange(pool.n_lists))


@lru_cache(maxsize=len(FILES))
def folds(folder: Path, name: str, rotation: int) -> list[Fold]:
    return list(rotations(parts(load(folder, name), N_FOLDS, seed=rotation)))


def evaluate(folder: Path, task: Task, deadline: float) -> Record | None:
    """Fit and test; None after the deadline."""
    if time.time() > deadline:
        return None
    train, validation, test = folds(folder, task.dataset, task.rotation)[task.fold]
    start = time.process_time()
    ranker = task.system.fitted(train, validation, task.seed)
    cpu_seconds = time.process_time() - start
    values = [None if math.isnan(value) else round(value, 6) for value in ndcg(ranker, test).tolist()]
    return Record(test.query_ids.to_pylist(), values, round(cpu_seconds, 3))


def warm_up(folder: Path, names: Iterable[str], systems: Iterable[System]) -> None:
    """Compile or load what every system needs, so that no fit that is measured has to."""
    for name in names:
        pool = load(folder, name)
        relevant = np.flatnonzero(np.maximum.reduceat(pool.labels, pool.offsets[:-1]) > 0)
        few = pool.take(relevant[:20])
        for system in systems:
            if system.n_fits == 1:
                system.quick().fitted(few, few, 0).predict(few)


class Cache:
    """Records by key and settings, as JSON lines in a file if one is given."""

    def __init__(self, path: Path | None):
        self.path = path
        self.records: dict[tuple[str, str], Record] = {}
        text = path.read_text() if path is not None and path.exists() else ""
        for line in text.splitlines():
            try:
                row = json.loads(line)
            except json.JSONDecodeError:  # cut off by an interruption
                continue
            place = row.pop("key"), row.pop("settings")
            self.records[place] = Record(**row)
        if text and not text.endswith("\n"):
            self._write("\n")

    def add(self, key: str, settings: str, record: Record) -> None:
        self.records[key, settings] = record
        self._write(json.dumps({"key": key, "settings": settings, **record._asdict()}) + "\n")

    def _write(self, text: str) -> None:
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(text)


def all_tasks(options: argparse.Namespace, systems: Sequence[System]) -> list[Task]:
    """Rotation after rotation; within one, the longest first."""
    return [
        Task(name, rotation, fold, seed, system)
        for rotation in options.rotations
        for system in sorted(systems, key=lambda one: -one.n_fits)
        for name in options.datasets
        for fold in range(1 if options.quick else N_FOLDS)
        for seed in options.seeds or [rotation]
    ]


def run(options: argparse.Namespace, systems: Sequence[System], tasks: Sequence[Task]) -> dict[Task, Record]:
    """The records of the tasks, as many as there is time for."""
    cache = Cache(options.cache)
    data = {name: fingerprint(load(options.data, name)) for name in options.datasets}
    settings = {system.name: system.settings() for system in systems}
    places = {task: (task.key, f"{data[task.dataset]} {settings[task.system.name]}") for task in tasks}
    pending = [task for task in tasks if places[task] not in cache.records]
    print(f"{len(tasks) - len(pending)} of {len(tasks)} fits are in the cache", file=sys.stderr)
    for task, record in _in_processes(options, systems, pending):
        cache.add(*places[task], record)
    return {task: cache.records[place] for task, place in places.items() if place in cache.records}


def _in_processes(
    options: argparse.Namespace, systems: Sequence[System], tasks: Sequence[Task]
) -> Iterator[tuple[Task, Record]]:
    if not tasks:
        return
    os.environ |= dict.fromkeys(ONE_THREAD, "1")  # for the processes, before they import anything
    start, setting = time.time(), (options.data, options.datasets, systems)
    print("compiling", file=sys.stderr)
    warm_up(*setting)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(options.jobs, context, warm_up, setting) as pool:
        futures = {pool.submit(evaluate, options.data, task, start + 60 * options.minutes): task for task in tasks}
        try:
            for done, future in enumerate(as_completed(futures), 1):
                task, record = futures[future], future.result()
                if record is not None:
                    minutes = (time.time() - start) / 60
                    line = f"{done}/{len(tasks)}, {minutes:.1f} min: {task.key}, {record.cpu_seconds:.1f} s"
                    print(line, file=sys.stderr, flush=True)
                    yield task, record
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def complete(tasks: Iterable[Task], done: dict[Task, Record]) -> list[Task]:
    """The tasks of the rotations that are complete; if none is, those of the systems complete in the first."""
    tasks = list(tasks)
    missing = [task for task in tasks if task not in done]
    unfinished = {task.rotation for task in missing}
    if finished := [task for task in tasks if task.rotation not in unfinished]:
        return finished
    first = tasks[0].rotation
    left_out = {task.system.name for task in missing if task.rotation == first}
    return [task for task in tasks if task.rotation == first and task.system.name not in left_out]


def collect(tasks: Sequence[Task], done: dict[Task, Record], n_lists: dict[str, int]) -> Results:
    """The values of each list in each rotation, averaged over seeds."""
    places = {rotation: i for i, rotation in enumerate(dict.fromkeys(task.rotation for task in tasks))}
    n_seeds = len({(task.rotation, task.seed) for task in tasks}) / len(places)
    results: Results = {name: {} for name in n_lists}
    for task in tasks:
        empty = np.full((n_lists[task.dataset], len(places)), np.nan)
        values = results[task.dataset].setdefault(task.system.name, empty)
        column, record = values[:, places[task.rotation]], done[task]
        new = np.array(record.values, dtype=np.float64) / n_seeds
        column[record.lists] = np.where(np.isnan(column[record.lists]), 0.0, column[record.lists]) + new
    return results


def cpu_seconds(tasks: Iterable[Task], done: dict[Task, Record]) -> dict[str, dict[str, float]]:
    """The median over the fits of a system, by dataset and system."""
    seconds: dict[str, dict[str, list[float]]] = {}
    for task in tasks:
        seconds.setdefault(task.dataset, {}).setdefault(task.system.name, []).append(done[task].cpu_seconds)
    return {name: {system: float(np.median(each)) for system, each in own.items()} for name, own in seconds.items()}


def parsed() -> argparse.Namespace:
    def numbers(text: str) -> list[int]:
        return [int(word) for word in text.split(",")]

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with mq2008, mslr-sample and lightgbm-rank")
    parser.add_argument("--datasets", type=lambda text: text.split(","), default=list(FILES), help="some of the three")
    parser.add_argument("--rotations", type=numbers, default=[0, 1, 2], help="comma-separated (default 0,1,2)")
    parser.add_argument("--seeds", type=numbers, help="of training, in each rotation (default: the rotation's number)")
    parser.add_argument("--tune", type=int, default=0, metavar="N", help="draws of the tuned rows (default: none)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    parser.add_argument("--cache", type=Path, help="file of finished fits, to resume from")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no fit after so long")
    parser.add_argument("--quick", action="store_true", help="one fold of one rotation, few rounds")
    options = parser.parse_args()
    if options.quick:
        options.rotations = options.rotations[:1]
    return options


def main() -> None:
    options = parsed()
    installed = [name for name in PEERS if is_installed(name)]
    show_machine("luce", "numpy", *dict.fromkeys(PEERS[name].packages[0] for name in installed))
    if len(installed) < len(PEERS):
        print(f"Not installed, and left out: {', '.join(name for name in PEERS if name not in installed)}.")
    systems = [one.quick() if options.quick else one for one in all_systems(options.tune)]
    tasks = all_tasks(options, systems)
    done = run(options, systems, tasks)
    reported = complete(tasks, done)
    shown = {task.rotation for task in reported}
    print(f"{len(done)} of {len(tasks)} fits are done; the tables are of {len(reported)}, rotations {sorted(shown)}.")
    if reported:
        n_lists = {name: load(options.data, name).n_lists for name in options.datasets}
        show(collect(reported, done, n_lists), cpu_seconds(reported, done))


if __name__ == "__main__":
    main()
