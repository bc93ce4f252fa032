"""How much memory do two ranks take to train on data of many gigabytes, and `luce rank` to rank them?

Synthetic lists are written as Parquet files and put together by `luce convert`. Then two processes that torchrun
starts train each kind of ranker for a few iterations, and `luce rank` ranks the Parquet files. Memory is the highest
anonymous memory of a process, which the mapped file is no part of.

    python benchmarks/large_data.py --folder /tmp/large --gigabytes 12
"""

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from measuring import show_machine

FEATURES, LENGTH, LISTS = 136, 100, 2_500
TRAININGS = {
    "linear": ["max_iter=3"],
    "neural": ["epochs=1", "validation_fraction=none"],
    "trees": ["n_estimators=3", "validation_fraction=none"],
}
INTERVAL = 0.1


def write_part(path: Path, number: int) -> None:
    """Lists whose grades follow from a sum of features that is the same in all parts."""
    rng = np.random.default_rng(number)
    features = rng.normal(size=(LISTS * LENGTH, FEATURES)).astype(np.float32)
    quality = features @ np.random.default_rng(0).normal(size=FEATURES) + rng.normal(0, 5, len(features))
    columns = {
        "query": np.repeat(np.arange(LISTS) + number * LISTS, LENGTH),
        "label": np.digitize(quality, (5, 12, 20)).astype(np.float32),
        **{f"f{number}": column for number, column in enumerate(features.T)},
    }
    pq.write_table(pa.table(columns), path, compression="none", use_dictionary=False)


def memory_of(command: list[str], name: str) -> tuple[float, float]:
    """The largest anonymous memory in GB of a process of Luce that a command starts, and seconds."""
    start, largest = time.perf_counter(), 0.0
    running = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while running.poll() is None:
        largest = max([largest, *map(_anonymous, Path("/proc").glob("[0-9]*"))])
        time.sleep(INTERVAL)
    if running.returncode:
        raise SystemExit(f"{name} failed:\n{running.communicate()[0]}")
    return largest / 1e9, time.perf_counter() - start


def _anonymous(process: Path) -> float:
    try:
        if b"luce" not in (process / "cmdline").read_bytes().split(b"\0"):
            return 0.0
        status = (process / "status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return 1024.0 * int(status.partition("RssAnon:")[2].split()[0]) if "RssAnon:" in status else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="for the data; needs twice their size")
    parser.add_argument("--gigabytes", type=float, default=12)
    options = parser.parse_args()
    show_machine("torch", "lightgbm")
    n_parts = round(options.gigabytes * 1e9 / (4 * FEATURES * LISTS * LENGTH))
    parts, mapped, model = options.folder / "parts", options.folder / "all.luce-data", options.folder / "model.luce"
    parts.mkdir(parents=True, exist_ok=True)
    for number in range(n_parts):
        if not (part := parts / f"{number:05}.parquet").exists():
            write_part(part, number)
    size = sum(part.stat().st_size for part in parts.iterdir())
    print(f"{n_parts} Parquet files, {n_parts * LISTS * LENGTH:,} rows of {FEATURES} features, {size / 1e9:.3g} GB")

    def report(name: str, command: list[str]) -> None:
        memory, seconds = memory_of(command, name)
        print(f"{name:24}{memory:8.2f} GB{seconds:9.0f} s", flush=True)

    print(f"{'':24}{'anonymous':>11}{'time':>11}")
    report("luce convert", ["-m", "luce", "convert", str(parts), str(mapped)])
    for name, settings in TRAININGS.items():
        train = ["-m", "luce", "train", str(mapped), "--model", name, "--overwrite", "-o", str(model)]
        words = [word for setting in settings for word in ("--set", setting)]
        launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
        report(f"train {name}, a rank", [*launch, *train, *words])
    report("luce rank", ["-m", "luce", "rank", str(model), str(parts), "-o", str(options.folder / "ranked.parquet")])
    shutil.rmtree(options.folder)


if __name__ == "__main__":
    main()
