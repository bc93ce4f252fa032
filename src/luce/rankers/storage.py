"""The `.luce` model file: a zip of `manifest.json` and `tensors.safetensors`; data only, nothing in it is ever run."""

import json
import os
import zipfile
from collections.abc import Container
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from luce.errors import DataError
from luce.files import replacing

FORMAT = 1
LIMITS = {"manifest.json": 2**28, "tensors.safetensors": 2**36}
"""The entries of a model file and how many bytes each may hold."""


def save_model(path: str | os.PathLike[str], manifest: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Write a model file; a file that was there before stays whole until the new one is complete."""
    from safetensors.numpy import save

    text = json.dumps({"format": FORMAT, **manifest}, indent=1, ensure_ascii=False)
    tensors = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    with replacing(path) as partial, zipfile.ZipFile(partial, "w") as archive:
        for name, content in zip(LIMITS, (text.encode(), tensors), strict=True):
            # A fixed date, so that the same model gives the same bytes.
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)


def open_model(path: str | os.PathLike[str], kinds: Container[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The manifest and the arrays of a model file, as far as they can be checked without knowing the ranker."""
    if not Path(path).is_file():
        raise DataError(f"There is no model file {path}.")
    try:
        with zipfile.ZipFile(path) as archive:
            text, tensors = (_entry(archive, name, limit) for name, limit in LIMITS.items())
            manifest = json.loads(text)
    except (zipfile.BadZipFile, KeyError, ValueError, OSError, EOFError, RecursionError, NotImplementedError) as error:
        raise DataError(f"{path} is not a whole Luce model file: {error}") from error
    if not isinstance(manifest, dict) or not isinstance(manifest.get("format"), int):
        raise DataError(f"{path} is not a Luce model file: its manifest names no format.")
    if manifest["format"] > FORMAT:
        raise DataError(f"{path} has model format {manifest['format']}; this Luce reads up to {FORMAT}: update it.")
    kind = manifest.get("kind")
    if not isinstance(kind, str) or kind not in kinds:
        raise DataError(f"{path} holds a ranker of unknown kind {kind!r}.")
    return manifest, _arrays(path, tensors)


def _entry(archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    info = archive.getinfo(name)
    if info.compress_type != zipfile.ZIP_STORED:  # we never compress, so a small file cannot unpack to a large one
        raise ValueError(f"{name} is compressed")
    if info.file_size > limit:
        raise ValueError(f"{name} has {info.file_size} bytes, more than the limit of {limit}")
    return archive.read(info)


def _arrays(path: str | os.PathLike[str], tensors: bytes) -> dict[str, NDArray[Any]]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        return load(tensors)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} is not a whole Luce model file: {error}") from error
