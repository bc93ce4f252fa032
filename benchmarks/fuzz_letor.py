"""Does every mutated LETOR text either read or give a LuceError? `python benchmarks/fuzz_letor.py --count 200000`

Each input is read twice, whole on one thread and in small pieces on two; both must come to the same end. A crash, any
other exception, a read that hangs or memory beyond a bound is a failure: the input is saved and the exit status is 1.
"""

import argparse
import faulthandler
import gzip
import multiprocessing
import random
import re
import resource
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

HANG = 20.0  # seconds
MEMORY = 1 << 29  # bytes above what the first reads needed
TOKENS = [
    b" ", b"\t", b"\n", b"\r\n", b"\r", b"\0", b"#", b":", b"-", b"+", b".", b"e", b"E9", b"e-400", b"1e400", b"nan",
    b"NaN", b"NULL", b"null", b"nul", b"inf", b"-Infinity", b"qid:", b"qid:7", b"qid", b" qid:a b", b"docid", b"=",
    b"#docid = x", b"# DOCID=y z", b"0:1", b"1:1 1:2", b"16777216:1", b"16777217:1", b"99999999999999999999:1",
    b"0x1p3", b"1_0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xc3\xa9", b"\xc3", b"\xe2\x80\xa8", b"3.4028235677973366e38",
    b"1.7976931348623159e308", b"5e-324", b"0.1000000014901161193847656250000000000001", b"9" * 30, b"1" * 400,
    b"0." + b"0" * 350 + b"1", b"2:0.123456789012345678", b"\x1f\x8b", b"PAR1",
]  # fmt: skip


def valid_text(chance: random.Random) -> bytes:
    """A small text that reads."""
    zero_based, queries, documents = chance.random() < 0.2, chance.random() < 0.97, chance.random() < 0.5
    lines = []
    for row in range(chance.randint(1, 12)):
        columns = sorted(chance.sample(range(0 if zero_based else 1, 30), chance.randint(0, 6)))
        pairs = [
            f"{column}:{chance.choice(['0', '1', '-2.5', '0.034', '1e-3', 'nan', '7.0000001'])}" for column in columns
        ]
        query = [f"qid:{chance.choice(['', 'q'])}{chance.randint(1, 3)}"] if queries else []
        comment = [f"#docid = D{row} inc = 1"] if documents else []
        lines.append(" ".join([str(chance.randint(0, 4)), *query, *pairs, *comment]))
    return "\n".join(lines).encode() + b"\n"


def _flip(chance: random.Random, text: bytearray) -> None:
    if text:
        text[chance.randrange(len(text))] ^= 1 << chance.randrange(8)


def _cut(chance: random.Random, text: bytearray) -> None:
    first = chance.randrange(len(text) + 1)
    del text[first : first + chance.randint(1, 40)]


def _insert(chance: random.Random, text: bytearray) -> None:
    at = chance.randrange(len(text) + 1)
    text[at:at] = chance.choice(TOKENS)


def _repeat(chance: random.Random, text: bytearray) -> None:
    first = chance.randrange(len(text) + 1)
    text[first:first] = text[first : first + chance.randint(1, 30)] * chance.choice([1, 1, 2, 50, 5000])


def _shuffle(chance: random.Random, text: bytearray) -> None:
    lines = bytes(text).split(b"\n")
    words = lines[chance.randrange(len(lines))].split(b" ")
    chance.shuffle(words)
    lines[chance.randrange(len(lines))] = b" ".join(words)
    text[:] = b"\n".join(lines)


def _number(chance: random.Random, text: bytearray) -> None:
    """Another value for one pair, of any length and size."""
    found = list(re.finditer(rb":[^ \n]*", text)) or [re.search(rb"$", text)]
    first, end = chance.choice(found).span()
    digits = "".join(chance.choice("0123456789") for _ in range(chance.randint(1, 25)))
    power = chance.choice(["", "", f"e{chance.randint(-60, 40)}"])
    text[first:end] = f":{chance.choice(['', '-', '+'])}{digits[: chance.randint(0, 3)]}.{digits}{power}".encode()


def _pair(chance: random.Random, text: bytearray) -> None:
    """One more pair somewhere between others."""
    found = list(re.finditer(rb" |$", text))
    at = chance.choice(found).start()
    text[at:at] = f" {chance.choice([chance.randint(0, 40), chance.getrandbits(24)])}:{chance.randint(-9, 9)}".encode()


def _lines(chance: random.Random, text: bytearray) -> None:
    """Lines in another order, some with other ends, some twice."""
    lines = bytes(text).split(b"\n")
    chance.shuffle(lines)
    lines[chance.randrange(len(lines))] += chance.choice([b"\r", b" ", b"\n", b"\n# comment\n", b" # comment"])
    text[:] = b"\n".join(lines + chance.sample(lines, 1))


