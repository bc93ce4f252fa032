"""A network as engines can be told it: matrices, biases and activations, one layer after the other."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import block_diag

from luce.arrays import Floats
from luce.exports.parts import TO_ONNX, check_one_score, only_part, refused


class Layer(NamedTuple):
    """activation(matrix · x + bias)."""

    matrix: Floats
    bias: Floats
    activation: str


def layers_of(ranker: Any, format_name: str, activations: Sequence[str]) -> list[Layer]:
    """The layers of a neural ranker, several bags as one network; an OptionError where a format cannot express them."""
    from luce.rankers.neural.network import Network, NetworkAverage

    part = only_part(ranker, "neural", format_name)
    check_one_score(part, format_name)
    network = part.model
    if isinstance(network, NetworkAverage):
        each = zip(network.networks, network.weights.tolist(), network.masks.numpy(force=True), strict=True)
        networks = [_seeing(_layers(one, format_name, activations), weight, mask) for one, weight, mask in each]
        return _side_by_side(networks)
    if not isinstance(network, Network):
        raise refused(format_name, "it has a module of your own", "Export it with the tools of PyTorch.")
    return _layers(network, format_name, activations)


def _layers(network: Any, format_name: str, activations: Sequence[str]) -> list[Layer]:
    from luce.rankers.neural.network import ACTIVATIONS

    if len(network.context):
        raise refused(
            format_name, "the items of a list attend to each other", "Train without context, or use --to onnx."
        )
    names = {kind: name for name, kind in ACTIVATIONS.items()}
    layers: list[Layer] = []
    for module in [*network.rows, network.out]:
        kind = type(module).__name__
        if kind in ("Linear", "InputLayer"):
            layers.append(Layer(_array(module.weight), _array(module.bias), "identity"))
        elif kind == "BatchNorm1d":
            factor = _array(module.weight) / np.sqrt(_array(module.running_var) + module.eps)
            bias = factor * (layers[-1].bias - _array(module.running_mean)) + _array(module.bias)
            layers[-1] = Layer(factor[:, None] * layers[-1].matrix, bias, "identity")
        elif names.get(type(module)) in activations:
            layers[-1] = layers[-1]._replace(activation=names[type(module)])
        elif kind != "Dropout":
            what = f"the activation {names[type(module)]}" if type(module) in names else "layer normalization"
            raise refused(
                format_name, f"it has no form for {what}", f"Train with activation='relu' and without it. {TO_ONNX}"
            )
    return layers


def _seeing(layers: list[Layer], weight: float, mask: Any) -> list[Layer]:
    """The layers of a network that sees the features of a mask, and whose score counts by a weight."""
    layers = [layers[0]._replace(matrix=layers[0].matrix * mask), *layers[1:]]
    last = layers[-1]
    return [*layers[:-1], Layer(weight * last.matrix, weight * last.bias, last.activation)]


def _side_by_side(networks: Sequence[list[Layer]]) -> list[Layer]:
    """Networks of the same form as one whose score is the sum of theirs."""
    depth, merged = len(networks[0]), []
    for place, layers in enumerate(zip(*networks, strict=True)):
        matrices, biases = [layer.matrix for layer in layers], [layer.bias for layer in layers]
        first, last = place == 0, place == depth - 1
        stacked = np.vstack(matrices) if first else block_diag(*matrices)
        bias = np.concatenate(biases)
        if last:  # one output each, which are added up
            stacked, bias = stacked.sum(axis=0, keepdims=True), bias.sum(keepdims=True)
        merged.append(Layer(stacked, bias, layers[0].activation))
    return merged


def _array(tensor: Any) -> Floats:
    return np.asarray(tensor.numpy(force=True), dtype=np.float64)
