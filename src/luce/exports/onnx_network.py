"""Networks as ONNX operators, in float32; attention is over all rows of a call, which are one list."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from luce.exports.onnx_graph import Graph
from luce.rankers.labels.network import DenseRows, FirstLayer, LabelNetwork
from luce.rankers.neural.network import AttentionBlock, InputLayer, Network, NetworkAverage


def is_known(network: nn.Module) -> bool:
    """Whether a network is made of layers that are known here."""
    return isinstance(network, Network | NetworkAverage | LabelNetwork)


def network_outputs(graph: Graph, x: str, network: Any) -> str:
    """The outputs, float32 (n, outputs), for features float32 (n, F)."""
    if isinstance(network, NetworkAverage):
        return _average(graph, x, network)
    if isinstance(network, LabelNetwork):
        return _layers(graph, x, [network.first, *network.layers, network.out])
    layers = [*network.rows, *network.context, network.out]
    return _for_any_rows(graph, x, layers) if network.context else _layers(graph, x, layers)


def _average(graph: Graph, x: str, network: NetworkAverage) -> str:
    parts = []
    for one, weight, mask in zip(network.networks, network.weights, network.masks, strict=True):
        seen = graph.add("Where", _array(mask), x, np.float32(0))
        parts.append(graph.add("Mul", network_outputs(graph, seen, one), _array(weight)))
    return str(graph.add("Sum", *parts))


def _for_any_rows(graph: Graph, x: str, layers: Any) -> str:
    """Layers with attention; it is never applied to 0 rows, of which the products end ONNX Runtime with a signal."""
    n = graph.add("Shape", x, start=0, end=1)
    one_if_none = graph.cast(graph.add("Equal", n, np.array([0])), np.int64)
    padded = graph.add("Pad", x, graph.add("Concat", np.array([0, 0]), one_if_none, np.array([0]), axis=0))
    return str(graph.add("Slice", _layers(graph, padded, layers), np.array([0]), n, np.array([0])))


def _layers(graph: Graph, x: str, layers: Any) -> str:
    for layer in layers:
        x = LAYERS[type(layer)](graph, x, layer)
    return x


def _linear(graph: Graph, x: str, layer: Any) -> Any:
    return graph.add("Gemm", x, _array(layer.weight), _array(layer.bias), transB=1)


def _first(graph: Graph, x: str, layer: Any) -> Any:
    return graph.add("Gemm", x, _array(layer.weight), _array(layer.bias))


def _batch_norm(graph: Graph, x: str, layer: Any) -> Any:
    arrays = map(_array, (layer.weight, layer.bias, layer.running_mean, layer.running_var))
    return graph.add("BatchNormalization", x, *arrays, epsilon=layer.eps)


def _layer_norm(graph: Graph, x: str, layer: Any) -> Any:
    return graph.add("LayerNormalization", x, _array(layer.weight), _array(layer.bias), axis=-1, epsilon=layer.eps)


def _attention(graph: Graph, x: str, block: Any) -> Any:
    width = block.merge.out_features
    size = width // block.heads
    projected = _layers(graph, x, [block.before_attention, block.projection])
    split = graph.add("Reshape", projected, np.array([0, 3, block.heads, size]))
    parts = graph.add("Transpose", split, perm=[1, 2, 0, 3])
    query, key, value = (graph.add("Gather", parts, np.array(number), axis=0) for number in range(3))
    similar = graph.add("MatMul", query, graph.add("Transpose", key, perm=[0, 2, 1]))
    shares = graph.add("Softmax", graph.add("Mul", similar, np.float32(1 / math.sqrt(size))), axis=-1)
    attended = graph.add("Transpose", graph.add("MatMul", shares, value), perm=[1, 0, 2])
    merged = graph.add("Reshape", attended, np.array([0, width]))
    x = graph.add("Add", x, _linear(graph, merged, block.merge))
    return graph.add("Add", x, _layers(graph, x, [block.before_layers, *block.layers]))


def _silu(graph: Graph, x: str, layer: Any) -> Any:
    return graph.add("Mul", x, graph.add("Sigmoid", x))


def _unchanged(graph: Graph, x: str, layer: Any) -> Any:
    return x


def _array(tensor: Tensor) -> NDArray[Any]:
    return tensor.detach().cpu().numpy()


LAYERS: dict[type[nn.Module], Callable[[Graph, str, Any], Any]] = {
    nn.Linear: _linear,
    InputLayer: _linear,
    FirstLayer: _first,
    nn.BatchNorm1d: _batch_norm,
    nn.LayerNorm: _layer_norm,
    AttentionBlock: _attention,
    nn.ReLU: lambda graph, x, layer: graph.add("Relu", x),
    nn.Sigmoid: lambda graph, x, layer: graph.add("Sigmoid", x),
    nn.Tanh: lambda graph, x, layer: graph.add("Tanh", x),
    nn.GELU: lambda graph, x, layer: graph.add("Gelu", x),
    nn.SiLU: _silu,
    nn.Identity: _unchanged,
    nn.Dropout: _unchanged,
    DenseRows: _unchanged,
}
"""How each layer is written."""
