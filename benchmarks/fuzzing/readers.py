"""READERS, the one table of what is fuzzed: valid files, how one is read and used, and mutations of its format."""

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import luce
from fuzzing import archives, tables, trained
from fuzzing.mutations import BYTES, TEXT, Mutation, integer
from luce.aggregation import read_rankings
from luce.data import streams
from luce.data.extreme import read_tagged
from luce.data.letor import read_letor
from luce.data.trec import read_run
from luce.errors import LuceError


class Reader(NamedTuple):
    """Valid files by name, a function that reads a file and uses all that it holds, and mutations of its format."""

    samples: Callable[[], dict[str, bytes]]
    read: Callable[[Path], Any]
    mutations: tuple[Mutation, ...] = BYTES
    aware: tuple[Mutation, ...] = ()


def arrays_of(data: luce.Dataset) -> tuple[Any, ...]:
    """Everything a dataset holds."""
    features = data.features
    arrays = [data.labels, data.offsets, data.item_weights, data.list_weights]
    arrays += [features.data, features.indices, features.indptr] if data.is_sparse else [features]
    ids = [None if each is None else each.to_pylist() for each in (data.query_ids, data.document_ids, data.item_groups)]
    return [None if array is None else array.tobytes() for array in arrays], features.shape, ids, data.feature_names


def read_data(path: Path) -> None:
    data = luce.read(path)
    arrays_of(data)
    arrays_of(data.take(np.arange(data.n_lists)[::-1]))


def read_letor_twice(path: Path) -> None:
    """Complete on one thread and in small pieces on two: both must come to the same end."""
    content = path.read_bytes()
    rng = random.Random(content)
    options: dict[str, Any] = {"first_index": rng.choice([None, None, 0, None if b" 0:" in content else 1])}
    if rng.random() < 0.2:
        options |= {"n_features": 30, "sparse": rng.choice([True, False])}

    def outcome(threads: int) -> Any:
        try:
            return arrays_of(read_letor(path, n_jobs=threads, **options))
        except LuceError as error:
            return error

    complete = outcome(1)
    with small_pieces():
        pieces = outcome(2)
    same = str(complete) == str(pieces)
    if path.suffix != ".txt":  # damaged compressed data may be met before or after a bad line
        same |= isinstance(complete, LuceError) and isinstance(pieces, LuceError)
    assert same, f"one thread and two disagree: {complete!s:.300} {pieces!s:.300}"
    if isinstance(complete, LuceError):
        assert "There is no memory" not in str(complete)
        raise complete


@contextmanager
def small_pieces() -> Iterator[None]:
    piece, streams.PIECE = streams.PIECE, 40
    try:
        yield
    finally:
        streams.PIECE = piece


def read_list_sizes(path: Path) -> None:
    (path.parent / "rows.txt").write_bytes(b"1 1:2\n0 2:1\n2 1:0.5\n")
    arrays_of(read_letor(path.parent / "rows.txt", lists=path, n_jobs=1))


def read_run_of_labeled(path: Path) -> None:
    labeled = luce.Dataset(np.empty((4, 0)), [1, 0, 2, 0], [0, 2, 4], ["q1", "q2"], ["a", "b", "a", "é"])
    scores, data = read_run(path, labeled)
    assert len(scores) == data.n_rows
    arrays_of(data)


def read_tagged_rows(path: Path) -> None:
    data = read_tagged(path, n_jobs=1)
    data.labels.sum(), data.features.sum(), data.take(np.arange(data.n_rows)[::-1])


def read_votes(path: Path) -> None:
    rankings = read_rankings(path, format="ranks" if path.name.startswith("ranks") else None)
    use_rankings(rankings)


def read_preflib(path: Path) -> None:
    use_rankings(read_rankings(path, format="preflib"))


def use_rankings(rankings: luce.Rankings) -> None:
    assert len(rankings.names) == rankings.n_items
    rankings.connectivity()
    [repr(name) for name in rankings.names]
    assert rankings.items.max(initial=0) < rankings.n_items


def read_names(path: Path) -> None:
    from luce.cli.aggregate import shown_names

    luce.Rankings.from_orderings([["a", "b"], ["b", "c"]]).with_names(shown_names(["a", "b", "c"], path))


