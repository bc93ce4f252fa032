"""Mutants read in processes of their own, which may die: what became of each is told to the process that looks on."""

import multiprocessing
import random
import resource
import shutil
import signal
import sys
import tempfile
import warnings
import zlib
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

HANG = 20.0
"""Seconds of processor time that a mutant may take."""
SILENCE = 900.0
"""Seconds after which a process that tells nothing is taken for dead, compiling and a busy machine allowed for."""
MEMORY = 1 << 28
"""Bytes that a mutant may take beyond what was needed before."""
ADDRESSES = 1 << 33
"""Bytes of address space beyond what the process has when it starts."""


class Task(NamedTuple):
    """Mutants of one reader, numbered from `first`."""

    reader: str
    first: int
    count: int


def fuzz(tasks: list[Task], keep: Path) -> dict[str, Counter[str]]:
    """How many mutants of each reader were read, refused, or ended otherwise; the latter are kept in a folder."""
    counts: dict[str, Counter[str]] = {task.reader: Counter() for task in tasks}
    with tempfile.TemporaryDirectory() as temporary:
        while tasks:
            tasks = _run(tasks, Path(temporary), keep, counts)
    return counts


def _run(tasks: list[Task], folder: Path, keep: Path, counts: dict[str, Counter[str]]) -> list[Task]:
    """Let a process work until it is done or dies; the tasks that are left."""
    spawn = multiprocessing.get_context("spawn")
    receiver, sender = spawn.Pipe(duplex=False)
    process = spawn.Process(target=_work, args=(tasks, folder, keep, sender), daemon=True)
    process.start()
    sender.close()
    reader, number = tasks[0].reader, -1
    try:
        while True:
            if not receiver.poll(SILENCE):
                process.kill()
            told = receiver.recv()
            if isinstance(told, tuple):
                reader, number = told
            else:
                counts[reader][told] += 1
    except EOFError:
        process.join()
    if process.exitcode == 0:
        return []
    if number < 0:
        raise RuntimeError(f"The process ended at a valid file of {reader}, with exit status {process.exitcode}.")
    counts[reader]["other"] += 1
    _keep(reader, number, f"exit status {process.exitcode}", folder / "mutant", keep)
    at = [task.reader for task in tasks].index(reader)
    first, count = tasks[at].first, tasks[at].count
    return [Task(reader, number + 1, first + count - number - 1), *tasks[at + 1 :]]


def _keep(reader: str, number: int, what: str, place: Path, keep: Path) -> None:
    source = next(place.iterdir())
    keep.mkdir(parents=True, exist_ok=True)
    target = keep / f"{reader.replace(', ', '-').replace(' ', '-')}-{number}-{source.name}"
    shutil.copy(source, target)
    print(f"{reader}, mutant {number}: {what} ({target})", file=sys.stderr, flush=True)


def _work(tasks: list[Task], folder: Path, keep: Path, sender: Connection) -> None:
    from fuzzing.mutations import mutated
    from fuzzing.readers import READERS

    warnings.simplefilter("ignore")
    place = folder / "mutant"
    samples = {}
    for task in tasks:  # all of them before the limit: what reading a valid file loads may map much memory
        sender.send((task.reader, -1))
        samples[task.reader] = READERS[task.reader].samples()
        for name, content in samples[task.reader].items():
            for _ in range(2):
                READERS[task.reader].read(_written(place, name, content))
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + ADDRESSES, taken + ADDRESSES))
    for task in tasks:
        reader = READERS[task.reader]
        for number in range(task.first, task.first + task.count):
            chance = random.Random(zlib.crc32(f"{task.reader} {number}".encode()))
            name, content = mutated(chance, samples[task.reader], reader.mutations, reader.aware)
            path = _written(place, name, content)
            sender.send((task.reader, number))
            word, what = _outcome(reader.read, path)
            if word == "other":
                _keep(task.reader, number, what, _written(place, name, content).parent, keep)
            sender.send(word)


def _written(place: Path, name: str, content: bytes) -> Path:
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    (place / name).write_bytes(content)
    return place / name


def _outcome(read: Any, path: Path) -> tuple[str, str]:
    """read, refused or other, and what the last of them was."""
    from luce.errors import LuceError

    signal.setitimer(signal.ITIMER_PROF, HANG)  # its signal ends the process, wherever that is
    before = _peak()
    word, what = "read", ""
    try:
        read(path)
    except LuceError:
        word = "refused"
    except BaseException as error:
        word, what = "other", f"{type(error).__name__}: {error!s:.300}"
    signal.setitimer(signal.ITIMER_PROF, 0)
    if (taken := _peak() - before) > MEMORY:
        word, what = "other", f"it took {taken >> 20} MiB. {what}"
    return word, what


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
