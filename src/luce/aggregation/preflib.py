"""PrefLib files of orders: .soc .soi .toc .toi, their header checked against what follows."""

import io
import os
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from luce.aggregation.conventions import check_conventions, place_unlisted
from luce.aggregation.names import check_names
from luce.aggregation.ranking_arrays import RankingArrays
from luce.arrays import Floats, offsets_of_sizes
from luce.data.streams import CODECS, LONGEST_LINE, InputStream
from luce.errors import DataError

KINDS = {"soc": "strict and complete", "soi": "strict", "toc": "complete", "toi": "with ties and gaps allowed"}
"""What the orders of each kind of file must be."""

MOST_VOTES = 2**53
"""Weights are float64, which holds every integer up to here."""

_HEADER = re.compile(r"#\s*([A-Z0-9 ]+?)\s*:\s*(.*)")
_ORDERS = re.compile(r"([0-9]{1,16}):((?:[0-9]{1,9}|\{[0-9]{1,9}(?:,[0-9]{1,9})*\})(?:,(?!$)|$))+")
_LEVEL = re.compile(r"\{[0-9,]*\}|[0-9]+")


class PrefLibOrder(NamedTuple):
    """One line of votes: how many, and the levels of alternatives, numbered from 1."""

    line: int
    votes: int
    levels: list[list[int]]

    @property
    def alternatives(self) -> list[int]:
        return list(chain.from_iterable(self.levels))


def arrays_from_preflib(path: str | os.PathLike[str], unlisted: str) -> tuple[RankingArrays, Floats]:
    """The rankings of a PrefLib file, the number of voters of each as its weight."""
    check_conventions(unlisted=unlisted)
    header, orders = _read(path)
    n_alternatives = _header_count(path, header, "NUMBER ALTERNATIVES")
    names = _names(path, header, n_alternatives)
    _check_header(path, header, orders)
    lines: dict[str, int] = {}
    for order in orders:
        _check_order(path, order, header["DATA TYPE"], n_alternatives)
        if (line := lines.setdefault(str(order.levels), order.line)) != order.line:
            raise DataError(f"{path}, line {order.line}: the same order as in line {line}. Each order must occur once.")
    sizes = [[len(level) for level in order.levels] for order in orders]
    places = np.concatenate([np.empty(0, np.int64), *(np.repeat(np.arange(len(size)), size) for size in sizes)])
    imbued = header["DATA TYPE"] == "toc" and header.get("MODIFICATION TYPE") == "imbued"
    arrays = RankingArrays(
        items=np.array(list(chain.from_iterable(order.alternatives for order in orders)), dtype=np.int64) - 1,
        places=places,
        offsets=offsets_of_sizes([sum(size) for size in sizes]),
        names=names,
        open_end=np.array([imbued and len(size) > 1 and size[-1] > 1 for size in sizes], dtype=bool),
    )
    return place_unlisted(arrays, unlisted), np.array([float(order.votes) for order in orders])


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, str], list[PrefLibOrder]]:
    header: dict[str, str] = {}
    orders: list[PrefLibOrder] = []
    for number, line in _lines(path):
        if line.startswith("#"):
            match = _HEADER.match(line)
            key, value = match.groups() if match else ("", "")
            if key.startswith(("NUMBER", "ALTERNATIVE NAME", "DATA TYPE")) and header.get(key, value) != value:
                raise DataError(f"{path}, line {number}: {key} is {value!r} here and {header[key]!r} before.")
            header[key] = value
        elif line:
            if not header:
                start = f"{path}, line {number}: a PrefLib file starts with lines like `# DATA TYPE: soc`."
                old = "Files from before 2022 have another format; PrefLib has the same data in the new one."
                raise DataError(f"{start} Got {line[:60]!r}. {old}")
            orders.append(_order(path, number, line))
    if not header:
        raise DataError(f"{path} is empty; a PrefLib file is expected.")
    return header, orders


def _lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, str]]:
    with InputStream(path) as stream, io.BufferedReader(stream, 1 << 20) as file:
        number = 0
        while line := file.readline(LONGEST_LINE + 1):
            number += 1
            if len(line) > LONGEST_LINE:
                raise DataError(f"{path}, line {number}: the line is longer than {LONGEST_LINE:,} bytes.")
            try:
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8").strip()
            except UnicodeDecodeError:
                raise DataError(f"{path}, line {number}: it is not UTF-8. Got {line[:60]!r}.") from None


