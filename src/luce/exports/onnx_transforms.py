"""The feature transforms as ONNX operators: float32 after each of them and float64 inside, as they have it."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from luce.data.transforms import (
    Encode,
    Fill,
    ListMinMax,
    ListZScore,
    SecondOrder,
    Standardize,
    SymLog1p,
    Transform,
)
from luce.exports.onnx_graph import Graph, Tensor

LARGEST = np.finfo(np.float32).max
INFINITY = np.float64(np.inf)


def transformed(graph: Graph, features: str, transforms: Sequence[Transform]) -> str:
    """The features, float32 (n, F), after the transforms."""
    for each in transforms:
        features = OPERATORS[type(each)](graph, features, each)
    return features


def _saturated(graph: Graph, values: str) -> str:
    """Float64 as float32, never infinite; without Clip, ONNX Runtime takes two casts in a row for none."""
    return str(graph.add("Clip", graph.cast(values, np.float32), -LARGEST, LARGEST))


def _fill(graph: Graph, x: str, fill: Any) -> str:
    values = np.clip(fill.values, -LARGEST, LARGEST).astype(np.float32)
    return str(graph.add("Where", graph.add("IsNaN", x), values, x))


def _symlog1p(graph: Graph, x: str, symlog1p: Any) -> str:
    size = graph.add("Abs", graph.cast(x, np.float64))
    # In float64 the sum is exact for every float32 size from 2⁻²⁹ on, and below that the logarithm is the size.
    log = graph.add("Log", graph.add("Add", size, np.float64(1)))
    shortened = graph.add("Where", graph.add("Less", size, np.float64(2**-29)), size, log)
    return _saturated(graph, graph.add("Mul", shortened, graph.cast(graph.add("Sign", x), np.float64)))


def _standardize(graph: Graph, x: str, standardize: Any) -> str:
    apart = graph.add("Sub", graph.cast(x, np.float64), standardize.mean)
    return _saturated(graph, graph.add("Div", apart, standardize.scale))


def _list_minmax(graph: Graph, x: str, list_minmax: Any) -> str:
    x = graph.cast(x, np.float64)
    missing = graph.add("IsNaN", x)
    low = _reduce(graph, "Min", graph.add("Where", missing, INFINITY, x))
    span = graph.add("Sub", _reduce(graph, "Max", graph.add("Where", missing, -INFINITY, x)), low)
    return _saturated(graph, graph.add("Div", graph.add("Sub", x, low), _positive_or_one(graph, span)))


def _list_zscore(graph: Graph, x: str, list_zscore: Any) -> str:
    x = graph.cast(x, np.float64)
    missing = graph.add("IsNaN", x)
    count = _reduce(graph, "Sum", graph.cast(graph.add("Not", missing), np.float64))

    def mean(values: str) -> Any:
        return graph.add("Div", _reduce(graph, "Sum", graph.add("Where", missing, np.float64(0), values)), count)

    apart = graph.add("Sub", x, mean(x))
    deviation = graph.add("Sqrt", mean(graph.add("Mul", apart, apart)))
    return _saturated(graph, graph.add("Div", apart, _positive_or_one(graph, deviation)))


def _second_order(graph: Graph, x: str, second_order: Any) -> str:
    left, right = (graph.cast(graph.take(x, side), np.float64) for side in (second_order.left, second_order.right))
    return str(graph.add("Concat", x, _saturated(graph, graph.add("Mul", left, right)), axis=1))


def _encode(graph: Graph, x: str, encode: Any) -> str:
    categories = [column for column, values in enumerate(encode.categories) if values is not None]
    numbers = [column for column, values in enumerate(encode.categories) if values is None]
    parts: list[Tensor] = [transformed(graph, graph.take(x, numbers), encode.chain)]
    if not encode.one_hot:
        return str(graph.add("Concat", *parts, graph.take(x, categories), axis=1))
    for column, places, width in zip(categories, encode._places, encode._widths, strict=True):
        code = graph.take(x, [column])
        known = graph.add("Where", graph.add("IsNaN", code), np.float32(len(places)), code)
        place = graph.add("Gather", np.append(places, -1), graph.cast(known, np.int64))
        parts.append(graph.cast(graph.add("Equal", place, np.arange(width)), np.float32))
    return str(graph.add("Concat", *parts, axis=1))


def _reduce(graph: Graph, how: str, values: str) -> Any:
    """The least, the largest or the sum of each column."""
    return graph.add(f"Reduce{how}", values, np.array([0]), keepdims=1)


def _positive_or_one(graph: Graph, divisor: str) -> Any:
    return graph.add("Where", graph.add("Greater", divisor, np.float64(0)), divisor, np.float64(1))


OPERATORS: dict[type[Transform], Callable[[Graph, str, Any], str]] = {
    Fill: _fill,
    SymLog1p: _symlog1p,
    Standardize: _standardize,
    ListMinMax: _list_minmax,
    ListZScore: _list_zscore,
    SecondOrder: _second_order,
    Encode: _encode,
}
"""How each transform of TRANSFORMS is written, and the encoding of categories around them."""