def _binary(chance: random.Random, text: bytearray) -> None:
    at = chance.randrange(len(text) + 1)
    text[at:at] = chance.randbytes(chance.randint(1, 60))


MUTATIONS: list[Callable[[random.Random, bytearray], None]] = [
    _flip, _flip, _cut, _insert, _insert, _insert, _repeat, _shuffle, _number, _number, _number, _pair,
    _pair, _lines, _lines, _binary,
]  # fmt: skip


def mutated(seed: int) -> tuple[bytes, str, dict[str, Any]]:
    """The bytes of a file, the ending of its name, and options to read it with; the same for the same seed."""
    chance = random.Random(seed)
    text = bytearray(valid_text(chance))
    for _ in range(chance.choice([1, 1, 1, 2, 4])):
        chance.choice(MUTATIONS)(chance, text)
    content, ending = bytes(text), ".txt"
    if chance.random() < 0.05:
        content, ending = bytearray(gzip.compress(content, 1, mtime=0)), ".txt.gz"
        chance.choice([_cut, _flip, _binary])(chance, content)
    options: dict[str, Any] = {"first_index": chance.choice([None, None, 0, 1])}
    if chance.random() < 0.2:
        options |= {"n_features": 30, "sparse": chance.choice([True, False])}
    return bytes(content), ending, options


def outcome(path: Path, options: dict[str, Any]) -> tuple[str, Any]:
    """What reading came to: 'read' and everything read, or 'refused' and the text of the error."""
    from luce.data.letor import read_letor
    from luce.errors import LuceError

    try:
        data = read_letor(path, **options)
    except LuceError as error:
        return "refused", str(error)
    arrays = [data.labels, data.offsets]
    arrays += [data.features.data, data.features.indices, data.features.indptr] if data.is_sparse else [data.features]
    ids = data.query_ids, data.document_ids
    return "read", ([array.tobytes() for array in arrays], data.features.shape, ids, data.feature_names)


def check(seed: int, folder: Path) -> str:
    """Write the input of a seed, read it twice, tell how it ended."""
    from luce.data import streams

    content, ending, options = mutated(seed)
    path = folder / f"input{ending}"
    path.write_bytes(content)
    whole = outcome(path, options | {"n_jobs": 1})
    piece, streams.PIECE = streams.PIECE, 40
    try:
        pieces = outcome(path, options | {"n_jobs": 2})
    finally:
        streams.PIECE = piece
    # Damaged gzip data may be met before or after a bad line, by how much was asked for at once.
    same = pieces[0] == whole[0] if ending == ".txt.gz" else pieces == whole
    assert same, f"seed {seed}: one thread and two disagree: {whole!s:.300} {pieces!s:.300}"
    assert whole[0] == "read" or "There is no room" not in whole[1], f"seed {seed}: {whole[1]}"
    path.unlink()  # what is left is the input of a failure
    return whole[0]


def work(seeds: range, folder: Path, results: Any) -> None:
    """Check some seeds in this process, which dies of whatever is not as it should be."""
    warnings.simplefilter("ignore")  # labels that look like ranks
    resource.setrlimit(resource.RLIMIT_AS, (1 << 34, 1 << 34))
    counts: Counter[str] = Counter()
    base = 0
    for number, seed in enumerate(seeds):
        if number % 50 == 0:
            faulthandler.dump_traceback_later(HANG, exit=True)
        counts[check(seed, folder)] += 1
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        base = peak if number < 50 else base
        assert peak - base < MEMORY, f"reading took {peak - base:,} bytes"
    faulthandler.cancel_dump_traceback_later()
    results.put(counts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0, help="number of the first input")
    parser.add_argument("--processes", type=int, default=multiprocessing.cpu_count())
    options = parser.parse_args()
    spawn = multiprocessing.get_context("spawn")
    results, started = spawn.Queue(), time.perf_counter()
    last = options.seed + options.count
    with tempfile.TemporaryDirectory() as temporary:
        folders = [Path(temporary) / str(number) for number in range(options.processes)]
        workers = []
        for number, folder in enumerate(folders):
            folder.mkdir()
            seeds = range(options.seed + number, last, options.processes)
            workers.append(spawn.Process(target=work, args=(seeds, folder, results)))
            workers[-1].start()
        for worker in workers:
            worker.join()
        failed = [folder for worker, folder in zip(workers, folders, strict=True) if worker.exitcode]
        for folder in failed:
            for path in folder.iterdir():
                kept = shutil.copy(path, f"fuzz-failure-{folder.name}-{path.name}")
                print(f"FAILED, input saved: {kept}", file=sys.stderr)
    counts: Counter[str] = sum((results.get() for _ in range(options.processes - len(failed))), Counter())
    seconds = time.perf_counter() - started
    print(f"{counts.total():,} inputs in {seconds:.0f} s: {dict(counts)}, {len(failed)} failures")
    return 1 if failed or counts.total() != options.count else 0


if __name__ == "__main__":
    sys.exit(main())
