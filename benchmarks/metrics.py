"""How fast are the metrics: NDCG@10 of a million rows against a loop over scikit-learn; the cost of a first evaluation.

python benchmarks/metrics.py
"""

import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
from sklearn.metrics import ndcg_score

import luce
from luce.data.synthetic import web_search

ROWS, SAMPLE = 1_000_000, 300


def make_lists() -> tuple[np.ndarray, luce.Dataset]:
    """Lists of 80 to 160 items, grades 0 to 4 as skewed as those of web search, scores correlated with them."""
    rng = np.random.default_rng(0)
    ends = np.cumsum(rng.integers(80, 161, size=ROWS // 80))
    offsets = np.concatenate([[0], ends[ends < ROWS - 80], [ROWS]])
    labels = rng.choice(5, p=[0.5, 0.3, 0.13, 0.05, 0.02], size=ROWS).astype(np.float64)
    return rng.normal(size=ROWS) + 0.3 * labels, luce.Dataset(np.zeros((ROWS, 1), np.float32), labels, offsets)


def best_of(times: int, work) -> float:
    """The shortest of several runs, after one that compiles."""
    work()
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def compare_with_scikit_learn() -> None:
    scores, data = make_lists()
    lists = np.linspace(0, data.n_lists - 1, SAMPLE).astype(int)
    gains = 2**data.labels - 1
    pairs = [(gains[None, data.rows(q)], scores[None, data.rows(q)]) for q in lists]
    theirs = [ndcg_score(y, s, k=10) for y, s in pairs]
    ours = luce.evaluate(scores, data, "ndcg@10").values["ndcg@10"][lists]
    print(f"{data.n_rows:,} rows, {data.n_lists:,} lists, NDCG@10")
    show(f"largest difference on {SAMPLE} lists", f"{np.abs(ours - theirs).max():.1e}")
    loop = best_of(3, lambda: [ndcg_score(y, s, k=10) for y, s in pairs]) / SAMPLE * data.n_lists
    show(f"loop over sklearn.metrics.ndcg_score, scaled from {SAMPLE} lists", f"{loop:.3f} s")
    for threads in (1, 2):
        for kind, resamples in (("without intervals", 0), ("with intervals", 1000)):
            settings = {"n_bootstrap": resamples, "n_jobs": threads}
            seconds = best_of(7, lambda given=settings: luce.evaluate(scores, data, "ndcg@10", **given))
            show(f"luce.evaluate n_jobs={threads}, {kind}", f"{seconds:.3f} s", f"{loop / seconds:.0f} ×")


def show(label: str, *values: str) -> None:
    print(f"  {label:62}", *(f"{value:>10}" for value in values))


def in_new_process(code: str) -> float:
    """The number that a new interpreter prints."""
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def time_the_start() -> None:
    print("a new process")
    imports = "import time; start = time.perf_counter(); import {}; print(time.perf_counter() - start)"
    for module in ("numpy", "luce"):
        seconds = statistics.median(in_new_process(imports.format(module)) for _ in range(7))
        show(f"import {module}", f"{seconds:.4f} s")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = web_search(20, n_features=10, mean_length=20).dataset
        luce.write(data, folder / "test.txt")
        luce.LinearRanker().fit(data).save(folder / "model.luce")
        command = [Path(sys.executable).parent / "luce", "evaluate", folder / "model.luce", folder / "test.txt"]
        for state in ("nothing compiled yet", "compiled kernels cached"):
            start = time.perf_counter()
            environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache")}
            subprocess.run(command, check=True, capture_output=True, env=environment)
            show(f"first luce evaluate MODEL DATA, {state}", f"{time.perf_counter() - start:.3f} s")


if __name__ == "__main__":
    packages = ("luce", "numpy", "numba", "scikit-learn")
    print(", ".join(f"{name} {version(name)}" for name in packages), f"Python {platform.python_version()}", sep=", ")
    print(f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}\n")
    compare_with_scikit_learn()
    time_the_start()
