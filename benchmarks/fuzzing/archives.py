"""Model files and what is built like them, changed by somebody who knows the format: the sums of the zip are right."""

import copy
import io
import json
import random
import struct
import warnings
import zipfile
from collections.abc import Iterator
from typing import Any

from fuzzing.mutations import flip, integer

MANIFEST, TENSORS = "manifest.json", "tensors.safetensors"
WRONG = (
    None, True, -1, 0, 3, 10**9, 10**18, 10**30, 1.5, float("nan"), float("inf"), -1e308, "", "x", "listmle", "meta",
    [], [0], ["x"], [10**9], [10**18] * 2, [1] * 50_000, [[[]]], {}, {"x": 1},
)  # fmt: skip
"""What may stand in a manifest in the place of anything else."""

LOCAL, CENTRAL, END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
FIELDS = {
    LOCAL: [(4, 2), (6, 2), (8, 2), (14, 4), (18, 4), (22, 4), (26, 2), (28, 2)],
    CENTRAL: [(4, 2), (6, 2), (8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (32, 2), (34, 2), (42, 4)],
    END: [(4, 2), (6, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 2)],
}
"""Place and size of what the headers of a zip claim: versions, flags, methods, sums, sizes, lengths, offsets."""

NAMES = ("../escaped.txt", "/tmp/escaped.txt", "..\\escaped.txt", "C:\\escaped.txt", "a/" * 5_000, "escaped\n")


def unpacked(file: bytes) -> tuple[Any, bytes]:
    """The manifest, and the bytes of the tensors."""
    with zipfile.ZipFile(io.BytesIO(file)) as archive:
        return json.loads(archive.read(MANIFEST)), archive.read(TENSORS)


def packed(*entries: tuple[str, bytes | str], method: int = zipfile.ZIP_STORED) -> bytes:
    """A zip of entries (name, content)."""
    stream = io.BytesIO()
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(stream, "w") as archive:  # a name may come twice
        for name, content in entries:
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return stream.getvalue()


def model(manifest: Any, tensors: bytes) -> bytes:
    """A model file whose sums are right, whatever it holds."""
    text = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
    return packed((MANIFEST, text), (TENSORS, tensors))


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
    document, tensors = unpacked(file)
    return model(lie(rng, document), tensors)


def claim(rng: random.Random, file: bytes) -> bytes:
    """A field of a header of the zip, as large or as small as can be."""
    signature, fields = rng.choice(list(FIELDS.items()))
    starts = [at for at in range(len(file)) if file.startswith(signature, at)]
    place, size = rng.choice(fields)
    at = rng.choice(starts) + place
    return file[:at] + rng.choice([b"\xff" * size, (1).to_bytes(size, "little")]) + file[at + size :]


def rearranged(rng: random.Random, file: bytes) -> bytes:
    """Entries swapped, doubled, renamed, missing, compressed, or under names that lead elsewhere."""
    document, tensors = unpacked(file)
    text = json.dumps(document).encode()
    pair = [(MANIFEST, text), (TENSORS, tensors)]
    other = rng.choice(NAMES)
    method = rng.choice([zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    return rng.choice([
        lambda: packed((MANIFEST, tensors), (TENSORS, text)),
        lambda: packed((MANIFEST, b"{}"), *pair),
        lambda: packed(*pair, (TENSORS, b"")),
        lambda: packed(pair[0]),
        lambda: packed(pair[1]),
        lambda: packed(),
        lambda: packed((other, b"out"), *pair),
        lambda: packed((other, text), pair[1]),
        lambda: packed((MANIFEST, file), (TENSORS, file)),
        lambda: packed(*pair, method=method),
        lambda: packed((MANIFEST, text + b" " * 30_000_000), pair[1], method=zipfile.ZIP_DEFLATED),
        lambda: packed(pair[0], (TENSORS, bytes(30_000_000)), method=zipfile.ZIP_DEFLATED),
    ])()  # fmt: skip


def text(rng: random.Random, file: bytes) -> bytes:
    """A manifest that is no JSON, or more of it than anyone needs."""
    document, tensors = unpacked(file)
    text, deep = json.dumps(document), 100_000
    wrong = rng.choice([
        *("", "null", "[]", "7", "NaN", "{", '"', text[:-1], text + text, "\ufeff" + text, "{}" + text),
        *("[" * deep, '{"a":' * deep, "[" * deep + "]" * deep, '{"format": 1' + "0" * deep + "}", "1e" + "9" * deep),
        text.replace('"format": 1', f'"format": {rng.choice(["0", "-1", "true", "1.0", "[1]", "2"])}'),
        text.replace('"format": 1', '"format": 9, "format": 1, "x": "' + "x" * 1_000_000 + '"'),
        text.replace('"kind"', '"\\ud800"'),
    ])  # fmt: skip
    return model(wrong.encode(rng.choice(["utf-8", "utf-8", "utf-16"]), "surrogatepass"), tensors)


def tensors(rng: random.Random, file: bytes) -> bytes:
    """Tensors whose header lies, or whose numbers are others."""
    document, content = unpacked(file)
    return model(document, stored(rng, content))


def stored(rng: random.Random, content: bytes) -> bytes:
    """The layout of safetensors, and of .luce-data, with a header that lies or with other numbers."""
    length = int.from_bytes(content[:8], "little")
    header, numbers = json.loads(content[8 : 8 + length]), content[8 + length :]
    way = rng.randrange(4)
    if way == 0:
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
    words = json.dumps(header).encode()
    words += b" " * (-len(words) % 8)  # the numbers stay aligned
    return struct.pack("<Q", len(words)) + words + numbers


def json_line(rng: random.Random, file: bytes) -> bytes:
    """A line of a file of JSON lines that lies."""
    lines = file.splitlines(keepends=True)
    at = rng.randrange(len(lines))
    lines[at] = json.dumps(lie(rng, json.loads(lines[at]))).encode() + b"\n"
    return b"".join(lines)


ARCHIVE = (manifest, manifest, manifest, claim, rearranged, text, tensors, tensors)
