"""Small valid files that hold data: tables of several kinds, rankings and text."""

import bz2
import gzip
import io
import random
from typing import Any

import pyarrow as pa
from pyarrow import csv, parquet

TABLE = pa.table({
    "query": pa.array(["b", "a", "b", "c", "a", "b"]),
    "label": pa.array([1, 0, 2, 0, None, 1], pa.int8()),
    "document_id": pa.array(["d1", "d2", None, "d4", "é", ""], pa.large_string()),
    "weight": [1.0, 0.5, 2.0, 1.0, 1.0, 0.0],
    "list_weight": [1.0, 2.0, 1.0, 3.0, 2.0, 1.0],
    "item_group": pa.array(["x", "y", "x", "x", "y", "x"]).dictionary_encode(),
    "length": pa.array([0.5, None, 1.5, 2.5, -1.0, 0.0], pa.float32()),
    "price": pa.array([3, 1, 4, 1, 5, 9], pa.uint64()),
    "new": [True, False, None, True, False, True],
    "rate": pa.array([1, 2, 3, 4, 5, 6]).cast(pa.decimal128(25, 3)),
    "nothing": pa.nulls(6),
})  # fmt: skip
PLAIN = pa.table({"qid": [7, 7, 9], "label": [1.0, 0.0, 2.0], "1": [0.5, 0.25, 0.0], "2": [1, 2, 3]})
NUMBERED = pa.table({
    "query": pa.array([5, 5, 6], pa.int32()).dictionary_encode(),
    "label": pa.array([1, 0, 1], pa.float16()),
    "document_id": pa.array(["a", "a long id that does not fit into a view", "c"], pa.string_view()),
    "x": pa.array([1, 2, 3], pa.int16()),
})  # fmt: skip
TABLES = (TABLE, PLAIN, NUMBERED, pa.concat_tables([PLAIN, PLAIN.slice(1)]))

LONG = pa.table({"ranking": [1, 1, 2, 2, 2], "item": ["a", "b", "b", "a", "c"], "place": [1, 2, 1, 1, None]})
PAIRS = pa.table({"winner": ["a", "b", "c"], "loser": ["b", "c", "a"]})
BATTLES = pa.table({"model_a": ["a", "b"], "model_b": ["b", "c"], "winner": ["tie (bothbad)", "model_b"]})
ORDERS = pa.table({"rank1": [3, 2], "rank2": [1, 3], "rank3": [2, None]})
RANKS = pa.table({"a": [1, 3], "b": [2, 1], "c": [2, None]})
RANKINGS = {"long": LONG, "pairs": PAIRS, "battles": BATTLES, "orders": ORDERS, "ranks": RANKS}

ENCODINGS = {
    pa.string(): "DELTA_BYTE_ARRAY",
    pa.large_string(): "DELTA_LENGTH_BYTE_ARRAY",
    pa.int64(): "DELTA_BINARY_PACKED",
    pa.float32(): "BYTE_STREAM_SPLIT",
    pa.float64(): "BYTE_STREAM_SPLIT",
}
"""Encodings of Parquet by type, beside the plain one."""

PREFLIB = """# FILE NAME: drinks.{kind}
# DATA TYPE: {kind}
# MODIFICATION TYPE: {how}
# NUMBER ALTERNATIVES: 4
# NUMBER VOTERS: 17
# NUMBER UNIQUE ORDERS: 3
# ALTERNATIVE NAME 1: tea
# ALTERNATIVE NAME 2: crème
# ALTERNATIVE NAME 3: rum: white
# ALTERNATIVE NAME 4: gin
{orders}
"""


