"""Malformed requests to a service: no JSON, JSON of wrong types, shapes and sizes, and lies about binary data."""

import json
import random
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

HEADER = "Inference-Header-Content-Length"

LITERALS = (
    b"NaN", b"[Infinity]", b"1e999", b"-1e999", b"9" * 400, b"[" * 5_000, b'{"a":' * 3_000, b"", b"\xff\xfe", b"nul",
    b'{"documents"', b"\x00" * 64, b'"' + b"x" * 4_096, b"[1,2", b'{"documents":[{"id":"\\ud800"}]}', b"\xef\xbb\xbf{}",
)  # fmt: skip
WRONG: tuple[Any, ...] = (
    None, True, -1, 0, 2**63, 2**64, 10**400, 1.5, -0.0, 1e308, "", "x" * 3_000, "NaN", "1", [], {}, [[]],
    [[1], [2, 3]], [None], ["a"], [{}], [True], {"a": 1}, [1e308] * 3, "\u0000", "FP32", "scores", "offsets",
)  # fmt: skip


class Request(NamedTuple):
    """A request that must be answered, and not with 5xx."""

    path: str
    body: bytes
    headers: dict[str, str]


def malformed_requests(count: int, name: str, features: list[str], seed: int = 0) -> Iterator[Request]:
    """Requests of every kind in turn; those that mutation leaves valid are answered with 200."""
    rng = random.Random(seed)
    infer = f"/v2/models/{name}/infer"
    for number in range(count):
        match number % 6:
            case 0:
                yield Request(rng.choice(["/rank", infer]), rng.choice(LITERALS), {})
            case 1:
                yield Request("/rank", _json(_mutated(_ranking(features, rng), rng)), {})
            case 2:
                yield Request(infer, _json(_mutated(_tensors(len(features), rng), rng)), {})
            case 3:
                yield _lying(infer, len(features), rng)
            case 4:
                body = _json(_ranking(features, rng) if number % 4 else _tensors(len(features), rng))
                yield Request("/rank" if number % 4 else infer, _damaged(body, rng), {})
            case _:
                nested = b"[" * rng.randrange(1, 2_000)
                yield Request(infer, b'{"inputs":[{"name":"features","data":' + nested, {})


def _ranking(features: list[str], rng: random.Random) -> dict[str, Any]:
    documents = [{"id": f"d{row}", **{name: rng.random() for name in features}} for row in range(rng.randrange(1, 6))]
    return {"documents": documents, "top": 3, "explain": False}


def _tensors(n_features: int, rng: random.Random) -> dict[str, Any]:
    n_rows = rng.randrange(1, 6)
    data = [rng.random() for _ in range(n_rows * n_features)]
    features = {"name": "features", "shape": [n_rows, n_features], "datatype": "FP32", "data": data}
    offsets = {"name": "offsets", "shape": [2], "datatype": "INT64", "data": [0, n_rows]}
    return {"id": "1", "inputs": [features, offsets], "outputs": [{"name": "scores"}], "parameters": {}}


def _mutated(value: Any, rng: random.Random) -> Any:
    """The value with one part of it replaced or left out, at any depth."""
    if not value or not isinstance(value, dict | list) or rng.random() < 0.2:
        return rng.choice(WRONG)
    key = rng.choice(list(value) if isinstance(value, dict) else range(len(value)))
    if rng.random() < 0.15:
        del value[key]
    else:
        value[key] = _mutated(value[key], rng)
    return value


def _damaged(body: bytes, rng: random.Random) -> bytes:
    """Truncated, or with bytes replaced."""
    if rng.random() < 0.5:
        return body[: rng.randrange(len(body))]
    found = bytearray(body)
    for _ in range(rng.randrange(1, 8)):
        found[rng.randrange(len(found))] = rng.randrange(256)
    return bytes(found)


def _lying(path: str, n_features: int, rng: random.Random) -> Request:
    """A binary tensor whose sizes do not fit together, or whose values are infinite."""
    n_rows, value = rng.randrange(1, 5), rng.choice([0.5, float("inf"), float("-inf"), 3e38])
    raw = struct.pack(f"<{n_rows * n_features}f", *[value] * (n_rows * n_features))
    size = rng.choice([len(raw), len(raw) - 1, len(raw) * 2, 0, -4, 2**62])
    shape = [rng.choice([n_rows, n_rows + 1, 2**40, 0, -1]), rng.choice([n_features, n_features, 1, 2**31])]
    features = {"name": "features", "shape": shape, "datatype": "FP32", "parameters": {"binary_data_size": size}}
    head = _json({"inputs": [features], "parameters": {"binary_data_output": rng.random() < 0.5}})
    length = rng.choice([len(head), len(head) + 3, len(head) - 3, 0, -1, 10**30])
    return Request(path, head + raw[: rng.choice([len(raw), 5])], {HEADER: str(length)})


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()
