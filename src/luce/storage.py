"""The `.luce` model file: safetensors with a JSON manifest in its metadata; data only, nothing in it is ever run."""

import json
import os
import zlib
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from luce.errors import DataError, OptionError
from luce.files import atomic_write

FORMAT = 1
MANIFEST = "luce"
"""The key of the manifest in the metadata of the file."""

AGGREGATIONS = {"plackett-luce": "PlackettLuce", "item-scores": "ItemScores"}
"""The kinds of models of rankings without features, and their classes in `luce.aggregation`."""


def save_model(path: str | os.PathLike[str], manifest: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a model file; an existing file is replaced only when the new one is complete."""
    from safetensors.numpy import save

    stored = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    try:
        content = save(stored, {MANIFEST: manifest_text({"format": FORMAT, **manifest}, stored)})
    except TypeError as error:
        raise OptionError(
            "A model file contains only data, and an option of this ranker or of its objective is something else, such "
            f"as a function: {error}. Scores do not depend on the options of an objective: set_params(objective=NAME) "
            "before saving, or pickle the ranker."
        ) from error
    with atomic_write(path) as partial:
        partial.write_bytes(content)


def open_model(path: str | os.PathLike[str], kinds: Container[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The manifest and the arrays of a model file, as far as they can be checked without knowing the ranker."""
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise DataError(f"There is no model file {path}.")
    try:
        with safe_open(path, framework="np") as file:
            manifest = json.loads((file.metadata() or {}).get(MANIFEST, "null"))
            _check_manifest(path, manifest, kinds)
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  it is no dict
        if any(array.dtype.kind not in "fiub" for array in arrays.values()):
            raise ValueError("it contains values that are not real numbers")
        if manifest.pop("crc32", None) != _checksum(manifest, arrays):
            raise ValueError("its checksum does not match")
    except DataError:
        raise
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, OSError, RuntimeError) as error:
        raise DataError(
            f"{path} is damaged or not a Luce model file, as `luce train` and `save` write it: {error}"
        ) from error
    return manifest, arrays


def manifest_text(manifest: dict[str, Any], arrays: Mapping[str, NDArray[Any]]) -> str:
    """The manifest in JSON, with the checksum of all that the file holds."""
    return json.dumps({**manifest, "crc32": _checksum(manifest, arrays)}, ensure_ascii=False)


def _checksum(manifest: Any, arrays: Mapping[str, NDArray[Any]]) -> int:
    """safetensors has none, and a flipped bit in a weight would go unnoticed."""
    value = zlib.crc32(json.dumps(manifest).encode())
    for name in sorted(arrays):
        value = zlib.crc32(f"{name} {arrays[name].dtype} {arrays[name].shape}".encode(), value)
        value = zlib.crc32(arrays[name].data, value)
    return value


def _check_manifest(path: str | os.PathLike[str], manifest: Any, kinds: Container[str]) -> None:
    if not isinstance(manifest, dict) or type(manifest.get("format")) is not int or manifest["format"] < 1:
        raise DataError(f"{path} is not a Luce model file: its metadata have no format.")
    if manifest["format"] > FORMAT:
        raise DataError(
            f"{path} has model format {manifest['format']}; this version of Luce supports formats up to "
            f"{FORMAT}: update Luce."
        )
    kind = manifest.get("kind")
    if isinstance(kind, str) and kind in kinds:
        return
    if isinstance(kind, str) and kind in AGGREGATIONS:
        raise DataError(
            f"{path} contains a {AGGREGATIONS[kind]} model of rankings without features, not a ranker of lists. In "
            "Python, luce.load restores it."
        )
    raise DataError(f"{path} contains a model of unknown kind {kind!r}.")
