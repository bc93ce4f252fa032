"""The Open Inference Protocol v2: tensors in JSON or, as in its binary extension, after the JSON."""

import math
from typing import Any, NamedTuple

import numpy as np
import orjson
from numpy.typing import NDArray

from luce.arrays import check_offsets
from luce.errors import DataError, unknown_name
from luce.serve.model import Model
from luce.serve.settings import Settings
from luce.serve.values import NUMBERS, expect, numbers, parse_object

HEADER_LENGTH = "Inference-Header-Content-Length"
"""The header with the length of the JSON, where binary tensors follow it."""

INPUTS = {"features": ("FP32", "FP64"), "offsets": ("INT64",)}
"""The inputs and their datatypes: rows of features and, for several lists, where each begins, and their total."""

DTYPES = {"FP32": "<f4", "FP64": "<f8", "INT64": "<i8"}


class ScoredRequest(NamedTuple):
    """The body of a response, how many rows were scored for it, and the length of its JSON if tensors follow."""

    content: bytes
    rows: int
    header_length: int | None = None


def metadata(name: str, model: Model) -> dict[str, Any]:
    """The metadata of the model, with the names of its features; a category is the number of its value in the list."""
    facts: dict[str, Any] = {"feature_names": model.feature_names, "needs_lists": model.scorer.needs_lists}
    facts |= {} if model.scorer.categories is None else {"categories": model.scorer.categories}
    return {
        "name": name,
        "versions": [model.version],
        "platform": "luce",
        "inputs": [
            {"name": "features", "datatype": "FP32", "shape": [-1, model.scorer.n_features]},
            {"name": "offsets", "datatype": "INT64", "shape": [-1]},
        ],
        "outputs": [{"name": "scores", "datatype": "FP64", "shape": [-1]}],
        "parameters": facts,
    }


def infer(name: str, model: Model, body: bytes, header_length: str | None, settings: Settings) -> ScoredRequest:
    """The answer to an inference request; a LuceError for one that is not valid."""
    length = _json_length(body, header_length)
    request = parse_object(memoryview(body)[:length])
    binary = _wants_binary(request)
    inputs = _inputs(request, memoryview(body)[length:], model.scorer.n_features, settings.max_rows)
    features, offsets = inputs["features"], inputs.get("offsets")
    offsets = None if offsets is None else check_offsets(offsets, len(features))
    scores = np.asarray(model.score(features, offsets), dtype="<f8")
    output: dict[str, Any] = {"name": "scores", "datatype": "FP64", "shape": [len(scores)]}
    output |= {"parameters": {"binary_data_size": scores.nbytes}} if binary else {"data": scores}
    answer: dict[str, Any] = {"model_name": name, "model_version": model.version}
    answer |= {"id": expect(request["id"], str, "id")} if "id" in request else {}
    content = orjson.dumps(answer | {"outputs": [output]}, option=orjson.OPT_SERIALIZE_NUMPY)
    if not binary:
        return ScoredRequest(content, len(scores))
    return ScoredRequest(content + scores.tobytes(), len(scores), len(content))


def _json_length(body: bytes, header_length: str | None) -> int:
    if header_length is None:
        return len(body)
    if not (header_length.isascii() and header_length.isdigit()) or int(header_length[:20]) > len(body):
        raise DataError(f"{HEADER_LENGTH} must be the length of the JSON, at most {len(body)} bytes here.")
    return int(header_length)


def _wants_binary(request: dict[str, Any]) -> bool:
    """Whether the scores are wanted as binary data."""
    default = expect(request.get("parameters", {}), dict, "parameters").get("binary_data_output", False)
    wanted = expect(default, bool, "binary_data_output")
    for output in expect(request.get("outputs", []), list, "outputs"):
        name = expect(expect(output, dict, "outputs").get("name"), str, "name")
        if name != "scores":
            raise unknown_name("output", name[:100], ["scores"])
        parameters = expect(output.get("parameters", {}), dict, "parameters")
        wanted = expect(parameters.get("binary_data", wanted), bool, "binary_data")
    return wanted


def _inputs(request: dict[str, Any], rest: memoryview, n_features: int, max_rows: int) -> dict[str, NDArray[Any]]:
    """The input tensors by name; their binary data follow each other in `rest`."""
    found: dict[str, NDArray[Any]] = {}
    for tensor in expect(request.get("inputs"), list, "inputs"):
        name = expect(expect(tensor, dict, "inputs").get("name"), str, "name")
        if name not in INPUTS:
            raise unknown_name("input", name[:100], INPUTS)
        if name in found:
            raise DataError(f"There are two inputs '{name}'.")
        shape = _shape(name, tensor, n_features, max_rows)
        values, rest = _values(name, tensor, math.prod(shape), rest)
        found[name] = values.reshape(shape)
    if "features" not in found:
        raise DataError("The request lacks the input 'features', rows by features.")
    if len(rest):
        raise DataError(f"{len(rest)} bytes follow the binary data of the inputs.")
    return found


def _shape(name: str, tensor: dict[str, Any], n_features: int, max_rows: int) -> tuple[int, ...]:
    shape = [expect(size, int, "shape") for size in expect(tensor.get("shape"), list, "shape")]
    wanted = f"[rows, {n_features}]" if name == "features" else "[lists + 1]"
    if len(shape) != (2 if name == "features" else 1) or shape[1:] not in ([], [n_features]) or min(shape) < 0:
        raise DataError(f"The shape of '{name}' must be {wanted}. Got {str(shape)[:100]}.")
    if shape[0] > max_rows + (name == "offsets"):
        raise DataError(f"A request may have at most {max_rows:,} rows. Got {shape[0]:,} in '{name}'.")
    return tuple(shape)


def _values(name: str, tensor: dict[str, Any], size: int, rest: memoryview) -> tuple[NDArray[Any], memoryview]:
    """The values of a tensor, and what follows them of the binary data."""
    datatype = expect(tensor.get("datatype"), str, "datatype")
    if datatype not in INPUTS[name]:
        raise DataError(f"The datatype of '{name}' must be {' or '.join(INPUTS[name])}. Got {datatype[:100]!r}.")
    dtype = np.dtype(DTYPES[datatype])
    n_bytes = expect(tensor.get("parameters", {}), dict, "parameters").get("binary_data_size")
    if n_bytes is not None:
        if expect(n_bytes, int, "binary_data_size") != size * dtype.itemsize or n_bytes > len(rest):
            raise DataError(
                f"The shape and datatype of '{name}' need {size * dtype.itemsize} bytes. Its binary_data_size is "
                f"{n_bytes}, and {len(rest)} bytes are left of the request."
            )
        return np.frombuffer(rest[:n_bytes], dtype), rest[n_bytes:]
    allowed: set[type] = NUMBERS if name == "features" else {int}
    values = numbers(expect(tensor.get("data"), list, "data"), dtype, name, allowed)
    if len(values) != size:
        raise DataError(f"The shape of '{name}' needs {size} values. Got {len(values)}.")
    return values, rest
