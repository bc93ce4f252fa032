"""Model files and what is built like them, changed by somebody who knows the format: the checksum is right."""

import copy
import json
import random
import struct
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray

from fuzzing.mutations import flip, integer
from luce.storage import MANIFEST, manifest_text

WRONG = (
    None, True, -1, 0, 3, 10**9, 10**18, 10**30, 1.5, float("nan"), float("inf"), -1e308, "", "x", "listmle", "meta",
    [], [0], ["x"], [10**9], [10**18] * 2, [1] * 50_000, [[[]]], {}, {"x": 1},
)  # fmt: skip
"""What may stand in a manifest in the place of anything else."""


def taken_apart(content: bytes) -> tuple[Any, bytes]:
    """The header of a file in the layout of safetensors, and its numbers."""
    length = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def put_together(header: Any, numbers: bytes) -> bytes:
    """A file in the layout of safetensors."""
    words = json.dumps(header).encode()
    words += b" " * (-len(words) % 8)  # the numbers stay aligned
    return struct.pack("<Q", len(words)) + words + numbers


def unpacked(file: bytes) -> tuple[Any, dict[str, NDArray[Any]]]:
    """The manifest without the checksum, and the arrays."""
    document = json.loads(taken_apart(file)[0]["__metadata__"][MANIFEST])
    document.pop("crc32")
    return document, {name: array.copy() for name, array in safetensors.numpy.load(file).items()}


def model(manifest: Any, arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """A model file of a manifest, whose checksum is then right, or of any text in its place."""
    text = manifest_text(manifest, arrays) if isinstance(manifest, dict) else manifest
    header, numbers = taken_apart(safetensors.numpy.save(dict(arrays)))
    return put_together({"__metadata__": {MANIFEST: text}, **header}, numbers)


def changed(document: Any, path: Any, *value: Any) -> Any:
    """A JSON document with another value at a place, or without any."""
    if not path:
        return value[0] if value else None
    result = copy.deepcopy(document)
    place = result
    for key in path[:-1]:
        place = place[key]
    if value:
        place[path[-1]] = value[0]
    else:
        del place[path[-1]]
    return result


def places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value of a JSON document; of many of a kind to the first few."""
    yield path
    inner = list(document.items())[:20] if isinstance(document, dict) else enumerate(document[:3])
    for key, value in inner:
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))
        else:
            yield (*path, key)


def lie(rng: random.Random, document: Any) -> Any:
    """A JSON document with something else in one place, or nothing there."""
    place = rng.choice(list(places(document)))
    return changed(document, place, *([rng.choice(WRONG)] if rng.random() < 0.8 else []))


def manifest(rng: random.Random, file: bytes) -> bytes:
    """A manifest that lies."""
    document, arrays = unpacked(file)
    lies = lie(rng, document)
    return model(lies if isinstance(lies, dict) else json.dumps(lies), arrays)


def metadata(rng: random.Random, file: bytes) -> bytes:
    """Metadata without a manifest, with more than one, or with something else in its place."""
    header, numbers = taken_apart(file)
    text = header["__metadata__"][MANIFEST]
    other: Any = rng.choice([
        *(None, [], {}, "x", 7, {MANIFEST: None}, {MANIFEST: {}}, {MANIFEST: [text]}, {"manifest": text}),
        *({text: MANIFEST}, {MANIFEST: text, "luce2": text}, {MANIFEST: text, "x": 1}),
        {MANIFEST: text + " " * 30_000_000},
    ])  # fmt: skip
    return put_together({**header, "__metadata__": other}, numbers)


def text(rng: random.Random, file: bytes) -> bytes:
    """A manifest that is no JSON, or more of it than anyone needs."""
    document, arrays = unpacked(file)
    whole, deep = manifest_text(document, arrays), 100_000
    wrong = rng.choice([
        *("", "null", "[]", "7", "NaN", "{", '"', whole[:-1], whole + whole, "\ufeff" + whole, "{}" + whole),
        *("[" * deep, '{"a":' * deep, "[" * deep + "]" * deep, '{"format": 1' + "0" * deep + "}", "1e" + "9" * deep),
        whole.replace('"format": 1', f'"format": {rng.choice(["0", "-1", "true", "1.0", "[1]", "2"])}'),
        whole.replace('"format": 1', '"format": 9, "format": 1, "x": "' + "x" * 1_000_000 + '"'),
        whole.replace('"kind"', '"\\ud800"'),
        whole.replace('"kind"', '"\ud800"'),
    ])  # fmt: skip
    return model(wrong, arrays)


def tensors(rng: random.Random, file: bytes) -> bytes:
    """Other numbers, shapes, types or names under a checksum that is right."""
    document, arrays = unpacked(file)
    name = rng.choice(list(arrays))
    array = arrays.pop(name)
    content = rng.choice([flip, integer])(rng, array.tobytes())
    size = len(content) - len(content) % array.itemsize
    arrays |= rng.choice([
        lambda: {name: np.frombuffer(content[:size], array.dtype).reshape(array.shape if size == array.nbytes else -1)},
        lambda: {name: array.reshape(-1)[: array.size // 2]},
        lambda: {name: array.reshape(1, *array.shape)},
        lambda: {name: array.astype(rng.choice([np.float32, np.int64, np.uint8, np.bool_, np.float16]))},
        lambda: {rng.choice(["x", "", "network.", "optimizer.x.y", "state.", name * 2]): array},
        dict,
    ])()  # fmt: skip
    return model(document, arrays)


def stored(rng: random.Random, content: bytes) -> bytes:
    """The layout of safetensors with a header that lies or with other numbers."""
    header, numbers = taken_apart(content)
    way = rng.randrange(4)
    if way == 0:
        length = int.from_bytes(content[:8], "little")
        claimed = rng.choice([0, 1, length - 1, length + 1, len(content), 2**31, 2**63, 2**64 - 1])
        return struct.pack("<Q", claimed) + content[8:]
    if way == 1:
        numbers = rng.choice([flip, integer])(rng, numbers)
    elif way == 2:
        names = [name for name in header if name != "__metadata__"]
        header = changed(header, (rng.choice(names), "dtype"), rng.choice(["BF16", "F8_E5M2", "C64"]))
        more = {"dtype": "F32", "shape": [2**62, 2**62, 0], "data_offsets": [0, 0]}
        header |= rng.choice([{}, {"more": more}])
    else:
        header = lie(rng, header)
    return put_together(header, numbers)


ARCHIVE = (manifest, manifest, manifest, metadata, text, tensors, tensors, stored)
