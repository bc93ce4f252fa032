"""How much memory do `luce evaluate`, `rank`, `convert` and `train` take as the data grow, from text and mapped?

python benchmarks/memory.py

Each command runs in a process of its own, after one on few rows that compiles. Its anonymous memory (RssAnon, Linux) is
sampled every 5 ms; pages of a mapped file are not part of it, since the system can evict them. The growth rate
is the growth of the peak from the smallest to the largest data, in units of the data: rows × features × 4 bytes.
Needs 7 GB in the temporary folder.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from measuring import show_machine
from reading import FEATURES, make_text

ROWS = 180_000, 710_000, 2_800_000
FEW = 5_000
KINDS = {
    "linear": ("--set", "max-iter=5"),
    "trees": ("--model", "trees", "--set", "n_estimators=5"),
    "neural": ("--model", "neural", "--set", "epochs=1"),
}
COMMANDS = {
    **{f"evaluate {kind}": ("evaluate", f"{kind}.luce", "{data}") for kind in KINDS},
    "rank linear": ("rank", "linear.luce", "{data}", "-o", "ranking.csv"),
    "convert": ("convert", "{data}", "converted.luce-data", "--overwrite"),
    **{
        f"train {kind}": ("train", "{data}", *KINDS[kind], "-o", "trained.luce", "--overwrite")
        for kind in ("linear", "trees")
    },
}


class ProcessCost(NamedTuple):
    """Bytes and seconds."""

    peak: int
    seconds: float


def cost_of(command: tuple[str, ...], data: Path) -> ProcessCost:
    """The peak anonymous memory and the time of a command of Luce on a file."""
    arguments = [word.format(data=data.name) for word in command]
    call = [sys.executable, "-c", "from luce.cli import main; main()", *arguments]
    peak, started = 0, time.perf_counter()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(call, cwd=data.parent, stdout=output, stderr=output)
        while process.poll() is None:
            status = Path(f"/proc/{process.pid}/status").read_text().partition("RssAnon:")[2]
            peak = max(peak, 1024 * int(status.split()[0]) if status else 0)  # none in its last moment
            time.sleep(0.005)
        if process.returncode:
            output.seek(0)
            raise SystemExit(f"luce {' '.join(arguments)} failed: {output.read()}")
    return ProcessCost(peak, time.perf_counter() - started)


def make_data(folder: Path, rows: int) -> dict[str, Path]:
    """The same synthetic data as text and mapped."""
    text = folder / f"{rows}.txt"
    make_text(text, n_rows=rows)
    mapped = text.with_suffix(".luce-data")
    cost_of(("convert", "{data}", mapped.name), text)
    return {"text": text, "mapped": mapped}


def show_costs(sizes: list[int], folder: Path) -> None:
    few = make_data(folder, FEW)["text"]
    for kind, settings in KINDS.items():
        cost_of(("train", "{data}", *settings, "-o", f"{kind}.luce"), few)
    data = [make_data(folder, rows) for rows in sizes]
    print(f"{'':32}{''.join(f'{rows:17,} rows' for rows in sizes)}    growth")
    print(f"{'data':32}{''.join(f'{4 * FEATURES * rows / 1e6:10,.0f} MB         ' for rows in sizes)}")
    for name, command in COMMANDS.items():
        cost_of(command, few)
        for form in data[0]:
            costs = [cost_of(command, one[form]) for one in data]
            growth = (costs[-1].peak - costs[0].peak) / (4 * FEATURES * (sizes[-1] - sizes[0]))
            cells = "".join(f"{cost.peak / 1e6:10,.0f} MB {cost.seconds:6.1f} s" for cost in costs)
            print(f"{name:22} {form:9}{cells} {growth:7.2f} ×", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS, help="sizes of the data, multiples of 5,000")
    options = parser.parse_args()
    show_machine("luce", "numpy", "numba", "pyarrow", "lightgbm", "torch")
    with tempfile.TemporaryDirectory() as folder:
        show_costs(sorted(options.rows), Path(folder))


if __name__ == "__main__":
    main()
