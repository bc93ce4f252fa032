"""The `.luce` model file: a zip of `manifest.json` and `tensors.safetensors`; data only, nothing in it is ever run."""

import json
import os
import zipfile
from collections.abc import Container
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from luce.errors import DataError, OptionError
from luce.files import replacing

FORMAT = 1
ENTRIES = ("manifest.json", "tensors.safetensors")


def save_model(path: str | os.PathLike[str], manifest: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Write a model file; a file that was there before stays whole until the new one is complete."""
    from safetensors.numpy import save

    try:
        text = json.dumps({"format": FORMAT, **manifest}, indent=1, ensure_ascii=False)
    except TypeError as error:
        raise OptionError(
            "A model file holds data alone, and an option of this ranker or of its objective is something else, such "
            f"as a function: {error}. Name what the option can be named by, or train without it."
        ) from error
    tensors = save({name: np.asarray(array, order="C") for name, array in arrays.items()})
    with replacing(path) as partial, zipfile.ZipFile(partial, "w") as archive:
        for name, content in zip(ENTRIES, (text.encode(), tensors), strict=True):
            # A fixed date, so that the same model gives the same bytes.
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content)


def open_model(path: str | os.PathLike[str], kinds: Container[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The manifest and the arrays of a model file, as far as they can be checked without knowing the ranker."""
    if not Path(path).is_file():
        raise DataError(f"There is no model file {path}.")
    try:
        with zipfile.ZipFile(path) as archive:
            text, tensors = (_entry(archive, name, Path(path).stat().st_size) for name in ENTRIES)
            manifest = json.loads(text.decode())
    except (zipfile.BadZipFile, ValueError, OSError, EOFError, OverflowError, RuntimeError) as error:
        raise DataError(f"{path} is not a whole Luce model file: {error}") from error
    if not isinstance(manifest, dict) or type(manifest.get("format")) is not int or manifest["format"] < 1:
        raise DataError(f"{path} is not a Luce model file: its manifest names no format.")
    if manifest["format"] > FORMAT:
        raise DataError(f"{path} has model format {manifest['format']}; this Luce reads up to {FORMAT}: update it.")
    kind = manifest.get("kind")
    if not isinstance(kind, str) or kind not in kinds:
        raise DataError(f"{path} holds a ranker of unknown kind {kind!r}.")
    return manifest, _arrays(path, tensors)


def _entry(archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    """An entry, which is there once and takes no more than the file has bytes, whatever its header claims."""
    if (times := archive.namelist().count(name)) != 1:
        raise ValueError(f"{name} is in it {times} times")
    info = archive.getinfo(name)
    if info.compress_type != zipfile.ZIP_STORED:  # we never compress, so a small file cannot unpack to a large one
        raise ValueError(f"{name} is compressed")
    if info.file_size > limit:
        raise ValueError(f"{name} claims {info.file_size} bytes, the whole file has {limit}")
    return archive.read(info)


def _arrays(path: str | os.PathLike[str], tensors: bytes) -> dict[str, NDArray[Any]]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        arrays = load(tensors)
        if any(array.dtype.kind not in "fiub" for array in arrays.values()):
            raise ValueError("it holds other than real numbers")
        return arrays
    except (SafetensorError, ValueError, KeyError, TypeError, OverflowError) as error:
        raise DataError(f"{path} is not a whole Luce model file: {error}") from error
