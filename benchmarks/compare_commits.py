"""The figures of one benchmark at two commits, side by side.

python benchmarks/compare_commits.py main~5 main objectives.py --quick

Each commit is checked out into a temporary folder (a folder may be given instead of a commit) and runs its own version
of the script with this interpreter, by turns, after a first run that compiles the kernels and is not counted. Lines
that differ in nothing but their numbers are paired, in the order in which they appear. For every number the median of
the repeats is shown at both commits; it is marked where the ranges of the repeats do not overlap and the medians differ
by more than 5 %.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
NUMBER = re.compile(r"(?<![\w.@-])[-−]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?(?![\w@])")
THRESHOLD = 0.05


class Pair(NamedTuple):
    """A line that both commits print; for each of its numbers, the values of the repeats at both."""

    line: str
    base: list[list[float]]
    head: list[list[float]]


def checked_out(commit: str, folder: Path) -> Path:
    """The folder with the files of a commit, or the folder that was given instead."""
    if Path(commit).is_dir():
        return Path(commit).resolve()
    subprocess.run(["git", "worktree", "add", "--quiet", "--detach", folder, commit], check=True, cwd=ROOT)
    return folder


def run_script(folder: Path, script: str, arguments: list[str]) -> str:
    """What a checkout's own version of a script prints; with exit status 1 it missed a target of its own."""
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(map(str, (folder / "src", folder, folder / "benchmarks"))),
        "NUMBA_CACHE_DIR": str(folder / ".numba_cache"),
    }
    command = [sys.executable, str(folder / "benchmarks" / script), *arguments]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=folder)
    if ended.returncode > 1 or not ended.stdout:
        raise SystemExit(f"{' '.join(command)} failed with exit status {ended.returncode}.")
    return ended.stdout


def numbers_by_line(output: str) -> dict[tuple[str, int], tuple[str, list[float]]]:
    """For each line, known by its text without numbers and how often that came before: the line and its numbers.

    >>> numbers_by_line("listmle   1.5 ms\\nlistmle   3 ms")[("listmle # ms", 1)]
    ('listmle   3 ms', [3.0])
    """
    seen: dict[str, int] = defaultdict(int)
    lines = {}
    for line in output.splitlines():
        numbers = [float(text.replace(",", "").replace("−", "-")) for text in NUMBER.findall(line)]
        if numbers:
            key = " ".join(NUMBER.sub("#", line).split())
            lines[key, seen[key]] = line, numbers
            seen[key] += 1
    return lines


def paired_lines(base: list[str], head: list[str]) -> Iterator[Pair]:
    """The lines that every run of both commits printed."""
    base_runs, head_runs = ([numbers_by_line(output) for output in outputs] for outputs in (base, head))
    for key, (line, _) in head_runs[0].items():
        if all(key in run for run in (*base_runs, *head_runs)):
            columns = (
                [list(values) for values in zip(*(run[key][1] for run in runs), strict=True)]
                for runs in (base_runs, head_runs)
            )
            yield Pair(line, *columns)


def differs(base: list[float], head: list[float]) -> bool:
    """Whether two sets of repeats differ by more than they vary, and by more than the threshold.

    >>> differs([1.0, 1.1], [1.2, 1.3]), differs([1.0, 1.3], [1.2, 1.1]), differs([1.0, 1.0], [1.01, 1.01])
    (True, False, False)
    """
    apart = max(base) < min(head) or max(head) < min(base)
    before, after = statistics.median(base), statistics.median(head)
    return apart and abs(after - before) > THRESHOLD * max(abs(before), abs(after))


def show(pair: Pair) -> int:
    """Print a line, its numbers at both commits, and return how many of them differ."""
    print(pair.line.strip())
    marked = 0
    for base, head in zip(pair.base, pair.head, strict=True):
        before, after = statistics.median(base), statistics.median(head)
        if before != after:
            mark = differs(base, head)
            marked += mark
            ratio = f"{after / before:7.2f} ×" if before else "      –  "
            print(f"    {before:>12,.6g} → {after:>12,.6g} {ratio}{'   differs' if mark else ''}")
    return marked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", help="the commit to compare with, such as main~1 or v0.1.0, or a folder")
    parser.add_argument("head", help="the commit in question, or a folder")
    parser.add_argument("script", help="a script of benchmarks/, such as objectives.py")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the script")
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    outputs: dict[str, list[str]] = {"base": [], "head": []}
    with tempfile.TemporaryDirectory() as scratch:
        folders = {name: checked_out(getattr(given, name), Path(scratch) / name) for name in outputs}
        try:
            for folder in folders.values():
                run_script(folder, given.script, given.arguments)
            for repeat in range(given.repeats):
                for name in sorted(outputs, reverse=bool(repeat % 2)):
                    outputs[name].append(run_script(folders[name], given.script, given.arguments))
                    print(f"repeat {repeat + 1} of {given.repeats}: {name} done", file=sys.stderr)
        finally:
            for folder in folders.values():
                if folder.is_relative_to(scratch):
                    subprocess.run(["git", "worktree", "remove", "--force", folder], check=True, cwd=ROOT)
    pairs = list(paired_lines(outputs["base"], outputs["head"]))
    print(f"{given.script} {' '.join(given.arguments)}: {given.base} → {given.head}, median of {given.repeats} repeats")
    marked = sum(map(show, pairs))
    print(f"{len(pairs)} lines in both, {marked} numbers differ")


if __name__ == "__main__":
    main()
