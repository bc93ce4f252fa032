"""The format onnx: one file for ONNX Runtime and every other reader of ONNX, checked by ONNX Runtime itself."""

import json
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from luce.arrays import Floats
from luce.errors import load_package
from luce.exports.onnx_graph import onnx
from luce.exports.onnx_model import ONE_LIST, onnx_model
from luce.exports.record import Export, Rows


def write(ranker: Any, name: str) -> bytes:
    """The content of the file."""
    content: bytes = onnx_model(ranker).SerializeToString()
    return content


def oracle(content: bytes, rows: Rows) -> Floats:
    """The scores that ONNX Runtime gives, on one thread; each list in a call of its own if lists matter."""
    runtime = load_package("onnxruntime", "onnx")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    facts = session.get_modelmeta().custom_metadata_map
    inputs = _inputs(content, facts, rows)
    if facts["kind"] == "labels":
        return _label_scores(session, inputs)
    bounds = rows.offsets if facts["rows"] == ONE_LIST else np.array([0, len(rows.features)])
    calls = ({name: values[start:stop] for name, values in inputs.items()} for start, stop in pairwise(bounds))
    return np.concatenate([np.empty(0), *(session.run(["scores"], call)[0] for call in calls)])


def _inputs(content: bytes, facts: dict[str, str], rows: Rows) -> dict[str, NDArray[Any]]:
    """The inputs of the graph; a category, a number in the rows, as its text."""
    numbers = [rows.column(name) for name in json.loads(facts["feature_names"])]
    columns = [rows.column(name) for name in json.loads(facts["category_names"])]
    inputs = {"features": rows.features[:, numbers]} if numbers else {}
    if not columns:
        return inputs
    nodes = onnx().load_from_string(content).graph.node
    keys = [each.strings for node in nodes for each in node.attribute if each.name == "keys_strings"]
    texts = np.full((len(rows.features), len(columns)), "", dtype=object)
    for text, column, known in zip(texts.T, columns, keys, strict=True):
        codes = rows.features[:, column]
        there = ~np.isnan(codes)
        text[there] = [known[code].decode() for code in codes[there].astype(int).tolist()]
    return inputs | {"categories": texts}


def _label_scores(session: Any, inputs: dict[str, NDArray[Any]]) -> Floats:
    """The scores of all labels (N, labels), of the best as many as there are."""
    everything = {"k": np.array([np.iinfo(np.int64).max])}
    labels, best = session.run(["labels", "scores"], inputs | everything)
    scores = np.empty(labels.shape)
    np.put_along_axis(scores, labels, best, axis=1)
    return scores


ONNX = Export(
    name="onnx",
    engine="ONNX Runtime 1.21 and later, in Python, Java, JavaScript, C# and C++, and Triton",
    extension=".onnx",
    kinds=("linear", "neural", "trees", "ensemble", "labels"),
    write=write,
    oracle=oracle,
    one_hot=False,
)
"""The record of EXPORTS."""
