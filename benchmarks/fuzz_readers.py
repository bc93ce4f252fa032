"""Does every mutated file either read or give a LuceError? `python benchmarks/fuzz_readers.py --count 20000`

A signal, a hang, memory beyond a bound or any other exception is "other": the file is saved and the exit status is 1.
"""

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from fuzzing.process import MutantRange, fuzz
from fuzzing.readers import READERS
from measuring import show_machine


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=20_000, help="mutants of each reader")
    parser.add_argument("--first", type=int, default=0, help="number of the first mutant")
    parser.add_argument("--readers", nargs="+", choices=READERS, default=list(READERS), metavar="NAME")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--failures", type=Path, default=Path("fuzz-failures"), help="folder for the files that failed")
    options = parser.parse_args()
    ranges = [MutantRange(name, options.first, options.count) for name in options.readers]
    shares = [ranges[number :: options.processes] for number in range(min(options.processes, len(ranges)))]
    started = time.perf_counter()
    with ThreadPoolExecutor(len(shares)) as pool:
        results = list(pool.map(partial(fuzz, failures=options.failures), shares))
    counts = {name: each for counted in results for name, each in counted.items()}
    show_machine("luce", "numpy", "pyarrow", "safetensors", "optuna")
    print(f"\n{'reader':20}{'mutants':>10}{'read':>10}{'refused':>10}{'other':>10}")
    for name in options.readers:
        show(name, counts[name])
    total = sum(counts.values(), Counter())
    show("all", total)
    print(f"{time.perf_counter() - started:,.0f} s")
    return 1 if total["other"] else 0


def show(name: str, counted: Counter[str]) -> None:
    values = [counted.total(), *(counted[word] for word in ("read", "refused", "other"))]
    print(f"{name:20}" + "".join(f"{value:10,}" for value in values))


if __name__ == "__main__":
    sys.exit(main())