def arrow_files(tables: dict[str, pa.Table]) -> dict[str, bytes]:
    """Files and streams, plain and compressed."""
    files = {}
    for name, table in tables.items():
        for compression in (None, "lz4", "zstd"):
            for form, new in (("file", pa.ipc.new_file), ("stream", pa.ipc.new_stream)):
                sink = pa.BufferOutputStream()
                with new(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
                    writer.write_table(table, max_chunksize=4)
                files[f"{name}-{compression}-{form}.arrow"] = sink.getvalue().to_pybytes()
    return files


def parquet_files(tables: dict[str, pa.Table]) -> dict[str, bytes]:
    """Files of several encodings and compressions."""
    ways: dict[str, dict[str, Any]] = {
        "plain": {"compression": None, "use_dictionary": False},
        "dictionary": {"compression": "snappy"},
        "pages": {"compression": "zstd", "data_page_version": "2.0", "row_group_size": 2},
        "gzip": {"compression": "gzip", "use_dictionary": False, "store_schema": False},
        "delta": {"compression": None, "use_dictionary": False},
    }
    files = {}
    for name, table in tables.items():
        for way, options in ways.items():
            encodings = {each.name: ENCODINGS.get(each.type, "PLAIN") for each in table.schema}
            sink = io.BytesIO()
            parquet.write_table(table, sink, column_encoding=encodings if way == "delta" else None, **options)
            files[f"{name}-{way}.parquet"] = sink.getvalue()
    return files


def csv_files(tables: dict[str, pa.Table]) -> dict[str, bytes]:
    """Text separated by commas and tabs, plain and packed."""
    files = {}
    for name, table in tables.items():
        for ending, delimiter in (("csv", ","), ("tsv", "\t")):
            sink = io.BytesIO()
            csv.write_csv(table, sink, csv.WriteOptions(delimiter=delimiter, quoting_style="needed"))
            files[f"{name}.{ending}"] = sink.getvalue()
    return files


def compressed(files: dict[str, bytes]) -> dict[str, bytes]:
    """The files, and one of them in each compression."""
    name, content = next(iter(files.items()))
    zstd = pa.compress(content, "zstd", asbytes=True)
    packed = {".gz": gzip.compress(content, 1, mtime=0), ".bz2": bz2.compress(content), ".zst": zstd}
    return files | {name + ending: each for ending, each in packed.items()}


def tables_of_text() -> dict[str, pa.Table]:
    """Tables that CSV can hold, `weight` and all."""
    plain = {name: TABLE[name].cast(pa.string()) for name in ("query", "document_id", "item_group")}
    numbers = {name: TABLE[name].cast(pa.float64()) for name in ("label", "weight", "list_weight", "length", "price")}
    return {"ids": pa.table(plain | numbers | {"new": TABLE["new"]}), "plain": PLAIN}


def letor_text(rng: random.Random) -> bytes:
    zero_based, documents = rng.random() < 0.2, rng.random() < 0.5
    lines = []
    for row in range(rng.randint(1, 12)):
        columns = sorted(rng.sample(range(0 if zero_based else 1, 30), rng.randint(0, 6)))
        pairs = [
            f"{column}:{rng.choice(['0', '1', '-2.5', '0.034', '1e-3', 'nan', '7.0000001'])}" for column in columns
        ]
        query = f"qid:{rng.choice(['', 'q'])}{rng.randint(1, 3)}"
        comment = [f"#docid = D{row} inc = 1"] if documents else []
        lines.append(" ".join([str(rng.randint(0, 4)), query, *pairs, *comment]))
    return "\n".join(lines).encode() + b"\n"


def letor_files() -> dict[str, bytes]:
    return compressed({f"{seed}.txt": letor_text(random.Random(seed)) for seed in range(60)})


def qrels_files() -> dict[str, bytes]:
    return compressed({"a.qrels": b"q1 0 a 1\nq1 0 b 0\nq2 0 \xc3\xa9 -1\n\nq2 0 a 2\n", "b.qrels": b"7 0 d 0.5\n"})


def run_files() -> dict[str, bytes]:
    text = b"q1 Q0 c 1 2.5 system\nq1 Q0 a 2 1.5 system\nq2 Q0 a 1 1e-3 system\nq9 Q0 a 1 3 system\n"
    return compressed({"a.run": text})


def preflib_files() -> dict[str, bytes]:
    orders = {
        "soc": "12: 3,1,2,4\n 4 : 4, 3,2,1\n1: 1,2,3,4",
        "soi": "12: 3,1\n4: 2\n1: 1,2,3,4",
        "toc": "12: 3,{1,2,4}\n4: {4,3},{2,1}\n1: 1,2,3,4",
        "toi": "12: {2,4},1\n4: 3,{1,2}\n1: {1,3}",
    }
    text = {f"a.{kind}": PREFLIB.format(kind=kind, how="original", orders=each) for kind, each in orders.items()}
    text["imbued.toc"] = PREFLIB.format(kind="toc", how="imbued", orders=orders["toc"])
    return compressed({name: each.encode() for name, each in text.items()})


def tagged_files() -> dict[str, bytes]:
    return compressed({
        "a.txt": b"3 4 9\n8,2 0:0.5 3:1\n 1:2\n5\n",
        "b.txt": b"4 10 6\n0,1,2,3,4,5 9:1e-3 2:0.25\n1 0:0.1000000014901161193847\n\n3,3 1:-1.5\n",
    })  # fmt: skip
