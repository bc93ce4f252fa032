"""An ONNX graph under construction: operators and constants are added one after the other."""

from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from luce.errors import OptionError, load_package

OPSET, ML_OPSET, IR_VERSION = 20, 5, 10
"""Since opset 5 of ai.onnx.ml trees have float64 outputs; ONNX Runtime has them from version 1.21 on."""

LARGEST = 2**31 - 2**20
"""Bytes of constants: what protobuf can write, less some space for the rest."""

Tensor = str | NDArray[Any] | np.generic
"""The name of a tensor, or a constant."""


def onnx() -> Any:
    """The onnx package."""
    return load_package("onnx", "onnx")


class Graph:
    """Nodes, constants and inputs so far.

    >>> graph = Graph()
    >>> total = graph.add("Add", graph.input("features", np.float32, ["n", 2]), np.ones(2, np.float32))
    >>> graph.model({"total": (total, np.float32, ["n", 2])}, "one more", {}).graph.node[0].op_type
    'Add'
    """

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []

    def input(self, name: str, dtype: Any, shape: list[Any]) -> str:
        """A tensor that the caller gives."""
        self.inputs.append(_value(name, dtype, shape))
        return name

    def constant(self, values: NDArray[Any]) -> str:
        """A tensor of the file."""
        name = f"constant_{len(self.constants)}"
        self.constants.append(onnx().numpy_helper.from_array(np.asarray(values, order="C"), name))
        return name

    def add(self, operator: str, *inputs: Tensor, outputs: int = 1, domain: str = "", **attributes: Any) -> Any:
        """Add an operator; the name of its output, or the names of several."""
        names = [each if isinstance(each, str) else self.constant(np.asarray(each)) for each in inputs]
        made = [f"{operator}_{len(self.nodes)}_{number}" for number in range(outputs)]
        self.nodes.append(onnx().helper.make_node(operator, names, made, domain=domain, **attributes))
        return made[0] if outputs == 1 else made

    def cast(self, tensor: Tensor, dtype: Any) -> str:
        """The tensor with numbers of another type."""
        return str(self.add("Cast", tensor, to=_element_type(dtype)))

    def take(self, tensor: Tensor, columns: Any) -> str:
        """Some columns of a matrix."""
        return str(self.add("Gather", tensor, np.asarray(columns, np.int64), axis=1))

    def model(self, outputs: dict[str, tuple[str, Any, list[Any]]], description: str, facts: dict[str, str]) -> Any:
        """The model whose outputs are these tensors, each with its type and shape; checked."""
        helper = onnx().helper
        size = sum(len(each.raw_data) for each in self.constants)
        if size > LARGEST:
            raise OptionError(f"An ONNX file holds at most {LARGEST:,} bytes of weights. This ranker has {size:,}.")
        for name, (tensor, _, _) in outputs.items():
            self.nodes.append(helper.make_node("Identity", [tensor], [name]))
        values = [_value(name, dtype, shape) for name, (_, dtype, shape) in outputs.items()]
        model = helper.make_model(
            helper.make_graph(self.nodes, "ranker", self.inputs, values, self.constants),
            opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)],
            ir_version=IR_VERSION,
            producer_name="luce",
            producer_version=version("luce"),
            doc_string=description,
        )
        helper.set_model_props(model, facts)
        onnx().checker.check_model(model, full_check=True)
        return model


def _value(name: str, dtype: Any, shape: list[Any]) -> Any:
    return onnx().helper.make_tensor_value_info(name, _element_type(dtype), shape)


def _element_type(dtype: Any) -> int:
    return int(onnx().helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
