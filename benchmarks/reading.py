"""How fast is LETOR text read and in how much memory, and how soon is the stored form open?

python benchmarks/reading.py

Makes text of the shape of MSLR-WEB30K (136 features, all of them written) in a temporary folder; needs 2 GB there.
"""

import argparse
import json
import math
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

FEATURES, LIST_LENGTH, ROWS_MADE = 136, 120, 5_000


def make_text(path: Path, megabytes: float = math.inf, n_rows: float = math.inf, seed: int = 0) -> int:
    """Write text of about this size, return its number of rows: the same few thousand rows under new query ids."""
    tails = _rows(np.random.default_rng(seed))
    labels = np.random.default_rng(seed).choice(5, ROWS_MADE, p=[0.52, 0.32, 0.13, 0.02, 0.01]).tolist()
    rows = size = 0
    with open(path, "w") as file:
        while size < megabytes * 1_000_000 and rows < n_rows:
            block = [
                f"{label} qid:{(rows + number) // LIST_LENGTH} {tail}\n"
                for number, (label, tail) in enumerate(zip(labels, tails, strict=True))
            ]
            size += file.write("".join(block))
            rows += ROWS_MADE
    return rows


def _rows(chance: np.random.Generator) -> list[str]:
    """Features as in MSLR: a third zero, a third counts, a third reals with six decimals."""
    kinds = chance.permutation(FEATURES) % 3
    columns = []
    for column, kind in enumerate(kinds, 1):
        counts = np.floor(chance.lognormal(1 + kind, 1.5, ROWS_MADE)).astype(int).astype(str)
        reals = np.char.mod("%.6f", chance.gamma(0.7, 8, ROWS_MADE))
        values = np.where(chance.random(ROWS_MADE) < (0.75, 0.25, 0.1)[kind], "0", counts if kind < 2 else reals)
        columns.append(np.char.add(f"{column}:", values))
    return [" ".join(row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def best_time(action: Callable[[], Any], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return min(times)


def show_speed(path: Path, rows: int, repeats: int) -> None:
    from sklearn.datasets import load_svmlight_file

    from luce.data.letor import read_letor

    part = path.with_name("part.txt")
    n_part = rows // 10
    with open(path, "rb") as whole, open(part, "wb") as head:
        head.writelines(next(whole) for _ in range(n_part))
    theirs = n_part / best_time(lambda: load_svmlight_file(str(part), query_id=True), repeats)
    print(f"scikit-learn load_svmlight_file {theirs:12,.0f} rows/s   (first {n_part:,} rows)")
    read_letor(part)  # compiled now
    for threads in (1, 2):
        ours = rows / best_time(lambda threads=threads: read_letor(path, n_jobs=threads), repeats)
        print(f"luce, n_jobs={threads}                  {ours:12,.0f} rows/s   {ours / theirs:.1f} ×")


def show_memory(path: Path) -> None:
    command = [sys.executable, __file__, "--measure-memory", str(path)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    above, arrays = (found["peak"] - found["baseline"]) / 1e6, found["arrays"] / 1e6
    print(f"peak memory above the import baseline {above:,.0f} MB, arrays {arrays:,.0f} MB: {above / arrays:.2f} ×")


def highest_memory() -> int:
    """The most bytes this process ever had in memory; getrusage would count those of the process that started it."""
    status = Path("/proc/self/status")
    if status.exists():
        return 1024 * int(status.read_text().partition("VmHWM:")[2].split()[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS


def measure_memory(path: Path) -> None:
    """In a process of its own: the most memory used before and after reading a file."""
    from luce.data.letor import read_letor

    tiny = path.with_name("tiny.txt")
    tiny.write_text("1 qid:1 1:0.5 2:1\n")
    read_letor(tiny, n_jobs=2)
    baseline = highest_memory()
    data = read_letor(path, n_jobs=2)
    peak = highest_memory()
    arrays = data.features.nbytes + data.labels.nbytes + data.offsets.nbytes + data.query_ids.nbytes
    print(json.dumps({"baseline": baseline, "peak": peak, "arrays": arrays}))


def show_opening(text: Path) -> None:
    from luce.data.letor import read_letor
    from luce.data.memory_mapped import read_mapped, write_mapped

    path = text.with_suffix(".luce-data")
    write_mapped(read_letor(text), path)
    started = time.perf_counter()
    data = read_mapped(path)
    opened = time.perf_counter() - started
    np.sum(data.features[data.rows(0)])
    used = time.perf_counter() - started
    size = path.stat().st_size / 1e6
    print(f"stored form, {size:,.0f} MB: open in {opened * 1e3:.2f} ms; first list read after {used * 1e3:.2f} ms")
    path.unlink()


def show_machine() -> None:
    model = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), model)
    packages = ", ".join(f"{name} {version(name)}" for name in ("luce", "numpy", "numba", "pyarrow", "scikit-learn"))
    print(f"{model}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}, {packages}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=120, help="size of the text for the speed (default 120)")
    parser.add_argument("--memory-megabytes", type=int, default=1000, help="of the text for the memory (default 1000)")
    parser.add_argument("--repeats", type=int, default=5, help="the best of so many runs counts (default 5)")
    parser.add_argument("--measure-memory", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure_memory:
        measure_memory(options.measure_memory)
        return
    show_machine()
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder) / "small.txt", Path(folder) / "large.txt"
        rows = make_text(small, options.megabytes)
        print(f"\n{small.stat().st_size / 1e6:,.0f} MB of text, {rows:,} rows, best of {options.repeats}")
        show_speed(small, rows, options.repeats)
        rows = make_text(large, options.memory_megabytes)
        print(f"\n{large.stat().st_size / 1e6:,.0f} MB of text, {rows:,} rows")
        show_memory(large)
        print()
        show_opening(small)
        show_opening(large)


if __name__ == "__main__":
    main()