def _order(path: str | os.PathLike[str], number: int, line: str) -> PrefLibOrder:
    text = "".join(line.split())
    votes, _, order = text.partition(":")
    if not _ORDERS.fullmatch(text):
        raise DataError(f"{path}, line {number}: expected votes like `12: 3,1,{{2,5}},4`. Got {line[:80]!r}.")
    levels = [[int(alternative) for alternative in level.strip("{}").split(",")] for level in _LEVEL.findall(order)]
    return PrefLibOrder(number, int(votes), levels)


def _header_count(path: str | os.PathLike[str], header: dict[str, str], key: str) -> int:
    value = header.get(key)
    if value is None or not re.fullmatch(r"[0-9]{1,16}", value):
        what = "is missing" if value is None else f"is {value!r}"
        raise DataError(f"{path}: its header must say `# {key}: …` with an integer. It {what}.")
    return int(value)


def _names(path: str | os.PathLike[str], header: dict[str, str], n_alternatives: int) -> tuple[str, ...]:
    given = [key for key in header if key.startswith("ALTERNATIVE NAME")]
    if len(given) != n_alternatives:
        raise _mismatch(path, "NUMBER ALTERNATIVES", n_alternatives, f"{len(given)} lines name one")
    try:
        names = [header[f"ALTERNATIVE NAME {number}"] for number in range(1, n_alternatives + 1)]
        return check_names("items", names)  # type: ignore[return-value]
    except KeyError as error:
        raise DataError(f"{path}: alternatives must be numbered 1 … {n_alternatives}. There is no {error}.") from None
    except DataError as error:
        raise DataError(f"{path}: {error}") from None


def _check_header(path: str | os.PathLike[str], header: dict[str, str], orders: list[PrefLibOrder]) -> None:
    kind = header.get("DATA TYPE")
    if kind not in KINDS:
        raise DataError(f"{path}: its data type must be one of {', '.join(KINDS)}. Got {kind!r}.")
    endings = [ending for ending in Path(path).suffixes if ending.lower() not in CODECS]
    ending = endings[-1][1:].lower() if endings else ""
    if ending in KINDS and ending != kind:
        raise DataError(f"{path}: its name says {ending}, its header DATA TYPE {kind}.")
    if (votes := sum(order.votes for order in orders)) != (said := _header_count(path, header, "NUMBER VOTERS")):
        raise _mismatch(path, "NUMBER VOTERS", said, f"the votes add up to {votes:,}")
    if votes > MOST_VOTES:
        raise DataError(f"{path}: more than {MOST_VOTES:,} votes cannot be counted.")
    if len(orders) != (said := _header_count(path, header, "NUMBER UNIQUE ORDERS")):
        raise _mismatch(path, "NUMBER UNIQUE ORDERS", said, f"there are {len(orders):,} lines of votes")


def _check_order(path: str | os.PathLike[str], order: PrefLibOrder, kind: str, n_alternatives: int) -> None:
    items = order.alternatives
    fault = ""
    if not order.votes:
        fault = "it has 0 votes"
    elif min(items) < 1 or max(items) > n_alternatives:
        fault = f"there is no alternative {next(item for item in items if not 1 <= item <= n_alternatives)}"
    elif len(set(items)) < len(items):
        fault = f"alternative {next(item for item in items if items.count(item) > 1)} occurs twice"
    elif kind[0] == "s" and len(order.levels) < len(items):
        fault = "it has a tie"
    elif kind[2] == "c" and len(items) < n_alternatives:
        fault = f"it has {len(items)} of {n_alternatives} alternatives"
    if fault:
        raise DataError(f"{path}, line {order.line}: {fault}. The orders of a {kind} file must be {KINDS[kind]}.")


def _mismatch(path: str | os.PathLike[str], key: str, said: int, found: str) -> DataError:
    return DataError(f"{path}: its header says {key} {said:,}, but {found}. The file is truncated or was changed.")
