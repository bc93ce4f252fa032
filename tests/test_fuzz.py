"""Mutated files of every format are read or refused, in processes that may crash: benchmarks/fuzz_readers.py."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "fuzz_readers.py"


def test_mutated_files_are_read_or_refused(tmp_path):
    words = ["--count", "200", "--processes", "2", "--failures", str(tmp_path)]
    run = subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True, timeout=600)
    assert run.returncode == 0, run.stdout + run.stderr
    rows = [line.rsplit(maxsplit=4) for line in run.stdout.splitlines() if line.endswith(" 0")]
    assert rows[-1][0] == "all" and len(rows) >= 15
    for name, mutants, read, refused, _ in rows[:-1]:
        assert int(mutants) == 200 and int(read) >= 5 and int(refused) >= 20, name


INVALID = """
import pyarrow as pa, sys
import luce
from luce.aggregation import read_rankings
file, stream, votes = sys.argv[1:]
table = pa.ipc.open_file(file).read_all()
for read in (lambda: luce.read(file), lambda: luce.read(stream), lambda: luce.from_table(table),
             lambda: read_rankings(votes), lambda: luce.Rankings.from_table(table)):
    try:
        read()
    except luce.DataError as error:
        print(error)
"""


def test_offsets_outside_of_an_arrow_file_are_refused(tmp_path):
    offsets = pa.py_buffer(np.array([0, 2, 1_500_000_000, 6], np.int32))
    text = pa.StringArray.from_buffers(3, offsets, pa.py_buffer(b"abcdef"))
    table = pa.table({"query": text, "label": [1, 0, 2], "ranking": text, "item": text, "place": [1, 2, 3]})
    files = [str(tmp_path / name) for name in ("file.arrow", "stream.arrow", "votes.arrow")]
    for file in files:
        with (pa.ipc.new_stream if "stream" in file else pa.ipc.new_file)(file, table.schema) as writer:
            writer.write_table(table)
    run = subprocess.run([sys.executable, "-c", INVALID, *files], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr  # −11 where the process crashed
    refused = run.stdout.splitlines()
    assert len(refused) == 5 and all("offset" in line for line in refused), run.stdout
