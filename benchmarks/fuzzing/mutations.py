"""Random changes to the bytes of a file: of any file, and of lines of text."""

import random
import re
import struct
from collections.abc import Callable

Mutation = Callable[[random.Random, bytes], bytes]

NUMBERS = (0, 1, -1, 2, 127, 255, 2**15, 2**31 - 1, -(2**31), 1_500_000_000, 2**32, 2**62, -(2**63), 2**63 - 1)

TOKENS = [
    b" ", b"\t", b"\n", b"\r\n", b"\r", b"\0", b"#", b":", b"-", b"+", b".", b"e", b"E9", b"e-400", b"1e400", b"nan",
    b"NaN", b"NULL", b"null", b"nul", b"inf", b"-Infinity", b"qid:", b"qid:7", b"qid", b" qid:a b", b"docid", b"=",
    b"#docid = x", b"# DOCID=y z", b"0:1", b"1:1 1:2", b"16777216:1", b"16777217:1", b"99999999999999999999:1",
    b"0x1p3", b"1_0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xc3\xa9", b"\xc3", b"\xe2\x80\xa8", b"3.4028235677973366e38",
    b"1.7976931348623159e308", b"5e-324", b"0.1000000014901161193847656250000000000001", b"9" * 30, b"1" * 400,
    b"0." + b"0" * 350 + b"1", b"2:0.123456789012345678", b"\x1f\x8b", b"PAR1", b",", b",,", b";", b'"', b'"a\nb"',
    b"{", b"}", b"{1,2}", b"[", b"]", b"[[", b"true", b"false", b"2024-02-30", b"12:34:56", b"0Q0", b"-0", b"\\u0000",
    b"1: 1,{2,3}", b"# NUMBER ALTERNATIVES: 999999999", b"\xed\xa0\x80", b"\x85", b"\xa0",
]  # fmt: skip


def flip(rng: random.Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 4]) if content else 0):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def cut(rng: random.Random, content: bytes) -> bytes:
    first = rng.randrange(len(content) + 1)
    return content[:first] + content[first + rng.randint(1, 40) :]


def cut_short(rng: random.Random, content: bytes) -> bytes:
    at = rng.randrange(len(content) + 1)
    return rng.choice([content[:at], content[:at], content[at:]])


def insert(rng: random.Random, content: bytes) -> bytes:
    at = rng.randrange(len(content) + 1)
    return content[:at] + rng.choice(TOKENS) + content[at:]


def insert_noise(rng: random.Random, content: bytes) -> bytes:
    at = rng.randrange(len(content) + 1)
    return content[:at] + rng.randbytes(rng.randint(1, 60)) + content[at:]


def overwrite(rng: random.Random, content: bytes) -> bytes:
    """Other bytes in the place of some, often as many as a number of a binary format has."""
    at = rng.randrange(len(content) + 1)
    size = rng.choice([1, 2, 4, 4, 8, 8, rng.randint(1, 60)])
    return content[:at] + rng.randbytes(size) + content[at + size :]


def integer(rng: random.Random, content: bytes) -> bytes:
    """An extreme number at a place where a binary format may have an offset, a length or a count."""
    size = rng.choice([4, 8])
    if len(content) < size:
        return content
    at = rng.randrange(0, len(content) - size + 1, rng.choice([1, 2, 4, size]))
    before = int.from_bytes(content[at : at + size], "little", signed=True)
    value = rng.choice([*NUMBERS, before - 1, before + 1, before * 2, before + rng.randint(-64, 64)])
    text = struct.pack("<Q", value % 2**64)[:size]
    return content[:at] + text + content[at + size :]


def repeat(rng: random.Random, content: bytes) -> bytes:
    first = rng.randrange(len(content) + 1)
    part = content[first : first + rng.randint(1, 30)]
    return content[:first] + part * rng.choice([1, 1, 2, 50, 5000]) + content[first:]


def swap(rng: random.Random, content: bytes) -> bytes:
    a, b, c = sorted(rng.randrange(len(content) + 1) for _ in range(3))
    return content[:a] + content[b:c] + content[a:b] + content[c:]


def shuffled_words(rng: random.Random, content: bytes) -> bytes:
    lines = content.split(b"\n")
    mark = rng.choice([b" ", b","])
    words = lines[rng.randrange(len(lines))].split(mark)
    rng.shuffle(words)
    lines[rng.randrange(len(lines))] = mark.join(words)
    return b"\n".join(lines)


def number(rng: random.Random, content: bytes) -> bytes:
    """Another number in the place of one, of any length and size."""
    found = list(re.finditer(rb"[0-9.]+", content)) or [re.search(rb"$", content)]
    first, end = rng.choice(found).span()  # type: ignore[union-attr]
    digits = "".join(rng.choice("0123456789") for _ in range(rng.randint(1, 25)))
    power = rng.choice(["", "", f"e{rng.randint(-60, 40)}"])
    real = f"{rng.choice(['', '-', '+'])}{digits[: rng.randint(0, 3)]}.{digits}{power}"
    value = rng.choice([real, real, digits, str(rng.choice(NUMBERS))])
    return content[:first] + value.encode() + content[end:]


def pair(rng: random.Random, content: bytes) -> bytes:
    """One more pair of LETOR text somewhere between others."""
    at = rng.choice(list(re.finditer(rb" |$", content))).start()
    index = rng.choice([rng.randint(0, 40), rng.getrandbits(24)])
    return content[:at] + f" {index}:{rng.randint(-9, 9)}".encode() + content[at:]


def shuffled_lines(rng: random.Random, content: bytes) -> bytes:
    """Lines in another order, some with other ends, some twice."""
    lines = content.split(b"\n")
    rng.shuffle(lines)
    lines[rng.randrange(len(lines))] += rng.choice([b"\r", b" ", b"\n", b"\n# comment\n", b" # comment"])
    return b"\n".join(lines + rng.sample(lines, 1))


BYTES: tuple[Mutation, ...] = (
    flip, flip, cut, cut_short, insert, insert_noise, overwrite, integer, integer, repeat, swap,
)  # fmt: skip
TEXT: tuple[Mutation, ...] = (
    flip, flip, cut, cut_short, insert, insert, insert, insert_noise, repeat, shuffled_words, number, number, number,
    pair, shuffled_lines, shuffled_lines,
)  # fmt: skip


def mutated(
    rng: random.Random, samples: dict[str, bytes], mutations: tuple[Mutation, ...], aware: tuple[Mutation, ...]
) -> tuple[str, bytes]:
    """One of the samples, changed, with its name: by one of the mutations aware of its format, or by some others."""
    name = rng.choice(list(samples))
    content = samples[name]
    if aware and rng.random() < 0.5:
        return name, rng.choice(aware)(rng, content)
    if rng.random() < 0.05:  # the start of one, the end of another
        other = rng.choice(list(samples.values()))
        content = content[: rng.randrange(len(content))] + other[rng.randrange(len(other)) :]
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        content = rng.choice(mutations)(rng, content)
    return name, content
