"""Mutants read in child processes, which may crash; the parent process counts the outcome of each mutant."""

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
"""Seconds of CPU time that a mutant may take."""
SILENCE = 900.0
"""Seconds without a message after which a process is killed; enough for compilation on a busy machine."""
MEMORY = 1 << 28
"""Bytes by which a mutant may raise the peak memory."""
ADDRESSES = 1 << 33
"""Bytes of address space beyond what the process has when it starts."""


class MutantRange(NamedTuple):
    """Mutants of one reader, numbered from `first`."""

    reader: str
    first: int
    count: int


def fuzz(ranges: list[MutantRange], failures: Path) -> dict[str, Counter[str]]:
    """How many mutants of each reader were read, refused, or ended otherwise; files of the latter are saved."""
    counts: dict[str, Counter[str]] = {mutants.reader: Counter() for mutants in ranges}
    with tempfile.TemporaryDirectory() as temporary:
        while ranges:
            ranges = _run(ranges, Path(temporary), failures, counts)
    return counts


def _run(ranges: list[MutantRange], folder: Path, failures: Path, counts: dict[str, Counter[str]]) -> list[MutantRange]:
    """Run a process until it ends or crashes, and return the remaining mutants."""
    spawn = multiprocessing.get_context("spawn")
    receiver, sender = spawn.Pipe(duplex=False)
    process = spawn.Process(target=_work, args=(ranges, folder, failures, sender), daemon=True)
    process.start()
    sender.close()
    reader, number = ranges[0].reader, -1
    try:
        while True:
            if not receiver.poll(SILENCE):
                process.kill()
            message = receiver.recv()
            if isinstance(message, tuple):
                reader, number = message
            else:
                counts[reader][message] += 1
    except EOFError:
        process.join()
    if process.exitcode == 0:
        return []
    if number < 0:
        raise RuntimeError(f"The process ended at a valid file of {reader}, with exit status {process.exitcode}.")
    counts[reader]["other"] += 1
    _save(reader, number, f"exit status {process.exitcode}", folder / "mutant", failures)
    at = [mutants.reader for mutants in ranges].index(reader)
    first, count = ranges[at].first, ranges[at].count
    return [MutantRange(reader, number + 1, first + count - number - 1), *ranges[at + 1 :]]


def _save(reader: str, number: int, what: str, place: Path, failures: Path) -> None:
    source = next(place.iterdir())
    failures.mkdir(parents=True, exist_ok=True)
    target = failures / f"{reader.replace(', ', '-').replace(' ', '-')}-{number}-{source.name}"
    shutil.copy(source, target)
    print(f"{reader}, mutant {number}: {what} ({target})", file=sys.stderr, flush=True)


def _work(ranges: list[MutantRange], folder: Path, failures: Path, sender: Connection) -> None:
    from fuzzing.mutations import mutated
    from fuzzing.readers import READERS

    warnings.simplefilter("ignore")
    place = folder / "mutant"
    samples = {}
    for mutants in ranges:  # all of them before the limit: what reading a valid file loads may map much memory
        sender.send((mutants.reader, -1))
        samples[mutants.reader] = READERS[mutants.reader].samples()
        for name, content in samples[mutants.reader].items():
            for _ in range(2):
                READERS[mutants.reader].read(_written(place, name, content))
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + ADDRESSES, taken + ADDRESSES))
    for mutants in ranges:
        reader = READERS[mutants.reader]
        for number in range(mutants.first, mutants.first + mutants.count):
            rng = random.Random(zlib.crc32(f"{mutants.reader} {number}".encode()))
            name, content = mutated(rng, samples[mutants.reader], reader.mutations, reader.aware)
            path = _written(place, name, content)
            sender.send((mutants.reader, number))
            word, what = _outcome(reader.read, path)
            if word == "other":
                _save(mutants.reader, number, what, _written(place, name, content).parent, failures)
            sender.send(word)


def _written(place: Path, name: str, content: bytes) -> Path:
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    (place / name).write_bytes(content)
    return place / name


def _outcome(read: Any, path: Path) -> tuple[str, str]:
    """The outcome "read", "refused" or "other", and a description of the last."""
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
