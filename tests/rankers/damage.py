"""Ways to damage a model file: by accident, and by somebody who knows the format."""

import copy
import io
import json
import struct
import warnings
import zipfile

MANIFEST, TENSORS = "manifest.json", "tensors.safetensors"
NOT_COUNTS = (None, True, -1, 0, 3, 10**9, 10**18, 10**30, 1.5, float("nan"), float("inf"), -1e308)
NOT_NAMES = ("", "x", "listmle", "meta", [], [0], ["x"], [10**9], [10**18] * 2, [1] * 50_000, [[[]]], {}, {"x": 1})
WRONG = NOT_COUNTS + NOT_NAMES
"""What may stand in a manifest in the place of anything else."""

LOCAL, CENTRAL, END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
FIELDS = {
    LOCAL: [(4, 2), (6, 2), (8, 2), (14, 4), (18, 4), (22, 4), (26, 2), (28, 2)],
    CENTRAL: [(4, 2), (6, 2), (8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (32, 2), (34, 2), (42, 4)],
    END: [(4, 2), (6, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 2)],
}
"""Place and size of what the headers of a zip claim: versions, flags, methods, sums, sizes, lengths, offsets."""


def unpacked(whole):
    """The manifest, and the bytes of the tensors."""
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        return json.loads(archive.read(MANIFEST)), archive.read(TENSORS)


def packed(*entries, method=zipfile.ZIP_STORED):
    """A zip of entries (name, content)."""
    stream = io.BytesIO()
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(stream, "w") as archive:  # a name may come twice
        for name, content in entries:
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return stream.getvalue()


def model(manifest, tensors):
    """A model file whose sums are right, whatever it holds."""
    text = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
    return packed((MANIFEST, text), (TENSORS, tensors))


def accidents(whole, rng):
    """Bits flipped, and bytes cut off, put in, taken out, doubled, overwritten."""
    n = len(whole)
    for trial in range(40):
        damaged = bytearray(whole)
        for place in rng.integers(n, size=1 + trial % 5):
            damaged[place] ^= 1 << rng.integers(8)
        yield bytes(damaged)
    for _ in range(10):
        a, b = sorted(rng.integers(n, size=2))
        noise = rng.bytes(int(rng.integers(1, 40)))
        yield whole[:a]
        yield whole[a:]
        yield whole[:a] + noise + whole[a:]
        yield whole[:a] + noise + whole[a + len(noise) :]
        yield whole[:a] + whole[b:]
        yield whole[:b] + whole[a:]


def claims(whole):
    """Each field of each header of the zip, as large and as small as can be."""
    for signature, fields in FIELDS.items():
        at = whole.find(signature)
        while at >= 0:
            for place, size in fields:
                for value in (b"\xff" * size, (1).to_bytes(size, "little")):
                    yield whole[: at + place] + value + whole[at + place + size :]
            at = whole.find(signature, at + 4)


def rearranged(whole, other):
    """Entries swapped, doubled, renamed, missing, compressed, or under names that lead elsewhere."""
    (manifest, tensors), (_, foreign) = unpacked(whole), unpacked(other)
    text = json.dumps(manifest).encode()
    pair = [(MANIFEST, text), (TENSORS, tensors)]
    yield packed((MANIFEST, tensors), (TENSORS, text))
    yield packed((MANIFEST, text), (TENSORS, foreign))
    yield packed((MANIFEST, b"{}"), *pair)
    yield packed(*pair, (TENSORS, foreign))
    yield packed(pair[0])
    yield packed(pair[1])
    yield packed()
    for name in ("../escaped.txt", "/tmp/escaped.txt", "..\\escaped.txt", "C:\\escaped.txt", "a/" * 5_000, "escaped\n"):
        yield packed((name, b"out"), *pair)
        yield packed((name, text), (TENSORS, tensors))
    yield packed((MANIFEST, whole), (TENSORS, whole))


def bombs(whole):
    """Small files that would unpack to large ones."""
    manifest, tensors = unpacked(whole)
    text = json.dumps(manifest).encode()
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        yield packed((MANIFEST, text), (TENSORS, tensors), method=method)
    method = zipfile.ZIP_DEFLATED
    yield packed((MANIFEST, text + b" " * 100_000_000), (TENSORS, tensors), method=method)
    yield packed((MANIFEST, text), (TENSORS, bytes(100_000_000)), method=method)


def texts(whole):
    """Manifests that are not JSON, or more of it than anyone needs."""
    manifest, tensors = unpacked(whole)
    text = json.dumps(manifest)
    deep = 100_000
    for wrong in (
        *("", "null", "[]", "7", "NaN", "{", '"', text[:-1], text + text, "\ufeff" + text, "{}" + text),
        *("[" * deep, '{"a":' * deep, "[" * deep + "]" * deep, '{"format": 1' + "0" * deep + "}", "1e" + "9" * deep),
        *(text.replace('"format": 1', f'"format": {value}') for value in ("0", "-1", "true", "1.0", '"1"', "[1]", "2")),
        text.replace('"format": 1', '"format": 9, "format": 1, "x": "' + "x" * 1_000_000 + '"'),
        text.replace('"kind"', '"\\ud800"'),
    ):
        yield model(wrong.encode("utf-8", "surrogatepass"), tensors)
    yield model(text.encode("utf-16"), tensors)
    yield model(b"\xff\xfe\xfd", tensors)


def paths(document, path=()):
    """The way to every value of a JSON document; of many of a kind to the first few."""
    yield path
    inner = list(document.items())[:20] if isinstance(document, dict) else enumerate(document[:3])
    for key, value in inner:
        if isinstance(value, dict | list):
            yield from paths(value, (*path, key))
        else:
            yield (*path, key)


def changed(document, path, *value):
    """The document with another value there, or without any."""
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


def lies(document, rng, trials):
    """The document with something else in one place, `trials` times for each place, or without what is there."""
    for path in paths(document):
        yield changed(document, path)
        for i in rng.choice(len(WRONG), trials, replace=False):
            yield changed(document, path, WRONG[i])


def manifests(whole, rng):
    """Manifests that lie."""
    manifest, tensors = unpacked(whole)
    for lie in lies(manifest, rng, 3):
        yield model(lie, tensors)


def tensors(whole, rng):
    """Tensors whose header lies, or whose numbers are others."""
    manifest, content = unpacked(whole)
    length = int.from_bytes(content[:8], "little")
    header, numbers = json.loads(content[8 : 8 + length]), content[8 + length :]
    for claimed in (0, 1, length - 1, length + 1, len(content), 2**31, 2**63, 2**64 - 1):
        yield model(manifest, struct.pack("<Q", claimed) + content[8:])
    kinds = [changed(header, (name, "dtype"), kind) for name in list(header)[:2] for kind in ("BF16", "F8_E5M2", "C64")]
    empty = [{**header, "more": {"dtype": "F32", "shape": [2**62, 2**62, 0], "data_offsets": [0, 0]}}]
    for lie in [*kinds, *empty, *lies(header, rng, 1)]:
        text = json.dumps(lie).encode()
        yield model(manifest, struct.pack("<Q", len(text)) + text + numbers)
    for _ in range(25):
        damaged = bytearray(content)
        damaged[rng.integers(8 + length, len(content))] ^= 1 << rng.integers(8)
        yield model(manifest, bytes(damaged))