def mapped_files() -> dict[str, bytes]:
    import tempfile

    from scipy import sparse

    matrix = np.random.default_rng(0).integers(-8, 8, size=(5, 3)) / 8
    ids: dict[str, Any] = {"query_ids": ["q1", "é"], "document_ids": list("abcde"), "item_groups": list("xxyyx")}
    ids |= {"item_weights": [1, 2, 1, 1, 0.5], "list_weights": [1, 2], "feature_names": ("one", "two", "three")}
    samples = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (features, more) in {"dense": (matrix, ids), "sparse": (sparse.csr_array(matrix), {})}.items():
            path = Path(folder) / f"{name}.luce-data"
            luce.write(luce.Dataset(features, [0, 1, 2, 0, 1], [0, 3, 5], **more), path)
            samples[path.name] = path.read_bytes()
    return samples


def tables_named(*given: Any) -> dict[str, Any]:
    return {str(number): table for number, table in enumerate(given)}


SUSPICIOUS = ("exec", "compile", "import", "os.", "subprocess.", "socket.", "shutil.", "pickle.", "marshal.", "ctypes.")
_events: list[str] | None = None


def _watch(event: str, arguments: Any) -> None:
    """Note what runs code or changes a file."""
    if _events is not None:
        writes = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
        if writes or event.startswith(SUSPICIOUS):
            _events.append(f"{event} {arguments!r}")


def runs_nothing(read: Callable[[Path], Any]) -> Callable[[Path], Any]:
    """Reading that fails where it ran code or wrote to another place than the folder of the file."""

    def watched(path: Path) -> None:
        global _events
        if not _watching:
            _watching.append(sys.addaudithook(_watch))
        _events = events = []
        try:
            read(path)
        finally:
            _events = None
            # LightGBM is called through ctypes; PyTorch names its types.
            fine = (str(path.parent), "ctypes.", "compile (b'torch.classes.")
            seen = [event for event in events if not any(word in event for word in fine)]
            if seen and path.name in _warm:
                raise AssertionError(f"reading did what it must not: {seen[:3]}")
            _warm.add(path.name)

    return watched


_watching: list[None] = []
_warm: set[str] = set()
"""Samples that were read once: what the first reading of a kind loads is loaded."""

READERS = {
    "LETOR": Reader(tables.letor_files, read_letor_twice, TEXT),
    "list sizes": Reader(lambda: {"a.query": b"1\n2\n", "b.query": b"0\n3\n0\n"}, read_list_sizes, TEXT),
    "CSV": Reader(lambda: tables.compressed(tables.csv_files(tables.tables_of_text())), read_data, TEXT),
    "Arrow": Reader(lambda: tables.arrow_files(tables_named(*tables.TABLES)), read_data, aware=(integer,)),
    "Parquet": Reader(lambda: tables.parquet_files(tables_named(*tables.TABLES)), read_data, aware=(integer,)),
    "mapped": Reader(mapped_files, read_data, aware=(integer,)),
    "qrels": Reader(tables.qrels_files, read_data, TEXT),
    "run": Reader(tables.run_files, read_run_of_labeled, TEXT),
    "tagged": Reader(tables.tagged_files, read_tagged_rows, TEXT),
    "PrefLib": Reader(tables.preflib_files, read_preflib, TEXT),
    "rankings, CSV": Reader(lambda: tables.csv_files(tables.RANKINGS), read_votes, TEXT),
    "rankings, Arrow": Reader(lambda: tables.arrow_files(tables.RANKINGS), read_votes, aware=(integer,)),
    "rankings, Parquet": Reader(lambda: tables.parquet_files(tables.RANKINGS), read_votes, aware=(integer,)),
    "item names": Reader(lambda: {"names.csv": b"item,name\na,Anna\nb,Berta\n"}, read_names, TEXT),
    "model": Reader(trained.model_files, runs_nothing(trained.read_model), aware=archives.ARCHIVE),
    "checkpoint": Reader(trained.checkpoint_files, runs_nothing(trained.read_checkpoint), aware=archives.ARCHIVE),
    "cached results": Reader(trained.result_files, runs_nothing(trained.read_result), aware=archives.ARCHIVE),
    "study": Reader(trained.study_files, trained.read_study),
}
